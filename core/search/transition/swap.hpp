// The arc-standard system with a move that changes the order of words [nivre-2009]:
//   swap  (n|n'|S, I, A)  ->  (n|S, n'|I, A)     n' stands before n in the sentence, and is not the root
// Derives all trees. No two words are swapped twice, so there are at most O(n^2) steps; in practice their number is linear.
//
// The oracle sorts words into the order of a walk through the gold tree (each word after its left dependents and before its right
// ones), in which no arcs cross. It is lazy [nivre-2009b]: it first joins all words that can be joined without swapping.
#pragma once

#include "search/transition/arc_standard.hpp"

namespace arbora::transition {

struct Swap : StackArcs {
    static constexpr Move swap = Move::second;
    static constexpr bool has_costs = false;

    // Validity.
    Moves valid(const Space& space, const State& s) const {
        const Item& top = space.item(s.stack);
        const int below = space.word(top.below);
        return static_cast<Moves>(valid_arcs(space, s) | when(below > 0 && below < top.word, swap));
    }

    // Action.
    void apply(Space& space, State& s, const Action& action) const {
        if (action.move != swap) return apply_arc(space, s, action);
        const Item top = space.item(s.stack), below = space.item(top.below);
        s.stack = below.below;
        space.push(s, top);
        space.put_front(s, below);
    }

    struct Plan {
        std::vector<int> order;      // of each word in the walk
        std::vector<int> component;  // words that can be joined without swapping share a number
    };

    // O(n * depth of the tree).
    Plan plan(int n, const Gold& gold) const {
        const auto size = static_cast<std::size_t>(n) + 1;
        Plan plan{std::vector<int>(size, 0), std::vector<int>(size, 0)};
        walk(gold, plan.order);
        // The words that arc-standard moves join without swaps: in the end, each item on the stack is a component.
        const ArcStandard without{{roots}};
        Space space;
        State s = without.start(space, n);
        std::vector<int> joined(size, -1);
        for (;;) {
            const Moves moves = without.valid(space, s);
            const Move move = without.oracle(space, s, gold, {});
            if (!has(moves, move)) break;
            if (makes_arc(move)) {
                const Arc made = arc(space, s, move);
                joined[static_cast<std::size_t>(made.dep)] = made.head;
            }
            without.apply(space, s, {move, -1});
        }
        for (int word = 0; word <= n; ++word) {
            int top = word;
            while (joined[static_cast<std::size_t>(top)] >= 0) top = joined[static_cast<std::size_t>(top)];
            plan.component[static_cast<std::size_t>(word)] = top;
        }
        return plan;
    }

    // The gold move in a state on its path.
    Move oracle(const Space& space, const State& s, const Gold& gold, const Plan& plan) const {
        const Moves moves = valid(space, s);
        const Move joined = right_arc(space, s, gold, moves, Move::shift);
        if (joined != Move::shift || !has(moves, swap)) return joined;
        const int top = space.word(s.stack), below = space.word(space.item(s.stack).below), front = space.buffer_word(s, 0);
        const auto of = [](const std::vector<int>& list, int word) { return list[static_cast<std::size_t>(word)]; };
        const bool is_crossed = of(plan.order, top) < of(plan.order, below);
        const bool can_wait = front >= 0 && of(plan.component, top) == of(plan.component, front);
        return is_crossed && !can_wait ? swap : Move::shift;
    }

private:
    static void walk(const Gold& gold, std::vector<int>& order) {
        struct Visit {
            int word;
            const int* next;
            bool placed;
        };
        std::vector<Visit> open{{0, gold.begin(0), false}};
        int count = 0;
        while (!open.empty()) {
            Visit& at = open.back();
            if (!at.placed && (at.next == gold.end(at.word) || *at.next > at.word)) {
                order[static_cast<std::size_t>(at.word)] = count++;
                at.placed = true;
            } else if (at.next == gold.end(at.word)) {
                open.pop_back();
            } else {
                const int child = *at.next++;
                open.push_back({child, gold.begin(child), false});
            }
        }
    }
};

}  // namespace arbora::transition
