// Layers of a network, forward only, in float32, or with weights in int8 (numeric/quantized.hpp). Weights have PyTorch's layout:
// [outputs, inputs], row by row.
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

// out = in · weightsᵀ + bias. Rows of `out` are padded to whole panels; the padding is 0.
class Dense {
public:
    Dense() = default;
    Dense(std::size_t depth, std::size_t columns) : depth_(depth), columns_(columns), weights_(panels_of(columns) * depth * kPanel), bias_(padded(columns)) {}
    Dense(Matrix weights, const float* bias);  // bias [outputs] or nullptr

    std::size_t depth() const { return depth_; }
    std::size_t width() const { return padded(columns_); }
    float& weight(std::size_t output, std::size_t input) { return weights_[(output / kPanel * depth_ + input) * kPanel + output % kPanel]; }
    float& bias(std::size_t output) { return bias_[output]; }
    float bias(std::size_t output) const { return bias_[output]; }

    void operator()(const float* in, std::size_t in_stride, std::size_t rows, float* out, std::size_t out_stride) const;
    // The same through a leaky rectifier.
    void rectified(const float* in, std::size_t in_stride, std::size_t rows, float* out, std::size_t out_stride) const;
    UnsetVector<float> rectified(const float* in, std::size_t in_stride, std::size_t rows) const;
    // out = in · weightsᵀ + each row's start; a start may be the row of `out` itself.
    void add(const float* in, std::size_t in_stride, std::size_t rows, const float* const* starts, float* out, std::size_t out_stride) const;

    // Converts weights to int8, with a scale for each output; `weight` may not be called afterwards. Each row of the inputs gets
    // its own scale.
    void quantize();

private:
    void run(const float* in, std::size_t in_stride, std::size_t rows, const float* const* starts, float* out, std::size_t out_stride) const;

    std::size_t depth_ = 0, columns_ = 0;
    LargeVector<float> weights_, bias_;
    LargeVector<std::int8_t> bytes_;  // of the weights, where they are quantized; weights_ is empty then
    LargeVector<float> scales_;
    LargeVector<std::int32_t> offsets_;
};

// The layout of the tokens of some sentences, longest first, in arrays with one row per token: step t has rows steps[t] to steps[t
// + 1], the t-th tokens of all sentences that have one, in the order of the sentences.
using Steps = std::span<const std::size_t>;

// One direction of an LSTM over sentences of any lengths, without padding. Gates are in PyTorch's order: i, f, g, o. O(tokens · size²).
class Lstm {
public:
    // recurrent [4 · size, size]. Units are padded to `width()`; padded ones stay 0.
    Lstm(Matrix recurrent, bool is_backward);

    static std::size_t width(std::size_t size) { return (size + 15) / 16 * 16; }
    // The place of gate `g` of unit `u` among the 4 · width(size) gates.
    static std::size_t gate(std::size_t size, std::size_t g, std::size_t u) { return g * width(size) + u; }

    std::size_t size() const { return size_; }
    bool is_backward() const { return is_backward_; }
    void quantize() { recurrent_.quantize(); }

    // The memory of a run, reused by the next.
    struct Workspace {
        UnsetVector<float> gates, cells;
        std::vector<const float*> starts;
    };

    // inputs(step, room, starts): the inputs' part of the gates of a step's rows, [4 · width] each, which may be in the row's own
    // `room`. Steps are processed in order, or from the last to the first. out [tokens, stride] gets [width] per token.
    template <class Inputs>
    void run(Steps steps, Inputs&& inputs, float* out, std::size_t stride, Workspace& workspace) const;

private:
    void step(std::size_t rows, const float* before, std::size_t old, float* out, std::size_t stride, Workspace& workspace) const;

    std::size_t size_, width_;
    bool is_backward_;
    Dense recurrent_;
};

template <class Inputs>
void Lstm::run(Steps steps, Inputs&& inputs, float* out, std::size_t stride, Workspace& workspace) const {
    const std::size_t count = steps.size() - 1, most = count == 0 ? 0 : steps[1];
    workspace.gates.resize(most * 4 * width_);
    workspace.cells.assign(most * width_, 0.0f);
    workspace.starts.resize(most);
    std::size_t old = 0;  // rows with a token before this one; backwards, sentences join when their last token comes
    const float* before = nullptr;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t t = is_backward_ ? count - 1 - i : i, rows = steps[t + 1] - steps[t];
        inputs(t, workspace.gates.data(), workspace.starts.data());
        float* here = out + steps[t] * stride;
        step(rows, before, std::min(old, rows), here, stride, workspace);
        before = here;
        old = rows;
    }
}

}  // namespace arbora::neural
