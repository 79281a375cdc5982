// The recurrences of factorization/arc.hpp as vector programs, for any semiring, and the way back down for marginals.
#pragma once

#include "factorization/arc.hpp"
#include "kernels/lanes.hpp"

namespace arbora::ARBORA_ISA {

// Spans of width 0: the empty product. Filled past the end, for the lanes that lie there.
template <class S>
ARBORA_INLINE static inline void begin(const Diagonals& d, typename S::Plane right, typename S::Plane left) {
    for (int s = 0; s < d.stride; s += W) {
        S::store(right, s, S::unit());
        S::store(left, s, S::unit());
    }
}

// The two ways to complete the spans of one width, once their open items are there.
template <class S, class Charts>
ARBORA_INLINE static inline void complete(Charts& c, int width, int s) {
    const std::ptrdiff_t stride = c.layout.stride, row = c.layout.row(width), inner = c.layout.row(width - 1);
    // right(s, t) = SUM_{k=1..width} open_right(s, s+k) * right(s+k, t)
    S::store(c.right, row + s, S::dot({c.open_right, stride + s, stride}, {c.right, inner + s + 1, 1 - stride}, width));
    // left(s, t) = SUM_{k=0..width-1} left(s, s+k) * open_left(s+k, t)
    S::store(c.left, row + s, S::dot({c.left, s, stride}, {c.open_left, row + s, 1 - stride}, width));
}

// SUM_{k=0..width-1} right(s, s+k) * left(s+k+1, t)
template <class S, class Charts>
ARBORA_INLINE static inline typename S::V join(const Charts& c, int width, int s) {
    const std::ptrdiff_t stride = c.layout.stride;
    return S::dot({c.right, s, stride}, {c.left, c.layout.row(width - 1) + s + 1, 1 - stride}, width);
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

template <class S>
void inside_arc(ArcCharts<typename S::Plane>& c) {
    const Diagonals& d = c.layout;
    begin<S>(d, c.right, c.left);
    for (int width = 1; width <= d.n - c.first(); ++width) {
        const std::ptrdiff_t row = d.row(width);
        for (int s = c.first(); s + width <= d.n; s += W) {
            const auto joined = join<S>(c, width, s);
            S::store(c.joined, row + s, joined);
            S::store(c.open_right, row + s, S::times(joined, S::load(c.arc_right, row + s)));
            S::store(c.open_left, row + s, S::times(joined, S::load(c.arc_left, row + s)));
            complete<S>(c, width, s);
        }
    }
    c.goal = goal(c);
}

// Posterior probabilities of items, gathered top-down: each item hands its probability to the ways it can be built, in
// proportion to their share of its inside value. Plain doubles suffice, since every share is at most one, and shares sum to
// one by construction, so marginals do too.
struct Shares {
    // Items less probable than this hand nothing on.
    static constexpr double kNegligible = 1e-30;

    // What a vector of items hands on; lanes past the last span, or negligible, hand on nothing.
    struct Giver {
        Vec factor, base;
        IVec alive;
    };

    ARBORA_INLINE static Giver giver(Vec probability, VecExtended whole, int lanes) {
        const IVec alive = (probability > broadcast(kNegligible)) & first_lanes(lanes);
        return {probability / whole.mantissa, whole.exponent, alive};
    }

    ARBORA_INLINE static void add(double* to, Vec amount) { store(to, load(to) + amount); }

    // To the products a[k] * b[k].
    ARBORA_INLINE static void give(const Giver& g, Walk<LogPlane> a, Walk<LogPlane> b, double* to_a, double* to_b, int count) {
        if (!any(g.alive)) return;
        std::ptrdiff_t i = a.start, j = b.start;
        for (int k = 0; k < count; ++k, i += a.step, j += b.step) {
            const Vec gap = (load(a.plane.exponent + i) + load(b.plane.exponent + j)) - g.base;
            const Vec all = load(a.plane.mantissa + i) * load(b.plane.mantissa + j) * g.factor * power_of_two(gap);
            const Vec part = select(g.alive, all, Vec{});
            add(to_a + i, part);
            add(to_b + j, part);
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
        const double probability = ratio(c.open_root(r) * c.right.at(d.cell(r, d.n)), c.goal);
        f.open_right[d.cell(0, r)] = probability;
        f.left[d.cell(1, r)] += probability;
        f.right[d.cell(r, d.n)] += probability;
    }
}

// From complete items to the open ones they are made of.
template <class Charts>
ARBORA_INLINE static inline void flow_complete(const Charts& c, FlowPlanes& f, int width, int s) {
    const std::ptrdiff_t stride = c.layout.stride, row = c.layout.row(width), inner = c.layout.row(width - 1);
    const int lanes = c.layout.n - width - s + 1;
    Shares::give(Shares::giver(load(f.right + row + s), LogLanes::load(c.right, row + s), lanes), {c.open_right, stride + s, stride},
                 {c.right, inner + s + 1, 1 - stride}, f.open_right, f.right, width);
    Shares::give(Shares::giver(load(f.left + row + s), LogLanes::load(c.left, row + s), lanes), {c.left, s, stride},
                 {c.open_left, row + s, 1 - stride}, f.left, f.open_left, width);
}

// From joined (or between) items to the complete ones they are made of.
template <class Charts>
ARBORA_INLINE static inline void flow_joined(const Charts& c, FlowPlanes& f, LogPlane joined, Vec probability, int width, int s) {
    const std::ptrdiff_t stride = c.layout.stride;
    Shares::give(Shares::giver(probability, LogLanes::load(joined, c.layout.row(width) + s), c.layout.n - width - s + 1),
                 {c.right, s, stride}, {c.left, c.layout.row(width - 1) + s + 1, 1 - stride}, f.right, f.left, width);
}

// f, zeroed by the caller: afterwards f.open_right(s, t) = P(s -> t) and f.open_left(s, t) = P(t -> s).
static void flow_arc(const ArcCharts<LogPlane>& c, FlowPlanes f) {
    const Diagonals& d = c.layout;
    flow_goal(c, f);
    for (int width = d.n - c.first(); width >= 1; --width) {
        for (int s = c.first(); s + width <= d.n; s += W) {
            flow_complete(c, f, width, s);
            const std::ptrdiff_t at = d.row(width) + s;
            flow_joined(c, f, c.joined, load(f.open_right + at) + load(f.open_left + at), width, s);
        }
    }
}

}  // namespace arbora::ARBORA_ISA
