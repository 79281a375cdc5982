// The arc-standard system [nivre-2008b]: shift, left and right as in stack_arcs.hpp.
//
// Bottom-up: a word must have all its dependents before it gets its head. All projective trees and no others; 2n steps.
#pragma once

#include "search/transition/stack_arcs.hpp"

namespace arbora::transition {

struct ArcStandard : StackArcs {
    static constexpr bool has_costs = false;

    // Validity.
    Moves valid(const Space& space, const State& s) const { return valid_arcs(space, s); }

    // Action.
    void apply(Space& space, State& s, const Action& action) const { apply_arc(space, s, action); }

    // The move of the right tree, which must be projective, from a state on its way.
    struct Plan {};
    Plan plan(int, const Gold&) const { return {}; }
    Move oracle(const Space& space, const State& s, const Gold& gold, const Plan&) const {
        return right_arc(space, s, gold, valid(space, s), Move::shift);
    }
};

}  // namespace arbora::transition
