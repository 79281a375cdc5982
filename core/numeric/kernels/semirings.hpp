// Dot products of lines in the two semirings, by vectors.
//
// Lines may be read up to W - 1 cells past their end: charts are padded, and in every product of the recurrences one of the two
// operands is zero there (see trees/chart), so tails need no mask.
#pragma once

#include "numeric/kernels/vec.hpp"
#include "numeric/planes.hpp"

namespace arbora::ARBORA_ISA {

struct Max {
    using Plane = MaxPlane;
    using Value = double;

    // max_i a[i] + b[i] + score[i]; scores are read exactly up to length.
    ARBORA_INLINE static inline Value dot(Plane a, Plane b, const double* score, int length) {
        Vec best = broadcast(kMinusInfinity);
        int i = 0;
        for (; i + W <= length; i += W) best = maximum(best, (load(a.value + i) + load(b.value + i)) + allowed(load(score + i)));
        if (i < length) {
            const Vec part = load_first(score + i, length - i, kMinusInfinity);
            best = maximum(best, (load(a.value + i) + load(b.value + i)) + allowed(part));
        }
        return horizontal_max(best);
    }
};

struct Log {
    using Plane = LogPlane;
    using Value = Extended;

    // sum_i a[i] * b[i]: first the largest exponent, then the sum relative to it.
    ARBORA_INLINE static inline Value dot(Plane a, Plane b, int length) {
        Vec top = broadcast(2.0 * kZeroExponent);
        for (int i = 0; i < length; i += W) top = maximum(top, load(a.exponent + i) + load(b.exponent + i));
        const double largest = horizontal_max(top);
        if (largest <= kZeroExponent / 2) return {};
        Vec sum{};
        for (int i = 0; i < length; i += W) {
            const Vec gap = load(a.exponent + i) + load(b.exponent + i) - broadcast(largest);
            sum += load(a.mantissa + i) * load(b.mantissa + i) * power_of_two(gap);
        }
        return normalized(horizontal_sum(sum), largest);
    }

    // sum_i a[i] * b[i] * exp(score[i]); scores are read exactly up to length.
    ARBORA_INLINE static inline Value dot(Plane a, Plane b, const double* score, int length) {
        Vec top = broadcast(3.0 * kZeroExponent);
        for (int i = 0; i < length; i += W)
            top = maximum(top, load(a.exponent + i) + load(b.exponent + i) + exp_split(score_at(score, i, length)).exponent);
        const double largest = horizontal_max(top);
        if (largest <= kZeroExponent / 2) return {};
        Vec sum{};
        for (int i = 0; i < length; i += W) {
            const VecExtended part = exp_split(score_at(score, i, length));
            const Vec gap = load(a.exponent + i) + load(b.exponent + i) + part.exponent - broadcast(largest);
            sum += load(a.mantissa + i) * load(b.mantissa + i) * part.mantissa * power_of_two(gap);
        }
        return normalized(horizontal_sum(sum), largest);
    }

    ARBORA_INLINE static inline Vec score_at(const double* score, int i, int length) {
        return i + W <= length ? load(score + i) : load_first(score + i, length - i, kMinusInfinity);
    }
};

}  // namespace arbora::ARBORA_ISA
