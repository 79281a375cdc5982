// The derivative of the marginals of non-projective trees as scores move along a direction, at any score scale.
//
// The elimination of matrix_tree.hpp and its backward pass, with the rate d log(number) / dt of every number. All numbers are
// positive, so the rate of a sum is a mean of rates, and the rate of a product or quotient is a sum or difference: rates have the
// direction's own size, however large or small the numbers are. Plain loops, for scores outside the range of plain doubles
// (kernels/elimination.hpp handles the others). Time O(n^3), space O(n^2).
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/interrupt.hpp"
#include "trees/chart/layout.hpp"

namespace arbora {

class ExtendedSlopes {
public:
    // Squares of scores (column 0, diagonal: -inf) and of the direction; at least one tree must be allowed.
    ExtendedSlopes(const double* scores, const double* direction, Square square, Roots roots)
        : scores_(scores), direction_(direction), square_(square), roots_(roots), weights_(square.size()), gradients_(square.size()),
          pivots_(static_cast<std::size_t>(square.n) + 1) {
        double largest = 0.0;
        each_arc(square.n, [&](int h, int d) {
            const std::ptrdiff_t at = square.cell(h, d);
            weights_[at] = {extended_exp(scores[at]), direction[at]};
            largest = std::max(largest, std::abs(direction[at]));
        });
        // A gradient's rate is E[direction | arc] - E[direction] minus the arc's own, over n arcs each.
        largest_rate_ = (2.0 * square.n + 1.0) * largest;
    }

    // out[head, dep], dense (n+1) x (n+1); entries of forbidden arcs are unchanged.
    void marginals_along(double* out) {
        eliminate();
        backpropagate();
        const std::ptrdiff_t nodes = square_.n + 1;
        each_arc(square_.n, [&](int h, int d) {
            const std::ptrdiff_t at = square_.cell(h, d);
            const Rated& g = gradients_[at];
            if (g.value.is_zero()) return;
            out[h * nodes + d] = std::min(1.0, ratio(g.value * extended_exp(scores_[at]), kOne)) * (g.rate + direction_[at]);
        });
    }

private:
    struct Rated {
        Extended value;
        double rate = 0.0;

        friend Rated operator*(const Rated& a, const Rated& b) { return {a.value * b.value, a.rate + b.rate}; }
        friend Rated operator/(const Rated& a, const Rated& b) { return {a.value / b.value, a.rate - b.rate}; }
        friend Rated operator+(const Rated& a, const Rated& b) {
            if (a.value.is_zero()) return b;
            if (b.value.is_zero()) return a;
            const Extended sum = a.value + b.value;
            return {sum, ratio(a.value, sum) * a.rate + ratio(b.value, sum) * b.rate};
        }
    };

    bool root_outside(int k) const { return roots_ == Roots::single && k > hung_ && k > 1; }
    Rated& weight(int h, int d) { return weights_[square_.cell(h, d)]; }
    Rated& gradient(int h, int d) { return gradients_[square_.cell(h, d)]; }

    void eliminate() {
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
                check_stop(32 * static_cast<std::size_t>(k));
                const Rated share = weight(h, k) / pivot;
                if (share.value.is_zero()) continue;
                for (int d = 1; d < k; ++d)
                    if (d != h) weight(h, d) = weight(h, d) + share * weight(k, d);
            }
        }
    }

    // (1 - mean) + gain, as gain_above_mean in kernels/elimination_extended.hpp.
    Rated above_mean(const Rated& gain, double mean, double mean_slope) const {
        if (!gain.value.is_zero() && gain.value.exponent > 100.0) return gain;
        const double rest = 1.0 - mean, plain = ratio(gain.value, kOne);
        if (rest > 0.0 || rest + plain > 0.0) {
            const double sum = rest + plain, rate = (plain * gain.rate - mean_slope) / sum;
            return {normalized(sum, 0.0), std::clamp(rate, -largest_rate_, largest_rate_)};
        }
        return rest == 0.0 ? gain : Rated{};
    }

    void backpropagate() {
        std::vector<Rated> gains(pivots_.size());
        for (int k = 1; k <= square_.n; ++k) {
            double mean = 0.0, mean_slope = 0.0;
            for (int h = 0; h < k; ++h) {
                check_stop(32 * static_cast<std::size_t>(k));
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

    const double *scores_, *direction_;
    Square square_;
    Roots roots_;
    int hung_ = 0;             // see ExtendedElimination
    double largest_rate_ = 0;  // the limit of a gradient's rate, up to rounding
    std::vector<Rated> weights_, gradients_, pivots_;
};

}  // namespace arbora
