// What a transition parser knows besides its weights, and where the weights lie.
#pragma once

#include <cstdint>
#include <utility>
#include <variant>

#include "parser/model.hpp"
#include "search/beam.hpp"
#include "search/transition/arc_eager.hpp"
#include "search/transition/arc_standard.hpp"
#include "search/transition/swap.hpp"
#include "search/transition/templates.hpp"

namespace arbora::transition {

using System = std::variant<ArcEager, ArcStandard, Swap>;

struct Model {
    Model(System chosen, Templates of_moves, Templates of_labels) : system(chosen), moves(std::move(of_moves)), label_templates(std::move(of_labels)) {}

    System system;
    Templates moves, label_templates;
    int labels = 0;  // 0: trees without labels
    graph::LabelSets label_sets;
    std::uint32_t move_size = 0;   // weights of moves, a power of two: rows with one for each move
    std::uint32_t label_size = 0;  // weights of labels, a power of two: rows with one for each label
    int beam = 1;         // 1: greedy
    int most_labels = 1;  // of an arc, in a beam

    std::size_t weight_count() const { return move_size + (labels > 0 ? label_size : 0); }
    graph::WeightView view(const float* data, double scale) const { return {data, data + move_size, scale}; }
};

}  // namespace arbora::transition
