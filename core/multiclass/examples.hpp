// Sparse examples for classifiers with separate weights per class and feature.
//
// The weights of a feature are adjacent, weights[feature · classes + class], so the scores of all classes are sums of short rows:
// O(features of the example · classes).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace arbora::multiclass {

struct Row {
    std::span<const std::uint32_t> columns;  // ascending, no repeats
    std::span<const float> values;           // as many; none is zero
};

// Rows of features in sequence. Immutable once built; 8 bytes per feature.
class Examples {
public:
    // Row i is entries offsets[i] to offsets[i + 1]: columns in any order, repeats are summed. With a nonzero bias every row has
    // one more feature with that value, in an additional last column. Throws InputError if offsets or columns do not match, or
    // values are not finite.
    Examples(std::span<const std::int64_t> offsets, std::span<const std::int64_t> columns, std::span<const float> values, std::size_t width,
             float bias);

    std::size_t size() const { return offsets_.size() - 1; }
    std::size_t width() const { return width_; }  // including the bias
    Row row(std::size_t i) const {
        const std::size_t begin = offsets_[i], count = offsets_[i + 1] - begin;
        return {{columns_.data() + begin, count}, {values_.data() + begin, count}};
    }

private:
    std::size_t width_;
    std::vector<std::size_t> offsets_{0};
    std::vector<std::uint32_t> columns_;
    std::vector<float> values_;
};

inline constexpr int kFewestBits = 4, kMostBits = 30;

// Rows in the form that Examples takes.
struct Expansion {
    std::vector<std::int64_t> offsets{0};
    std::vector<std::int64_t> columns;  // of a row: features and pairs in order of the first one; repeats where the hash collides
    std::vector<float> values;
};

// The quadratic expansion of rows, the features of a quadratic kernel: every feature, and every pair of two different ones with the
// product of their values, is hashed to one of 2^bits columns. Features that are 0 or 1 need no squares. O(features²) per row.
// Throws InputError if bits is not between the two constants above, or offsets do not match.
Expansion quadratic_expansion(std::span<const std::int64_t> offsets, std::span<const std::int64_t> columns, std::span<const float> values,
                              int bits);

// The score of every class, scale · Σ value · weights[column · classes + class], written to `scores` (classes).
void score(const Row& row, const float* weights, double scale, std::span<double> scores);

}  // namespace arbora::multiclass
