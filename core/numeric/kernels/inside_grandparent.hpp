// The recurrences of trees/chart/grandparent.hpp as vector programs, for any semiring, and the outside pass for marginals.
#pragma once

#include "base/interrupt.hpp"
#include "trees/chart/grandparent.hpp"
#include "numeric/kernels/inside_arc.hpp"

namespace arbora::ARBORA_ISA {

// A dot product with a masked tail, because here neither operand is zero past the end: the one with scores masks it.
template <class S>
ARBORA_INLINE static inline typename S::Value masked_dot(typename S::Plane a, typename S::Plane b, const double* scores, int length) {
    return length <= 0 ? S::Plane::kZero : S::dot(a, b, scores, length);
}

// visit(g) for all nodes outside s..t
template <class Visit>
ARBORA_INLINE static inline void each_outside(int n, int s, int t, Visit visit) {
    for (int g = 0; g <= n; ++g)
        if (g < s || g > t) visit(g);
}

template <class S>
struct Grandparent {
    using Charts = GrandparentCharts<typename S::Plane>;
    using Value = typename S::Value;

    // between(h; s, m), s < m
    ARBORA_INLINE static inline void join(Charts& c, int h, int s, int m) {
        const Value value = masked_dot<S>(c.complete.line(h, s) + s, c.complete.line(h, m) + (s + 1), c.zeros, m - s);
        c.between.set(h, s, m, value);
        c.between.set(h, m, s, value);
    }

    // open(g, h, m); with no siblings allowed, only the nearest-dependent case.
    ARBORA_INLINE static inline void open(Charts& c, int g, int h, int m, bool siblings) {
        const double* scores = c.sibling_scores(g, h, m);
        const int nearest = h < m ? h + 1 : h - 1, from = (h < m ? h : m) + 1, count = (h < m ? m : h) - from;
        Value inner = S::Plane::times(c.complete.at(h, m, nearest), S::Plane::weight(scores[h]));
        if (siblings)
            inner = S::Plane::plus(inner, masked_dot<S>(c.open.line(g, h) + from, c.between.line(h, m) + from, scores + from, count));
        c.open.set(g, h, m, S::Plane::times(inner, S::Plane::weight(c.arc_score(g, h, m))));
    }

    // complete(g, h, e)
    ARBORA_INLINE static inline void complete(Charts& c, int g, int h, int e) {
        const int from = h < e ? h + 1 : e, count = h < e ? e - h : h - e;
        const Value value = masked_dot<S>(c.open.line(g, h) + from, c.complete_by_end.line(h, e) + from, c.zeros, count);
        c.complete.set(g, h, e, value);
        c.complete_by_end.set(g, e, h, value);
    }

    static bool inside(Charts& c) {
        const int n = c.square.n;
        for (int g = 0; g <= n; ++g) {
            for (int h = 1; h <= n; ++h) {
                c.complete.set(g, h, h, S::Plane::kUnit);
                c.complete_by_end.set(g, h, h, S::Plane::kUnit);
            }
        }
        for (int width = 1; width < n; ++width) {
            for (int s = 1; s + width <= n; ++s) {
                const int t = s + width;
                check_stop(static_cast<std::size_t>(n) * width);
                each_outside(n, s, t, [&](int g) __attribute__((always_inline)) {
                    join(c, g, s, t);
                    open(c, g, s, t, true);
                    open(c, g, t, s, true);
                });
                each_outside(n, s, t, [&](int g) __attribute__((always_inline)) {
                    complete(c, g, s, t);
                    complete(c, g, t, s);
                });
            }
        }
        for (int m = 1; m <= n; ++m) open(c, 0, 0, m, c.problem.roots == Roots::multi);
        c.goal = masked_dot<S>(c.open.line(0, 0) + 1, c.complete_by_end.line(0, n) + 1, c.zeros, n);
        return true;
    }
};

// Marginals: as in inside_arc.hpp. Cells of `complete` accumulate along lines of the head, of `complete_by_end` along lines of the
// end.
struct GrandparentFlow : GrandparentMemory {
    const GrandparentCharts<LogPlane>& c;
    GrandparentMarginals out;

    ARBORA_INLINE inline double* cell(const Cube<MaxPlane>& cube, int outer, int i, int j) const {
        return cube.plane.value + cube.offset(outer) + c.square.cell(i, j);
    }

