// Greedy search: in each state the best move, then the best label. Ties go to the first. O(steps).
#pragma once

#include "search/steps.hpp"

namespace arbora::search {

struct Choice {
    transition::Action action;
    double score = 0.0;
};

// The best of some moves, which are not none, in the state that the scorer looks at.
template <class System, class Scorer>
Choice best_choice(const System& system, const transition::Space& space, const transition::State& state, Scorer& scorer, transition::Moves moves) {
    Choice best{{}, -std::numeric_limits<double>::infinity()};
    each_move(moves, [&](transition::Move move) {
        const double score = scorer.move(move);
        if (score > best.score) best = {{move, -1}, score};
    });
    if (transition::makes_arc(best.action.move)) {
        const LabelScore label = scorer.labels(system.arc(space, state, best.action.move), best.action.move, 1)[0];
        best.action.label = static_cast<std::int16_t>(label.label);
        best.score += label.score;
    }
    return best;
}

// The finished state, or -1 where the restriction left no move.
template <class System, class Scorer, class Restriction = Unrestricted>
int greedy(const System& system, transition::Space& space, int n, Scorer& scorer, const Restriction& allowed = {}) {
    const transition::State start = system.start(space, n);
    int at = space.add(start);
    for (;;) {
        const transition::State state = space.state(at);
        const transition::Moves valid = system.valid(space, state);
        if (valid == 0) return at;
        const transition::Moves moves = allowed(space, state, valid);
        if (moves == 0) return -1;
        Choice choice;
        if (transition::is_forced(valid)) {
            choice.action.move = transition::first(valid);
        } else {
            scorer.look(space, state);
            choice = best_choice(system, space, state, scorer, moves);
        }
        at = step(system, space, at, choice.action, choice.score);
    }
}

}  // namespace arbora::search
