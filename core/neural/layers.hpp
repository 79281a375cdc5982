// Layers of a network, forward only, in float32, or with weights in int8 (numeric/quantized.hpp). Weights come as PyTorch stores them: [outputs, inputs], row by row.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/memory.hpp"
#include "numeric/dense.hpp"

namespace arbora::neural {

inline constexpr float kSlope = 0.1f;  // of the rectifiers below 0

// A matrix of the caller's, row by row.
struct Matrix {
    const float* data = nullptr;
    std::size_t rows = 0, columns = 0;

    const float* row(std::size_t r) const { return data + r * columns; }
};

// out = in · weightsᵀ + bias. Rows of `out` are padded to whole panels, the padding is 0.
class Dense {
public:
    Dense() = default;
    Dense(std::size_t depth, std::size_t columns) : depth_(depth), columns_(columns), weights_(panels_of(columns) * depth * kPanel), bias_(padded(columns)) {}
    Dense(Matrix weights, const float* bias);  // bias [outputs] or nullptr

    std::size_t depth() const { return depth_; }
    std::size_t width() const { return padded(columns_); }
    float& weight(std::size_t output, std::size_t input) { return weights_[(output / kPanel * depth_ + input) * kPanel + output % kPanel]; }
    float& bias(std::size_t output) { return bias_[output]; }

    void operator()(const float* in, std::size_t in_stride, std::size_t rows, float* out, std::size_t out_stride) const;
    // The same through a leaky rectifier.
    void rectified(const float* in, std::size_t in_stride, std::size_t rows, float* out, std::size_t out_stride) const;
    UnsetVector<float> rectified(const float* in, std::size_t in_stride, std::size_t rows) const;
    // out = in · weightsᵀ + each row's start; a start may be the row of `out` itself.
    void add(const float* in, std::size_t in_stride, std::size_t rows, const float* const* starts, float* out, std::size_t out_stride) const;

    // From here on weights are int8, with a scale for each output, and `weight` may not be called. Each row of the inputs gets a scale
    // of its own.
    void quantize();

private:
    void run(const float* in, std::size_t in_stride, std::size_t rows, const float* const* starts, float* out, std::size_t out_stride) const;

    std::size_t depth_ = 0, columns_ = 0;
    LargeVector<float> weights_, bias_;
    LargeVector<std::int8_t> bytes_;  // of the weights, where they are quantized; weights_ is empty then
    LargeVector<float> scales_;
    LargeVector<std::int32_t> offsets_;
};

// Where the tokens of some sentences lie in arrays of rows, one per token: sentence s has rows first[s] to first[s + 1].
using Offsets = std::span<const std::size_t>;

// One direction of an LSTM over sentences of any lengths, without padding: sentences are sorted by length, and step t takes the t-th
// token, or the t-th last, of all that have so many. Gates are in PyTorch's order: i, f, g, o. O(tokens · size²).
class Lstm {
public:
    // recurrent [4 · size, size]. Units are padded to `width()`; padded ones stay 0.
    Lstm(Matrix recurrent, bool is_backward);

    static std::size_t width(std::size_t size) { return (size + 15) / 16 * 16; }
    // Where gate `g` of unit `u` stands among the 4 · width(size) gates.
    static std::size_t gate(std::size_t size, std::size_t g, std::size_t u) { return g * width(size) + u; }

    std::size_t size() const { return size_; }
    void quantize() { recurrent_.quantize(); }

    // What a run needs, to be used again by the next.
    struct Workspace {
        UnsetVector<float> gates, cells, outputs;
        std::vector<const float*> starts;
        std::vector<std::size_t> order;
    };

    // gates(token, room): the inputs' part of a token's gates, [4 · width], which may be written to `room`. out [tokens, stride] gets
    // [width] per token.
    template <class Gates>
    void run(Offsets first, Gates&& gates, float* out, std::size_t stride, Workspace& workspace) const;

private:
    void step(bool is_first, std::size_t rows, Workspace& workspace) const;

    std::size_t size_, width_;
    bool is_backward_;
    Dense recurrent_;
};

template <class Gates>
void Lstm::run(Offsets first, Gates&& gates, float* out, std::size_t stride, Workspace& workspace) const {
    const std::size_t count = first.size() - 1;
    auto& [step_gates, cells, outputs, starts, order] = workspace;
    order.resize(count);
    for (std::size_t s = 0; s < count; ++s) order[s] = s;
    const auto length = [&](std::size_t s) { return first[s + 1] - first[s]; };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return length(a) > length(b); });
    step_gates.resize(count * 4 * width_);
    starts.resize(count);
    cells.assign(count * width_, 0.0f);
    outputs.resize(count * width_);
    std::size_t active = count;
    for (std::size_t t = 0; active > 0; ++t) {
        while (active > 0 && length(order[active - 1]) <= t) --active;
        const auto token = [&](std::size_t i) { return is_backward_ ? first[order[i] + 1] - 1 - t : first[order[i]] + t; };
        for (std::size_t i = 0; i < active; ++i) starts[i] = gates(token(i), step_gates.data() + i * 4 * width_);
        step(t == 0, active, workspace);
        for (std::size_t i = 0; i < active; ++i) std::copy_n(outputs.data() + i * width_, width_, out + token(i) * stride);
    }
}

}  // namespace arbora::neural
