#include "neural/layers.hpp"

#include <algorithm>
#include <cmath>

#include "base/errors.hpp"
#include "base/interrupt.hpp"
#include "numeric/kernels/kernels.hpp"
#include "numeric/quantized.hpp"

namespace arbora::neural {

Dense::Dense(Matrix weights, const float* bias) : Dense(weights.columns, weights.rows) {
    for (std::size_t o = 0; o < weights.rows; ++o) {
        for (std::size_t i = 0; i < weights.columns; ++i) weight(o, i) = weights.row(o)[i];
        if (bias != nullptr) bias_[o] = bias[o];
    }
}

void Dense::operator()(const float* in, std::size_t in_stride, std::size_t rows, float* out, std::size_t out_stride) const {
    run(in, in_stride, rows, nullptr, out, out_stride);
}

void Dense::rectified(const float* in, std::size_t in_stride, std::size_t rows, float* out, std::size_t out_stride) const {
    (*this)(in, in_stride, rows, out, out_stride);
    for (std::size_t r = 0; r < rows; ++r) kernels().rectify(out + r * out_stride, width(), kSlope);
}

UnsetVector<float> Dense::rectified(const float* in, std::size_t in_stride, std::size_t rows) const {
    UnsetVector<float> out(rows * width());
    rectified(in, in_stride, rows, out.data(), width());
    return out;
}

void Dense::add(const float* in, std::size_t in_stride, std::size_t rows, const float* const* starts, float* out, std::size_t out_stride) const {
    run(in, in_stride, rows, starts, out, out_stride);
}

void Dense::run(const float* in, std::size_t in_stride, std::size_t rows, const float* const* starts, float* out, std::size_t out_stride) const {
    const std::size_t panels = panels_of(columns_);
    const auto starts_from = [starts](std::size_t row) { return starts == nullptr ? nullptr : starts + row; };
    constexpr std::size_t kBlock = 96;  // rows that stay in the cache
    if (bytes_.empty()) {
        for (std::size_t row = 0; row < rows; row += kBlock) {
            const std::size_t count = std::min(kBlock, rows - row);
            check_stop(count * panels * depth_);
            kernels().product({in + row * in_stride, in_stride, count, depth_, weights_.data(), panels, bias_.data(), out + row * out_stride, out_stride, starts_from(row)});
        }
        return;
    }
    const QuantizedKernels& k = quantized_kernels();
    const std::size_t groups = groups_of(depth_, k.group);
    static thread_local std::vector<std::uint32_t> activations;
    activations.resize(std::max(activations.size(), kBlock * groups));
    float scales[kBlock];
    for (std::size_t row = 0; row < rows; row += kBlock) {
        const std::size_t count = std::min(kBlock, rows - row);
        check_stop(count * panels * depth_);
        k.quantize(in + row * in_stride, in_stride, count, depth_, activations.data(), scales);
        k.product({activations.data(), scales, count, groups, bytes_.data(), scales_.data(), offsets_.data(), panels, bias_.data(),
                   out + row * out_stride, out_stride, starts_from(row)});
    }
}

void Dense::quantize() {
    if (depth_ > kDeepestQuantized) reject("network: expected layers of at most ", kDeepestQuantized, " inputs in int8, got ", depth_);
    const std::size_t group = quantized_kernels().group, groups = groups_of(depth_, group), width = padded(columns_);
    constexpr float kLargest = kLargestQuantized;
    bytes_.assign(width * groups * group, 0);
    scales_.assign(width, 0.0f);
    offsets_.assign(width, 0);
    for (std::size_t o = 0; o < columns_; ++o) {
        float largest = 0.0f;
        for (std::size_t i = 0; i < depth_; ++i) largest = std::max(largest, std::abs(weight(o, i)));
        scales_[o] = largest / kLargestQuantized;
        if (!(scales_[o] > 0.0f)) continue;
        std::int32_t sum = 0;
        for (std::size_t i = 0; i < depth_; ++i) {
            const auto value = static_cast<std::int8_t>(std::lrint(std::clamp(weight(o, i) / scales_[o], -kLargest, kLargest)));
            bytes_[((o / kPanel * groups + i / group) * kPanel + o % kPanel) * group + i % group] = value;
            sum += value;
        }
        offsets_[o] = kActivationOffset * sum;
    }
    weights_ = {};
}

Lstm::Lstm(Matrix recurrent, bool is_backward)
    : size_(recurrent.columns), width_(width(size_)), is_backward_(is_backward), recurrent_(width_, 4 * width_) {
    for (std::size_t g = 0; g < 4; ++g)
        for (std::size_t u = 0; u < size_; ++u)
            for (std::size_t v = 0; v < size_; ++v) recurrent_.weight(gate(size_, g, u), v) = recurrent.row(g * size_ + u)[v];
}

void Lstm::step(std::size_t rows, const float* before, std::size_t old, float* out, std::size_t stride, Workspace& workspace) const {
    auto& [gates, cells, starts] = workspace;
    if (old > 0) recurrent_.add(before, stride, old, starts.data(), gates.data(), 4 * width_);
    for (std::size_t r = old; r < rows; ++r)
        if (float* own = gates.data() + r * 4 * width_; starts[r] != own) std::copy_n(starts[r], 4 * width_, own);
    kernels().lstm_cells(gates.data(), rows, width_, cells.data(), out, stride);
}

}  // namespace arbora::neural
