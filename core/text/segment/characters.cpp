#include "text/segment/characters.hpp"

#include <algorithm>
#include <iterator>

namespace arbora::segment {

namespace {

template <std::size_t n>
std::uint32_t in_runs(const CaseRun (&runs)[n], std::uint32_t code) {
    const auto after = std::upper_bound(std::begin(runs), std::end(runs), code,
                                        [](std::uint32_t value, const CaseRun& run) { return value < run.first; });
    if (after == std::begin(runs)) return code;
    // Runs of every second character may interleave: look at two.
    for (auto run = after - 1;; --run) {
        if (code <= run->last && (code - run->first) % run->stride == 0)
            return static_cast<std::uint32_t>(static_cast<std::int64_t>(code) + run->distance);
        if (run == std::begin(runs) || run + 2 <= after) return code;
    }
}

}  // namespace

Characters::Characters() {
    std::uint32_t end = kCodeLimit;
    for (auto run = std::rbegin(kClassRuns); run != std::rend(kClassRuns); ++run) {
        std::fill(kinds_ + run->first, kinds_ + end, run->kind);
        end = run->first;
    }
    for (std::uint32_t code = 0; code < kLow; ++code) low_[code] = static_cast<std::uint16_t>(mapped(code, true));
}

std::uint32_t Characters::mapped(std::uint32_t code, bool lower) {
    return lower ? in_runs(kLowerRuns, code) : in_runs(kUpperRuns, code);
}

const Characters& Characters::shared() {
    static const Characters characters;
    return characters;
}

}  // namespace arbora::segment
