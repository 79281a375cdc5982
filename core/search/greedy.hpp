// Steps from state to state, as greedy and beam search make them, and greedy search: in each state the best move, then the best label.
// Ties go to the first. O(steps).
//
// A scorer knows one state at a time:
//   look(space, state)            the state that the next questions are about
//   move(move)                    the score of a move, which is not forced
//   labels(arc, move, most)       the best labels of the arc that a move makes, best first: LabelScore each, at least one
//   label(arc, move, label)       the score of one label
// A restriction says which of the valid moves are allowed: allowed(space, state, moves).
#pragma once

#include "base/interrupt.hpp"
#include "search/transition/state.hpp"

namespace arbora::search {

struct LabelScore {
    int label = -1;
    double score = 0.0;
};

struct Unrestricted {
    transition::Moves operator()(const transition::Space&, const transition::State&, transition::Moves moves) const { return moves; }
};

// The state that an action leads to, with this much added to its score.
template <class System>
int step(const System& system, transition::Space& space, int from, const transition::Action& action, double score) {
    transition::State next = space.state(from);
    system.apply(space, next, action);
    next.previous = from;
    next.action = action;
    next.score += score;
    return space.add(next);
}

// visit(move) for all moves of a set, in order.
template <class Visit>
void each_move(transition::Moves moves, Visit&& visit) {
    for (unsigned m = 0; moves >> m != 0; ++m)
        if (moves >> m & 1) visit(static_cast<transition::Move>(m));
}

// The score of one action in the state that the scorer looks at.
template <class System, class Scorer>
double action_score(const System& system, const transition::Space& space, const transition::State& state, Scorer& scorer,
                    const transition::Action& action) {
    if (transition::is_forced(system.valid(space, state))) return 0.0;
    double score = scorer.move(action.move);
    if (transition::makes_arc(action.move)) score += scorer.label(system.arc(space, state, action.move), action.move, action.label);
    return score;
}

struct Choice {
    transition::Action action;
    double score = 0.0;
};

// The best of some moves, which are not none, in the state that the scorer looks at.
template <class System, class Scorer>
Choice best_choice(const System& system, const transition::Space& space, const transition::State& state, Scorer& scorer, transition::Moves moves) {
    // The first move stays where no score is larger, even if scores are infinite or NaN.
    const transition::Move first = transition::first(moves);
    Choice best{{first, -1}, scorer.move(first)};
    each_move(static_cast<transition::Moves>(moves & (moves - 1)), [&](transition::Move move) {
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
        check_stop(256);
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
