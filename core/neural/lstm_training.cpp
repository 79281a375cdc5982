#include "neural/lstm_training.hpp"

#include <algorithm>
#include <vector>

#include "base/interrupt.hpp"
#include "numeric/dense.hpp"
#include "numeric/kernels/kernels.hpp"

namespace arbora::neural {

namespace {

struct Step {
    std::size_t first, rows;  // its tokens
    std::size_t old;          // how many of its sequences have a step before it
};

// In the order in which they are made.
std::vector<Step> steps_of(PackedSequences sequences) {
    std::vector<Step> steps;
    std::size_t first = 0;
    for (std::size_t t = 0; t < sequences.counts.size(); ++t) {
        const auto count = [&](std::size_t at) { return at < sequences.counts.size() ? static_cast<std::size_t>(sequences.counts[at]) : 0; };
        steps.push_back({first, count(t), sequences.is_backward ? count(t + 1) : t == 0 ? 0 : count(t)});
        first += count(t);
    }
    if (sequences.is_backward) std::ranges::reverse(steps);
    return steps;
}

// [depth, columns] in panels; element (k, c) is at(k, c).
template <class At>
std::vector<float> packed(std::size_t depth, std::size_t columns, At at) {
    std::vector<float> panels(panels_of(columns) * depth * kPanel);
    for (std::size_t c = 0; c < columns; ++c)
        for (std::size_t k = 0; k < depth; ++k) panels[(c / kPanel * depth + k) * kPanel + c % kPanel] = at(k, c);
    return panels;
}

}  // namespace

void lstm_forward(PackedSequences sequences, const LstmArrays& arrays) {
    const std::size_t size = arrays.size, wide = 4 * size;
    const auto weights = packed(size, wide, [&](std::size_t k, std::size_t c) { return arrays.recurrent[c * size + k]; });
    std::vector<const float*> starts;
    const Step* previous = nullptr;
    const auto steps = steps_of(sequences);
    for (const Step& step : steps) {
        check_stop(size * wide);
        float* gates = arrays.gates + step.first * wide;
        const std::size_t last = previous == nullptr ? 0 : previous->first;
        starts.clear();
        for (std::size_t r = 0; r < step.old; ++r) starts.push_back(gates + r * wide);
        kernels().product({arrays.states + last * size, size, step.old, size, weights.data(), panels_of(wide), nullptr, gates, wide, starts.data()});
        const std::size_t at = step.first * size;
        kernels().lstm_forward_step({step.rows, size, step.old, gates, arrays.cells + last * size, arrays.cells + at, arrays.shown + at, arrays.states + at});
        previous = &step;
    }
}

void lstm_backward(PackedSequences sequences, const LstmArrays& arrays, const float* given, float* slopes, float* before) {
    const std::size_t size = arrays.size, wide = 4 * size, stride = padded(size);
    const auto weights = packed(wide, size, [&](std::size_t k, std::size_t c) { return arrays.recurrent[k * size + c]; });
    const auto steps = steps_of(sequences);
    std::size_t most = 0;
    for (const Step& step : steps) most = std::max(most, step.rows);
    std::vector<float> states(most * stride), cells(most * stride);
    std::size_t later = 0;
    for (std::size_t place = steps.size(); place-- > 0;) {
        check_stop(size * wide);
        const Step& step = steps[place];
        const std::size_t at = step.first * size, last = place == 0 ? 0 : steps[place - 1].first * size;
        float* own = slopes + step.first * wide;
        kernels().lstm_backward_step({step.rows, size, step.old, later, stride, given + at, arrays.gates + step.first * wide, arrays.shown + at,
                               arrays.cells + last, states.data(), cells.data(), own});
        std::copy_n(arrays.states + last, step.old * size, before + at);
        std::fill_n(before + at + step.old * size, (step.rows - step.old) * size, 0.0f);
        kernels().product({own, wide, step.old, wide, weights.data(), panels_of(size), nullptr, states.data(), stride});
        later = step.old;
    }
}

}  // namespace arbora::neural
