// Exact random trees from a chart of sums, for any factorization: from the top down, each item chooses among its edges in proportion to
// their share of its inside value. Time O(n^2) a tree.
#pragma once

#include "trees/chart/descend.hpp"
#include "base/generator.hpp"

namespace arbora {

// heads[0..n]. The chart's goal must not be zero.
template <class Charts>
void sample_tree(const Charts& charts, Generator& random, std::vector<Item>& agenda, int* heads) {
    descend(charts, agenda, heads, [&](Item item) {
        const Extended total = total_of_edges(charts, item);
        const double u = random.uniform();
        double sum = 0.0;
        Edge last{};
        const int count = charts.edge_count(item);
        for (int i = 0; i < count; ++i) {
            const Edge edge = charts.edge(item, i);
            const double share = edge_share(charts, edge, total);
            if (share == 0.0) continue;
            sum += share;
            last = edge;
            if (sum > u) break;
        }
        return std::optional(last);
    });
}

}  // namespace arbora
