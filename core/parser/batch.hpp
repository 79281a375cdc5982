// A graph parser over many sentences: pruning, parsing, and a learner's questions about the best trees or about all of them.
#pragma once

#include "parser/candidates.hpp"
#include "parser/expectations.hpp"

namespace arbora::graph {

std::vector<ArcSet> prune(const feature::Encoded& sentences, const Pruner& pruner, int threads);

// Adds the arcs of the gold trees that are missing; returns how many were.
std::int64_t restore_gold(const feature::Encoded& sentences, std::vector<ArcSet>& arcs);

// pruner: null for all arcs. keep_heads: keeps the heads that the sentences have; see candidates.hpp.
Parsed parse(const feature::Encoded& sentences, const Model& model, const WeightView& weights, bool staged, const Pruner* pruner,
             int threads, bool keep_heads = false);

// A worker, and the arcs that it may use.
template <class Parser>
struct PrunedWorker {
    Parser parser;
    Candidates candidates;
};

// A learner's questions about the best trees. Needs gold trees; InputError without. See TreebankQuestions.
class Questions : public TreebankQuestions<Questions, Worker> {
public:
    Questions(const Model& model, const feature::Encoded& sentences, Task task, const std::vector<ArcSet>* arcs, int threads,
              const Cost& cost = {});

    Answer answer(Worker& worker, std::size_t s, const Weights& weights, bool cost_augmented);
    std::vector<Answer> candidate_answers(Worker& worker, std::size_t s, const Weights& weights, int k);
    std::size_t weight_count() const { return graph::weight_count(*model_, task_); }

private:
    const Model* model_;
    Task task_;
};

// InputError where labels are to be learned and the model has none.
void check_task(const Model& model, Task task);

struct LikelihoodWorker {
    Expectations sums;
    std::size_t held = 0;  // the sentence whose arcs `sums` has, from 1; 0: none, or not known
};

// The log-likelihood of what is known of the sentences: loss is -log P, difference its negative gradient. Heads and labels may be
// unknown, -1.
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
