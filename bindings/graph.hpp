// What the bindings of graph parsers share.
#pragma once

#include "graph/batch.hpp"
#include "questions.hpp"

namespace arbora {

// The arcs that a pruner left, one set per sentence.
struct KeptArcs {
    std::vector<graph::ArcSet> sets;
};

// How arcs are chosen, as Python gives it.
struct PruningSettings {
    graph::PruningRule rule = graph::PruningRule::margin;
    int keep = 1;
    double within = 0.0;
    double alpha = 0.0;
};

inline graph::Pruner pruner_of(const graph::Model& model, const Line<float>& weights, const PruningSettings& settings) {
    check_size(weights.size(), graph::weight_count(model, graph::Task::tree), "pruner");
    if (model.siblings) throw InputError("pruner: expected a first-order model");
    return {&model, {weights.data(), nullptr, 1.0}, settings.keep, settings.within, settings.rule, settings.alpha};
}

}  // namespace arbora
