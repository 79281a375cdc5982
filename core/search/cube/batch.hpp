// A cube-pruning parser over many sentences; see parser/treebank.hpp.
#pragma once

#include "parser/batch.hpp"
#include "search/cube/worker.hpp"

namespace arbora::cube {

using Pruned = graph::PrunedWorker<Worker>;

inline std::vector<Pruned> workers_of(const Model& model, const graph::Pruner* pruner, int threads, bool keep_heads) {
    return make_workers(threads, [&] { return Pruned{Worker(model), graph::Candidates(model.graph, pruner, keep_heads)}; });
}

graph::Parsed parse(const feature::Encoded& sentences, const Model& model, const WeightView& weights, const graph::Pruner* pruner,
                           int threads, bool keep_heads);

// Up to k trees of each sentence, best first.
std::vector<std::vector<Ranked>> kbest(const feature::Encoded& sentences, const Model& model, const WeightView& weights,
                                              const graph::Pruner* pruner, int k, int threads, bool keep_heads);

struct CountingWorker {
    Worker parser;
    Tally tally;
};

// A learner's queries about labelled trees, or trees if the model has no labels. Throws InputError if gold trees are missing or,
// for projective models, not projective.
class Questions : public graph::TreebankQuestions<Questions, CountingWorker> {
public:
    // label_filter: null for none.
    Questions(const Model& model, const feature::Encoded& sentences, const std::vector<graph::ArcSet>* arcs, hypergraph::Update update,
              const float* label_filter, int threads, const graph::Cost& cost = {})
        : TreebankQuestions(sentences, arcs, make_workers(threads, [&] { return CountingWorker{Worker(model, cost), {}}; })),
          model_(&model), update_(update), label_filter_(label_filter) {
        graph::check_gold(sentences, {.arcs = arcs, .labels = model.graph.labels, .projective = model.graph.trees == Trees::projective});
    }

    Answer answer(CountingWorker& worker, std::size_t s, const Weights& weights, bool cost_augmented) {
        return worker.parser.answer(sentence(s), arcs_of(s), view(weights), cost_augmented, update_, worker.tally);
    }
    std::vector<Answer> candidate_answers(CountingWorker& worker, std::size_t s, const Weights& weights, int k) {
        return worker.parser.candidates(sentence(s), arcs_of(s), view(weights), k, worker.tally);
    }
    std::size_t weight_count() const { return graph::weight_count(model_->graph, model_->graph.labels > 0 ? graph::Task::joint : graph::Task::tree); }

    // Since the last call.
    Tally take_tally();

private:
    WeightView view(const Weights& weights) const {
        return {graph::view(model_->graph, graph::Task::joint, weights.data(), weights.scale()), label_filter_};
    }

    const Model* model_;
    hypergraph::Update update_;
    const float* label_filter_;
};

}  // namespace arbora::cube
