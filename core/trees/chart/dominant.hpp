// The tree that holds more than half of all probability (or a larger part), if there is one, from a chart of sums: every edge of it then
// has more than half of its item, so the likeliest edges lead to it. Stops as soon as no such tree can be left. Time O(n^2).
#pragma once

#include "trees/chart/descend.hpp"

namespace arbora {

inline constexpr double kMoreThanHalf = 0.4;  // a little below, for rounding

// heads[0..n]; false where no tree has a probability of `least`, which is at least kMoreThanHalf.
template <class Charts>
bool dominant_tree(const Charts& charts, int* heads, double least = kMoreThanHalf) {
    std::vector<Item> agenda;
    double probability = 1.0;
    return descend(charts, agenda, heads, [&](Item item) -> std::optional<Edge> {
        const Extended total = total_of_edges(charts, item);
        Edge best{};
        double largest = 0.0;
        const int count = charts.edge_count(item);
        for (int i = 0; i < count && largest <= 0.5; ++i) {
            const Edge edge = charts.edge(item, i);
            const double share = edge_share(charts, edge, total);
            if (share > largest) {
                largest = share;
                best = edge;
            }
        }
        probability *= largest;
        if (probability < least) return std::nullopt;
        return best;
    });
}

}  // namespace arbora
