// The matrices of one elimination; see matrix_tree.hpp.
#pragma once

#include "trees/chart/layout.hpp"

namespace arbora {

struct Elimination {
    // The largest weight that is flushed to zero, and the tolerated loss as a share of a pivot. Each column carries a bound of its
    // loss through the elimination, like one more head, so the check is exact about where small weights matter.
    static constexpr double kFlushed = 1e-300, kTolerance = 1e-18;

    Square square;
    Roots roots = Roots::single;
    double* weights = nullptr;  // [head][dep]; row k ends as it was when k was eliminated
    double* columns = nullptr;  // [k][head]: column k as it was then
    double* pivots = nullptr;   // [k]
    double* scratch = nullptr;  // 9 lines

    static Elimination take(Arena& arena, Square square, Roots roots) {
        return {square, roots, arena.take<double>(square.size()), arena.take<double>(square.size()), arena.take<double>(square.stride),
                arena.take<double>(static_cast<std::size_t>(9) * square.stride + 8)};
    }
};

// The same with extended-range numbers, for scores that fail the check.
//
// With a single root, a word may be left with the root as its only head. It is then the root's only dependent, and represents the
// root from there on: its row replaces the root's, which no other word may use, and counts in the pivots like any other. `hung` is
// that word, 0 for none: words above it are single-root pivots, words below it multi-root ones.
struct ExtendedElimination {
    Square square;
    Roots roots = Roots::single;
    LogPlane weights, columns, pivots, scratch;
    int hung = 0;

    // Whether the pivot of k leaves out the root.
    ARBORA_INLINE bool root_outside(int k) const { return roots == Roots::single && k > hung && k > 1; }

    static ExtendedElimination take(Arena& arena, Square square, Roots roots) {
        const auto plane = [&](std::size_t size) { return take_plane<LogPlane>(arena, size); };
        return {square, roots, plane(square.size()), plane(square.size()), plane(square.stride),
                plane(static_cast<std::size_t>(4) * square.stride + 8), 0};
    }
};

}  // namespace arbora
