// The recurrences of trees/chart/arc.hpp as vector programs, for any semiring, and the outside pass for marginals.
#pragma once

#include "base/interrupt.hpp"
#include "trees/chart/arc.hpp"
#include "numeric/kernels/lanes.hpp"

namespace arbora::ARBORA_ISA {

// Check for interruption once in so many widths: in sentences of thousands of words, all widths of a vector take seconds.
ARBORA_INLINE static inline void check_width(int width) {
    constexpr int kWidths = 64;
    if (width % kWidths == 0) check_stop(static_cast<std::size_t>(kWidths) * 8 * static_cast<std::size_t>(width));
}

// The order of the charts: by vectors of left ends, last ones first, and then by width. Each span comes after the spans within it.
// The parts to its left stay in the cache, those to its right are fetched once per vector, and rows of sibling scores are read in
// memory order.
ARBORA_INLINE static inline int last_vector(const Diagonals& d) { return d.first + (d.n - d.first) / W * W; }

// visit(width, s) for all vectors of spans; `end(s)` after those of each s; stops if it returns false.
template <class Visit, class End>
ARBORA_INLINE static inline bool upwards(const Diagonals& d, Visit visit, End end) {
    for (int s = last_vector(d); s >= d.first; s -= W) {
        for (int width = 1; s + width <= d.n; ++width) {
            check_width(width);
            visit(width, s);
        }
        check_stop(static_cast<std::size_t>(d.n) * static_cast<std::size_t>(d.n));
        if (!end()) return false;
    }
    return true;
}

// The same in reverse: each span before the spans within it.
template <class Visit>
ARBORA_INLINE static inline void downwards(const Diagonals& d, Visit visit) {
    for (int s = d.first; s <= d.n; s += W) {
        check_stop(static_cast<std::size_t>(d.n) * static_cast<std::size_t>(d.n));
        for (int width = d.n - s; width >= 1; --width) {
            check_width(width);
            visit(width, s);
        }
    }
}

// Spans of width 0: the empty product. Filled past the end, for the lanes that lie there.
template <class S>
ARBORA_INLINE static inline void begin(const Diagonals& d, typename S::Plane right, typename S::Plane left) {
    for (int s = 0; s < d.stride; s += W) {
        S::store(right, s, S::unit());
        S::store(left, s, S::unit());
    }
}

// The items that form a vector of spans: SUM over k of first[k] * second[k].
template <class Plane>
struct Ways {
    Walk<Plane> first, second;
};

// right(s, t) = SUM_{k=1..width} open_right(s, s+k) * right(s+k, t)
template <class Charts>
ARBORA_INLINE static inline Ways<typename Charts::Plane> right_ways(const Charts& c, int width, int s) {
    const Diagonals& d = c.layout;
    return {{c.open_right, d.at(1, s), d.stride}, {c.right, d.at(width - 1, s + 1), 1 - d.stride}};
}

// left(s, t) = SUM_{k=0..width-1} left(s, s+k) * open_left(s+k, t)
template <class Charts>
ARBORA_INLINE static inline Ways<typename Charts::Plane> left_ways(const Charts& c, int width, int s) {
    const Diagonals& d = c.layout;
    return {{c.left, d.at(0, s), d.stride}, {c.open_left, d.at(width, s), 1 - d.stride}};
}

// joined(s, t) = SUM_{k=0..width-1} right(s, s+k) * left(s+k+1, t)
template <class Charts>
ARBORA_INLINE static inline Ways<typename Charts::Plane> joined_ways(const Charts& c, int width, int s) {
    const Diagonals& d = c.layout;
    return {{c.right, d.at(0, s), d.stride}, {c.left, d.at(width - 1, s + 1), 1 - d.stride}};
}

template <class S, class Plane>
ARBORA_INLINE static inline typename S::V sum_of(const Ways<Plane>& ways, int width) {
    return S::dot(ways.first, ways.second, width);
}

// The complete items of a vector of spans; requires their open items.
template <class S, class Charts>
ARBORA_INLINE static inline void complete(Charts& c, int width, int s) {
    const std::ptrdiff_t here = c.layout.at(width, s);
    S::store(c.right, here, sum_of<S>(right_ways(c, width, s), width));
    S::store(c.left, here, sum_of<S>(left_ways(c, width, s), width));
}

// The goal: right(0, n), or with a single root the sum over its dependents.
template <class Charts>
ARBORA_INLINE static inline typename Charts::Value goal(const Charts& c) {
    using Plane = typename Charts::Plane;
    const int n = c.layout.n;
    if (c.roots == Roots::multi) return c.right.at(c.layout.cell(0, n));
    auto sum = Plane::kZero;
    for (int r = 1; r <= n; ++r) sum = Plane::plus(sum, Plane::times(c.open_root(r), c.right.at(c.layout.cell(r, n))));
    return sum;
}

// Plain doubles: which of the values just computed are out of bounds?
template <class Charts>
ARBORA_INLINE static inline IVec outside_bounds(const Charts& c, PlainPlane middle, int width, int s) {
    const std::ptrdiff_t here = c.layout.at(width, s);
    IVec bad = PlainLanes::outside(PlainLanes::load(middle, here));
    bad |= PlainLanes::outside(PlainLanes::load(c.right, here)) | PlainLanes::outside(PlainLanes::load(c.left, here));
    bad |= PlainLanes::outside(PlainLanes::load(c.open_right, here)) | PlainLanes::outside(PlainLanes::load(c.open_left, here));
    return bad & first_lanes(c.layout.spans(width, s));
}

// Returns false if values leave the bounds of PlainPlane: then the chart is unfinished.
template <class S>
bool inside_arc(ArcCharts<typename S::Plane>& c) {
    const Diagonals& d = c.layout;
    begin<S>(d, c.right, c.left);
    IVec outside{};
    const auto fill = [&](int width, int s) __attribute__((always_inline)) {
        const std::ptrdiff_t here = d.at(width, s);
        const auto joined = sum_of<S>(joined_ways(c, width, s), width);
        S::store(c.joined, here, joined);
        S::store(c.open_right, here, S::times(joined, S::load(c.arc_right, here)));
        S::store(c.open_left, here, S::times(joined, S::load(c.arc_left, here)));
        complete<S>(c, width, s);
        if constexpr (std::is_same_v<S, PlainLanes>) outside |= outside_bounds(c, c.joined, width, s);
    };
    if (!upwards(d, fill, [&]() __attribute__((always_inline)) { return !any(outside); })) return false;
    c.goal = goal(c);
    return true;
}

// Posterior probabilities of items, computed top-down: each item distributes its probability over the ways to build it, in
// proportion to their share of its inside value. Plain doubles suffice: every share is at most one, and shares sum to one, so
// marginals do too.
struct Shares {
    // Less probable items distribute nothing.
    static constexpr double kNegligible = 1e-30;

