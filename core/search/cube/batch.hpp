// A cube-pruning parser over many sentences, on several threads; nothing depends on their number. See graph/batch.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "search/cube/worker.hpp"
#include "parser/batch.hpp"
#include "numeric/reply.hpp"
#include "numeric/weights.hpp"

namespace arbora::cube {

graph::Parsed parse(const feature::Encoded& sentences, const Model& model, const WeightView& weights, const graph::Pruner* pruner,
                    int threads, bool keep_heads);

// Up to k trees of each sentence, best first.
std::vector<std::vector<Ranked>> kbest(const feature::Encoded& sentences, const Model& model, const WeightView& weights,
                                       const graph::Pruner* pruner, int k, int threads, bool keep_heads);

// What a learner asks, about labelled trees (or trees, where the model has no labels). Holds no copy of what it is made from.
class Questions {
public:
    // arcs: null for all arcs, else one set per sentence, gold arcs included. Throws InputError where gold is missing or not projective.
    // label_filter: null for none.
    Questions(const Model& model, const feature::Encoded& sentences, const std::vector<graph::ArcSet>* arcs, hypergraph::Update update,
              const float* label_filter, int threads, double label_cost = 1.0);
    Questions(const Questions&) = delete;

    Reply ask(std::size_t sentence, const Weights& weights, bool cost_augmented);
    std::vector<Reply> candidates(std::size_t sentence, const Weights& weights, int k);
    // The sum over sentences; differences are whole numbers, so sums are exact in any order.
    Reply total(const std::vector<std::int64_t>& sentences, const Weights& weights, bool cost_augmented);

    // Since the last call.
    Tally take_tally();

    std::size_t size() const { return sentences_->size(); }
    std::size_t weight_count() const { return graph::weight_count(model_->graph, model_->graph.labels > 0 ? graph::Task::joint : graph::Task::tree); }

private:
    const graph::ArcSet* arcs(std::size_t sentence) const { return arcs_ == nullptr ? nullptr : &(*arcs_)[sentence]; }
    WeightView view(const Weights& weights) const;
    void check_gold() const;

    const Model* model_;
    const feature::Encoded* sentences_;
    const std::vector<graph::ArcSet>* arcs_;
    hypergraph::Update update_;
    const float* label_filter_;
    std::vector<Worker> workers_;
    std::vector<Tally> tallies_;
};

}  // namespace arbora::cube
