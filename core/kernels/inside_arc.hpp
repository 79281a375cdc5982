// The recurrences of factorization/arc.hpp as vector programs, for any semiring, and the way back down for marginals.
#pragma once

#include <initializer_list>

#include "factorization/arc.hpp"
#include "kernels/semirings.hpp"

namespace arbora::ARBORA_ISA {

template <class S>
ARBORA_INLINE static inline void put(const Square& square, typename S::Plane plane, int s, int t, typename S::Value value) {
    plane.set(square.cell(s, t), value);
    plane.set(square.cell(t, s), value);
}

// Vectors read past the end of a run. In each dot product one operand (right, left or open_right) is still zero there; the
// other must be a number, which memory left over from something else need not be. So all planes start as zero.
template <class S>
ARBORA_INLINE static inline void clear(const Square& q, std::initializer_list<typename S::Plane> planes, typename S::Plane right,
                                       typename S::Plane left) {
    for (const auto plane : planes) fill_zero(plane, q.size());
    for (int i = 0; i <= q.n; ++i) {
        right.set(q.cell(i, i), S::Plane::kUnit);
        left.set(q.cell(i, i), S::Plane::kUnit);
    }
}

// The root takes dependents on its right only, after all items over words are there.
template <class S>
ARBORA_INLINE static inline void inside_arc_root(ArcCharts<typename S::Plane>& c) {
    const Square& q = c.square;
    const auto right0 = c.right + q.line(0), open0 = c.open_right + q.line(0);
    for (int t = 1; t <= q.n; ++t) {
        const auto joined = c.roots == Roots::single ? c.left.at(q.cell(1, t)) : S::dot(right0, c.left + (q.line(t) + 1), t);
        c.joined.set(q.cell(0, t), joined);
        put<S>(q, c.open_right, 0, t, S::times(joined, c.arcs.at(q.cell(0, t))));
        if (c.roots == Roots::multi || t == q.n) {
            put<S>(q, c.right, 0, t, S::dot(open0 + 1, c.right + (q.line(t) + 1), t));
        }
    }
    c.goal = c.right.at(q.cell(0, q.n));
}

template <class S>
void inside_arc(ArcCharts<typename S::Plane>& c) {
    const Square& q = c.square;
    clear<S>(q, {c.right, c.left, c.open_right, c.open_left}, c.right, c.left);
    for (int width = 1; width < q.n; ++width) {
        for (int s = 1; s + width <= q.n; ++s) {
            const int t = s + width;
            const auto line_s = q.line(s), line_t = q.line(t);
            const auto joined = S::dot(c.right + (line_s + s), c.left + (line_t + s + 1), width);
            c.joined.set(q.cell(s, t), joined);
            put<S>(q, c.open_right, s, t, S::times(joined, c.arcs.at(q.cell(s, t))));
            put<S>(q, c.open_left, s, t, S::times(joined, c.arcs.at(q.cell(t, s))));
            put<S>(q, c.right, s, t, S::dot(c.open_right + (line_s + s + 1), c.right + (line_t + s + 1), width));
            put<S>(q, c.left, s, t, S::dot(c.left + (line_s + s), c.open_left + (line_t + s), width));
        }
    }
    inside_arc_root<S>(c);
}

// Posterior probabilities of items, gathered top-down: each item hands its probability to the ways it can be built, in
// proportion to their share of its inside value. Plain doubles suffice, since every share is at most one, and shares sum to
// one by construction, so marginals do too. Cell (s, t) collects what an item gets as first child, (t, s) as second.
struct Flow {
    const Square& q;
    double* right;
    double* left;
    double* open_right;
    double* open_left;

    static constexpr double kNegligible = 1e-30;

    ARBORA_INLINE static inline double taken(const Square& q, const double* plane, int s, int t) {
        return plane[q.cell(s, t)] + plane[q.cell(t, s)];
    }

    // Hands `probability` of an item with value `whole` to the products a[i] * b[i].
    ARBORA_INLINE static inline void share(double probability, Extended whole, LogPlane a, LogPlane b, double* to_a, double* to_b, int length) {
        const Vec factor = broadcast(probability / whole.mantissa), base = broadcast(whole.exponent);
        for (int i = 0; i < length; i += W) {
            const Vec gap = load(a.exponent + i) + load(b.exponent + i) - base;
            Vec part = load(a.mantissa + i) * load(b.mantissa + i) * factor * power_of_two(gap);
            if (i + W > length) part = select(first_lanes(length - i), part, Vec{});
            store(to_a + i, load(to_a + i) + part);
            store(to_b + i, load(to_b + i) + part);
        }
    }
};

ARBORA_INLINE static inline void flow_arc_root(const ArcCharts<LogPlane>& c, Flow& f, double* marginals) {
    const Square& q = c.square;
    const auto line0 = q.line(0);
    f.right[q.cell(0, q.n)] = 1.0;
    for (int t = q.n; t >= 1; --t) {
        const double whole = t == q.n ? 1.0 : f.right[q.cell(0, t)];
        if (whole > Flow::kNegligible) {
            Flow::share(whole, c.right.at(q.cell(0, t)), c.open_right + (line0 + 1), c.right + (q.line(t) + 1),
                        f.open_right + 1, f.right + q.line(t) + 1, t);
        }
        const double open = f.open_right[t];
        marginals[q.cell(0, t)] = open;
        if (open <= Flow::kNegligible) continue;
        if (c.roots == Roots::single) {
            f.left[q.cell(1, t)] += open;
        } else {
            Flow::share(open, c.joined.at(q.cell(0, t)), c.right + line0, c.left + (q.line(t) + 1), f.right, f.left + q.line(t) + 1, t);
        }
    }
}

// marginals (Square layout, zeroed by the caller, as are the planes of f) <- P(arc h -> d).
static void flow_arc(const ArcCharts<LogPlane>& c, Flow f, double* marginals) {
    const Square& q = c.square;
    flow_arc_root(c, f, marginals);
    for (int width = q.n - 1; width >= 1; --width) {
        for (int s = 1; s + width <= q.n; ++s) {
            const int t = s + width;
            const auto line_s = q.line(s), line_t = q.line(t);
            const double right = Flow::taken(q, f.right, s, t), left = Flow::taken(q, f.left, s, t);
            if (right > Flow::kNegligible) {
                Flow::share(right, c.right.at(q.cell(s, t)), c.open_right + (line_s + s + 1), c.right + (line_t + s + 1),
                            f.open_right + line_s + s + 1, f.right + line_t + s + 1, width);
            }
            if (left > Flow::kNegligible) {
                Flow::share(left, c.left.at(q.cell(s, t)), c.left + (line_s + s), c.open_left + (line_t + s),
                            f.left + line_s + s, f.open_left + line_t + s, width);
            }
            const double open_right = f.open_right[q.cell(s, t)], open_left = f.open_left[q.cell(t, s)];
            marginals[q.cell(s, t)] = open_right;
            marginals[q.cell(t, s)] = open_left;
            if (open_right + open_left > Flow::kNegligible) {
                Flow::share(open_right + open_left, c.joined.at(q.cell(s, t)), c.right + (line_s + s), c.left + (line_t + s + 1),
                            f.right + line_s + s, f.left + line_t + s + 1, width);
            }
        }
    }
}

}  // namespace arbora::ARBORA_ISA
