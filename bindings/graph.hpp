// What the bindings of graph parsers share.
#pragma once

#include "graph/batch.hpp"
#include "questions.hpp"

namespace arbora {

inline graph::Pruner pruner_of(const graph::Model& model, const Line<float>& weights, int keep, double within) {
    check_size(weights.size(), graph::weight_count(model, graph::Task::tree), "pruner");
    if (model.siblings) throw InputError("pruner: expected a first-order model");
    if (keep < 1) throw InputError("keep: expected at least 1 head per word, got " + std::to_string(keep));
    return {&model, {weights.data(), nullptr, 1.0}, keep, within};
}

}  // namespace arbora
