#include "multiclass/examples.hpp"

#include <algorithm>

#include "base/errors.hpp"
#include "base/interrupt.hpp"
#include "features/hash.hpp"
#include "numeric/sparse.hpp"

namespace arbora::multiclass {

namespace {

void check_rows(const char* what, std::span<const std::int64_t> offsets, std::size_t columns, std::size_t values) {
    if (columns != values) reject(what, ": expected as many values as columns, got ", values, " for ", columns);
    check_offsets(what, offsets, columns);
}

// Symmetric; a single feature is its pair with itself.
std::int64_t column_of(std::int64_t a, std::int64_t b, int bits) {
    const auto low = static_cast<std::uint64_t>(std::min(a, b)), high = static_cast<std::uint64_t>(std::max(a, b));
    return static_cast<std::int64_t>(feature::mix(feature::mix(low) + high) >> (64 - bits));
}

}  // namespace

Examples::Examples(std::span<const std::int64_t> offsets, std::span<const std::int64_t> columns, std::span<const float> values,
                   std::size_t width, float bias)
    : width_(width + (bias != 0.0F ? 1 : 0)) {
    check_rows("examples", offsets, columns.size(), values.size());
    columns_.reserve(columns.size());
    values_.reserve(columns.size());
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
        std::vector<SparseEntry> entries;
        for (auto e = static_cast<std::size_t>(offsets[i]); e < static_cast<std::size_t>(offsets[i + 1]); ++e) {
            if (columns[e] < 0 || static_cast<std::size_t>(columns[e]) >= width)
                reject("examples: expected columns below ", width, ", got ", columns[e], " in row ", i);
            entries.emplace_back(static_cast<std::uint32_t>(columns[e]), values[e]);
        }
        if (bias != 0.0F) entries.emplace_back(static_cast<std::uint32_t>(width), bias);
        const SparseVector row = coalesce(std::move(entries));
        columns_.insert(columns_.end(), row.indices.begin(), row.indices.end());
        values_.insert(values_.end(), row.values.begin(), row.values.end());
        offsets_.push_back(columns_.size());
    }
}

Expansion quadratic_expansion(std::span<const std::int64_t> offsets, std::span<const std::int64_t> columns, std::span<const float> values,
                              int bits) {
    if (bits < kFewestBits || bits > kMostBits) reject("bits: expected ", kFewestBits, " to ", kMostBits, ", got ", bits);
    check_rows("rows", offsets, columns.size(), values.size());
    Expansion result;
    for (std::size_t row = 0; row + 1 < offsets.size(); ++row) {
        check_stop();
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

void score(const Row& row, const float* weights, double scale, std::span<double> scores) {
    const std::size_t classes = scores.size();
    std::fill(scores.begin(), scores.end(), 0.0);
    for (std::size_t f = 0; f < row.columns.size(); ++f) {
        const float* of_feature = weights + std::size_t{row.columns[f]} * classes;
        const double value = row.values[f];
        for (std::size_t c = 0; c < classes; ++c) scores[c] += value * double{of_feature[c]};
    }
    for (double& each : scores) each *= scale;
}

}  // namespace arbora::multiclass
