// The inner loop of the sparse charts.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>

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

}  // namespace arbora::graph
