#include "trees/arborescence/extended_slopes.hpp"

#include <algorithm>
#include <cmath>

namespace arbora {

ExtendedSlopes::Rated operator+(const ExtendedSlopes::Rated& a, const ExtendedSlopes::Rated& b) {
    if (a.value.is_zero()) return b;
    if (b.value.is_zero()) return a;
    const Extended sum = a.value + b.value;
    return {sum, ratio(a.value, sum) * a.rate + ratio(b.value, sum) * b.rate};
}

ExtendedSlopes::ExtendedSlopes(const double* scores, const double* direction, Square square, Roots roots)
    : scores_(scores), direction_(direction), square_(square), roots_(roots), weights_(square.size()), gradients_(square.size()),
      pivots_(static_cast<std::size_t>(square.n) + 1) {
    double largest = 0.0;
    for (int h = 0; h <= square.n; ++h) {
        for (int d = 1; d <= square.n; ++d) {
            if (h == d) continue;
            const std::ptrdiff_t at = square.cell(h, d);
            weights_[at] = {extended_exp(scores[at]), direction[at]};
            largest = std::max(largest, std::abs(direction[at]));
        }
    }
    // A gradient's rate is E[direction | arc] - E[direction] less that of the arc, over n arcs each.
    largest_rate_ = (2.0 * square.n + 1.0) * largest;
}

void ExtendedSlopes::eliminate() {
    for (int k = square_.n; k >= 1; --k) {
        Rated pivot;
        for (int h = root_outside(k) ? 1 : 0; h < k; ++h) pivot = pivot + weight(h, k);
        if (pivot.value.is_zero() && root_outside(k)) {
            pivot = weight(0, k);
            hung_ = k;
            for (int d = 1; d < k; ++d) weight(0, d) = {};
        }
        pivots_[k] = pivot;
        for (int h = 0; h < k; ++h) {
            const Rated share = weight(h, k) / pivot;
            if (share.value.is_zero()) continue;
            for (int d = 1; d < k; ++d) {
                if (d != h) weight(h, d) = weight(h, d) + share * weight(k, d);
            }
        }
    }
}

// (1 - mean) + gain, as gain_above_mean in kernels/elimination_extended.hpp.
ExtendedSlopes::Rated ExtendedSlopes::above_mean(const Rated& gain, double mean, double mean_slope) const {
    if (!gain.value.is_zero() && gain.value.exponent > 100.0) return gain;
    const double rest = 1.0 - mean, plain = ratio(gain.value, kOne);
    if (rest > 0.0 || rest + plain > 0.0) {
        const double sum = rest + plain, rate = (plain * gain.rate - mean_slope) / sum;
        return {normalized(sum, 0.0), std::clamp(rate, -largest_rate_, largest_rate_)};
    }
    return rest == 0.0 ? gain : Rated{};
}

void ExtendedSlopes::backpropagate() {
    std::vector<Rated> gains(pivots_.size());
    for (int k = 1; k <= square_.n; ++k) {
        double mean = 0.0, mean_slope = 0.0;
        for (int h = 0; h < k; ++h) {
            const Rated share = weight(h, k) / pivots_[k];
            Rated gain;
            for (int d = 1; d < k; ++d) {
                if (d == h) continue;
                gain = gain + gradient(h, d) * weight(k, d);
                gradient(k, d) = gradient(k, d) + share * gradient(h, d);
            }
            gains[h] = gain;
            const double part = ratio(share.value * gain.value, kOne);
            mean += part;
            mean_slope += part * (share.rate + gain.rate);
        }
        const bool hangs = k == hung_;
        for (int h = 0; h < k; ++h) {
            const bool outside = h == 0 && root_outside(k);
            gradient(h, k) = (outside ? gains[h] : above_mean(gains[h], mean, mean_slope)) / pivots_[k];
            if (hangs) gradient(h, k) = h == 0 ? Rated{kOne, 0.0} / pivots_[k] : Rated{};
        }
        for (int d = 1; d < k && hangs; ++d) gradient(0, d) = {};
    }
}

void ExtendedSlopes::marginals_along(double* out) {
    eliminate();
    backpropagate();
    const std::ptrdiff_t nodes = square_.n + 1;
    for (int h = 0; h <= square_.n; ++h) {
        for (int d = 1; d <= square_.n; ++d) {
            const std::ptrdiff_t at = square_.cell(h, d);
            const Rated& g = gradients_[at];
            if (h == d || g.value.is_zero()) continue;
            out[h * nodes + d] = std::min(1.0, ratio(g.value * extended_exp(scores_[at]), kOne)) * (g.rate + direction_[at]);
        }
    }
}

}  // namespace arbora
