// A weight vector for online learning: w = scale · v, with an average over time, in time proportional to what each step touches.
//
// The average needs the sum S of w over all ticks, kept as S = u + carried · v. A tick adds scale to `carried`: O(1). A step v += d must
// leave S as it is, so u -= carried · d: O(|d|). Scaling touches neither. v is float32, as stored models are; every d is what v really
// moved by after rounding, so that S is the sum of the vectors that were used, to the precision of a double. A scale outside [1e-9, 1e9]
// is folded into v, O(size).
#pragma once

#include <cstddef>
#include <vector>

#include "numeric/sparse.hpp"
#include "base/memory.hpp"

namespace arbora {

// For checkpoints: Weights made from a state continue bit for bit.
struct WeightsState {
    LargeVector<float> v;
    LargeVector<double> u;  // empty: no average is kept
    double scale = 1.0, carried = 0.0, ticks = 0.0, norm2 = 0.0, norm2_error = 0.0;
};

class Weights {
public:
    explicit Weights(std::size_t size, bool averaged = true);
    explicit Weights(WeightsState state);  // checked: InputError

    // w is scale() · data()[i].
    const float* data() const { return state_.v.data(); }
    double scale() const { return state_.scale; }
    std::size_t size() const { return state_.v.size(); }
    bool averaged() const { return averaged_; }
    double ticks() const { return state_.ticks; }
    const WeightsState& state() const { return state_; }

    // w += step · x. O(|x|).
    void add(const SparseVector& x, double step);
    // w *= factor. O(1) amortized; factor 0 of weights that are not zero, O(size).
    void multiply(double factor);
    // Counts w, as it is, `count` times in the average. O(1).
    void tick(double count = 1.0);
    // <w, x>, O(|x|).
    double dot(const SparseVector& x) const;
    // |w|², O(1): computed anew in `add` when rounding could have spoilt nine digits of it.
    double norm2() const { return state_.scale * state_.scale * state_.norm2; }
    std::vector<float> values() const;
    // The sum over ticks divided by their number; `values()` before the first. InputError where none is kept.
    std::vector<float> average() const;

private:
    void require_index(const SparseVector& x, const char* what) const;
    void settle();  // u takes over what v carries
    void fold();
    void recompute_norm2();

    WeightsState state_;
    bool averaged_;
};

}  // namespace arbora
