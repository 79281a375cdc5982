// A weight vector for online learning: w = scale · v, with an average over time; a step costs only the weights that it changes.
//
// The average needs the sum S of w over all ticks, kept as S = u + carried · v. A tick adds scale to `carried`: O(1). A step v += d
// must not change S, so u -= carried · d: O(|d|). Scaling changes neither. v is float32, like stored models; every d is v's actual
// change after rounding, so S is the sum of the vectors that were used, to double precision. A scale outside [1e-9, 1e9] is folded
// into v, O(size).
#pragma once

#include <cstddef>
#include <vector>

#include "numeric/sparse.hpp"
#include "base/memory.hpp"

namespace arbora {

// For checkpoints: Weights restored from a state continue bit for bit.
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
    // w *= factor. O(1) amortized; O(size) for factor 0 unless w is zero.
    void multiply(double factor);
    // Counts the present w `count` times in the average. O(1).
    void tick(double count = 1.0);
    // <w, x>, O(|x|).
    double dot(const SparseVector& x) const;
    // |w|², O(1): recomputed in `add` if rounding may have affected nine digits of it.
    double norm2() const { return state_.scale * state_.scale * state_.norm2; }
    std::vector<float> values() const;
    // The sum over ticks divided by their number; `values()` before the first. Throws InputError if no average is kept.
    std::vector<float> average() const;

private:
    void require_index(const SparseVector& x, const char* what) const;
    void settle();  // folds `carried` into u
    void fold();
    void recompute_norm2();

    WeightsState state_;
    bool averaged_;
};

}  // namespace arbora
