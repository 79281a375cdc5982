// A log-linear model over many sentences: how probable is what is known of them, and the gradient of that, on several threads.
// Sums are made in the order of the sentences, whatever the number of threads, so results are the same to the bit.
#pragma once

#include <cstdint>
#include <vector>

#include "features/encoded.hpp"
#include "parser/batch.hpp"
#include "parser/expectations.hpp"
#include "numeric/weights.hpp"

namespace arbora::graph {

class Likelihood {
public:
    // arcs: null for all arcs, else one set per sentence, known arcs included. Heads and labels may be unknown, -1.
    Likelihood(const Model& model, const feature::Encoded& sentences, Task task, const std::vector<ArcSet>* arcs, int threads,
               double label_cost = 1.0);
    Likelihood(const Likelihood&) = delete;

    // Of one sentence: loss is -log P, difference its negative gradient.
    Questions::Reply ask(std::size_t sentence, const Weights& weights, bool cost_augmented);

    // The sum of `ask` over sentences.
    Questions::Reply total(const std::vector<std::int64_t>& sentences, const Weights& weights, bool cost_augmented);

    // Adds the gradient of -log P, summed over the sentences, to `gradient` [weight_count] and returns the sum of -log P.
    double gradient(const std::vector<std::int64_t>& sentences, const Weights& weights, bool cost_augmented, double* gradient);

    // Of first-order models: the arcs of a sentence, for learners that keep a number for each.
    std::size_t arcs(std::size_t sentence) const;
    std::vector<double> arc_scores(std::size_t sentence, const Weights& weights);
    std::vector<double> gold_arcs(std::size_t sentence);  // 1 for arcs of the gold tree, else 0
    Sums arc_sums(std::size_t sentence, const std::vector<double>& scores);
    SparseVector arc_features(std::size_t sentence, const std::vector<double>& coefficients);

    std::size_t size() const { return sentences_->size(); }
    std::size_t weight_count() const { return graph::weight_count(*model_, task_); }

private:
    const ArcSet* arcs_of(std::size_t sentence) const { return arcs_ == nullptr ? nullptr : &(*arcs_)[sentence]; }
    // A worker that has this sentence's arcs; what their scores are does not matter.
    Expectations& holding(std::size_t sentence);
    void check_known() const;
    void check(const Weights& weights) const;
    void require_arcs(const char* what) const;

    const Model* model_;
    const feature::Encoded* sentences_;
    Task task_;
    const std::vector<ArcSet>* arcs_;
    std::vector<Expectations> workers_;
    std::vector<float> zeros_;
    std::size_t held_ = 0;  // the sentence of worker 0, from 1; 0: none, or not known
};

}  // namespace arbora::graph
