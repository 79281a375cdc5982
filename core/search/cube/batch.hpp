// A cube-pruning parser over many sentences; see parser/treebank.hpp.
#pragma once

#include "parser/batch.hpp"
#include "search/cube/worker.hpp"

namespace arbora::cube {

graph::Parsed parse(const feature::Encoded& sentences, const Model& model, const WeightView& weights, const graph::Pruner* pruner,
                    int threads, bool keep_heads);

// Up to k trees of each sentence, best first.
std::vector<std::vector<Ranked>> kbest(const feature::Encoded& sentences, const Model& model, const WeightView& weights,
                                       const graph::Pruner* pruner, int k, int threads, bool keep_heads);

struct CountingWorker {
    Worker parser;
    Tally tally;
};

// A learner's questions about labelled trees, or trees where the model has no labels. InputError where gold is missing or, for
// projective models, not projective.
class Questions : public graph::TreebankQuestions<Questions, CountingWorker> {
public:
    // label_filter: null for none.
    Questions(const Model& model, const feature::Encoded& sentences, const std::vector<graph::ArcSet>* arcs, hypergraph::Update update,
              const float* label_filter, int threads, const graph::Cost& cost = {});

    Answer answer(CountingWorker& worker, std::size_t s, const Weights& weights, bool cost_augmented);
    std::vector<Answer> candidate_answers(CountingWorker& worker, std::size_t s, const Weights& weights, int k);
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
