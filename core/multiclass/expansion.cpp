#include "multiclass/expansion.hpp"

#include <algorithm>
#include <string>

#include "base/errors.hpp"
#include "features/hash.hpp"

namespace arbora::multiclass {

namespace {

// The same whichever comes first; a feature alone is its pair with itself.
std::int64_t column_of(std::int64_t a, std::int64_t b, int bits) {
    const auto low = static_cast<std::uint64_t>(std::min(a, b)), high = static_cast<std::uint64_t>(std::max(a, b));
    return static_cast<std::int64_t>(feature::mix(feature::mix(low) + high) >> (64 - bits));
}

}  // namespace

Expansion quadratic_expansion(std::span<const std::int64_t> offsets, std::span<const std::int64_t> columns, std::span<const float> values,
                              int bits) {
    if (bits < kFewestBits || bits > kMostBits)
        throw InputError("bits: expected " + std::to_string(kFewestBits) + " to " + std::to_string(kMostBits) + ", got " + std::to_string(bits));
    if (offsets.empty() || offsets.front() != 0 || !std::is_sorted(offsets.begin(), offsets.end()) ||
        static_cast<std::size_t>(offsets.back()) != columns.size() || columns.size() != values.size())
        throw InputError("rows: expected offsets that rise from 0 to the number of columns and values");
    Expansion result;
    for (std::size_t row = 0; row + 1 < offsets.size(); ++row) {
        const auto begin = static_cast<std::size_t>(offsets[row]), end = static_cast<std::size_t>(offsets[row + 1]);
        for (std::size_t a = begin; a < end; ++a) {
            result.columns.push_back(column_of(columns[a], columns[a], bits));
            result.values.push_back(values[a]);
            for (std::size_t b = a + 1; b < end; ++b) {
                if (columns[a] == columns[b]) continue;
                result.columns.push_back(column_of(columns[a], columns[b], bits));
                result.values.push_back(values[a] * values[b]);
            }
        }
        result.offsets.push_back(static_cast<std::int64_t>(result.columns.size()));
    }
    return result;
}

}  // namespace arbora::multiclass
