// The matrices of one elimination; see matrix_tree.hpp.
#pragma once

#include "trees/chart/layout.hpp"

namespace arbora {

struct Elimination {
    // What a weight flushed to zero may at most have been, and how much of a pivot such a loss may be. Each column carries a
    // bound of that loss through the elimination, as if it were one more head ("error row"), so the check is exact about
    // where small weights matter and where they do not.
    static constexpr double kFlushed = 1e-300;
    static constexpr double kTolerance = 1e-18;

    Square square;
    Roots roots = Roots::single;
    double* weights = nullptr;  // [head][dep]; row k ends as it was when k was eliminated
    double* columns = nullptr;  // [k][head]: column k as it was then
    double* pivots = nullptr;   // [k]
    double* scratch = nullptr;  // 9 lines

    static Elimination take(Arena& arena, Square square, Roots roots) {
        Elimination e{square, roots};
        e.weights = arena.take<double>(square.size());
        e.columns = arena.take<double>(square.size());
        e.pivots = arena.take<double>(square.stride);
        e.scratch = arena.take<double>(static_cast<std::size_t>(9) * square.stride + 8);
        return e;
    }
};

// How the numbers of an elimination change as scores move along a direction; see kernels/slopes_elimination.hpp.
struct EliminationSlopes {
    double* weights = nullptr;
    double* columns = nullptr;
    double* pivots = nullptr;
    double* scratch = nullptr;  // 4 lines

    static EliminationSlopes take(Arena& arena, Square square) {
        EliminationSlopes s;
        s.weights = arena.take<double>(square.size());
        s.columns = arena.take<double>(square.size());
        s.pivots = arena.take<double>(square.stride);
        s.scratch = arena.take<double>(static_cast<std::size_t>(4) * square.stride + 8);
        return s;
    }
};

// The same with extended-range numbers, for the scores that defeat the check.
//
// In the single-root case a word may be left with no head but the root. It is then the root's one dependent, and from there
// on the root stands for it: its row takes the place of the root's, which no other word may use, and counts in the pivots like
// any other. `hung` is that word, 0 where there was none: words above it are single-root pivots, words below it multi-root ones.
struct ExtendedElimination {
    Square square;
    Roots roots = Roots::single;
    LogPlane weights, columns, pivots, scratch;
    int hung = 0;

    // Does the pivot of k leave out the root?
    ARBORA_INLINE bool root_outside(int k) const { return roots == Roots::single && k > hung && k > 1; }

    static ExtendedElimination take(Arena& arena, Square square, Roots roots) {
        ExtendedElimination e{square, roots, {}, {}, {}, {}, 0};
        e.weights = take_plane<LogPlane>(arena, square.size());
        e.columns = take_plane<LogPlane>(arena, square.size());
        e.pivots = take_plane<LogPlane>(arena, square.stride);
        e.scratch = take_plane<LogPlane>(arena, static_cast<std::size_t>(4) * square.stride + 8);
        return e;
    }
};

}  // namespace arbora
