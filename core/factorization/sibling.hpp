// Second-order projective trees: arcs, and pairs of adjacent dependents on one side of a head [mcdonald-2006].
//
// sibling(h, d, r): d is a dependent of h and r the next dependent of h between them; r = h where d is the nearest one.
// Items of factorization/arc.hpp, and between(r, t): two neighbouring dependents r < t of one head outside the span, with
// what lies between them. For words s <= t (vector form: kernels/inside_sibling.hpp):
//   between(s, t)    = SUM_{s <= r < t}  right(s, r) * left(r+1, t)
//   open_right(s, t) = arc(s, t) * [ left(s+1, t) * sibling(s, t, s)
//                                    + SUM_{s < r < t} open_right(s, r) * between(r, t) * sibling(s, t, r) ]
//   open_left(s, t)  = arc(t, s) * [ right(s, t-1) * sibling(t, s, t)
//                                    + SUM_{s < r < t} between(s, r) * open_left(r, t) * sibling(t, s, r) ]
//   right, left, and the root as in factorization/arc.hpp.
// Each tree has exactly one derivation. Time O(n^3), space O(n^2) beside the scores.
#pragma once

#include "factorization/layout.hpp"

namespace arbora {

template <class P>
struct SiblingCharts {
    using Plane = P;
    using Value = typename P::Value;
    enum Kind : std::int16_t { kRight, kLeft, kOpenRight, kOpenLeft, kBetween, kGoal, kKinds };

    Diagonals layout;
    Roots roots = Roots::single;
    const double *score_right = nullptr, *score_left = nullptr;  // of arcs, as in ArcCharts
    const double* score_root = nullptr;                          // arc(0, t) by t
    const double* siblings = nullptr;                            // [head, dep, sibling], dense, (n+1)^3
    P arc_right, arc_left, right, left, open_right, open_left, between;
    double* scratch = nullptr;      // weights of the siblings of one vector of arcs
    // Where marginals will be asked for, [head, dep, sibling] as `siblings`: the inside pass leaves here each sibling's share of its
    // arc's item, so that the way down need not weigh it again; the way down turns shares into probabilities.
    double* shares = nullptr;
    const double* zeros = nullptr;  // scores for lanes without an arc
    Value goal = P::kZero;

    static SiblingCharts take(Arena& arena, Diagonals layout, Roots roots, const double* siblings) {
        SiblingCharts charts;
        charts.layout = layout;
        charts.roots = roots;
        charts.siblings = siblings;
        for (P* plane : {&charts.right, &charts.left, &charts.open_right, &charts.open_left, &charts.between}) {
            *plane = take_plane<P>(arena, layout.size());
        }
        charts.scratch = arena.take<double>(static_cast<std::size_t>(layout.n + 2) * 16);
        auto* zeros = arena.take<double>(layout.n + 2);
        for (int i = 0; i < layout.n + 2; ++i) zeros[i] = 0.0;
        charts.zeros = zeros;
        return charts;
    }

    // sibling(head, dep, .)
    ARBORA_INLINE const double* sibling_row(int head, int dep) const {
        const std::ptrdiff_t nodes = layout.n + 1;
        return siblings + (head * nodes + dep) * nodes;
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
            case kBetween: return between.at(cell);
            default: return goal;
        }
    }

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
            case kBetween: return {{kRight, s, s + index}, {kLeft, s + index + 1, t}, 0.0};
            case kOpenRight:
                if (index == 0) return {{kRight, s, s}, {kLeft, s + 1, t}, sibling_row(s, t)[s]};
                return {{kOpenRight, s, s + index}, {kBetween, s + index, t}, sibling_row(s, t)[s + index]};
            case kOpenLeft:
                if (index == 0) return {{kRight, s, t - 1}, {kLeft, t, t}, sibling_row(t, s)[t]};
                return {{kBetween, s, s + index}, {kOpenLeft, s + index, t}, sibling_row(t, s)[s + index]};
            case kRight: return {{kOpenRight, s, s + index + 1}, {kRight, s + index + 1, t}, 0.0};
            case kLeft: return {{kLeft, s, s + index}, {kOpenLeft, s + index, t}, 0.0};
            default:
                if (roots == Roots::multi) return {{kRight, 0, t}, {kRight, t, t}, 0.0};
                return {{kOpenRight, 0, index + 1}, {kRight, index + 1, t}, 0.0};
        }
    }

    // open_right(0, t) with a single root: everything before t hangs below t, which is the root's nearest dependent.
    ARBORA_INLINE Value open_root(int t) const {
        return P::times(left.at(layout.cell(1, t)), P::times(P::weight(score_root[t]), P::weight(sibling_row(0, t)[0])));
    }
};

}  // namespace arbora
