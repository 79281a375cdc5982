// The quadratic expansion of sparse rows: what a quadratic kernel sees, as features of their own.
//
// Every feature of a row, and every pair of two different ones with the product of their values, is hashed to one of 2^bits columns. Features
// that are 0 or 1 need no squares. O(features²) per row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace arbora::multiclass {

inline constexpr int kFewestBits = 4, kMostBits = 30;

struct Expansion {
    std::vector<std::int64_t> offsets{0};
    std::vector<std::int64_t> columns;  // of a row: features and pairs in order of the first one; repeats where the hash collides
    std::vector<float> values;
};

// Rows as in Examples. InputError where bits is not between the two above, or offsets do not fit.
Expansion quadratic_expansion(std::span<const std::int64_t> offsets, std::span<const std::int64_t> columns, std::span<const float> values,
                              int bits);

}  // namespace arbora::multiclass
