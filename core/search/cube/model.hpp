// What a cube-pruning parser knows besides its weights.
#pragma once

#include <utility>

#include "features/contexts.hpp"
#include "parser/model.hpp"

namespace arbora::cube {

struct Model {
    Model(graph::Model parts, feature::Contexts higher) : graph(std::move(parts)), contexts(std::move(higher)) {}

    graph::Model graph;  // projective; weights: heads, then labels of arcs
    feature::Contexts contexts;  // share the weights of heads
    int beam = 6;         // derivations per node
    int most_labels = 6;  // of an arc
    double labels_within = 1.0;  // of the best label's score by the filter
    bool exact_keys = false;  // see Keys in search.hpp
};

// Weights as a worker reads them, and those by which the best few labels of an arc are found; null: all that tags allow are taken.
struct WeightView : graph::WeightView {
    const float* label_filter = nullptr;
};

}  // namespace arbora::cube
