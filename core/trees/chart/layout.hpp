// Shared by all charts: the root convention, the layout of spans in memory, and the item type.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/memory.hpp"
#include "numeric/planes.hpp"

namespace arbora {

enum class Roots { single, multi };

// visit(head, dep) for all arcs of n words.
template <class Visit>
void each_arc(int n, Visit visit) {
    for (int h = 0; h <= n; ++h)
        for (int d = 1; d <= n; ++d)
            if (h != d) visit(h, d);
}

// One line per node, padded so that vectors may be read past its end.
struct Square {
    int n = 0;       // words; positions are 0..n, position 0 is the root
    int stride = 0;  // cells per line

    explicit Square(int words = 0) : n(words), stride((words + 1 + 8 + 7) / 8 * 8) {
        if (stride % 64 == 0) stride += 8;  // lines a power of two apart would share cache sets
    }
    ARBORA_INLINE std::ptrdiff_t line(int i) const { return static_cast<std::ptrdiff_t>(i) * stride; }
    ARBORA_INLINE std::ptrdiff_t cell(int i, int j) const { return line(i) + j; }
    ARBORA_INLINE std::size_t size() const { return static_cast<std::size_t>(n + 1) * stride + 8; }
};

// Spans by width, then by left end. Spans of one width are adjacent, and so are, at each distance, the parts of their splits: a
// recurrence over splits runs in as many lanes as a vector has, each lane its own span, with no sum across lanes and no tails.
// Lanes past the last span compute on leftover values, which are never read.
struct Diagonals {
    int n = 0;
    int first = 0;  // the lowest left end: 0 where the root takes part in spans, else 1
    int stride = 0;

    Diagonals() = default;
    Diagonals(int words, int lowest) : n(words), first(lowest), stride((words + 1 + 8 + 7) / 8 * 8) {
        if (stride % 16 == 0) stride += 8;  // an odd number of cache lines, so that a column of cells spreads over all sets
    }
    // The cell of the span from s of this width.
    ARBORA_INLINE std::ptrdiff_t at(int width, int s) const { return static_cast<std::ptrdiff_t>(width) * stride + (s - first); }
    ARBORA_INLINE std::ptrdiff_t cell(int s, int t) const { return at(t - s, s); }
    // The number of spans of this width that start at s or later.
    ARBORA_INLINE int spans(int width, int s) const { return n - width - s + 1; }
    ARBORA_INLINE std::size_t size() const { return static_cast<std::size_t>(n + 1) * stride + 8; }
};

template <class Plane>
Plane take_plane(Arena& arena, std::size_t size) {
    Plane plane;
    plane.place(arena.take<double>(size * Plane::kDoubles), size);
    return plane;
}

template <class Plane>
ARBORA_INLINE inline void fill_zero(Plane plane, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) plane.set(static_cast<std::ptrdiff_t>(i), Plane::kZero);
}

// Working memory of marginals: the probability of each item, zeroed. `root`: of arcs from the root, if it is not part of spans.
struct FlowPlanes {
    double *right, *left, *open_right, *open_left, *between, *root;

    static FlowPlanes take(Arena& arena, Diagonals layout) {
        FlowPlanes planes;
        for (double** plane : {&planes.right, &planes.left, &planes.open_right, &planes.open_left, &planes.between, &planes.root}) {
            *plane = arena.take<double>(layout.size());
            std::memset(*plane, 0, layout.size() * sizeof(double));
        }
        return planes;
    }
};

// A node of the search space: a kind of chart, a span, and, for some factorizations, a position outside the span.
struct Item {
    std::int16_t kind;
    std::int32_t left, right;
    std::int32_t outer = 0;
};

// One way to build an item: from two smaller ones, plus the score of the parts that this way adds.
struct Edge {
    Item first, second;
    double score;
};

struct Arc {
    int head, dep;  // dep == 0: no arc
};

}  // namespace arbora
