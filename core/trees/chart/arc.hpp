// First-order projective trees: the score of a tree is the sum of its arcs' scores.
//
// Eisner's items [eisner-1996], head marked with *, for words s <= t:
//   right(s*, t), left(s, t*)            complete: the head has all its dependents on that side within the span
//   open_right(s*, t), open_left(s, t*)  incomplete: an arc between s and t, dependents of t (s) inside still complete
// Recurrences (vector form: kernels/inside_arc.hpp):
//   joined(s, t)     = SUM_{s <= r < t}  right(s, r) * left(r+1, t)
//   open_right(s, t) = joined(s, t) * arc(s, t)
//   open_left(s, t)  = joined(s, t) * arc(t, s)
//   right(s, t)      = SUM_{s < r <= t}  open_right(s, r) * right(r, t)
//   left(s, t)       = SUM_{s <= r < t}  left(s, r) * open_left(r, t)
// The root is position 0. With several roots it is a word like any other that only takes dependents on its right. With a single
// root, goal = SUM_r left(1, r) * arc(0, r) * right(r, n). Each tree has exactly one derivation. Time O(n^3), space O(n^2).
#pragma once

#include <type_traits>

#include "trees/chart/layout.hpp"

namespace arbora {

// Checked copies of arc scores; `root` is arc(0, t) by t, whether or not the root takes part in spans.
struct ArcScores {
    double *right, *left, *root;

    // Whole vectors, plus one.
    static std::size_t root_size(int n) { return (static_cast<std::size_t>(n) + 1 + 8 + 7) / 8 * 8; }
};

// Shared with sibling.hpp: Eisner's four kinds of items and the root. For arcs, right(s, t) is arc(s, t) and left(s, t) is arc(t, s).
template <class P>
struct SpanCharts {
    using Plane = P;
    using Value = typename P::Value;
    enum Kind : std::int16_t { kRight, kLeft, kOpenRight, kOpenLeft, kBetween, kGoal, kKinds };

    Diagonals layout;
    Roots roots = Roots::single;
    const double *score_right = nullptr, *score_left = nullptr;
    const double* score_root = nullptr;  // arc(0, t) by t
    P arc_right, arc_left, arc_root, right, left, open_right, open_left;
    // PlainPlane only: weights of arcs to word t, and of items with that arc, are 2^-shift[t] times their true values.
    const double* shift = nullptr;
    Value goal = P::kZero;

    void take_planes(Arena& arena, Diagonals diagonals, Roots root_arcs) {
        layout = diagonals;
        roots = root_arcs;
        for (P* plane : {&right, &left, &open_right, &open_left}) *plane = take_plane<P>(arena, layout.size());
    }

    // Scores of arcs, and room for the weights of arcs that share no memory with them.
    void take_weights(Arena& arena, const ArcScores& scores) {
        score_right = scores.right;
        score_left = scores.left;
        score_root = scores.root;
        arc_right = take_plane<P>(arena, layout.size());
        arc_left = take_plane<P>(arena, layout.size());
        arc_root = take_plane<P>(arena, ArcScores::root_size(layout.n));
    }

    Item top() const { return {kGoal, 0, layout.n}; }

    static bool is_leaf(Item item) { return item.kind <= kLeft && item.left == item.right; }

    // The root's item, if the root is not part of spans.
    bool is_root_item(Item item) const { return item.left < layout.first && item.kind == kOpenRight; }

    // The arc that an item adds, and its score.
    Arc arc(Item item) const {
        if (item.kind == kOpenRight) return {item.left, item.right};
        if (item.kind == kOpenLeft) return {item.right, item.left};
        return {0, 0};
    }
    double constant(Item item) const {
        if (item.kind != kOpenRight && item.kind != kOpenLeft) return 0.0;
        const bool right_arc = item.kind == kOpenRight;
        const double* scores = right_arc ? score_right : score_left;
        const double score = is_root_item(item) ? score_root[item.right] : scores[layout.cell(item.left, item.right)];
        if constexpr (std::is_same_v<P, PlainPlane>) return score - shift[right_arc ? item.right : item.left] * 0x1.62e42fefa39efp-1;
        return score;
    }

    // The sum over all trees, at its own scale.
    Extended total() const {
        Extended sum = extended(goal);
        if constexpr (std::is_same_v<P, PlainPlane>)
            for (int t = 1; t <= layout.n && !sum.is_zero(); ++t) sum.exponent += shift[t];
        return sum;
    }

    int edge_count(Item item) const {
        if (item.kind == kGoal) return roots == Roots::single ? layout.n : 1;
        return is_root_item(item) ? 1 : item.right - item.left;
    }

protected:
    Value span_value(Item item) const {
        const P& plane = item.kind == kRight ? right : item.kind == kLeft ? left : item.kind == kOpenRight ? open_right : open_left;
        return plane.at(layout.cell(item.left, item.right));
    }

    // Edges of complete items and of the goal.
    Edge span_edge(Item item, int index) const {
        const int s = item.left, t = item.right;
        if (item.kind == kRight) return {{kOpenRight, s, s + index + 1}, {kRight, s + index + 1, t}, 0.0};
        if (item.kind == kLeft) return {{kLeft, s, s + index}, {kOpenLeft, s + index, t}, 0.0};
        if (roots == Roots::multi) return {{kRight, 0, t}, {kRight, t, t}, 0.0};
        return {{kOpenRight, 0, index + 1}, {kRight, index + 1, t}, 0.0};
    }

    // Two adjacent complete spans.
    static Edge meeting(int s, int t, int index) { return {{kRight, s, s + index}, {kLeft, s + index + 1, t}, 0.0}; }
};

template <class P>
struct ArcCharts : SpanCharts<P> {
    using Base = SpanCharts<P>;
    using Value = typename P::Value;
    P joined;

    static ArcCharts take(Arena& arena, Diagonals layout, Roots roots, const double* /*siblings*/ = nullptr) {
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

    // open_right(0, t) with a single root: everything before t is below t.
    ARBORA_INLINE Value open_root(int t) const {
        return P::times(this->left.at(this->layout.cell(1, t)), this->arc_root.at(t));
    }
};

}  // namespace arbora
