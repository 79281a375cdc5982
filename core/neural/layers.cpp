#include "neural/layers.hpp"

#include <algorithm>

#include "numeric/kernels/kernels.hpp"

namespace arbora::neural {

Dense::Dense(Matrix weights, const float* bias) : Dense(weights.columns, weights.rows) {
    for (std::size_t o = 0; o < weights.rows; ++o) {
        for (std::size_t i = 0; i < weights.columns; ++i) weight(o, i) = weights.row(o)[i];
        if (bias != nullptr) bias_[o] = bias[o];
    }
}

void Dense::operator()(const float* in, std::size_t in_stride, std::size_t rows, float* out, std::size_t out_stride) const {
    kernels().product({in, in_stride, rows, depth_, weights_.data(), panels_of(columns_), bias_.data(), out, out_stride});
}

void Dense::rectified(const float* in, std::size_t in_stride, std::size_t rows, float* out, std::size_t out_stride) const {
    (*this)(in, in_stride, rows, out, out_stride);
    for (std::size_t r = 0; r < rows; ++r) kernels().rectify(out + r * out_stride, width(), kSlope);
}

LargeVector<float> Dense::rectified(const float* in, std::size_t in_stride, std::size_t rows) const {
    LargeVector<float> out(rows * width());
    rectified(in, in_stride, rows, out.data(), width());
    return out;
}

void Dense::add(const float* in, std::size_t in_stride, std::size_t rows, float* out, std::size_t out_stride) const {
    kernels().product({in, in_stride, rows, depth_, weights_.data(), panels_of(columns_), nullptr, out, out_stride, true});
}

Lstm::Lstm(Matrix recurrent, bool is_backward)
    : size_(recurrent.columns), width_(width(size_)), is_backward_(is_backward), recurrent_(width_, 4 * width_) {
    for (std::size_t g = 0; g < 4; ++g)
        for (std::size_t u = 0; u < size_; ++u)
            for (std::size_t v = 0; v < size_; ++v) recurrent_.weight(gate(size_, g, u), v) = recurrent.row(g * size_ + u)[v];
}

void Lstm::step(const float* before, std::size_t rows, float* gates, float* cells, float* outputs) const {
    if (before != nullptr) recurrent_.add(before, width_, rows, gates, 4 * width_);
    kernels().lstm_cells(gates, rows, width_, cells, outputs, width_);
}

}  // namespace arbora::neural
