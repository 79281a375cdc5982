// The semirings of the sparse charts, and the inner loops over their rows.
//
// A semiring adds values (add, join, extend) and splits the flow of a sum among its terms (split); see chart.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "numeric/planes.hpp"

namespace arbora::graph {

inline constexpr float kNever = -std::numeric_limits<float>::infinity();

typedef float Lanes __attribute__((vector_size(16)));

inline Lanes load_lanes(const float* from) {
    Lanes lanes;
    std::memcpy(&lanes, from, sizeof lanes);
    return lanes;
}

// max over k < count of a[k] + b[k]. Maxima do not depend on the order, so the result is the same on every machine.
inline float best_sum(const float* a, const float* b, int count) {
    float best = kNever;
    int k = 0;
    if (count >= 8) {
        Lanes even = load_lanes(a) + load_lanes(b), odd = load_lanes(a + 4) + load_lanes(b + 4);
        for (k = 8; k + 8 <= count; k += 8) {
            const Lanes first = load_lanes(a + k) + load_lanes(b + k), second = load_lanes(a + k + 4) + load_lanes(b + k + 4);
            even = first > even ? first : even;
            odd = second > odd ? second : odd;
        }
        even = odd > even ? odd : even;
        best = std::max(std::max(even[0], even[1]), std::max(even[2], even[3]));
    }
    for (; k < count; ++k) best = std::max(best, a[k] + b[k]);
    return best;
}

// The first k < count for which a[k] + b[k] is greatest.
inline int best_sum_at(const float* a, const float* b, int count) {
    int best = 0;
    for (int k = 1; k < count; ++k)
        if (a[k] + b[k] > a[best] + b[best]) best = k;
    return best;
}

// to[k] <- max(to[k], score + from[k])
inline void raise(float* to, const float* from, float score, int count) {
    for (int k = 0; k < count; ++k) to[k] = std::max(to[k], score + from[k]);
}

// Maxima of float32: the scores are sums of float32 weights, and only the order of trees matters.
struct MaxSemiring {
    using Value = float;
    static constexpr Value kZero = kNever;

    static Value add(Value a, Value b) { return std::max(a, b); }
    static Value join(const Value* a, const Value* b, int count) { return best_sum(a, b, count); }
    static void extend(Value* to, const Value* from, Value score, int count) { raise(to, from, score, count); }
    static Value with_parts(Value inner, Value arc, Value grand) { return inner + arc + grand; }
    static Value without_parts(Value item, Value, Value) { return item; }  // split() needs no total

    // All to the first largest term.
    template <class Term, class Give>
    static void split(double flow, Value, int begin, int end, Term term, Give give) {
        int best = begin;
        Value largest = term(begin);
        for (int k = begin + 1; k < end; ++k)
            if (const Value value = term(k); value > largest) {
                largest = value;
                best = k;
            }
        give(best, flow);
    }
};

// Sums in the log domain. Flows are probabilities in [0, 1], so nothing overflows.
struct SumSemiring {
    using Value = double;
    static constexpr Value kZero = kMinusInfinity;

    static Value add(Value a, Value b) {
        if (a < b) std::swap(a, b);
        return b == kZero ? a : a + std::log1p(std::exp(b - a));
    }

    static Value join(const Value* a, const Value* b, int count) {
        Value largest = kZero;
        for (int k = 0; k < count; ++k) largest = std::max(largest, a[k] + b[k]);
        if (largest == kZero) return kZero;
        Value sum = 0.0;
        for (int k = 0; k < count; ++k) sum += std::exp(a[k] + b[k] - largest);
        return largest + std::log(sum);
    }

    static void extend(Value* to, const Value* from, Value score, int count) {
        if (score == kZero) return;
        for (int k = 0; k < count; ++k) to[k] = add(to[k], score + from[k]);
    }

    static Value with_parts(Value inner, Value arc, Value grand) { return inner + (arc + grand); }
    static Value without_parts(Value item, Value arc, Value grand) { return item - (arc + grand); }

    // In proportion to the terms.
    template <class Term, class Give>
    static void split(double flow, Value total, int begin, int end, Term term, Give give) {
        for (int k = begin; k < end; ++k)
            if (const Value value = term(k); value != kZero) give(k, flow * std::exp(value - total));
    }
};

}  // namespace arbora::graph
