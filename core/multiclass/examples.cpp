#include "multiclass/examples.hpp"

#include <algorithm>
#include <string>

#include "base/errors.hpp"
#include "numeric/sparse.hpp"

namespace arbora::multiclass {

namespace {

void check(std::span<const std::int64_t> offsets, std::size_t columns, std::size_t values) {
    if (columns != values)
        throw InputError("examples: expected as many values as columns, got " + std::to_string(values) + " for " + std::to_string(columns));
    if (offsets.empty() || offsets.front() != 0 || !std::is_sorted(offsets.begin(), offsets.end()) ||
        static_cast<std::size_t>(offsets.back()) != columns)
        throw InputError("examples: expected offsets that rise from 0 to the number of entries, " + std::to_string(columns));
}

}  // namespace

double Row::norm2() const {
    double sum = 0.0;
    for (const float value : values) sum += double{value} * double{value};
    return sum;
}

Examples::Examples(std::span<const std::int64_t> offsets, std::span<const std::int64_t> columns, std::span<const float> values,
                   std::size_t width, float bias)
    : width_(width + (bias != 0.0F ? 1 : 0)) {
    check(offsets, columns.size(), values.size());
    columns_.reserve(columns.size());
    values_.reserve(columns.size());
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
        std::vector<SparseEntry> entries;
        for (auto e = static_cast<std::size_t>(offsets[i]); e < static_cast<std::size_t>(offsets[i + 1]); ++e) {
            if (columns[e] < 0 || static_cast<std::size_t>(columns[e]) >= width)
                throw InputError("examples: expected columns below " + std::to_string(width) + ", got " + std::to_string(columns[e]) +
                                 " in row " + std::to_string(i));
            entries.emplace_back(static_cast<std::uint32_t>(columns[e]), values[e]);
        }
        if (bias != 0.0F) entries.emplace_back(static_cast<std::uint32_t>(width), bias);
        const SparseVector row = coalesce(std::move(entries));
        columns_.insert(columns_.end(), row.indices.begin(), row.indices.end());
        values_.insert(values_.end(), row.values.begin(), row.values.end());
        offsets_.push_back(columns_.size());
    }
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
