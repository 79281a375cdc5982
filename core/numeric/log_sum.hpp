// Sums of exponentials in the log domain.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace arbora {

// log(sum of exp(x)); -infinity for an empty sum.
inline double log_sum_exp(std::span<const double> values) {
    double largest = -std::numeric_limits<double>::infinity(), sum = 0.0;
    for (const double x : values) largest = std::max(largest, x);
    if (largest == -std::numeric_limits<double>::infinity()) return largest;
    for (const double x : values) sum += std::exp(x - largest);
    return largest + std::log(sum);
}

}  // namespace arbora
