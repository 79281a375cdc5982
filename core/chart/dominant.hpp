// The tree that holds more than half of all probability, if there is one, from a chart of sums: every edge of it then has more than
// half of its item, so the likeliest edges lead to it. Stops as soon as no such tree can be left. Time O(n^2).
#pragma once

#include "chart/descend.hpp"

namespace arbora {

// heads[0..n]; false where there is no such tree.
template <class Charts>
bool dominant_tree(const Charts& charts, int* heads) {
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
        if (probability < 0.4) return std::nullopt;  // a little below one half, for rounding
        return best;
    });
}

}  // namespace arbora
