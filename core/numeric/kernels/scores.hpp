// Reading the caller's scores: a checked, padded copy, and its exponentials.
#pragma once

#include "trees/chart/layout.hpp"
#include "numeric/kernels/vec.hpp"

namespace arbora::ARBORA_ISA {

ARBORA_INLINE static inline Vec tail_load(const double* p, int i, int length, double fill) {
    return i + W <= length ? load(p + i) : load_first(p + i, length - i, fill);
}

// Lanes that are NaN or too large (see kLargestScore).
ARBORA_INLINE static inline IVec invalid(Vec x) { return ~(x <= broadcast(kLargestScore)); }

static bool all_valid(const double* p, int length) {
    IVec bad{};
    for (int i = 0; i < length; i += W) bad |= invalid(tail_load(p, i, length, 0.0));
    return !any(bad);
}

// Copies scores[head, dep] (dense, n+1 per row) into the Square; column 0, the diagonal and the padding become -infinity.
// Returns false if an entry that is used is NaN or too large.
static bool copy_scores(const double* scores, Square q, double* out) {
    const int nodes = q.n + 1;
    const Vec forbidden = broadcast(-__builtin_inf());
    IVec bad{};
    for (int head = 0; head <= q.n; ++head) {
        const double* from = scores + static_cast<std::ptrdiff_t>(head) * nodes;
        double* to = out + q.line(head);
        for (int i = 0; i < q.stride; i += W) {
            const Vec x = i < nodes ? tail_load(from, i, nodes, -__builtin_inf()) : forbidden;
            const IVec lanes = lane_numbers() + i;
            const IVec ignored = (lanes == 0) | (lanes == head);
            bad |= invalid(x) & ~ignored;
            store(to + i, select(ignored, forbidden, allowed(x)));
        }
    }
    for (int i = 0; i < 8; ++i) out[q.line(nodes) + i] = -__builtin_inf();
    return !any(bad);
}

// Copies scores[head, dep] into diagonals: right(s, t) = scores[s, t], left(s, t) = scores[t, s], -infinity for arcs into the root.
// Returns false if an entry that is used is NaN or too large.
static bool copy_diagonals(const double* scores, Diagonals d, double* right, double* left) {
    const std::ptrdiff_t nodes = d.n + 1;
    bool good = all_valid(scores + 1, d.n);
    for (int width = 1; width <= d.n - d.first; ++width) {
        const int count = d.spans(width, d.first);
        double *to_right = right + d.at(width, d.first), *to_left = left + d.at(width, d.first);
        const double* from = scores + d.first * nodes + d.first;
        for (int i = 0; i < count; ++i, from += nodes + 1) {
            to_right[i] = from[width];
            to_left[i] = from[width * nodes];
        }
        if (d.first == 0) to_left[0] = -__builtin_inf();
        IVec bad{};
        for (int i = 0; i < count; i += W) {
            const Vec x = load(to_right + i), y = load(to_left + i);
            bad |= (invalid(x) | invalid(y)) & first_lanes(count - i);
            store(to_right + i, allowed(x));
            store(to_left + i, allowed(y));
        }
        good &= !any(bad);
    }
    return good;
}

// exp of scores, in extended range; count is rounded up to whole vectors.
static void exponentiate(const double* scores, LogPlane out, std::size_t count) {
    for (std::size_t i = 0; i < count; i += W) {
        const VecExtended e = exp_split(load(scores + i));
        store(out.mantissa + i, e.mantissa);
        store(out.exponent + i, e.exponent);
    }
}

}  // namespace arbora::ARBORA_ISA
