// Extended-range positive numbers: mantissa * 2^exponent, both doubles, the exponent an integer.
//
// Sums over trees need the range of a log-domain number (scores of 10^6 on a thousand words give Z near e^(10^9)) and the precision
// of a plain one (a log-domain value near 10^9 has lost seven digits of its probability). Mantissa and exponent lose no digits and
// need no exp or log per addition; zero is mantissa 0.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "base/attributes.hpp"

namespace arbora {

// Exponent of zero. Far below any other exponent, and small enough that sums of a few never reach -infinity.
inline constexpr double kZeroExponent = -1e300;
// Scores beyond this are clamped when exponentiated: doubles of this size have no significant fraction.
inline constexpr double kScoreLimit = 0x1p40;

// Scores above this are rejected, and scores below its negative forbid an arc: their sums could overflow.
inline constexpr double kLargestScore = 1e300;

struct Extended {
    double mantissa = 0.0;
    double exponent = kZeroExponent;

    ARBORA_INLINE bool is_zero() const { return mantissa == 0.0; }
};

inline constexpr Extended kOne{1.0, 0.0};

// mantissa -> [1, 2), for a positive normal mantissa.
ARBORA_INLINE inline Extended normalized(double mantissa, double exponent) {
    if (!(mantissa > 0.0)) return {};
    std::uint64_t bits;
    __builtin_memcpy(&bits, &mantissa, sizeof bits);
    const double shift = static_cast<double>(static_cast<std::int64_t>(bits >> 52) - 1023);
    bits = (bits & 0x000fffffffffffffULL) | 0x3ff0000000000000ULL;
    __builtin_memcpy(&mantissa, &bits, sizeof bits);
    return {mantissa, exponent + shift};
}

ARBORA_INLINE inline Extended extended(Extended value) { return value; }
ARBORA_INLINE inline Extended extended(double value) { return normalized(value, 0.0); }

// 2^x for a whole x <= 0; 0 where it would underflow.
ARBORA_INLINE inline double power_of_two(double x) {
    if (x < -1000.0) return 0.0;
    const std::uint64_t bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(x) + 1023) << 52;
    double result;
    __builtin_memcpy(&result, &bits, sizeof bits);
    return result;
}

ARBORA_INLINE inline Extended operator*(Extended a, Extended b) {
    if (a.is_zero() || b.is_zero()) return {};
    return normalized(a.mantissa * b.mantissa, a.exponent + b.exponent);
}

ARBORA_INLINE inline Extended operator/(Extended a, Extended b) {
    if (a.is_zero()) return {};
    return normalized(a.mantissa / b.mantissa, a.exponent - b.exponent);
}

ARBORA_INLINE inline Extended operator+(Extended a, Extended b) {
    if (a.is_zero()) return b;
    if (b.is_zero()) return a;
    const double top = a.exponent > b.exponent ? a.exponent : b.exponent;
    return normalized(a.mantissa * power_of_two(a.exponent - top) + b.mantissa * power_of_two(b.exponent - top), top);
}

// a / b as a plain double, for a <= b up to rounding.
ARBORA_INLINE inline double ratio(Extended a, Extended b) {
    if (a.is_zero()) return 0.0;
    const double gap = a.exponent - b.exponent;
    return a.mantissa / b.mantissa * (gap > 0.0 ? std::exp2(gap) : power_of_two(gap));
}

// Scores below the range forbid.
ARBORA_INLINE inline double allowed(double score) {
    return score < -kLargestScore ? -std::numeric_limits<double>::infinity() : score;
}

ARBORA_INLINE inline Extended extended_exp(double score) {
    if (score < -kLargestScore) return {};
    const double clamped = score > kScoreLimit ? kScoreLimit : (score < -kScoreLimit ? -kScoreLimit : score);
    const double whole = std::nearbyint(clamped * 0x1.71547652b82fep+0);
    const double rest = (clamped - whole * 0x1.62e42fee00000p-1) - whole * 0x1.a39ef35793c76p-33;
    return normalized(std::exp(rest), whole);
}

ARBORA_INLINE inline double log(Extended a) {
    if (a.is_zero()) return -std::numeric_limits<double>::infinity();
    return a.exponent * 0x1.62e42fefa39efp-1 + std::log(a.mantissa);
}

}  // namespace arbora
