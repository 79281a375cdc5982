// AdaGrad steps with an L2 penalty [duchi-2011], in time proportional to the weights that each step changes.
//
// For the mean loss with the penalty λ/2 |w|², step t with the gradient g of some examples' loss is composite mirror descent:
//     G_j ← G_j + g_j²        H_j = δ + √G_j        w_j ← (H_j w_j - η g_j) / (H_j + η λ k)
// for each weight in g. k is the number of steps since the weight last changed: the penalty of the steps between is applied late,
// but in full. `settle` applies all outstanding penalties.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "numeric/sparse.hpp"
#include "numeric/weights.hpp"

namespace arbora {

// For checkpoints.
struct AdagradState {
    LargeVector<float> squares;       // G
    LargeVector<std::uint32_t> paid;  // the last step whose penalty each weight has
    std::uint32_t steps = 0;
};

class Adagrad {
public:
    // Throws InputError unless rate η > 0, penalty λ ≥ 0 and floor δ > 0.
    Adagrad(std::size_t size, double rate, double penalty, double floor);
    Adagrad(AdagradState state, double rate, double penalty, double floor);
    // One step on `w`, of as many weights, against the gradient -factor · ascent. O(|ascent|).
    void step(Weights& w, const SparseVector& ascent, double factor);
    // Applies the penalty of all steps so far to every weight. O(size).
    void settle(Weights& w);
    const AdagradState& state() const { return state_; }

private:
    void require_size(const Weights& w) const;
    // H_j and η λ k of a weight.
    std::pair<double, double> denominator(std::size_t j) const {
        return {floor_ + std::sqrt(double{state_.squares[j]}), rate_ * penalty_ * (state_.steps - state_.paid[j])};
    }

    AdagradState state_;
    double rate_, penalty_, floor_;
};

// The same without a penalty, for examples whose features are all 1, in float32 with δ² = 1e-6 inside the root; also the mean of
// the weights over time. The mean over steps 1 .. t is w - u / t, where a change d at step s adds (s - 1) d to u.
class BinaryAdagrad {
public:
    explicit BinaryAdagrad(std::size_t size) : w_(size), squares_(size), u_(size) {}
    // The sum of the weights at these places.
    double score(std::span<const std::uint32_t> places) const;
    // Begins a step, which may change any weights.
    void tick() { ++steps_; }
    // w_j -= rate g / sqrt(G_j), after G_j += g².
    void step(std::span<const std::uint32_t> places, double gradient, double rate);
    std::vector<float> mean() const;

private:
    std::vector<float> w_, squares_;
    std::vector<double> u_;
    double steps_ = 0.0;
};

}  // namespace arbora
