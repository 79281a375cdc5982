#include "numeric/sparse.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/errors.hpp"

namespace arbora {

namespace {

constexpr std::size_t kShort = 128;  // up to here comparisons are faster than counting
constexpr unsigned kBits = 11;
constexpr std::size_t kBins = std::size_t{1} << kBits;

// Stable, so that repeats are summed in their original order. Skips digits that all indices share.
void sort_by_index(std::vector<SparseEntry>& entries) {
    if (entries.size() <= kShort) {
        std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        return;
    }
    std::vector<SparseEntry> other(entries.size());
    for (unsigned shift = 0; shift < 32; shift += kBits) {
        std::array<std::size_t, kBins> place{};
        for (const auto& entry : entries) ++place[(entry.first >> shift) % kBins];
        if (place[(entries[0].first >> shift) % kBins] == entries.size()) continue;
        std::size_t sum = 0;
        for (auto& count : place) sum += std::exchange(count, sum);
        for (const auto& entry : entries) other[place[(entry.first >> shift) % kBins]++] = entry;
        entries.swap(other);
    }
}

void push(SparseVector& vector, std::uint32_t index, double value) {
    const auto stored = static_cast<float>(value);
    if (!std::isfinite(stored)) reject("sparse vector: value at index ", index, " must be a finite number, got ", value);
    if (stored == 0.0F) return;
    vector.indices.push_back(index);
    vector.values.push_back(stored);
}

// If b is at least this many times longer, search for its entries instead of scanning them.
constexpr std::size_t kMuchLonger = 32;

double dot_by_search(const SparseVector& a, const SparseVector& b) {
    double sum = 0.0;
    auto from = b.indices.begin();
    for (std::size_t i = 0; i < a.size(); ++i) {
        from = std::lower_bound(from, b.indices.end(), a.indices[i]);
        if (from == b.indices.end()) break;
        if (*from == a.indices[i]) sum += double{a.values[i]} * double{b.values[from - b.indices.begin()]};
    }
    return sum;
}

}  // namespace

SparseVector coalesce(std::vector<SparseEntry>&& entries) {
    sort_by_index(entries);
    SparseVector result;
    result.indices.reserve(entries.size());
    result.values.reserve(entries.size());
    for (std::size_t i = 0; i < entries.size();) {
        const std::uint32_t index = entries[i].first;
        double sum = 0.0;
        for (; i < entries.size() && entries[i].first == index; ++i) sum += double{entries[i].second};
        push(result, index, sum);
    }
    return result;
}

double norm2(const SparseVector& a) {
    double sum = 0.0;
    for (const float value : a.values) sum += double{value} * double{value};
    return sum;
}

double dot(const SparseVector& a, const SparseVector& b) {
    if (a.size() > kMuchLonger * b.size()) return dot_by_search(b, a);
    if (b.size() > kMuchLonger * a.size()) return dot_by_search(a, b);
    double sum = 0.0;
    for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
        const std::uint32_t left = a.indices[i], right = b.indices[j];
        if (left == right) sum += double{a.values[i]} * double{b.values[j]};
        // Without branches: comparisons of indices cannot be predicted.
        i += left <= right;
        j += right <= left;
    }
    return sum;
}

SparseVector add(const SparseVector& a, const SparseVector& b, double factor) {
    SparseVector result;
    result.indices.reserve(a.size() + b.size());
    result.values.reserve(a.size() + b.size());
    std::size_t i = 0, j = 0;
    while (i < a.size() || j < b.size()) {
        if (j == b.size() || (i < a.size() && a.indices[i] < b.indices[j])) {
            push(result, a.indices[i], a.values[i]);
            ++i;
        } else if (i == a.size() || b.indices[j] < a.indices[i]) {
            push(result, b.indices[j], factor * b.values[j]);
            ++j;
        } else {
            push(result, a.indices[i], a.values[i] + factor * b.values[j]);
            ++i, ++j;
        }
    }
    return result;
}

}  // namespace arbora
