// Steps whose length is adapted to each weight, with an L2 penalty [duchi-2011], at the price of what each step touches.
//
// For the mean loss with the penalty λ/2 |w|², step t with the gradient g of some examples' loss is composite mirror descent:
//
//     G_j ← G_j + g_j²        H_j = δ + √G_j        w_j ← (H_j w_j - η g_j) / (H_j + η λ k)
//
// for each weight that g touches. k is the number of steps since the weight was touched last, so that it pays the penalty of the
// steps in between in one: late, but in full. `settle` has all weights pay what they owe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "numeric/sparse.hpp"
#include "numeric/weights.hpp"
#include "base/large_pages.hpp"

namespace arbora {

// For checkpoints.
struct AdagradState {
    LargeVector<float> squares;       // G
    LargeVector<std::uint32_t> paid;  // the step up to which each weight has paid
    std::uint32_t steps = 0;
};

class Adagrad {
public:
    // rate η > 0, penalty λ ≥ 0, floor δ > 0; else InputError.
    Adagrad(std::size_t size, double rate, double penalty, double floor);
    Adagrad(AdagradState state, double rate, double penalty, double floor);

    // One step on `w`, of as many weights, against the gradient -factor · ascent. O(|ascent|).
    void step(Weights& w, const SparseVector& ascent, double factor);

    // Every weight pays the penalty of all steps so far. O(size).
    void settle(Weights& w);

    const AdagradState& state() const { return state_; }

private:
    void require_size(const Weights& w) const;

    AdagradState state_;
    double rate_, penalty_, floor_;
};

}  // namespace arbora
