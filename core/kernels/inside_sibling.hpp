// The recurrences of factorization/sibling.hpp as vector programs, for any semiring, and the way back down for marginals.
#pragma once

#include "factorization/sibling.hpp"
#include "kernels/inside_arc.hpp"

namespace arbora::ARBORA_ISA {

// Sibling scores of the arcs s+i -> s+i+width (right) or back (left), by distance from s+i. Lanes without such an arc read zeros.
template <class Charts>
ARBORA_INLINE static inline ScoreRows right_rows(const Charts& c, int width, int s) {
    ScoreRows rows;
    for (int i = 0; i < W; ++i) {
        rows.row[i] = s + i + width <= c.layout.n ? c.sibling_row(s + i, s + i + width) + s + i : c.zeros;
    }
    return rows;
}

template <class Charts>
ARBORA_INLINE static inline ScoreRows left_rows(const Charts& c, int width, int s) {
    ScoreRows rows;
    for (int i = 0; i < W; ++i) {
        const bool there = s + i >= 1 && s + i + width <= c.layout.n;
        rows.row[i] = there ? c.sibling_row(s + i + width, s + i) + s + i : c.zeros;
    }
    return rows;
}

// False where a sibling score that counts is NaN or +infinity.
template <class S>
bool inside_sibling(SiblingCharts<typename S::Plane>& c) {
    const Diagonals& d = c.layout;
    const std::ptrdiff_t stride = d.stride;
    IVec bad{};
    begin<S>(d, c.right, c.left);
    for (int width = 1; width <= d.n - c.first(); ++width) {
        const std::ptrdiff_t row = d.row(width), inner = d.row(width - 1);
        for (int s = c.first(); s + width <= d.n; s += W) {
            S::store(c.between, row + s, join<S>(c, width, s));
            const ScoreRows to_right = right_rows(c, width, s), to_left = left_rows(c, width, s);
            const Vec nearest_right = to_right.at(0), nearest_left = to_left.at(width);
            bad |= ~((nearest_right < broadcast(__builtin_inf())) & (nearest_left < broadcast(__builtin_inf())));
            auto right = S::times(S::load(c.left, inner + s + 1), S::weight(nearest_right));
            auto left = S::times(S::load(c.right, inner + s), S::weight(nearest_left));
            if (width > 1) {
                // SUM_{k=1..width-1} open_right(s, s+k) * between(s+k, t) * sibling(s, t, s+k)
                right = S::plus(right, S::dot({c.open_right, stride + s, stride}, {c.between, inner + s + 1, 1 - stride}, to_right, 1,
                                              width - 1, c.scratch, bad));
                // SUM_{k=1..width-1} between(s, s+k) * open_left(s+k, t) * sibling(t, s, s+k)
                left = S::plus(left, S::dot({c.between, stride + s, stride}, {c.open_left, inner + s + 1, 1 - stride}, to_left, 1,
                                            width - 1, c.scratch, bad));
            }
            S::store(c.open_right, row + s, S::times(right, S::load(c.arc_right, row + s)));
            S::store(c.open_left, row + s, S::times(left, S::load(c.arc_left, row + s)));
            complete<S>(c, width, s);
        }
    }
    c.goal = goal(c);
    return !any(bad);
}

// Where the marginals of siblings go: lane i writes row[i][k]; null for lanes without an arc.
struct MarginalRows {
    double* row[W];

