// The arc-eager system [nivre-2003], as in Table 1 of [johansson-2007].
//
// Stack S, buffer I, arcs A; the buffer holds the words and, after them, node 0:
//   shift    (S, n|I, A)      ->  (n|S, I, A)                   n is not the root
//   reduce   (n|S, I, A)      ->  (S, I, A)                     n has a head
//   left     (n|S, n'|I, A)   ->  (S, n'|I, A + (n', n))        n has no head
//   right    (n|S, n'|I, A)   ->  (n'|n|S, I, A + (n, n'))      n' is not the root
// So a word without a head at the end gets the root as its head, and every sequence ends in a projective tree. Every word is pushed
// once and popped once: 2n steps.
//
// With a single root, node 0 takes a word only if no other word on the stack lacks a head; until then, and only then,
//   unshift  (n|S, 0|I, A)    ->  (S, n|0|I, A)                 n has no head
// is forced, so that the stack's next word may become the head or a dependent of n [nivre-2014]. From then on words are shifted
// only onto an empty stack. There are at most n such moves.
//
// Costs: the number of gold arcs that become impossible by a move [goldberg-2012]. Exact without unshift, that is, with several
// roots; arcs that unshift may restore are not counted. O(depth of the stack + dependents).
#pragma once

#include "trees/problem.hpp"
#include "search/transition/state.hpp"

namespace arbora::transition {

struct ArcEager {
    static constexpr Move reduce = Move::second;
    static constexpr bool has_costs = true;

    Roots roots = Roots::single;

    State start(Space& space, int n) const {
        space.reset(n, n + 2);
        return {};
    }

    // Validity. The parse is complete: the stack is empty, and so is the buffer except for node 0.
    Moves valid(const Space& space, const State& s) const {
        const bool at_root = s.ahead < 0 ? s.next > space.n() : space.item(s.ahead).word == 0;
        if (s.stack < 0) return when(!at_root, Move::shift);
        const bool attached = space.item(s.stack).attached;
        if (at_root) {
            if (attached) return only(reduce);
            return roots == Roots::single && s.open > 1 ? only(Move::unshift) : only(Move::left);
        }
        return static_cast<Moves>(when(!s.ended, Move::shift) | when(attached, reduce) | when(!attached, Move::left) | only(Move::right));
    }

    // Action.
    Arc arc(const Space& space, const State& s, Move move) const {
        const int top = space.word(s.stack), front = space.buffer_word(s, 0);
        return move == Move::left ? Arc{front, top} : Arc{top, front};
    }

    void apply(Space& space, State& s, const Action& action) const {
        switch (action.move) {
            case Move::shift: {
                const Item front = space.front(s);
                space.drop_front(s);
                space.push(s, front);
                ++s.open;
                break;
            }
            case Move::second: space.pop(s); break;
            case Move::left: {
                Item front = space.front(s);
                add_dependent(front.left, space.word(s.stack), action.label, 0);
                space.drop_front(s);
                space.put_front(s, front);
                space.pop(s);
                --s.open;
                break;
            }
            case Move::right: {
                Item top = space.item(s.stack), front = space.front(s);
                add_dependent(top.right, front.word, action.label, 0);
                space.pop(s);
                space.push(s, top);
                front.attached = true;
                front.label = action.label;
                space.drop_front(s);
                space.push(s, front);
                break;
            }
            case Move::unshift: {
                const Item top = space.item(s.stack);
                space.pop(s);
                space.put_front(s, top);
                --s.open;
                s.ended = true;
                break;
            }
        }
    }

    // Arcs join the stack's top and the buffer's front.
    Focus focus(const Space& space, const State& s) const {
        Focus f{s.stack >= 0 ? space.item(s.stack) : Item{}, space.front(s)};
        f.under = f.left.below;
        f.next = space.buffer_word(s, 1);
        f.after_next = space.buffer_word(s, 2);
        return f;
    }

    // Cost of a valid move.
    int cost(const Space& space, const State& s, Move move, const Gold& gold) const {
        const int top = space.word(s.stack), front = space.buffer_word(s, 0);
        switch (move) {
            case Move::shift: return front == 0 ? 0 : lost_below(space, s.stack, front, gold);
            case Move::second: return lost_ahead(space, s, top, gold);
            case Move::left: {
                const int head = gold.head(top);
                return lost_ahead(space, s, top, gold) + (head >= 0 && head != front && space.is_in_buffer(s, head) ? 1 : 0);
            }
            case Move::right: {
                const int head = gold.head(front);
                const bool loses_head = head >= 0 && head != top && space.is_in_buffer(s, head);
                const int below = lost_below(space, space.item(s.stack).below, front, gold);
                return below + (loses_head ? 1 : 0) + (gold.head(top) == front && !space.item(s.stack).attached ? 1 : 0);
            }
            case Move::unshift: return 0;
        }
        return 0;
    }

    // The gold move, for a projective gold tree, in a state on its path. Words are reduced only if they block an arc.
    struct Plan {};
    Plan plan(int, const Gold&) const { return {}; }
    Move oracle(const Space& space, const State& s, const Gold& gold, const Plan&) const {
        const Moves moves = valid(space, s);
        for (const Move move : {Move::left, Move::right})
            if (has(moves, move) && gold.is_right(arc(space, s, move))) return move;
        const bool in_the_way = s.stack >= 0 && lost_below(space, space.item(s.stack).below, space.buffer_word(s, 0), gold) > 0;
        return has(moves, reduce) && (in_the_way || !has(moves, Move::shift)) ? reduce : Move::shift;
    }

private:
    // Arcs between `front` and words on the stack from an item on.
    static int lost_below(const Space& space, int item, int front, const Gold& gold) {
        int lost = 0;
        const int head = gold.head(front);
        for (int i = item; i >= 0; i = space.item(i).below) {
            const Item& at = space.item(i);
            if (at.word == head || (!at.attached && gold.head(at.word) == front)) ++lost;
        }
        return lost;
    }
    // Arcs from `top` to words in the buffer.
    static int lost_ahead(const Space& space, const State& s, int top, const Gold& gold) {
        int lost = 0;
        for (const int* d = gold.begin(top); d != gold.end(top); ++d)
            if (space.is_in_buffer(s, *d)) ++lost;
        return lost;
    }
};

}  // namespace arbora::transition
