// Reads the best tree off a chart of maxima, for any factorization. No back pointers are kept: the choice of each item on the way is found
// again by one scan over its edges, so the inner loops of the chart stay pure maxima. Time O(n^2), ties to the first edge.
#pragma once

#include "trees/chart/descend.hpp"

namespace arbora {

// heads[0..n]. The chart's goal must not be -infinity.
template <class Charts>
void best_tree(const Charts& charts, int* heads) {
    std::vector<Item> agenda;
    descend(charts, agenda, heads, [&](Item item) {
        Edge best{};
        double top = kMinusInfinity;
        const int count = charts.edge_count(item);
        for (int i = 0; i < count; ++i) {
            const Edge edge = charts.edge(item, i);
            const double score = charts.value(edge.first) + charts.value(edge.second) + edge.score;
            if (score > top) {
                top = score;
                best = edge;
            }
        }
        return std::optional(best);
    });
}

}  // namespace arbora