    ARBORA_INLINE void put(std::ptrdiff_t k, Vec value) const {
        for (int i = 0; i < W; ++i) {
            if (row[i] != nullptr) row[i][k] = value[i];
        }
    }
};

// To the products a[k] * b[k] * exp(score[from + k]); what each gets is also the marginal of its sibling part.
ARBORA_INLINE static inline void give_scored(const Shares::Giver& g, Walk<LogPlane> a, Walk<LogPlane> b, const ScoreRows& scores, int from,
                                             double* to_a, double* to_b, const MarginalRows& out, int count) {
    std::ptrdiff_t i = a.start, j = b.start;
    for (int k = 0; k < count; ++k, i += a.step, j += b.step) {
        const VecExtended w = exp_split(scores.at(from + k));
        const Vec gap = ((load(a.plane.exponent + i) + load(b.plane.exponent + j)) + w.exponent) - g.base;
        const Vec all = load(a.plane.mantissa + i) * load(b.plane.mantissa + j) * w.mantissa * g.factor * power_of_two(gap);
        const Vec part = select(g.alive, all, Vec{});
        Shares::add(to_a + i, part);
        Shares::add(to_b + j, part);
        out.put(from + k, part);
    }
}

// The case in which the dependent is the nearest one.
ARBORA_INLINE static inline void give_nearest(const Shares::Giver& g, VecExtended rest, Vec score, double* to, const MarginalRows& out,
                                              std::ptrdiff_t k) {
    const VecExtended w = exp_split(score);
    const Vec all = rest.mantissa * w.mantissa * g.factor * power_of_two((rest.exponent + w.exponent) - g.base);
    const Vec part = select(g.alive, all, Vec{});
    Shares::add(to, part);
    out.put(k, part);
}

ARBORA_INLINE static inline VecExtended divide(VecExtended a, VecExtended b) { return {a.mantissa / b.mantissa, a.exponent - b.exponent}; }

// f and siblings [head, dep, sibling], zeroed by the caller; f.open_right and f.open_left become the marginals of arcs.
static void flow_sibling(const SiblingCharts<LogPlane>& c, FlowPlanes f, double* siblings) {
    const Diagonals& d = c.layout;
    const std::ptrdiff_t stride = d.stride, nodes = d.n + 1;
    flow_goal(c, f);
    if (c.roots == Roots::single) {
        for (int r = 1; r <= d.n; ++r) siblings[r * nodes] = f.open_right[d.cell(0, r)];
    }
    for (int width = d.n - c.first(); width >= 1; --width) {
        const std::ptrdiff_t row = d.row(width), inner = d.row(width - 1);
        for (int s = c.first(); s + width <= d.n; s += W) {
            flow_complete(c, f, width, s);
            const int lanes = d.n - width - s + 1;
            MarginalRows to_right, to_left;
            for (int i = 0; i < W; ++i) {
                const std::ptrdiff_t from = s + i, to = s + i + width;
                to_right.row[i] = i < lanes ? siblings + (from * nodes + to) * nodes + from : nullptr;
                to_left.row[i] = i < lanes && from > 0 ? siblings + (to * nodes + from) * nodes + from : nullptr;
            }
            const auto right = Shares::giver(load(f.open_right + row + s),
                                             divide(LogLanes::load(c.open_right, row + s), LogLanes::load(c.arc_right, row + s)), lanes);
            if (any(right.alive)) {
                const ScoreRows scores = right_rows(c, width, s);
                give_nearest(right, LogLanes::load(c.left, inner + s + 1), scores.at(0), f.left + inner + s + 1, to_right, 0);
                give_scored(right, {c.open_right, stride + s, stride}, {c.between, inner + s + 1, 1 - stride}, scores, 1, f.open_right,
                            f.between, to_right, width - 1);
            }
            const auto left = Shares::giver(load(f.open_left + row + s),
                                            divide(LogLanes::load(c.open_left, row + s), LogLanes::load(c.arc_left, row + s)), lanes);
            if (any(left.alive)) {
                const ScoreRows scores = left_rows(c, width, s);
                give_nearest(left, LogLanes::load(c.right, inner + s), scores.at(width), f.right + inner + s, to_left, width);
                give_scored(left, {c.between, stride + s, stride}, {c.open_left, inner + s + 1, 1 - stride}, scores, 1, f.between,
                            f.open_left, to_left, width - 1);
            }
            flow_joined(c, f, c.between, load(f.between + row + s), width, s);
        }
    }
}

}  // namespace arbora::ARBORA_ISA
