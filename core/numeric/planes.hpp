// The memory layout of a chart of semiring values: one plane of doubles for Max and Plain, two (mantissas, exponents) for Log. A
// plane is a pointer that a kernel may offset; scalar code reads single values with at().
#pragma once

#include <cstddef>
#include <limits>

#include "numeric/extended.hpp"

namespace arbora {

inline constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

template <class Self>
struct DoublePlane {
    using Value = double;
    static constexpr std::size_t kDoubles = 1;
    double* value = nullptr;

    ARBORA_INLINE Self operator+(std::ptrdiff_t offset) const { return {{value + offset}}; }
    ARBORA_INLINE Value at(std::ptrdiff_t i) const { return value[i]; }
    ARBORA_INLINE void set(std::ptrdiff_t i, Value v) const { value[i] = v; }
    void place(double* memory, std::size_t) { value = memory; }
};

// (max, +): the value is a score, zero is -infinity, one is 0.
struct MaxPlane : DoublePlane<MaxPlane> {
    static constexpr Value kZero = kMinusInfinity, kUnit = 0.0;
    ARBORA_INLINE static Value times(Value a, Value b) { return a + b; }
    ARBORA_INLINE static Value plus(Value a, Value b) { return a > b ? a : b; }
    ARBORA_INLINE static Value weight(double score) { return allowed(score); }
};

// (+, *) over extended-range numbers: the value is the sum of exponentiated scores.
struct LogPlane {
    using Value = Extended;
    static constexpr std::size_t kDoubles = 2;
    static constexpr Value kZero{0.0, kZeroExponent}, kUnit{1.0, 0.0};
    double *mantissa = nullptr, *exponent = nullptr;

    ARBORA_INLINE static Value times(Value a, Value b) { return a * b; }
    ARBORA_INLINE static Value plus(Value a, Value b) { return a + b; }
    ARBORA_INLINE static Value weight(double score) { return extended_exp(score); }

    ARBORA_INLINE LogPlane operator+(std::ptrdiff_t offset) const { return {mantissa + offset, exponent + offset}; }
    ARBORA_INLINE Value at(std::ptrdiff_t i) const { return {mantissa[i], exponent[i]}; }
    ARBORA_INLINE void set(std::ptrdiff_t i, Value v) const {
        mantissa[i] = v.mantissa;
        exponent[i] = v.exponent;
    }
    void place(double* memory, std::size_t size) {
        mantissa = memory;
        exponent = memory + size;
    }
};

// (+, *) over plain doubles: LogPlane's sums at a third of the cost, for scores in range. Powers of two scale the weights of arcs
// word by word (SpanCharts::shift), so that the values of long spans stay bounded.
//
// Weights and values must be zero or within these bounds. Then no product of two values and two weights, nor a sum of such
// products, leaves the range of a double: zero means forbidden, and nothing is lost. The code that fills a chart checks this and
// falls back to LogPlane.
struct PlainPlane : DoublePlane<PlainPlane> {
    static constexpr Value kZero = 0.0, kUnit = 1.0;
    static constexpr double kWeightBits = 110.0, kWeightLimit = 76.0;  // 2^-110 and 2^110, e^-76 and e^76
    static constexpr double kSmallest = 0x1p-400, kLargest = 0x1p400;
    ARBORA_INLINE static Value times(Value a, Value b) { return a * b; }
    ARBORA_INLINE static Value plus(Value a, Value b) { return a + b; }
    ARBORA_INLINE static Value weight(double score) { return std::exp(allowed(score)); }
};

}  // namespace arbora
