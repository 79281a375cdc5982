// The arc-standard system [nivre-2008b]: shift, left and right of StackArcs.
//
// Bottom-up: a word must have all its dependents before it gets its head. All projective trees and no others; 2n steps.
#pragma once

#include "search/transition/state.hpp"
#include "trees/problem.hpp"

namespace arbora::transition {

// Shared by systems whose arcs join the two words on top of the stack (..., n', n), with node 0 at the stack's bottom:
//   shift  (S, n|I, A)     ->  (n|S, I, A)
//   left   (n|n'|S, I, A)  ->  (n|S, I, A + (n, n'))     n' is not the root
//   right  (n|n'|S, I, A)  ->  (n'|S, I, A + (n', n))    with a single root: if n' is the root, the buffer is empty
// Every sequence ends with node 0 alone on the stack, and so in a tree: items on the stack can always be joined.
struct StackArcs {
    Roots roots = Roots::single;

    State start(Space& space, int n) const {
        space.reset(n, n + 1);
        State s;
        Item root;
        root.word = 0;
        space.push(s, root);
        return s;
    }

    static Arc arc(const Space& space, const State& s, Move move) {
        const Item& top = space.item(s.stack);
        const int below = space.word(top.below);
        return move == Move::left ? Arc{top.word, below} : Arc{below, top.word};
    }

    static Focus focus(const Space& space, const State& s) {
        const Item& top = space.item(s.stack);
        Focus f{top.below >= 0 ? space.item(top.below) : Item{}, top};
        f.under = f.left.below;
        f.next = space.buffer_word(s, 0);
        f.after_next = space.buffer_word(s, 1);
        return f;
    }

    // Which of shift, left and right are possible.
    Moves valid_arcs(const Space& space, const State& s) const {
        const bool empty = space.is_buffer_empty(s);
        const int below = space.word(space.item(s.stack).below);
        const bool may_hang = below > 0 || (below == 0 && (roots == Roots::multi || empty));
        return static_cast<Moves>(when(!empty, Move::shift) | when(below > 0, Move::left) | when(may_hang, Move::right));
    }

    static void apply_arc(Space& space, State& s, const Action& action) {
        if (action.move == Move::shift) {
            const Item front = space.front(s);
            space.drop_front(s);
            space.push(s, front);
            return;
        }
        const Item top = space.item(s.stack), below = space.item(top.below);
        Item head = action.move == Move::left ? top : below;
        const int dep = action.move == Move::left ? below.word : top.word;
        Dependents& side = dep < head.word ? head.left : head.right;
        add_dependent(side, dep, action.label, rank(side, dep, head.word));
        s.stack = below.below;
        space.push(s, head);
    }

    // left or right, if the gold tree has that arc and the dependent has all its own dependents; else `otherwise`.
    static Move right_arc(const Space& space, const State& s, const Gold& gold, Moves moves, Move otherwise) {
        const Item& top = space.item(s.stack);
        if (has(moves, Move::left) && gold.head(space.word(top.below)) == top.word && is_complete(space.item(top.below), gold)) return Move::left;
        if (has(moves, Move::right) && gold.head(top.word) == space.word(top.below) && is_complete(top, gold)) return Move::right;
        return otherwise;
    }

private:
    static bool is_complete(const Item& item, const Gold& gold) {
        return item.left.count + item.right.count == gold.end(item.word) - gold.begin(item.word);
    }
    // In a non-projective tree, a later dependent may be further in.
    static int rank(const Dependents& side, int dep, int head) {
        int further_out = 0;
        for (const int other : side.words)
            if (other >= 0 && (dep < head) == (other < dep)) ++further_out;
        return further_out;
    }
};

struct ArcStandard : StackArcs {
    static constexpr bool has_costs = false;

    // Validity.
    Moves valid(const Space& space, const State& s) const { return valid_arcs(space, s); }

    // Action.
    void apply(Space& space, State& s, const Action& action) const { apply_arc(space, s, action); }

    // The gold move, for a projective gold tree, in a state on its path.
    struct Plan {};
    Plan plan(int, const Gold&) const { return {}; }
    Move oracle(const Space& space, const State& s, const Gold& gold, const Plan&) const {
        return right_arc(space, s, gold, valid(space, s), Move::shift);
    }
};

}  // namespace arbora::transition
