// First-order projective trees: the score of a tree is the sum of its arcs' scores.
//
// Eisner's items [eisner-1996], head marked with *, for words s <= t:
//   right(s*, t), left(s, t*)            complete: the head has all its dependents on that side within the span
//   open_right(s*, t), open_left(s, t*)  incomplete: an arc between s and t, dependents of t (s) inside still complete
// Recurrences (the vector form of them is kernels/inside_arc.hpp):
//   joined(s, t)     = SUM_{s <= r < t}  right(s, r) * left(r+1, t)
//   open_right(s, t) = joined(s, t) * arc(s, t)
//   open_left(s, t)  = joined(s, t) * arc(t, s)
//   right(s, t)      = SUM_{s < r <= t}  open_right(s, r) * right(r, t)
//   left(s, t)       = SUM_{s <= r < t}  left(s, r) * open_left(r, t)
// The root is position 0. With several roots it is a word like any other that only takes dependents on its right; with a
// single root, goal = SUM_r left(1, r) * arc(0, r) * right(r, n). Each tree has exactly one derivation.
// Time O(n^3), space O(n^2).
#pragma once

#include "factorization/layout.hpp"

namespace arbora {

// All charts of one sentence. `arcs` holds the weights arc(h, d) at cell (h, d); the other planes are Squares.
template <class P>
struct ArcCharts {
    using Plane = P;
    using Value = typename P::Value;
    enum Kind : std::int16_t { kRight, kLeft, kOpenRight, kOpenLeft, kGoal, kKinds };

    Square square;
    Roots roots = Roots::single;
    const double* scores = nullptr;  // padded copy of the arc scores, laid out as the Square
    P arcs, right, left, open_right, open_left, joined;
    Value goal = P::kZero;

    static ArcCharts take(Arena& arena, Square square, Roots roots, const double* scores) {
        ArcCharts charts;
        charts.square = square;
        charts.roots = roots;
        charts.scores = scores;
        for (P* plane : {&charts.arcs, &charts.right, &charts.left, &charts.open_right, &charts.open_left, &charts.joined}) {
            *plane = take_plane<P>(arena, square.size());
        }
        return charts;
    }

    Item top() const { return {kGoal, 0, square.n}; }

    static bool is_leaf(Item item) { return item.kind <= kLeft && item.left == item.right; }

    Value value(Item item) const {
        const auto cell = square.cell(item.left, item.right);
        switch (item.kind) {
            case kRight: return right.at(cell);
            case kLeft: return left.at(cell);
            case kOpenRight: return open_right.at(cell);
            case kOpenLeft: return open_left.at(cell);
            default: return goal;
        }
    }

    // The arc that an item adds, and its score.
    Arc arc(Item item) const {
        if (item.kind == kOpenRight) return {item.left, item.right};
        if (item.kind == kOpenLeft) return {item.right, item.left};
        return {0, 0};
    }
    double constant(Item item) const {
        const Arc a = arc(item);
        return a.dep == 0 ? 0.0 : scores[square.cell(a.head, a.dep)];
    }

    int edge_count(Item item) const {
        if (item.kind == kGoal) return roots == Roots::single ? square.n : 1;
        return item.left == 0 && item.kind == kOpenRight && roots == Roots::single ? 1 : item.right - item.left;
    }

    Edge edge(Item item, int index) const {
        const int s = item.left, t = item.right;
        switch (item.kind) {
            case kOpenRight:
            case kOpenLeft: return {{kRight, s, s + index}, {kLeft, s + index + 1, t}, 0.0};
            case kRight: return {{kOpenRight, s, s + index + 1}, {kRight, s + index + 1, t}, 0.0};
            case kLeft: return {{kLeft, s, s + index}, {kOpenLeft, s + index, t}, 0.0};
            default:
                if (roots == Roots::multi) return {{kRight, 0, t}, {kRight, t, t}, 0.0};
                return {{kOpenRight, 0, index + 1}, {kRight, index + 1, t}, 0.0};
        }
    }
};

}  // namespace arbora
