// Random problems for the tests. Every array is a heap block of exactly its size, so that the address sanitizer detects reads past
// its end, and every entry that no tree can use is NaN.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "trees/problem.hpp"

namespace problems {

using arbora::Problem;
using arbora::Roots;
using arbora::Trees;

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

inline constexpr Trees kTrees[] = {Trees::projective, Trees::nonprojective};
inline constexpr Roots kRoots[] = {Roots::single, Roots::multi};

using Random = std::mt19937_64;

inline double uniform(Random& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

// Normal distribution with unit variance; std's distributions differ between libraries.
inline double normal(Random& random) {
    double sum = -6.0;
    for (int i = 0; i < 12; ++i) sum += uniform(random);
    return sum;
}

enum class Kind { normal, ties, masked, soft_masked, wide, unequal };

// `masked`: the share of forbidden parts in the kinds that have them.
inline double draw(Kind kind, Random& random, double masked = 0.3) {
    constexpr double kWide[] = {-1e6, -1e3, -1.0, 0.0, 1.0, 1e3, 1e6};
    switch (kind) {
        case Kind::ties: return static_cast<double>(random() % 3) - 1.0;
        case Kind::masked: return uniform(random) < masked ? -kInf : normal(random);
        case Kind::soft_masked: return uniform(random) < masked ? -1e301 : normal(random);
        case Kind::wide: return kWide[random() % 7];
        case Kind::unequal: return normal(random) * std::pow(10.0, static_cast<double>(random() % 8) - 4.0);
        default: return normal(random);
    }
}

// Which higher-order parts a problem has.
struct Order {
    bool siblings = false, grandparents = false, grandsiblings = false;
};

struct Owned {
    int n;
    std::vector<double> arcs, siblings, grandparents, grandsiblings;

    Owned(int words, Order order, Kind kind, Random& random) : n(words) {
        const std::size_t nodes = static_cast<std::size_t>(n) + 1;
        arcs.assign(nodes * nodes, kNan);
        if (order.siblings) siblings.assign(nodes * nodes * nodes, kNan);
        if (order.grandparents) grandparents.assign(nodes * nodes * nodes, kNan);
        if (order.grandsiblings) grandsiblings.assign(nodes * nodes * nodes * nodes, kNan);
        for_each_arc([&](int h, int d) {
            arcs[at(h, d)] = draw(kind, random);
            if (order.siblings) fill_siblings(siblings.data() + at(h, d) * nodes, h, d, kind, random);
            for (int g = 0; g <= n; ++g) {
                if (h == 0 || g == h || g == d) continue;
                const std::size_t place = (static_cast<std::size_t>(g) * nodes + h) * nodes + d;
                if (order.grandparents) grandparents[place] = draw(kind, random, kRareMask);
                if (order.grandsiblings) fill_siblings(grandsiblings.data() + place * nodes, h, d, kind, random);
            }
        });
    }

    std::size_t at(int h, int d) const { return static_cast<std::size_t>(h) * (n + 1) + d; }

    template <class Visit>
    void for_each_arc(Visit visit) const {
        for (int h = 0; h <= n; ++h) {
            for (int d = 1; d <= n; ++d) {
                if (h != d) visit(h, d);
            }
        }
    }

    Problem problem(Trees trees, Roots roots) const {
        const auto data = [](const std::vector<double>& v) { return v.empty() ? nullptr : v.data(); };
        return {trees, roots, n, arcs.data(), data(siblings), data(grandparents), data(grandsiblings)};
    }

    // The largest |score| that does not forbid: the scale of rounding errors.
    double magnitude() const {
        double top = 1.0;
        for (const auto* array : {&arcs, &siblings, &grandparents, &grandsiblings}) {
            for (const double x : *array) {
                if (std::abs(x) < 1e300 && std::abs(x) > top) top = std::abs(x);
            }
        }
        return top;
    }

private:
    // Masks on higher-order parts as dense as on arcs would leave almost no tree.
    static constexpr double kRareMask = 0.05;

    static void fill_siblings(double* row, int h, int d, Kind kind, Random& random) {
        row[h] = draw(kind, random, kRareMask);
        for (int s = std::min(h, d) + 1; s < std::max(h, d); ++s) row[s] = draw(kind, random, kRareMask);
    }
};

// Fills an arena's memory with NaN: no result may depend on an earlier sentence.
inline void poison(arbora::Arena& arena) {
    arena.reset();
    const std::size_t size = arena.reserved() / sizeof(double);
    if (size > 0) std::fill_n(arena.take<double>(size), size, kNan);
    arena.reset();
}

}  // namespace problems
