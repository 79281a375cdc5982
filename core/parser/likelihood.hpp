// A log-linear model over many sentences: how probable is what is known of them, and the gradient of that.
#pragma once

#include "parser/batch.hpp"
#include "parser/expectations.hpp"

namespace arbora::graph {

struct LikelihoodWorker {
    Expectations sums;
    std::size_t held = 0;  // the sentence whose arcs `sums` has, from 1; 0: none, or not known
};

// Answers: loss is -log P, difference its negative gradient. Heads and labels may be unknown, -1.
class Likelihood : public TreebankQuestions<Likelihood, LikelihoodWorker> {
public:
    // arcs: null for all arcs, else one set per sentence, known arcs included.
    Likelihood(const Model& model, const feature::Encoded& sentences, Task task, const std::vector<ArcSet>* arcs, int threads,
               const Cost& cost = {});

    Answer answer(LikelihoodWorker& worker, std::size_t s, const Weights& weights, bool cost_augmented);
    std::size_t weight_count() const { return graph::weight_count(*model_, task_); }

    // Of first-order models: the arcs of a sentence, for learners that keep a number for each.
    std::size_t arcs(std::size_t sentence) const;
    std::vector<double> arc_scores(std::size_t sentence, const Weights& weights);
    std::vector<double> gold_arcs(std::size_t sentence);  // 1 for arcs of the gold tree, else 0
    Sums arc_sums(std::size_t sentence, const std::vector<double>& scores);
    SparseVector arc_features(std::size_t sentence, const std::vector<double>& coefficients);

private:
    // A worker that has this sentence's arcs; what their scores are does not matter.
    Expectations& holding(std::size_t sentence);
    // InputError unless the model is first-order, without labels, and an array has one number per arc.
    void require_arcs(const char* what) const;
    void require_size(const char* what, std::size_t sentence, std::size_t got) const;

    const Model* model_;
    Task task_;
    std::vector<float> zeros_;
};

}  // namespace arbora::graph
