// How a chart of semiring values lies in memory: one plane of doubles for Max, two (mantissas, exponents) for Log.
// A plane is a pointer that a kernel may offset; scalar code reads single values through at().
#pragma once

#include <cstddef>
#include <limits>

#include "semiring/extended.hpp"

namespace arbora {

inline constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

// (max, +): the value is a score, zero is -infinity, one is 0.
struct MaxPlane {
    using Value = double;
    static constexpr std::size_t kDoubles = 1;
    static constexpr Value kZero = kMinusInfinity;
    static constexpr Value kUnit = 0.0;
    double* value = nullptr;

    ARBORA_INLINE static Value times(Value a, Value b) { return a + b; }
    ARBORA_INLINE static Value plus(Value a, Value b) { return a > b ? a : b; }
    ARBORA_INLINE static Value weight(double score) { return allowed(score); }

    ARBORA_INLINE MaxPlane operator+(std::ptrdiff_t offset) const { return {value + offset}; }
    ARBORA_INLINE Value at(std::ptrdiff_t i) const { return value[i]; }
    ARBORA_INLINE void set(std::ptrdiff_t i, Value v) const { value[i] = v; }
    void place(double* memory, std::size_t) { value = memory; }
};

// (+, *) over extended-range numbers: the value is the sum of exponentiated scores.
struct LogPlane {
    using Value = Extended;
    static constexpr std::size_t kDoubles = 2;
    static constexpr Value kZero{0.0, kZeroExponent};
    static constexpr Value kUnit{1.0, 0.0};

    ARBORA_INLINE static Value times(Value a, Value b) { return a * b; }
    ARBORA_INLINE static Value plus(Value a, Value b) { return a + b; }
    ARBORA_INLINE static Value weight(double score) { return extended_exp(score); }

    double* mantissa = nullptr;
    double* exponent = nullptr;

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

}  // namespace arbora
