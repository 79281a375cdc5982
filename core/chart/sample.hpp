// Exact random trees from a chart of sums, for any factorization: from the top down, each item chooses among its edges in proportion to
// their share of its inside value. Time O(n^2) a tree.
#pragma once

#include <vector>

#include "factorization/layout.hpp"
#include "random/generator.hpp"

namespace arbora {

template <class Charts>
Edge draw_edge(const Charts& charts, Item item, Generator& random) {
    const Extended constant = extended_exp(charts.constant(item));
    const Extended total = charts.value(item) / constant;
    const double u = random.uniform();
    double sum = 0.0;
    Edge last{};
    for (int i = 0; i < charts.edge_count(item); ++i) {
        const Edge edge = charts.edge(item, i);
        Extended weight = charts.value(edge.first) * charts.value(edge.second);
        if (edge.score != 0.0) weight = weight * extended_exp(edge.score);
        if (weight.is_zero()) continue;
        sum += ratio(weight, total);
        last = edge;
        if (sum > u) break;
    }
    return last;
}

// heads[0..n]. The chart's goal must not be zero.
template <class Charts>
void sample_tree(const Charts& charts, Generator& random, std::vector<Item>& agenda, int* heads) {
    agenda.assign(1, charts.top());
    heads[0] = -1;
    while (!agenda.empty()) {
        const Item item = agenda.back();
        agenda.pop_back();
        if (Charts::is_leaf(item)) continue;
        const Arc arc = charts.arc(item);
        if (arc.dep != 0) heads[arc.dep] = arc.head;
        const Edge edge = draw_edge(charts, item, random);
        agenda.push_back(edge.first);
        agenda.push_back(edge.second);
    }
}

}  // namespace arbora
