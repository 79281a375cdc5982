// Products of matrices in int8: weights with a scale for each column, activations with one for each row, sums in int32.
//
// Both are rounded to 7 bits, -63 to 63, so that AVX2 can add four products in 16 bits before it widens them. That is faster than 8
// bits and parses as well (docs/speed.md). The depth is cut into groups of 2 or 4, as the instruction set multiplies at once,
// so a group of activations always takes 32 bits: two of 16 bits, or four of 8 bits plus kActivationOffset, because they must not
// be negative. Every instruction set gives the same sums: nothing saturates.
#pragma once

#include <cstddef>
#include <cstdint>

#include "numeric/dense.hpp"

namespace arbora {

inline constexpr int kLargestQuantized = 63, kActivationOffset = 64;
// Depths whose sums fit into int32.
inline constexpr std::size_t kDeepestQuantized = std::size_t{1} << 16;

// The groups of a depth. Kernels take two at a time, so the number is even; the last ones are padded with zeros.
inline constexpr std::size_t groups_of(std::size_t depth, std::size_t group) { return (depth + 2 * group - 1) / (2 * group) * 2; }

// out[rows, panels · kPanel] = in · weights + bias, or + each row's start.
struct QuantizedProduct {
    const std::uint32_t* in;  // [rows, groups]
    const float* in_scales;   // [rows]
    std::size_t rows, groups;
    const std::int8_t* weights;  // [panels, groups, kPanel, group]
    const float* scales;         // [panels · kPanel]
    const std::int32_t* offsets;  // [panels · kPanel]: what the added kActivationOffset makes of each column's sum; unused in groups of 2
    std::size_t panels;
    const float* bias;  // [panels · kPanel]
    float* out;
    std::size_t out_stride;
    const float* const* starts = nullptr;  // [rows] of [panels · kPanel]: in place of the bias
};

// One table per instruction set, like Kernels.
struct QuantizedKernels {
    const char* name;
    std::size_t group;  // 2 or 4
    // Rounds rows of floats to out [rows, groups] and scales [rows]: the largest of a row becomes kLargestQuantized. Beyond
    // `depth`: zeros. A row that is not finite gets the scale NaN.
    void (*quantize)(const float* in, std::size_t in_stride, std::size_t rows, std::size_t depth, std::uint32_t* out, float* scales);
    void (*product)(const QuantizedProduct& product);
};

const QuantizedKernels& quantized_kernels();

// By name ("baseline", "avx2", "avxvnni", "avx512", "avx512vnni"), for tests and benchmarks; nullptr if the CPU or the build lacks
// it.
const QuantizedKernels* quantized_kernels_named(const char* name);

}  // namespace arbora
