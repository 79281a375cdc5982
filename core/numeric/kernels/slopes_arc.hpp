// The derivative of the marginals of first-order projective trees as scores move along a direction v.
//
// d P(arc) / dt at scores + t v is the covariance of the arc with the sum of v over the tree: a row of the Hessian of log Z times
// v. It is computed exactly by carrying one more number with every number that flow_arc computes (forward differentiation, the
// first-order expectation semiring of [li-eisner-2009] in relative numbers):
//   upwards,    rate(item) = d log(inside value) / dt = SUM over its ways of share * (rate(a) + rate(b)), plus v of the arc it
//   adds;
//   downwards,  part = P(item) * share, and d part = share * (d P(item) + P(item) * (rate(a) + rate(b) - rate(item))).
// Rates are expectations of v over parts of trees, so they have v's size and need no range beyond a double's. Time O(n^3), space
// O(n^2).
#pragma once

#include "numeric/kernels/inside_arc.hpp"

namespace arbora::ARBORA_ISA {

ARBORA_INLINE static inline IVec positive(Vec value) { return value > Vec{}; }
ARBORA_INLINE static inline IVec positive(const VecExtended& value) { return value.mantissa > Vec{}; }

// The rate of the items `whole`, built in these ways; 0 if they are zero, and in lanes past the last span.
template <class Plane>
ARBORA_INLINE static inline Vec mean_rate(Plane whole, std::ptrdiff_t here, int lanes, const Ways<Plane>& ways, const double* rate_a,
                                          const double* rate_b, int count) {
    using S = LanesOf<Plane>;
    const auto& [a, b] = ways;
    const auto value = S::load(whole, here);
    const IVec alive = positive(value) & first_lanes(lanes);
    if (!any(alive)) return Vec{};
    const auto giver = S::giver(broadcast(1.0), value);
    Vec sum{};
    std::ptrdiff_t i = a.start, j = b.start;
    for (int k = 0; k < count; ++k, i += a.step, j += b.step)
        sum += select(alive, S::part(giver, a.plane, i, b.plane, j) * (load(rate_a + i) + load(rate_b + j)), Vec{});
    return sum;
}

template <class Plane>
struct ArcSlopes {
    const ArcCharts<Plane>& c;
    const ArcScores& v;  // the direction
    FlowPlanes rate;   // `between` is that of joined items
    FlowPlanes flow;   // probabilities
    FlowPlanes slope;  // of those

    using S = LanesOf<Plane>;

    void upwards_rates() const {
        const auto fill = [&](int width, int s) __attribute__((always_inline)) {
            const std::ptrdiff_t at = c.layout.at(width, s);
            const int lanes = c.layout.spans(width, s);
            const IVec used = first_lanes(lanes);
            const Vec joined = mean_rate(c.joined, at, lanes, joined_ways(c, width, s), rate.right, rate.left, width);
            store(rate.between + at, joined);
            store(rate.open_right + at, select(used, joined + load(v.right + at), Vec{}));
            store(rate.open_left + at, select(used, joined + load(v.left + at), Vec{}));
            store(rate.right + at, mean_rate(c.right, at, lanes, right_ways(c, width, s), rate.open_right, rate.right, width));
            store(rate.left + at, mean_rate(c.left, at, lanes, left_ways(c, width, s), rate.left, rate.open_left, width));
        };
        upwards(c.layout, fill, [] { return true; });
    }

    void top() const {
        const Diagonals& d = c.layout;
        if (c.roots == Roots::multi) {
            flow.right[d.cell(0, d.n)] = 1.0;
            return;
        }
        double mean = 0.0;
        for (int r = 1; r <= d.n; ++r) {
            const auto part = Plane::times(c.open_root(r), c.right.at(d.cell(r, d.n)));
            flow.root[r] = ratio(extended(part), extended(c.goal));
            rate.root[r] = rate.left[d.cell(1, r)] + v.root[r] + rate.right[d.cell(r, d.n)];
            mean += flow.root[r] * rate.root[r];
        }
        for (int r = 1; r <= d.n; ++r) {
            slope.root[r] = flow.root[r] * (rate.root[r] - mean);
            flow.left[d.cell(1, r)] += flow.root[r];
            flow.right[d.cell(r, d.n)] += flow.root[r];
            slope.left[d.cell(1, r)] += slope.root[r];
            slope.right[d.cell(r, d.n)] += slope.root[r];
        }
    }

    // Like Shares::give, with slopes.
    ARBORA_INLINE void give(Vec probability, Vec change, Plane whole, const double* rate_whole, std::ptrdiff_t at, int lanes,
                            const Ways<Plane>& ways, double* FlowPlanes::*to_a, double* FlowPlanes::*to_b, int count) const {
        const auto& [a, b] = ways;
        const IVec alive = (probability > broadcast(Shares::kNegligible)) & first_lanes(lanes);
        if (!any(alive)) return;
        const auto giver = S::giver(broadcast(1.0), S::load(whole, at));
        const Vec mean = load(rate_whole + at);
        std::ptrdiff_t i = a.start, j = b.start;
        for (int k = 0; k < count; ++k, i += a.step, j += b.step) {
            const Vec share = S::part(giver, a.plane, i, b.plane, j), excess = load(rate.*to_a + i) + load(rate.*to_b + j) - mean;
            const Vec part = select(alive, probability * share, Vec{});
            const Vec moved = select(alive, share * (change + probability * excess), Vec{});
            Shares::add(flow.*to_a + i, part);
            Shares::add(flow.*to_b + j, part);
            Shares::add(slope.*to_a + i, moved);
            Shares::add(slope.*to_b + j, moved);
        }
    }

    void downwards_slopes() const {
        using F = FlowPlanes;
        downwards(c.layout, [&](int width, int s) __attribute__((always_inline)) {
            const std::ptrdiff_t at = c.layout.at(width, s);
            const int lanes = c.layout.spans(width, s);
            give(load(flow.right + at), load(slope.right + at), c.right, rate.right, at, lanes, right_ways(c, width, s), &F::open_right,
                 &F::right, width);
            give(load(flow.left + at), load(slope.left + at), c.left, rate.left, at, lanes, left_ways(c, width, s), &F::left, &F::open_left,
                 width);
            give(load(flow.open_right + at) + load(flow.open_left + at), load(slope.open_right + at) + load(slope.open_left + at), c.joined,
                 rate.between, at, lanes, joined_ways(c, width, s), &F::right, &F::left, width);
        });
    }
};

// The caller zeroes all planes. Afterwards slope.open_right(s, t) = d P(s -> t) / dt, and so on as in flow_arc.
template <class Plane>
void slopes_arc(const ArcCharts<Plane>& c, const ArcScores& v, FlowPlanes rate, FlowPlanes flow, FlowPlanes slope) {
    const ArcSlopes<Plane> program{c, v, rate, flow, slope};
    program.upwards_rates();
    program.top();
    program.downwards_slopes();
}

}  // namespace arbora::ARBORA_ISA
