// One vector type per instruction set. This header, and every header that includes it, is compiled once per set in its own
// namespace (ARBORA_ISA). Nothing here may call a non-inlined library function: the linker could give code for a newer CPU to an
// older one.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/attributes.hpp"
#include "numeric/extended.hpp"

#if defined(__AVX512F__) || defined(__AVX2__) || defined(__SSE2__)
#include <immintrin.h>
#endif

#ifndef ARBORA_ISA
#define ARBORA_ISA baseline
#endif

namespace arbora::ARBORA_ISA {

#if defined(__AVX512F__)
inline constexpr int W = 8;
#elif defined(__AVX2__)
inline constexpr int W = 4;
#else
inline constexpr int W = 2;
#endif

typedef double Vec __attribute__((vector_size(W * 8)));
typedef std::int64_t IVec __attribute__((vector_size(W * 8)));

template <class Vector, class Number>
ARBORA_INLINE static inline Vector load_as(const Number* p) {
    Vector v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}
ARBORA_INLINE static inline Vec load(const double* p) { return load_as<Vec>(p); }

ARBORA_INLINE static inline void store(double* p, Vec v) { __builtin_memcpy(p, &v, sizeof v); }

ARBORA_INLINE static inline Vec broadcast(double x) { return x - Vec{}; }

ARBORA_INLINE static inline IVec lane_numbers() {
    IVec lanes{};
    for (int i = 0; i < W; ++i) lanes[i] = i;
    return lanes;
}

// Lanes below `count`: all ones; the others: zero.
ARBORA_INLINE static inline IVec first_lanes(std::int64_t count) { return lane_numbers() < (count - IVec{}); }
ARBORA_INLINE static inline Vec select(IVec mask, Vec a, Vec b) { return mask ? a : b; }

// The first `count` <= W doubles at p, `fill` in the other lanes; reads nothing past them.
ARBORA_INLINE static inline Vec load_first(const double* p, int count, double fill) {
#if defined(__AVX512F__)
    return (Vec)_mm512_mask_loadu_pd((__m512d)broadcast(fill), (__mmask8)((1u << count) - 1u), p);
#elif defined(__AVX2__)
    const IVec mask = first_lanes(count);
    return select(mask, (Vec)_mm256_maskload_pd(p, (__m256i)mask), broadcast(fill));
#else
    Vec v = broadcast(fill);
    for (int i = 0; i < count; ++i) v[i] = p[i];
    return v;
#endif
}

// Writes the first `count` <= W lanes and nothing past them.
ARBORA_INLINE static inline void store_first(double* p, int count, Vec v) {
#if defined(__AVX512F__)
    _mm512_mask_storeu_pd(p, (__mmask8)((1u << count) - 1u), (__m512d)v);
#elif defined(__AVX2__)
    _mm256_maskstore_pd(p, (__m256i)first_lanes(count), (__m256d)v);
#else
    for (int i = 0; i < count; ++i) p[i] = v[i];
#endif
}

// The larger or the smaller of two; if a is NaN the result is b.
template <bool kLarger>
ARBORA_INLINE static inline Vec extreme(Vec a, Vec b) {
#if defined(__AVX512F__)
    // The masked form: the plain one makes g++ 12 warn about its own header.
    const auto x = (__m512d)a, y = (__m512d)b;
    return (Vec)(kLarger ? _mm512_mask_max_pd(x, (__mmask8)0xff, x, y) : _mm512_mask_min_pd(x, (__mmask8)0xff, x, y));
#elif defined(__AVX2__)
    return (Vec)(kLarger ? _mm256_max_pd((__m256d)a, (__m256d)b) : _mm256_min_pd((__m256d)a, (__m256d)b));
#elif defined(__SSE2__)
    return (Vec)(kLarger ? _mm_max_pd((__m128d)a, (__m128d)b) : _mm_min_pd((__m128d)a, (__m128d)b));
#else
    return (kLarger ? a > b : a < b) ? a : b;
#endif
}
ARBORA_INLINE static inline Vec maximum(Vec a, Vec b) { return extreme<true>(a, b); }
ARBORA_INLINE static inline Vec minimum(Vec a, Vec b) { return extreme<false>(a, b); }

// Lane i becomes lane i ^ Distance.
template <int Distance, int... I>
ARBORA_INLINE static inline Vec exchanged(Vec v, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(v, v, (I ^ Distance)...);
}

template <int Distance>
ARBORA_INLINE static inline Vec exchanged(Vec v) {
    return exchanged<Distance>(v, std::make_integer_sequence<int, W>{});
}

ARBORA_INLINE static inline double horizontal_max(Vec v) {
    if constexpr (W >= 8) v = maximum(v, exchanged<4>(v));
    if constexpr (W >= 4) v = maximum(v, exchanged<2>(v));
    return maximum(v, exchanged<1>(v))[0];
}

ARBORA_INLINE static inline double horizontal_sum(Vec v) {
    if constexpr (W >= 8) v += exchanged<4>(v);
    if constexpr (W >= 4) v += exchanged<2>(v);
    return v[0] + v[1];
}

// One stage of a transposition: rows i and i + Half exchange their halves of 2 * Half columns.
template <int Half, int... I>
ARBORA_INLINE static inline void exchange(Vec (&v)[W], std::integer_sequence<int, I...>) {
    for (int i = 0; i < W; ++i) {
        if ((i & Half) != 0) continue;
        const Vec a = v[i], b = v[i + Half];
        v[i] = __builtin_shufflevector(a, b, ((I & Half) != 0 ? I - Half + W : I)...);
        v[i + Half] = __builtin_shufflevector(a, b, ((I & Half) != 0 ? I + W : I + Half)...);
    }
}

// A W x W block, rows to columns.
ARBORA_INLINE static inline void transpose_block(Vec (&v)[W]) {
    constexpr auto lanes = std::make_integer_sequence<int, W>{};
    if constexpr (W >= 8) exchange<4>(v, lanes);
    if constexpr (W >= 4) exchange<2>(v, lanes);
    exchange<1>(v, lanes);
}

ARBORA_INLINE static inline bool any(IVec mask) {
    std::int64_t all = 0;
    for (int i = 0; i < W; ++i) all |= mask[i];
    return all != 0;
}

// 2^x for whole x in [-1022, 1000]; 0 below.
ARBORA_INLINE static inline Vec power_of_two(Vec x) {
    const Vec shifted = maximum(x, broadcast(-1023.0)) + broadcast(0x1p52 + 1023.0);
    return (Vec)((IVec)shifted << 52);
}

// Scores below the range forbid, like -infinity.
ARBORA_INLINE static inline Vec allowed(Vec x) { return select(x < broadcast(-kLargestScore), broadcast(-__builtin_inf()), x); }

struct VecExtended {
    Vec mantissa, exponent;
};

// mantissa -> [1, 2), the rest into the exponent; 0 -> zero.
ARBORA_INLINE static inline VecExtended normalize(Vec mantissa, Vec exponent) {
    typedef std::uint64_t UVec __attribute__((vector_size(W * 8)));
    const UVec bits = (UVec)mantissa;
    // The exponent bits as a double, by writing them into the mantissa of 2^52.
    const Vec shift = (Vec)((bits >> 52) | (UVec)broadcast(0x1p52)) - (0x1p52 + 1023.0);
    const Vec unit = (Vec)((bits & 0x000fffffffffffffULL) | 0x3ff0000000000000ULL);
    const IVec alive = mantissa > Vec{};
    return {select(alive, unit, Vec{}), select(alive, exponent + shift, broadcast(kZeroExponent))};
}

// e^r on |r| <= ln(2)/2 as 1 + r + r^2 q(r), q a near-minimax polynomial of degree 9: error below 2e-17.
ARBORA_INLINE static inline Vec exp_reduced(Vec r) {
    const Vec r2 = r * r;
    const Vec a = 0x1.0000000000001p-1 + 0x1.5555555555556p-3 * r;
    const Vec b = 0x1.5555555553d37p-5 + 0x1.11111111109a6p-7 * r;
    const Vec c = 0x1.6c16c1789d1d7p-10 + 0x1.a01a01a7cebcdp-13 * r;
    const Vec d = 0x1.a019b8ca26fcfp-16 + 0x1.71de0d85293b8p-19 * r;
    const Vec e = 0x1.2891d4ffbb0f9p-22 + 0x1.af390ba7e6f47p-26 * r;
    const Vec q = a + r2 * (b + r2 * (c + r2 * (d + r2 * e)));
    return 1.0 + (r + r2 * q);
}

// x = whole * ln(2) + rest; `shifted` has the whole number in its lowest bits.
struct Reduced {
    Vec shifted, whole, rest;

