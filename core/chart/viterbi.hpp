// Reads the best tree off a chart of maxima, for any factorization. No back pointers are kept: the choice of each item on the way is found
// again by one scan over its edges, so the inner loops of the chart stay pure maxima. Time O(n^2), ties to the first edge.
#pragma once

#include <vector>

#include "factorization/layout.hpp"

namespace arbora {

// heads[0..n]. The chart's goal must not be -infinity.
template <class Charts>
void best_tree(const Charts& charts, int* heads) {
    std::vector<Item> agenda{charts.top()};
    heads[0] = -1;
    while (!agenda.empty()) {
        const Item item = agenda.back();
        agenda.pop_back();
        if (Charts::is_leaf(item)) continue;
        const Arc arc = charts.arc(item);
        if (arc.dep != 0) heads[arc.dep] = arc.head;
        Edge best{};
        double top = kMinusInfinity;
        for (int i = 0; i < charts.edge_count(item); ++i) {
            const Edge edge = charts.edge(item, i);
            const double score = charts.value(edge.first) + charts.value(edge.second) + edge.score;
            if (score > top) {
                top = score;
                best = edge;
            }
        }
        agenda.push_back(best.first);
        agenda.push_back(best.second);
    }
}

}  // namespace arbora
