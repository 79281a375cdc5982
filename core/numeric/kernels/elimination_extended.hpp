// kernels/elimination.hpp in extended range: exact for any scores, several times slower, and written for clarity.
#pragma once

#include "base/interrupt.hpp"
#include "trees/arborescence/elimination_state.hpp"
#include "numeric/kernels/semirings.hpp"

namespace arbora::ARBORA_ISA {

// line += factor * other
ARBORA_INLINE static inline void add_scaled(LogPlane line, Extended factor, LogPlane other, int length) {
    if (factor.is_zero()) return;
    const Vec mantissa = broadcast(factor.mantissa), exponent = broadcast(factor.exponent);
    for (int i = 0; i < length; i += W) {
        const Vec ours = load(line.exponent + i), theirs = load(other.exponent + i) + exponent;
        const Vec top = maximum(ours, theirs);
        store(line.mantissa + i, load(line.mantissa + i) * power_of_two(ours - top) +
                                     load(other.mantissa + i) * mantissa * power_of_two(theirs - top));
        store(line.exponent + i, maximum(top, broadcast(kZeroExponent)));
    }
}

ARBORA_INLINE static inline void copy_line(LogPlane from, LogPlane to, int length, int padded) {
    for (int i = 0; i < length; ++i) {
        const Extended x = from.at(i);
        to.set(i, normalized(x.mantissa, x.exponent));
    }
    for (int i = length; i < padded; ++i) to.set(i, Extended{});
}

// e.weights holds exp(score) in extended range. Returns false if a pivot is zero: no tree is left.
static bool eliminate_extended(ExtendedElimination& e) {
    const Square& q = e.square;
    const LogPlane row = e.scratch;
    for (int k = q.n; k >= 1; --k) {
        const LogPlane column = e.columns + q.line(k);
        for (int h = 0; h < k; ++h) {
            const Extended x = e.weights.at(q.cell(h, k));
            column.set(h, normalized(x.mantissa, x.exponent));
        }
        for (int h = k; h < q.stride; ++h) column.set(h, Extended{});
        Extended pivot{};
        for (int h = e.root_outside(k) ? 1 : 0; h < k; ++h) pivot = pivot + column.at(h);
        if (pivot.is_zero() && e.root_outside(k)) {
            pivot = column.at(0);
            e.hung = k;
            for (int d = 0; d < k; ++d) e.weights.set(q.cell(0, d), Extended{});
        }
        if (pivot.is_zero()) return false;
        e.pivots.set(k, pivot);
        copy_line(e.weights + q.line(k), row, k, q.stride);
        copy_line(row, e.weights + q.line(k), k, k);
        for (int h = 0; h < k; ++h) {
            check_stop(k);
            add_scaled(e.weights + q.line(h), column.at(h) / pivot, row, k);
        }
    }
    return true;
}

// (1 - mean) + gain, never below zero; 1 - mean may be negative, gain may be far outside the range of a double.
ARBORA_INLINE static inline Extended gain_above_mean(Extended gain, double mean) {
    const double rest = 1.0 - mean;
    if (rest >= 0.0) return gain + normalized(rest, 0.0);
    if (gain.is_zero() || gain.exponent < -1000.0) return {};
    if (gain.exponent > 100.0) return gain;
    const double scale = gain.exponent < 0.0 ? arbora::power_of_two(gain.exponent) : 1.0 / arbora::power_of_two(-gain.exponent);
    return normalized(gain.mantissa * scale + rest, 0.0);
}

// The word that must attach to the root: log Z holds log weight(0, k), and no word below it uses the root's own arcs.
ARBORA_INLINE static inline void hang_gradient(LogPlane gradients, const Square& q, int k, Extended pivot) {
    for (int h = 1; h < k; ++h) gradients.set(q.cell(h, k), Extended{});
    for (int d = 0; d < k; ++d) gradients.set(q.cell(0, d), Extended{});
    gradients.set(q.cell(0, k), kOne / pivot);
}

static void backpropagate_extended(const ExtendedElimination& e, LogPlane gradients) {
    const Square& q = e.square;
    const LogPlane mixed = e.scratch + q.stride, gains = e.scratch + 2 * q.stride;
    fill_zero(gradients, q.size());
    for (int k = 1; k <= q.n; ++k) {
        const Extended pivot = e.pivots.at(k);
        const LogPlane row = e.weights + q.line(k), column = e.columns + q.line(k);
        for (int j = 0; j < q.stride; ++j) mixed.set(j, Extended{});
        double mean = 0.0;
        for (int h = 0; h < k; ++h) {
            check_stop(k);
            const Extended share = column.at(h) / pivot;
            const Extended gain = Log::dot(gradients + q.line(h), row, k);
            gains.set(h, gain);
            add_scaled(mixed, share, gradients + q.line(h), k);
            mean += ratio(share * gain, kOne);
        }
        for (int h = 0; h < k; ++h) {
            const bool outside = h == 0 && e.root_outside(k);
            gradients.set(q.cell(h, k), (outside ? gains.at(h) : gain_above_mean(gains.at(h), mean)) / pivot);
        }
        copy_line(mixed, gradients + q.line(k), k, q.stride);
        if (k == e.hung) hang_gradient(gradients, q, k, pivot);
    }
}

}  // namespace arbora::ARBORA_ISA
