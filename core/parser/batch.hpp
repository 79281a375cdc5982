// A graph parser over many sentences: pruning, parsing, and a learner's questions.
#pragma once

#include "parser/candidates.hpp"
#include "parser/treebank.hpp"

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

}  // namespace arbora::graph
