// The tensors of a network by name, each checked when it is taken.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "base/errors.hpp"
#include "neural/layers.hpp"

namespace arbora::neural {

// An array of the caller's, row by row: float32, or int8 where `bytes` is set.
struct Tensor {
    std::vector<std::size_t> shape;
    const float* data = nullptr;
    const std::int8_t* bytes = nullptr;
};
using Tensors = std::map<std::string, Tensor, std::less<>>;

using Shape = std::vector<std::size_t>;

// The size of a table that is computed from tensors. Small tensors may require a huge one; that is a damaged model, not a reason to
// run out of memory.
inline std::size_t table_size(const std::string& name, std::initializer_list<std::size_t> sizes) {
    constexpr std::size_t kLargest = std::size_t{1} << 30;
    std::size_t count = 1;
    for (const std::size_t size : sizes) {
        if (size > 0 && count > kLargest / size) reject("network: ", name, ": expected a table of at most ", kLargest, " numbers, got more");
        count *= size;
    }
    return count;
}

class WeightReader {
public:
    explicit WeightReader(const Tensors& tensors) : tensors_(tensors) {}

    bool has(const std::string& name) const { return tensors_.contains(name); }
    // The count of numbers read.
    std::size_t taken() const { return taken_; }

    // Throws InputError unless the tensor exists, has the expected shape (0: any size above 0) and finite numbers. A tensor NAME in
    // int8 is multiplied by the scales of its rows, float32: NAME.scales has the tensor's shape without its last axis, or its last
    // axes.
    const float* take(const std::string& name, const Shape& expected, Shape* shape = nullptr) {
        const Tensor& tensor = find(name);
        bool fits = tensor.shape.size() == expected.size();
        for (std::size_t i = 0; fits && i < expected.size(); ++i) fits = tensor.shape[i] > 0 && (expected[i] == 0 || expected[i] == tensor.shape[i]);
        if (!fits) reject("network: ", name, ": expected the shape ", text(expected), ", got ", text(tensor.shape));
        taken_ += size_of(tensor.shape);
        if (shape != nullptr) *shape = tensor.shape;
        return tensor.bytes != nullptr ? scaled(name, tensor) : finite(name, tensor);
    }

    // [rows, columns]; 0: any.
    Matrix matrix(const std::string& name, std::size_t rows, std::size_t columns) {
        Shape shape;
        const float* data = take(name, {rows, columns}, &shape);
        return {data, shape[0], shape[1]};
    }

private:
    const Tensor& find(const std::string& name) const {
        const auto found = tensors_.find(name);
        if (found == tensors_.end()) reject("network: expected a tensor ", name, ", got none");
        return found->second;
    }

    static std::size_t size_of(const Shape& shape) {
        std::size_t count = 1;
        for (const std::size_t size : shape) count *= size;
        return count;
    }

    static const float* finite(const std::string& name, const Tensor& tensor) {
        if (tensor.data == nullptr) reject("network: ", name, ": expected float32, got int8");
        const std::size_t count = size_of(tensor.shape);
        for (std::size_t i = 0; i < count; ++i)
            if (!std::isfinite(tensor.data[i])) reject("network: ", name, ": expected finite numbers, got another value at ", i);
        return tensor.data;
    }

    const float* scaled(const std::string& name, const Tensor& tensor) {
        const std::string scales_name = name + ".scales";
        const Tensor& scales = find(scales_name);
        const bool fits = !scales.shape.empty() && scales.shape.size() < tensor.shape.size() &&
                          std::equal(scales.shape.begin(), scales.shape.end(), tensor.shape.begin());
        if (!fits) reject("network: ", scales_name, ": expected one for each row of ", text(tensor.shape), ", got ", text(scales.shape));
        const float* scale = finite(scales_name, scales);
        const std::size_t count = size_of(tensor.shape), row = count / size_of(scales.shape);
        std::vector<float>& made = scaled_.emplace_back(count);
        for (std::size_t i = 0; i < count; ++i) made[i] = scale[i / row] * static_cast<float>(tensor.bytes[i]);
        for (std::size_t i = 0; i < count; ++i)
            if (!std::isfinite(made[i])) reject("network: ", scales_name, ": expected scales of finite numbers, got ", scale[i / row]);
        return made.data();
    }

    static std::string text(const Shape& shape) {
        std::string result;
        for (const std::size_t size : shape) result += (result.empty() ? "" : " x ") + (size == 0 ? std::string("any") : std::to_string(size));
        return result.empty() ? "a number" : result;
    }

    const Tensors& tensors_;
    std::list<std::vector<float>> scaled_;  // what was int8; lives as long as the reader
    std::size_t taken_ = 0;
};

}  // namespace arbora::neural
