// The two semirings as vector programs: what a recurrence needs of each is only a dot product.
//
// Lines may be read up to W - 1 cells past their end: charts are padded, and in every product of the recurrences one of the
// two operands still holds zero there (see factorization/*.hpp), so no tail needs a mask.
#pragma once

#include "numeric/kernels/vec.hpp"
#include "numeric/planes.hpp"

namespace arbora::ARBORA_ISA {

struct Max {
    using Plane = MaxPlane;
    using Value = double;

    ARBORA_INLINE static inline Value times(Value a, Value b) { return a + b; }
    ARBORA_INLINE static inline Value plus(Value a, Value b) { return a > b ? a : b; }

    // max_i a[i] + b[i]
    ARBORA_INLINE static inline Value dot(Plane a, Plane b, int length) {
        Vec best = broadcast(kMinusInfinity), second = best;
        int i = 0;
        for (; i + 2 * W <= length; i += 2 * W) {
            best = maximum(best, load(a.value + i) + load(b.value + i));
            second = maximum(second, load(a.value + i + W) + load(b.value + i + W));
        }
        for (; i < length; i += W) best = maximum(best, load(a.value + i) + load(b.value + i));
        return horizontal_max(maximum(best, second));
    }

    // max_i a[i] + b[i] + score[i]; scores are read exactly up to length.
    ARBORA_INLINE static inline Value dot(Plane a, Plane b, const double* score, int length) {
        Vec best = broadcast(kMinusInfinity);
        int i = 0;
        for (; i + W <= length; i += W) {
            best = maximum(best, (load(a.value + i) + load(b.value + i)) + allowed(load(score + i)));
        }
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

    ARBORA_INLINE static inline Value times(Value a, Value b) {
        if (a.mantissa == 0.0 || b.mantissa == 0.0) return {};
        return normalize(a.mantissa * b.mantissa, a.exponent + b.exponent);
    }

    ARBORA_INLINE static inline Value plus(Value a, Value b) {
        if (a.mantissa == 0.0) return b;
        if (b.mantissa == 0.0) return a;
        const double top = a.exponent > b.exponent ? a.exponent : b.exponent;
        return normalize(a.mantissa * scale(a.exponent - top) + b.mantissa * scale(b.exponent - top), top);
    }

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
        return normalize(horizontal_sum(sum), largest);
    }

    // sum_i a[i] * b[i] * exp(score[i]); scores are read exactly up to length.
    ARBORA_INLINE static inline Value dot(Plane a, Plane b, const double* score, int length) {
        Vec top = broadcast(3.0 * kZeroExponent);
        for (int i = 0; i < length; i += W) {
            const VecExtended part = exponent_only(score_at(score, i, length));
            top = maximum(top, load(a.exponent + i) + load(b.exponent + i) + part.exponent);
        }
        const double largest = horizontal_max(top);
        if (largest <= kZeroExponent / 2) return {};
        Vec sum{};
        for (int i = 0; i < length; i += W) {
            const VecExtended part = exp_split(score_at(score, i, length));
            const Vec gap = load(a.exponent + i) + load(b.exponent + i) + part.exponent - broadcast(largest);
            sum += load(a.mantissa + i) * load(b.mantissa + i) * part.mantissa * power_of_two(gap);
        }
        return normalize(horizontal_sum(sum), largest);
    }

    ARBORA_INLINE static inline Value normalize(double mantissa, double exponent) {
        if (!(mantissa > 0.0)) return {};
        std::uint64_t bits;
        __builtin_memcpy(&bits, &mantissa, 8);
        const double shift = static_cast<double>(static_cast<std::int64_t>(bits >> 52) - 1023);
        bits = (bits & 0x000fffffffffffffULL) | 0x3ff0000000000000ULL;
        __builtin_memcpy(&mantissa, &bits, 8);
        return {mantissa, exponent + shift};
    }

    // 2^x for whole x <= 0.
    ARBORA_INLINE static inline double scale(double x) {
        if (x < -1000.0) return 0.0;
        const std::uint64_t bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(x) + 1023) << 52;
        double result;
        __builtin_memcpy(&result, &bits, 8);
        return result;
    }

    ARBORA_INLINE static inline Vec score_at(const double* score, int i, int length) {
        return i + W <= length ? load(score + i) : load_first(score + i, length - i, kMinusInfinity);
    }

    ARBORA_INLINE static inline VecExtended exponent_only(Vec score) {
        constexpr double kRound = 0x1.8p52;
        Vec clamped = maximum(score, broadcast(-kScoreLimit));
        clamped = select(clamped > broadcast(kScoreLimit), broadcast(kScoreLimit), clamped);
        const Vec whole = (clamped * 0x1.71547652b82fep+0 + kRound) - kRound;
        return {Vec{}, select(score >= broadcast(-kLargestScore), whole, broadcast(kZeroExponent))};
    }
};

}  // namespace arbora::ARBORA_ISA
