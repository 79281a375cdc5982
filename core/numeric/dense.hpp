// Dense matrices in float32, laid out for the kernels: a matrix of weights is split into panels of kPanel columns, each with its
// rows in order, padded with zeros.
#pragma once

#include <cstddef>

namespace arbora {

inline constexpr std::size_t kPanel = 16;

inline constexpr std::size_t panels_of(std::size_t columns) { return (columns + kPanel - 1) / kPanel; }
inline constexpr std::size_t padded(std::size_t columns) { return panels_of(columns) * kPanel; }

// out[rows, panels · kPanel] = in[rows, depth] · weights + bias, or + each row's start.
struct DenseProduct {
    const float* in;
    std::size_t in_stride, rows, depth;
    const float* weights;  // [panels, depth, kPanel]
    std::size_t panels;
    const float* bias;  // [panels · kPanel] or nullptr
    float* out;
    std::size_t out_stride;
    const float* const* starts = nullptr;  // [rows] of [panels · kPanel]: in place of the bias
};

// One step of an LSTM in training, for `rows` sequences, of which the first `old` have a previous step.
struct LstmForwardStep {
    std::size_t rows, size, old;
    float* gates;         // [rows, 4 · size], i, f, g, o: becomes their sigmoids, of g the tanh
    const float* before;  // [old, size], the cells of the step before
    float *cells, *shown, *states;  // [rows, size]; shown is tanh(cells)
};

// The gradient of that step; the first `later` sequences have a next step.
struct LstmBackwardStep {
    std::size_t rows, size, old, later, stride;
    const float *given, *gates, *shown, *before;  // given: [rows, size], of the states
    const float* later_states;                    // [later, stride], of the states by way of the next step
    float* later_cells;                           // the same of the cells; becomes [rows, stride], those of the step before
    float* slopes;                                // [rows, 4 · size], of the gates before their activations
};

}  // namespace arbora
