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

// All charts of one sentence. Scores and weights of arcs: arc_right(s, t) = arc(s, t), arc_left(s, t) = arc(t, s).
template <class P>
struct ArcCharts {
    using Plane = P;
    using Value = typename P::Value;
    enum Kind : std::int16_t { kRight, kLeft, kOpenRight, kOpenLeft, kGoal, kKinds };

    Diagonals layout;
    Roots roots = Roots::single;
    const double *score_right = nullptr, *score_left = nullptr;
    const double* score_root = nullptr;  // arc(0, t) by t
    P arc_right, arc_left, right, left, open_right, open_left, joined;
    Value goal = P::kZero;

    static ArcCharts take(Arena& arena, Diagonals layout, Roots roots) {
        ArcCharts charts;
        charts.layout = layout;
        charts.roots = roots;
        for (P* plane : {&charts.right, &charts.left, &charts.open_right, &charts.open_left, &charts.joined}) {
            *plane = take_plane<P>(arena, layout.size());
        }
        return charts;
    }

    Item top() const { return {kGoal, 0, layout.n}; }

    static bool is_leaf(Item item) { return item.kind <= kLeft && item.left == item.right; }

    Value value(Item item) const {
        if (is_leaf(item)) return P::kUnit;
        const auto cell = layout.cell(item.left, item.right);
        switch (item.kind) {
            case kRight: return right.at(cell);
            case kLeft: return left.at(cell);
            case kOpenRight: return item.left < layout.first ? open_root(item.right) : open_right.at(cell);
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
        if (item.kind == kOpenRight) {
            return item.left < layout.first ? score_root[item.right] : score_right[layout.cell(item.left, item.right)];
        }
        return item.kind == kOpenLeft ? score_left[layout.cell(item.left, item.right)] : 0.0;
    }

    int edge_count(Item item) const {
        if (item.kind == kGoal) return roots == Roots::single ? layout.n : 1;
        return item.left < layout.first ? 1 : item.right - item.left;
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

    // open_right(0, t) with a single root: everything before t hangs below t.
    ARBORA_INLINE Value open_root(int t) const { return P::times(left.at(layout.cell(1, t)), P::weight(score_root[t])); }
};

}  // namespace arbora
