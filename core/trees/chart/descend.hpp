// From the top of a filled chart down to a tree, for any factorization: whoever walks chooses one edge at each item on the way.
#pragma once

#include <optional>
#include <vector>

#include "trees/chart/layout.hpp"

namespace arbora {

// heads[0..n] <- the tree of the chosen edges. choose(item) returns an optional<Edge>; without one the walk is off, and the
// result false. `agenda` is scratch that a caller may keep.
template <class Charts, class Choose>
bool descend(const Charts& charts, std::vector<Item>& agenda, int* heads, Choose choose) {
    agenda.assign(1, charts.top());
    heads[0] = -1;
    while (!agenda.empty()) {
        const Item item = agenda.back();
        agenda.pop_back();
        if (Charts::is_leaf(item)) continue;
        const Arc arc = charts.arc(item);
        if (arc.dep != 0) heads[arc.dep] = arc.head;
        const std::optional<Edge> edge = choose(item);
        if (!edge) return false;
        agenda.push_back(edge->first);
        agenda.push_back(edge->second);
    }
    return true;
}

// How much of an item's inside value an edge accounts for, given that value without the item's constant score.
template <class Charts>
double edge_share(const Charts& charts, const Edge& edge, Extended total) {
    Extended weight = extended(charts.value(edge.first)) * extended(charts.value(edge.second));
    if (edge.score != 0.0) weight = weight * extended_exp(edge.score);
    return ratio(weight, total);
}

template <class Charts>
Extended total_of_edges(const Charts& charts, Item item) {
    const double constant = charts.constant(item);
    return constant == 0.0 ? extended(charts.value(item)) : extended(charts.value(item)) / extended_exp(constant);
}

}  // namespace arbora
