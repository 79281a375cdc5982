// Sparse vectors: the sum of a tree's features, and learners' updates of weights.
//
// Indices ascend without repeats and no value is zero, so vectors with equal entries are equal byte for byte. Repeated indices are
// summed in double, in the given order; feature counts are small integers, whose sums are exact in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace arbora {

struct SparseVector {
    std::vector<std::uint32_t> indices;  // ascending, no repeats
    std::vector<float> values;           // as many; none is zero

    std::size_t size() const { return indices.size(); }
    bool operator==(const SparseVector&) const = default;
};

using SparseEntry = std::pair<std::uint32_t, float>;

// Entries in any order, with repeats, which are summed. O(N): a radix sort, 11 bits at a time. Throws InputError for values that
// are not finite.
SparseVector coalesce(std::vector<SparseEntry>&& entries);
// The sum of all squares, in double.
double norm2(const SparseVector& a);
// O(|a| + |b|), or O(|a| log |b|) if b is much longer.
double dot(const SparseVector& a, const SparseVector& b);
// a + factor · b, O(|a| + |b|).
SparseVector add(const SparseVector& a, const SparseVector& b, double factor = 1.0);

}  // namespace arbora
