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

#include "trees/chart/span_charts.hpp"

namespace arbora {

template <class P>
struct ArcCharts : SpanCharts<P> {
    using Base = SpanCharts<P>;
    using Value = typename P::Value;
    P joined;

    static ArcCharts take(Arena& arena, Diagonals layout, Roots roots) {
        ArcCharts charts;
        charts.take_planes(arena, layout, roots);
        charts.joined = take_plane<P>(arena, layout.size());
        return charts;
    }

    Value value(Item item) const {
        if (Base::is_leaf(item)) return P::kUnit;
        if (item.kind == Base::kGoal) return this->goal;
        return this->is_root_item(item) ? open_root(item.right) : this->span_value(item);
    }

    Edge edge(Item item, int index) const {
        const bool open = item.kind == Base::kOpenRight || item.kind == Base::kOpenLeft;
        return open ? Base::meeting(item.left, item.right, index) : this->span_edge(item, index);
    }

    // open_right(0, t) with a single root: everything before t hangs below t.
    ARBORA_INLINE Value open_root(int t) const {
        return P::times(this->left.at(this->layout.cell(1, t)), this->arc_root.at(t));
    }
};

}  // namespace arbora
