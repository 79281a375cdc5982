// The tensors of a network by name, each checked when it is taken.
#pragma once

#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/errors.hpp"
#include "neural/layers.hpp"

namespace arbora::neural {

// An array of the caller's, row by row.
struct Tensor {
    std::vector<std::size_t> shape;
    const float* data = nullptr;
};
using Tensors = std::map<std::string, Tensor, std::less<>>;

using Shape = std::vector<std::size_t>;

// The size of a table that is computed from tensors. Small tensors may ask for a huge one; that is a damaged model, not a reason to
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
    // How many numbers were taken.
    std::size_t taken() const { return taken_; }

    // InputError unless the tensor is there, has the expected shape (0: any size above 0) and finite numbers.
    const float* take(const std::string& name, const Shape& expected, Shape* shape = nullptr) {
        const auto found = tensors_.find(name);
        if (found == tensors_.end()) reject("network: expected a tensor ", name, ", got none");
        const Tensor& tensor = found->second;
        bool fits = tensor.shape.size() == expected.size();
        for (std::size_t i = 0; fits && i < expected.size(); ++i) fits = tensor.shape[i] > 0 && (expected[i] == 0 || expected[i] == tensor.shape[i]);
        if (!fits) reject("network: ", name, ": expected the shape ", text(expected), ", got ", text(tensor.shape));
        std::size_t count = 1;
        for (const std::size_t size : tensor.shape) count *= size;
        for (std::size_t i = 0; i < count; ++i)
            if (!std::isfinite(tensor.data[i])) reject("network: ", name, ": expected finite numbers, got another at ", i);
        taken_ += count;
        if (shape != nullptr) *shape = tensor.shape;
        return tensor.data;
    }

    // [rows, columns]; 0: any.
    Matrix matrix(const std::string& name, std::size_t rows, std::size_t columns) {
        Shape shape;
        const float* data = take(name, {rows, columns}, &shape);
        return {data, shape[0], shape[1]};
    }

private:
    static std::string text(const Shape& shape) {
        std::string result;
        for (const std::size_t size : shape) result += (result.empty() ? "" : " x ") + (size == 0 ? std::string("any") : std::to_string(size));
        return result.empty() ? "a number" : result;
    }

    const Tensors& tensors_;
    std::size_t taken_ = 0;
};

}  // namespace arbora::neural
