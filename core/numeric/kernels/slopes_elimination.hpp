// How the marginals of non-projective trees change as scores move along a direction: kernels/elimination.hpp with the slope of every
// number beside it. The elimination itself is done; here its steps are repeated for the slopes alone.
#pragma once

#include "numeric/kernels/elimination.hpp"

namespace arbora::ARBORA_ISA {

// shares[h] = column / D_k, and their slopes.
ARBORA_INLINE static inline void share_slopes(const Elimination& e, const EliminationSlopes& s, int k, double* shares, double* share_slope) {
    const Square& q = e.square;
    const Vec inverse = broadcast(1.0 / e.pivots[k]), growth = broadcast(s.pivots[k]);
    for (int h = 0; h < k; h += W) {
        const Vec share = load(e.columns + q.line(k) + h) * inverse;
        store(shares + h, share);
        store(share_slope + h, (load(s.columns + q.line(k) + h) - share * growth) * inverse);
    }
}

// s.weights holds the slopes of the weights before the elimination.
static void eliminate_slopes(const Elimination& e, EliminationSlopes& s) {
    const Square& q = e.square;
    double *share = s.scratch, *share_slope = share + q.stride;
    for (int k = q.n; k >= 1; --k) {
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

// gradients as in backpropagate, which must have filled them; slopes <- theirs.
static void backpropagate_slopes(const Elimination& e, const EliminationSlopes& s, const double* gradients, double* slopes) {
    const Square& q = e.square;
    double *share = s.scratch, *share_slope = share + q.stride, *gains = share_slope + q.stride, *gain_slopes = gains + q.stride;
    for (std::size_t i = 0; i < q.size(); i += W) store(slopes + i, Vec{});
    for (int k = 1; k <= q.n; ++k) {
        share_slopes(e, s, k, share, share_slope);
        const double *row = e.weights + q.line(k), *row_slope = s.weights + q.line(k);
        double* own = slopes + q.line(k);
        double mean_slope = 0.0;
        for (int h = 0; h < k; ++h) {
            // Cells from k on are not yet filled in `slopes`, but `gradients` is complete: lanes past k are left out.
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
