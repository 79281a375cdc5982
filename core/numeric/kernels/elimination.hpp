// Subtraction-free elimination for the matrix-tree theorem (the idea and its proof: arborescence/matrix_tree.hpp).
//
// Words are eliminated from n down to 1. Eliminating k redistributes its arcs: weight(h, d) += weight(h, k) * weight(k, d) / D_k
// with D_k = sum_h weight(h, k) over the remaining heads. Z is the product of all D_k.
// Kept for the backward pass: columns[k][h] = weight(h, k) and weights[k][d] = weight(k, d), both at the time of k's elimination.
#pragma once

#include "base/interrupt.hpp"
#include "trees/arborescence/elimination_state.hpp"
#include "numeric/kernels/semirings.hpp"

namespace arbora::ARBORA_ISA {

// weights[h][d] = exp(score - top of column d), so each column's largest is 1. In the single-root case the tops leave out the
// root, whose row has its own scale, since each tree uses exactly one entry of it. Returns the sum of what was taken out.
static double scale_weights(const double* scores, const double* column_top, Elimination& e) {
    const Square& q = e.square;
    double root_top = 0.0;
    if (e.roots == Roots::single) {
        Vec top = broadcast(-__builtin_inf());
        for (int i = 0; i <= q.n; i += W) {
            const Vec gap = load(scores + i) - load(column_top + i);
            top = maximum(select(load(scores + i) > broadcast(-__builtin_inf()), gap, top), top);
        }
        root_top = horizontal_max(top);
        if (root_top == -__builtin_inf()) return root_top;
    }
    for (int head = 0; head <= q.n; ++head) {
        const Vec shift = broadcast(head == 0 ? root_top : 0.0);
        for (int i = 0; i <= q.n; i += W) {
            const Vec x = load(scores + q.line(head) + i) - load(column_top + i) - shift;
            // Column 0 and the padding are -inf - -inf = NaN, which compares false: they become 0.
            store(e.weights + q.line(head) + i, exp_plain(x));
        }
    }
    double sum = root_top;
    for (int d = 1; d <= q.n; ++d) sum += column_top[d];
    return sum;
}

// From this number of rows on, a step is long enough to check for interruption.
inline constexpr int kChecked = 64;

// Number of pivots eliminated together, so that the rest of the matrix is read and written once for four.
inline constexpr int kPivots = 4;

// Lanes that a vector may read past `length` are zero.
ARBORA_INLINE static inline void zero_past(double* line, int length) { store(line + length, Vec{}); }

// The column of pivot p, with the updates of earlier pivots in its block; returns D_p.
ARBORA_INLINE static inline double pull_column(Elimination& e, int p, int block_top, double* const* shares, double* const* rows) {
    const Square& q = e.square;
    double* column = e.columns + q.line(p);
    for (int h = 0; h < p; ++h) column[h] = e.weights[q.cell(h, p)];
    for (int b = 0; b < block_top - p; ++b) {
        const Vec owed = broadcast(rows[b][p]);
        for (int h = 0; h < p; h += W) store(column + h, load(column + h) + load(shares[b] + h) * owed);
    }
    zero_past(column, p);
    // Leave the root out of the sum; removing it afterwards would be a subtraction.
    const bool root_outside = e.roots == Roots::single && p > 1;
    Vec sum = root_outside ? select(first_lanes(1), Vec{}, load(column)) : load(column);
    for (int h = W; h < p; h += W) sum += load(column + h);
    return horizontal_sum(sum);
}

// weights[h][0..p) += sum_b shares[b][h] * rows[b][.] for all heads below p.
ARBORA_INLINE static inline void push_block(Elimination& e, int p, double* const* s, double* const* r) {
    const Square& q = e.square;
    for (int h = 0; h < p; ++h) {
        double* row = e.weights + q.line(h);
        const Vec s0 = broadcast(s[0][h]), s1 = broadcast(s[1][h]), s2 = broadcast(s[2][h]), s3 = broadcast(s[3][h]);
        for (int j = 0; j < p; j += W)
            store(row + j, load(row + j) + s0 * load(r[0] + j) + s1 * load(r[1] + j) + s2 * load(r[2] + j) + s3 * load(r[3] + j));
    }
}

// Returns false if the check fails: a pivot is so small that flushed weights could matter (or is 0).
static bool eliminate(Elimination& e) {
    const Square& q = e.square;
    double *shares[kPivots], *rows[kPivots];
    for (int b = 0; b < kPivots; ++b) {
        shares[b] = e.scratch + 2 * b * q.stride;
        rows[b] = e.scratch + (2 * b + 1) * q.stride;
    }
    double* error = e.scratch + 2 * kPivots * q.stride;
    for (int j = 0; j < q.stride; ++j) error[j] = Elimination::kFlushed;
    for (int top = q.n; top >= 1; top -= kPivots) {
        const int bottom = top - kPivots + 1 > 1 ? top - kPivots + 1 : 1;
        if (top >= kChecked) check_stop(static_cast<std::size_t>(top) * top);
        for (int p = top; p >= bottom; --p) {
            const double pivot = pull_column(e, p, top, shares, rows);
            if (!(error[p] < Elimination::kTolerance * pivot)) return false;
            e.pivots[p] = pivot;
            double *share = shares[top - p], *row = rows[top - p], *weights = e.weights + q.line(p);
            const Vec inverse = broadcast(1.0 / pivot);
            for (int h = 0; h < p; h += W) store(share + h, load(e.columns + q.line(p) + h) * inverse);
            for (int b = 0; b < top - p; ++b) {
                const Vec owed = broadcast(shares[b][p]);
                for (int j = 0; j < p; j += W) store(weights + j, load(weights + j) + owed * load(rows[b] + j));
            }
            for (int j = 0; j < p; j += W) store(row + j, load(weights + j));
            zero_past(row, p);
            const Vec spread = broadcast(error[p] / pivot);
            for (int j = 0; j < p; j += W) store(error + j, load(error + j) + spread * load(row + j));
        }
        for (int b = top - bottom + 1; b < kPivots; ++b) {
            for (int j = 0; j < q.stride; j += W) {
                store(shares[b] + j, Vec{});
                store(rows[b] + j, Vec{});
            }
        }
        push_block(e, bottom, shares, rows);
    }
    return true;
}

// gradients[h][d] = d log Z / d weight(h, d), for all arcs, from word 1 up: the reverse of eliminate.
//   g_h = sum_d gradient(h, d) * weight(k, d);   gradient(k, d) = sum_h share_h * gradient(h, d)
//   gradient(h, k) = (1 + g_h - sum_h' share_h' * g_h') / D_k, and g_0 / D_k for a root whose arcs are not in D_k.
static void backpropagate(const Elimination& e, double* gradients) {
    const Square& q = e.square;
    double *share = e.scratch, *mixed = share + q.stride, *gains = mixed + q.stride;
    for (int j = 0; j < q.stride; ++j) gradients[q.line(0) + j] = 0.0;
    for (int k = 1; k <= q.n; ++k) {
        if (k >= kChecked) check_stop(static_cast<std::size_t>(k) * k);
        const double inverse = 1.0 / e.pivots[k];
        const double *row = e.weights + q.line(k), *column = e.columns + q.line(k);
        for (int h = 0; h < k; h += W) {
            store(share + h, load(column + h) * broadcast(inverse));
            store(mixed + h, Vec{});
        }
        // Some heads at once, so that `row` and `mixed` are read once for all of them.
        const auto gather = [&]<int Heads>(int h, std::integral_constant<int, Heads>) __attribute__((always_inline)) {
            const double* g = gradients + q.line(h);
            Vec shares[Heads], dots[Heads] = {};
            for (int i = 0; i < Heads; ++i) shares[i] = broadcast(share[h + i]);
            for (int j = 0; j < k; j += W) {
                const Vec w = load(row + j);
                Vec mix = load(mixed + j);
                for (int i = 0; i < Heads; ++i) {
                    const Vec v = load(g + i * q.stride + j);
                    dots[i] += v * w;
                    mix += shares[i] * v;
                }
                store(mixed + j, mix);
            }
            for (int i = 0; i < Heads; ++i) gains[h + i] = horizontal_sum(dots[i]);
        };
        int h = 0;
        for (; h + 4 <= k; h += 4) gather(h, std::integral_constant<int, 4>{});
        for (; h < k; ++h) gather(h, std::integral_constant<int, 1>{});
        double mean = 0.0;
        for (h = 0; h < k; ++h) mean += share[h] * gains[h];
        for (h = 0; h < k; ++h) {
            const double inner = 1.0 + gains[h] - mean;
            gradients[q.cell(h, k)] = inner > 0.0 ? inner * inverse : 0.0;
        }
        if (e.roots == Roots::single) gradients[q.cell(0, k)] = k == 1 ? inverse : gains[0] * inverse;
        double* own = gradients + q.line(k);
        for (int j = 0; j < k; j += W) store(own + j, load(mixed + j));
        for (int j = k; j < q.stride; ++j) own[j] = 0.0;
    }
}

// The change of the marginals as scores move along a direction: the same steps, for the slopes of all numbers.

// shares[h] = column / D_k, and their slopes.
ARBORA_INLINE static inline void share_slopes(const Elimination& e, const Elimination& s, int k, double* shares, double* share_slope) {
    const Square& q = e.square;
    const Vec inverse = broadcast(1.0 / e.pivots[k]), growth = broadcast(s.pivots[k]);
    for (int h = 0; h < k; h += W) {
        const Vec share = load(e.columns + q.line(k) + h) * inverse;
        store(shares + h, share);
        store(share_slope + h, (load(s.columns + q.line(k) + h) - share * growth) * inverse);
    }
}

// s.weights holds the slopes of the weights before the elimination.
static void eliminate_slopes(const Elimination& e, Elimination& s) {
    const Square& q = e.square;
    double *share = s.scratch, *share_slope = share + q.stride;
    for (int k = q.n; k >= 1; --k) {
        if (k >= kChecked) check_stop(static_cast<std::size_t>(k) * k);
        double* column = s.columns + q.line(k);
        double sum = 0.0;
        for (int h = 0; h < k; ++h) column[h] = s.weights[q.cell(h, k)];
        for (int h = e.roots == Roots::single && k > 1 ? 1 : 0; h < k; ++h) sum += column[h];
        zero_past(column, k);
        s.pivots[k] = sum;
        share_slopes(e, s, k, share, share_slope);
        const double* row = e.weights + q.line(k);
        double* row_slope = s.weights + q.line(k);
        zero_past(row_slope, k);
        for (int h = 0; h < k; ++h) {
            double* to = s.weights + q.line(h);
            const Vec a = broadcast(share_slope[h]), b = broadcast(share[h]);
            for (int j = 0; j < k; j += W) store(to + j, load(to + j) + a * load(row + j) + b * load(row_slope + j));
        }
    }
}

// gradients: already filled by backpropagate; slopes <- their slopes.
static void backpropagate_slopes(const Elimination& e, const Elimination& s, const double* gradients, double* slopes) {
    const Square& q = e.square;
    double *share = s.scratch, *share_slope = share + q.stride, *gains = share_slope + q.stride, *gain_slopes = gains + q.stride;
    for (std::size_t i = 0; i < q.size(); i += W) store(slopes + i, Vec{});
    for (int k = 1; k <= q.n; ++k) {
        if (k >= kChecked) check_stop(static_cast<std::size_t>(k) * k);
        share_slopes(e, s, k, share, share_slope);
        const double *row = e.weights + q.line(k), *row_slope = s.weights + q.line(k);
        double* own = slopes + q.line(k);
        double mean_slope = 0.0;
        for (int h = 0; h < k; ++h) {
            // Cells from k on are not filled in `slopes` yet, but `gradients` is complete: mask lanes past k.
            const double *g = gradients + q.line(h), *dg = slopes + q.line(h);
            const Vec a = broadcast(share_slope[h]), b = broadcast(share[h]);
            Vec gain{}, gain_slope{};
            for (int j = 0; j < k; j += W) {
                const IVec used = first_lanes(k - j);
                const Vec value = select(used, load(g + j), Vec{}), change = select(used, load(dg + j), Vec{});
                const Vec weight = select(used, load(row + j), Vec{});
                gain += value * weight;
                gain_slope += change * weight + value * load(row_slope + j);
                store(own + j, load(own + j) + a * value + b * change);
            }
            gains[h] = horizontal_sum(gain);
            gain_slopes[h] = horizontal_sum(gain_slope);
            mean_slope += share_slope[h] * gains[h] + share[h] * gain_slopes[h];
        }
        const double inverse = 1.0 / e.pivots[k], growth = s.pivots[k];
        for (int h = 0; h < k; ++h) {
            const bool outside = h == 0 && e.roots == Roots::single;
            // d/dt of (1 + gain - mean) / D; of gain / D for a root outside D, which at the last word is 1 / D.
            const double inner = outside ? (k == 1 ? 0.0 : gain_slopes[h]) : gain_slopes[h] - mean_slope;
            const double gradient = gradients[q.cell(h, k)];
            slopes[q.cell(h, k)] = gradient > 0.0 ? (inner - gradient * growth) * inverse : 0.0;
        }
        for (int j = k; j < q.stride; ++j) own[j] = 0.0;
    }
}

}  // namespace arbora::ARBORA_ISA
