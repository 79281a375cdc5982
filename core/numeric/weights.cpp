#include "numeric/weights.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/errors.hpp"

namespace arbora {

namespace {

constexpr double kSmallest = 1e-9, kLargest = 1e9;  // of the scale
constexpr double kDrift = 1e-9;                     // of the squared norm, relative
constexpr std::size_t kBlock = 256;
constexpr double kRounding = std::numeric_limits<double>::epsilon();

void require_finite(double value, const char* what) {
    if (!std::isfinite(value)) reject("weights: ", what, " must be a finite number, got ", value);
}

}  // namespace

Weights::Weights(std::size_t size, bool averaged) : averaged_(averaged) {
    if (size > std::size_t{1} << 32) reject("weights: size must be at most 2^32, got ", size);
    state_.v.assign(size, 0.0F);
    if (averaged) state_.u.assign(size, 0.0);
}

Weights::Weights(WeightsState state) : state_(std::move(state)), averaged_(!state_.u.empty()) {
    if (averaged_ && state_.u.size() != state_.v.size())
        reject("weights: a state's u must be empty or as long as v, ", state_.v.size(), ", got ", state_.u.size());
    for (const double value : {state_.scale, state_.carried, state_.ticks, state_.norm2, state_.norm2_error})
        require_finite(value, "every number of a state");
    if (state_.scale == 0.0) throw InputError("weights: a state's scale must not be 0");
}

void Weights::require_index(const SparseVector& x, const char* what) const {
    if (x.size() > 0 && x.indices.back() >= size())
        reject("weights: ", what, " of a vector with index ", x.indices.back(), ", but there are only ", size(), " weights");
}

void Weights::add(const SparseVector& x, double step) {
    require_index(x, "add");
    require_finite(step, "step");
    const double factor = step / state_.scale, carried = state_.carried;
    float* v = state_.v.data();
    double* u = averaged_ && carried != 0.0 ? state_.u.data() : nullptr;
    double change = 0.0, squares = 0.0;
    // In blocks, so that no sum has many terms: the rounding error is at most the number of terms times its size.
    for (std::size_t begin = 0; begin < x.size(); begin += kBlock) {
        double block_change = 0.0;
        for (std::size_t i = begin; i < std::min(x.size(), begin + kBlock); ++i) {
            const std::uint32_t index = x.indices[i];
            const float before = v[index];
            const auto after = static_cast<float>(before + factor * x.values[i]);
            v[index] = after;
            const double old_square = double{before} * before, new_square = double{after} * after;
            block_change += new_square - old_square;
            squares += new_square + old_square;
            if (u != nullptr) u[index] -= carried * (double{after} - double{before});
        }
        change += block_change;
    }
    state_.norm2 = std::max(0.0, state_.norm2 + change);
    const auto terms = static_cast<double>(std::min(x.size(), kBlock) + x.size() / kBlock);
    state_.norm2_error += kRounding * (terms * squares + state_.norm2);
    if (!std::isfinite(state_.norm2) || state_.norm2_error > kDrift * state_.norm2) recompute_norm2();
}

void Weights::multiply(double factor) {
    require_finite(factor, "factor");
    if (state_.norm2 == 0.0 && state_.norm2_error == 0.0) return;  // zero stays zero
    if (factor == 0.0) {
        settle();
        std::fill(state_.v.begin(), state_.v.end(), 0.0F);
        state_.scale = 1.0;
        state_.norm2 = state_.norm2_error = 0.0;
        return;
    }
    state_.scale *= factor;
    const double size = std::abs(state_.scale);
    if (size < kSmallest || size > kLargest) fold();
}

void Weights::tick(double count) {
    if (!(count >= 0.0) || !std::isfinite(count)) reject("weights: a tick's count must be a finite number of at least 0, got ", count);
    state_.carried += count * state_.scale;
    state_.ticks += count;
}

double Weights::dot(const SparseVector& x) const {
    require_index(x, "dot");
    double sum = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += double{state_.v[x.indices[i]]} * double{x.values[i]};
    return state_.scale * sum;
}

std::vector<float> Weights::values() const {
    std::vector<float> result(size());
    for (std::size_t i = 0; i < size(); ++i) result[i] = static_cast<float>(state_.scale * state_.v[i]);
    return result;
}

std::vector<float> Weights::average() const {
    if (!averaged_ && size() > 0) throw InputError("weights: no average is kept; make them with averaged=True");
    if (state_.ticks == 0.0) return values();
    std::vector<float> result(size());
    for (std::size_t i = 0; i < size(); ++i) result[i] = static_cast<float>((state_.u[i] + state_.carried * state_.v[i]) / state_.ticks);
    return result;
}

void Weights::settle() {
    for (std::size_t i = 0; averaged_ && state_.carried != 0.0 && i < size(); ++i) state_.u[i] += state_.carried * state_.v[i];
    state_.carried = 0.0;
}

void Weights::fold() {
    settle();
    for (auto& value : state_.v) value = static_cast<float>(state_.scale * value);
    state_.scale = 1.0;
    recompute_norm2();
}

void Weights::recompute_norm2() {
    double sum = 0.0;
    for (const float value : state_.v) sum += double{value} * double{value};
    require_finite(sum, "|w|²");
    state_.norm2 = sum;
    state_.norm2_error = 0.0;
}

}  // namespace arbora