    ARBORA_INLINE explicit Reduced(Vec x) {
        constexpr double kRound = 0x1.8p52;
        shifted = x * 0x1.71547652b82fep+0 + kRound;
        whole = shifted - kRound;
        rest = (x - whole * 0x1.62e42fee00000p-1) - whole * 0x1.a39ef35793c76p-33;
    }
};

// exp(score) = mantissa * 2^exponent with the mantissa in [0.7, 1.5]; -inf gives mantissa 0.
ARBORA_INLINE static inline VecExtended exp_split(Vec score) {
    const Vec bounded = maximum(score, broadcast(-kScoreLimit));
    const Reduced x(select(bounded > broadcast(kScoreLimit), broadcast(kScoreLimit), bounded));
    const IVec alive = score >= broadcast(-kLargestScore);
    return {select(alive, exp_reduced(x.rest), Vec{}), select(alive, x.whole, broadcast(kZeroExponent))};
}

// exp(x) as a plain double for |x| <= 700, 0 for scores that forbid, NaN for NaN; arbitrary for other x.
ARBORA_INLINE static inline Vec exp_within(Vec score) {
    const Reduced x(score);
    // The shift drops the highest bits of `shifted`; the bias is added first.
    const Vec scale = (Vec)(((IVec)x.shifted + 1023) << 52);
    return select(score < broadcast(-kLargestScore), Vec{}, exp_reduced(x.rest) * scale);
}

// exp(x) as a plain double for x <= 0 (or a little above); below -700 it is 0.
ARBORA_INLINE static inline Vec exp_plain(Vec score) {
    const Reduced x(maximum(score, broadcast(-705.0)));
    const Vec scale = (Vec)((IVec)(x.whole + broadcast(0x1p52 + 1023.0)) << 52);
    return select(score > broadcast(-700.0), exp_reduced(x.rest) * scale, Vec{});
}

}  // namespace arbora::ARBORA_ISA