    // Distributes `probability` of an item over the products a[i] * b[i] * exp(score[i]). Each share is also added to `first` and
    // `second`, their marginals, which may be null.
    ARBORA_INLINE inline void share(double probability, Extended whole, LogPlane a, LogPlane b, const double* score, double* to_a,
                                    double* to_b, double* first, double* second, int length) const {
        const Vec factor = broadcast(probability / whole.mantissa), base = broadcast(whole.exponent);
        for (int i = 0; i < length; i += W) {
            const VecExtended w = exp_split(Log::score_at(score, i, length));
            const Vec gap = load(a.exponent + i) + load(b.exponent + i) + w.exponent - base;
            const Vec part = load(a.mantissa + i) * load(b.mantissa + i) * w.mantissa * factor * power_of_two(gap);
            store(to_a + i, load(to_a + i) + part);
            store(to_b + i, load(to_b + i) + part);
            store(scratch + i, part);
        }
        for (int i = 0; i < length; ++i) {
            if (first != nullptr) first[i] += scratch[i];
            if (second != nullptr) second[i] += scratch[i];
        }
    }

    ARBORA_INLINE inline void flow_open(int g, int h, int m, bool siblings) const {
        const double probability = *cell(open, g, h, m);
        const auto nodes = c.problem.nodes();
        out.arcs[h * nodes + m] += probability;
        if (probability <= Shares::kNegligible) return;
        const auto part = (g * nodes + h) * nodes + m;
        if (h != 0 && out.grandparents != nullptr) out.grandparents[part] += probability;
        const double* scores = c.sibling_scores(g, h, m);
        double* sibling_row = out.siblings == nullptr ? nullptr : out.siblings + (h * nodes + m) * nodes;
        double* grand_row = h == 0 || out.grandsiblings == nullptr ? nullptr : out.grandsiblings + part * nodes;
        const Extended whole = c.open.at(g, h, m) / extended_exp(c.arc_score(g, h, m));
        const int near = h < m ? h + 1 : h - 1, from = (h < m ? h : m) + 1, count = (h < m ? m : h) - from;
        const Extended alone = c.complete.at(h, m, near) * extended_exp(scores[h]);
        const double nearest = probability * ratio(alone, whole);
        *cell(complete, h, m, near) += nearest;
        if (sibling_row != nullptr) sibling_row[h] += nearest;
        if (grand_row != nullptr) grand_row[h] += nearest;
        if (!siblings) return;
        share(probability, whole, c.open.line(g, h) + from, c.between.line(h, m) + from, scores + from,
              cell(open, g, h, from), cell(between, h, m, from), sibling_row == nullptr ? nullptr : sibling_row + from,
              grand_row == nullptr ? nullptr : grand_row + from, count);
    }

    ARBORA_INLINE inline void flow_complete(int g, int h, int e) const {
        const double probability = *cell(complete, g, h, e) + *cell(complete_by_end, g, e, h);
        if (probability <= Shares::kNegligible) return;
        const int from = h < e ? h + 1 : e, count = h < e ? e - h : h - e;
        share(probability, c.complete.at(g, h, e), c.open.line(g, h) + from, c.complete_by_end.line(h, e) + from, c.zeros,
              cell(open, g, h, from), cell(complete_by_end, h, e, from), nullptr, nullptr, count);
    }

    ARBORA_INLINE inline void flow_between(int h, int s, int m) const {
        const double probability = *cell(between, h, s, m) + *cell(between, h, m, s);
        if (probability <= Shares::kNegligible) return;
        share(probability, c.between.at(h, s, m), c.complete.line(h, s) + s, c.complete.line(h, m) + (s + 1), c.zeros,
              cell(complete, h, s, s), cell(complete, h, m, s + 1), nullptr, nullptr, m - s);
    }

    void run() const {
        const int n = c.square.n;
        share(1.0, c.goal, c.open.line(0, 0) + 1, c.complete_by_end.line(0, n) + 1, c.zeros, cell(open, 0, 0, 1),
              cell(complete_by_end, 0, n, 1), nullptr, nullptr, n);
        for (int m = n; m >= 1; --m) flow_open(0, 0, m, c.problem.roots == Roots::multi);
        for (int width = n - 1; width >= 1; --width) {
            for (int s = 1; s + width <= n; ++s) {
                const int t = s + width;
                check_stop(static_cast<std::size_t>(n) * width);
                each_outside(n, s, t, [&](int g) __attribute__((always_inline)) {
                    flow_complete(g, s, t);
                    flow_complete(g, t, s);
                });
                each_outside(n, s, t, [&](int g) __attribute__((always_inline)) {
                    flow_open(g, s, t, true);
                    flow_open(g, t, s, true);
                    flow_between(g, s, t);
                });
            }
        }
    }
};

static void flow_grandparent(const GrandparentCharts<LogPlane>& c, GrandparentMemory memory, GrandparentMarginals out) {
    GrandparentFlow{memory, c, out}.run();
}

}  // namespace arbora::ARBORA_ISA