    ARBORA_INLINE static void add(double* to, Vec amount) { store(to, load(to) + amount); }

    // From the items `whole` to the ways to build them; lanes past the last span, or negligible ones, distribute nothing.
    template <class Plane>
    ARBORA_INLINE static void give(Vec probability, Plane whole, std::ptrdiff_t here, int lanes, const Ways<Plane>& ways, double* to_first,
                                   double* to_second, int count) {
        using S = LanesOf<Plane>;
        const auto& [a, b] = ways;
        const IVec alive = (probability > broadcast(kNegligible)) & first_lanes(lanes);
        if (!any(alive)) return;
        const auto giver = S::giver(probability, S::load(whole, here));
        std::ptrdiff_t i = a.start, j = b.start;
        for (int k = 0; k < count; ++k, i += a.step, j += b.step) {
            const Vec part = select(alive, S::part(giver, a.plane, i, b.plane, j), Vec{});
            add(to_first + i, part);
            add(to_second + j, part);
        }
    }
};

// The top of the flow: the whole sentence.
template <class Charts>
ARBORA_INLINE static inline void flow_goal(const Charts& c, FlowPlanes& f) {
    const Diagonals& d = c.layout;
    if (c.roots == Roots::multi) {
        f.right[d.cell(0, d.n)] = 1.0;
        return;
    }
    for (int r = 1; r <= d.n; ++r) {
        const auto part = Charts::Plane::times(c.open_root(r), c.right.at(d.cell(r, d.n)));
        const double probability = ratio(extended(part), extended(c.goal));
        f.root[r] = probability;
        f.left[d.cell(1, r)] += probability;
        f.right[d.cell(r, d.n)] += probability;
    }
}

// From complete items to their open items.
template <class Charts>
ARBORA_INLINE static inline void flow_complete(const Charts& c, FlowPlanes& f, int width, int s) {
    const std::ptrdiff_t here = c.layout.at(width, s);
    const int lanes = c.layout.spans(width, s);
    Shares::give(load(f.right + here), c.right, here, lanes, right_ways(c, width, s), f.open_right, f.right, width);
    Shares::give(load(f.left + here), c.left, here, lanes, left_ways(c, width, s), f.left, f.open_left, width);
}

// From joined (or between) items to their complete items.
template <class Charts>
ARBORA_INLINE static inline void flow_joined(const Charts& c, FlowPlanes& f, typename Charts::Plane joined, Vec probability, int width,
                                             int s) {
    Shares::give(probability, joined, c.layout.at(width, s), c.layout.spans(width, s), joined_ways(c, width, s), f.right, f.left, width);
}

// f, zeroed by the caller. Afterwards f.open_right(s, t) = P(s -> t), f.open_left(s, t) = P(t -> s), f.root[t] = P(0 -> t).
template <class Plane>
void flow_arc(const ArcCharts<Plane>& c, FlowPlanes f) {
    const Diagonals& d = c.layout;
    flow_goal(c, f);
    downwards(d, [&](int width, int s) __attribute__((always_inline)) {
        flow_complete(c, f, width, s);
        const std::ptrdiff_t here = d.at(width, s);
        flow_joined(c, f, c.joined, load(f.open_right + here) + load(f.open_left + here), width, s);
    });
}

}  // namespace arbora::ARBORA_ISA
