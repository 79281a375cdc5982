// What every projective chart shares: the root convention, the square layout of spans, and the item type.
#pragma once

#include <cstddef>
#include <cstdint>

#include "memory/arena.hpp"
#include "semiring/planes.hpp"

namespace arbora {

enum class Roots { single, multi };

// A chart kind over spans lies in a square: line(i)[j] is the item that spans {min(i, j), max(i, j)}. Each item is stored
// twice, so a run over its left ends and a run over its right ends are both contiguous.
struct Square {
    int n = 0;       // words; positions are 0..n, position 0 is the root
    int stride = 0;  // cells per line, padded so that a vector may be read past the end

    explicit Square(int words = 0) : n(words), stride((words + 1 + 8 + 7) / 8 * 8) {
        if (stride % 64 == 0) stride += 8;  // lines a power of two apart would share cache sets
    }
    ARBORA_INLINE std::ptrdiff_t line(int i) const { return static_cast<std::ptrdiff_t>(i) * stride; }
    ARBORA_INLINE std::ptrdiff_t cell(int i, int j) const { return line(i) + j; }
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

// A node of the search space: a kind of chart, a span, and for factorizations that need it a position outside the span.
struct Item {
    std::int16_t kind;
    std::int32_t left, right;
    std::int32_t outer = 0;
};

// One way to build an item: from two smaller ones, plus the score of the parts that only this way has.
struct Edge {
    Item first, second;
    double score;
};

struct Arc {
    int head, dep;  // dep == 0: no arc
};

}  // namespace arbora
