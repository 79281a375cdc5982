// Second-order projective trees: arcs, and pairs of adjacent dependents on one side of a head [mcdonald-2006].
//
// sibling(h, d, r): d is a dependent of h and r the next dependent of h between them; r = h if d is the nearest one.
// Items of arc.hpp, and between(r, t): two neighbouring dependents r < t of one head outside the span, with everything between
// them. For words s <= t (vector form: kernels/inside_sibling.hpp):
//   between(s, t)    = SUM_{s <= r < t}  right(s, r) * left(r+1, t)
//   open_right(s, t) = arc(s, t) * [ left(s+1, t) * sibling(s, t, s)
//                                    + SUM_{s < r < t} open_right(s, r) * between(r, t) * sibling(s, t, r) ]
//   open_left(s, t)  = arc(t, s) * [ right(s, t-1) * sibling(t, s, t)
//                                    + SUM_{s < r < t} between(s, r) * open_left(r, t) * sibling(t, s, r) ]
//   right, left, and the root as in arc.hpp.
// Each tree has exactly one derivation. Time O(n^3), space O(n^2) beside the scores.
#pragma once

#include "trees/chart/arc.hpp"

namespace arbora {

template <class P>
struct SiblingCharts : SpanCharts<P> {
    using Base = SpanCharts<P>;
    using Value = typename P::Value;
    const double* siblings = nullptr;  // [head, dep, sibling], dense, (n+1)^3
    P between;
    double* scratch = nullptr;      // weights of the siblings of one vector of arcs
    const double* zeros = nullptr;  // scores for lanes without an arc
    // For marginals: each sibling's share of its arc's item (in plain doubles the term itself), in the order of the outside pass.
    double* shares = nullptr;

    static SiblingCharts take(Arena& arena, Diagonals layout, Roots roots, const double* siblings) {
        SiblingCharts charts;
        charts.take_planes(arena, layout, roots);
        charts.siblings = siblings;
        charts.between = take_plane<P>(arena, layout.size());
        charts.scratch = arena.take<double>(static_cast<std::size_t>(layout.n + 2) * 16);
        charts.zeros = std::fill_n(arena.take<double>(layout.n + 10), layout.n + 10, 0.0) - (layout.n + 10);
        return charts;
    }

    double sibling(int head, int dep, int next) const { return allowed(sibling_row(head, dep)[next]); }

    // Call before the inside pass if marginals will be needed. O(n^3) space, a third of that of the scores.
    void keep_shares(Arena& arena) {
        constexpr int kMostLanes = 8;
        const int first = this->layout.first, longest = this->layout.n - first;
        shares = arena.take<double>(share_offset(first) + width_offset(longest + 1) * kMostLanes);
    }

    // Shares of a vector of spans from s: by width, one vector for each way to build the arc, to the right and to the left.
    ARBORA_INLINE double* shares_at(int width, int s, int lanes) const { return shares + share_offset(s) + width_offset(width) * lanes; }
    // sum over w < width of 2 w
    ARBORA_INLINE static std::size_t width_offset(int width) { return static_cast<std::size_t>(width) * (width - 1); }
    // sum over w <= longest of w (w + 1), where each left end s has spans of 1 .. longest: room for all vectors of larger s, for
    // any number of lanes. Rounded up to whole cache lines.
    ARBORA_INLINE std::size_t share_offset(int s) const {
        const std::size_t longest = this->layout.n - s;
        return (longest * (longest + 1) * (longest + 2) / 3 + 7) / 8 * 8;
    }

    // sibling(head, dep, .)
    ARBORA_INLINE const double* sibling_row(int head, int dep) const {
        const std::ptrdiff_t nodes = this->layout.n + 1;
        return siblings + (head * nodes + dep) * nodes;
    }

    Value value(Item item) const {
        if (Base::is_leaf(item)) return P::kUnit;
        if (item.kind == Base::kGoal) return this->goal;
        if (item.kind == Base::kBetween) return between.at(this->layout.cell(item.left, item.right));
        return this->is_root_item(item) ? open_root(item.right) : this->span_value(item);
    }

    Edge edge(Item item, int index) const {
        const int s = item.left, t = item.right;
        switch (item.kind) {
            case Base::kBetween: return Base::meeting(s, t, index);
            case Base::kOpenRight:
                if (index == 0) return {{Base::kRight, s, s}, {Base::kLeft, s + 1, t}, sibling(s, t, s)};
                return {{Base::kOpenRight, s, s + index}, {Base::kBetween, s + index, t}, sibling(s, t, s + index)};
            case Base::kOpenLeft:
                if (index == 0) return {{Base::kRight, s, t - 1}, {Base::kLeft, t, t}, sibling(t, s, t)};
                return {{Base::kBetween, s, s + index}, {Base::kOpenLeft, s + index, t}, sibling(t, s, s + index)};
            default: return this->span_edge(item, index);
        }
    }

    // open_right(0, t) with a single root: everything before t is below t, the root's nearest dependent.
    ARBORA_INLINE Value open_root(int t) const {
        const Value own = P::times(this->arc_root.at(t), P::weight(sibling_row(0, t)[0]));
        return P::times(this->left.at(this->layout.cell(1, t)), own);
    }
};

}  // namespace arbora
