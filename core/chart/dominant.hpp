// The tree that holds more than half of all probability, if there is one, from a chart of sums: every edge of it then has more than
// half of its item, so the likeliest edges lead to it. Stops as soon as no such tree can be left. Time O(n^2).
#pragma once

#include <vector>

#include "factorization/layout.hpp"

namespace arbora {

template <class Charts>
bool dominant_tree(const Charts& charts, int* heads) {
    std::vector<Item> agenda{charts.top()};
    double probability = 1.0;
    heads[0] = -1;
    while (!agenda.empty()) {
        const Item item = agenda.back();
        agenda.pop_back();
        if (Charts::is_leaf(item)) continue;
        const Arc arc = charts.arc(item);
        if (arc.dep != 0) heads[arc.dep] = arc.head;
        const Extended total = charts.value(item) / extended_exp(charts.constant(item));
        Edge best{};
        double share = 0.0;
        const int count = charts.edge_count(item);
        for (int i = 0; i < count && share <= 0.5; ++i) {
            const Edge edge = charts.edge(item, i);
            Extended weight = charts.value(edge.first) * charts.value(edge.second);
            if (edge.score != 0.0) weight = weight * extended_exp(edge.score);
            const double own = ratio(weight, total);
            if (own > share) {
                share = own;
                best = edge;
            }
        }
        probability *= share;
        if (probability < 0.4) return false;
        agenda.push_back(best.first);
        agenda.push_back(best.second);
    }
    return true;
}

}  // namespace arbora
