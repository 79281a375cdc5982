// One direction of an LSTM layer in training: its states, and the gradient of its gates.
//
//     i, f, o = sigmoid(gates), g = tanh(gate)      cell = i g + f cell'      state = o tanh(cell)
//
// where the gates are x W + state' U + b. The caller computes the products with x, before and after, for all tokens at once; this
// file computes those with U, step by step. Tokens are packed: the first tokens of all sequences, longest first, then the second
// ones, and so on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace arbora::neural {

struct PackedSequences {
    std::span<const std::int32_t> counts;  // how many sequences have a t-th token; does not rise
    bool is_backward;                      // whether the last token comes first
};

// Rows are tokens. `size` must be a multiple of 4; recurrent is U, [4 · size, size].
struct LstmArrays {
    std::size_t size;
    const float* recurrent;
    float* gates;                   // [tokens, 4 · size]
    float *cells, *shown, *states;  // [tokens, size]; shown is tanh(cells)
};

// `gates` holds x W + b, and becomes the activated gates.
void lstm_forward(PackedSequences sequences, const LstmArrays& arrays);

// given: the gradient of the states, [tokens, size]. slopes: of the gates before their activations, [tokens, 4 · size]; before: the
// state before each token, [tokens, size].
void lstm_backward(PackedSequences sequences, const LstmArrays& arrays, const float* given, float* slopes, float* before);

}  // namespace arbora::neural
