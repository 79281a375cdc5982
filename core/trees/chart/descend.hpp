// Extracts trees from a filled chart, for any factorization, from the top down: chooses one edge at each item on the way.
//
//   best_tree      from maxima: the best edge, found again by one scan, so that charts keep no back pointers; ties to the first edge
//   sample_tree    from sums: a random edge, in proportion to its share of the item's inside value
//   dominant_tree  from sums: the most probable edge, as long as one tree may have a given share of all probability
// Time O(n^2) a tree.
#pragma once

#include <optional>
#include <vector>

#include "base/generator.hpp"
#include "trees/chart/layout.hpp"

namespace arbora {

// heads[0..n] <- the tree of the chosen edges. If choose(item), an optional<Edge>, is empty, the walk ends and returns false.
// `agenda` is scratch that a caller may keep.
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
            if (score > top) top = score, best = edge;
        }
        return std::optional(best);
    });
}

// visit(edge, its share of the item's inside value) for each edge of a chart of sums, until it returns false.
template <class Charts, class Visit>
void each_share(const Charts& charts, Item item, Visit visit) {
    const double constant = charts.constant(item);
    Extended total = extended(charts.value(item));
    if (constant != 0.0) total = total / extended_exp(constant);
    const int count = charts.edge_count(item);
    for (int i = 0; i < count; ++i) {
        const Edge edge = charts.edge(item, i);
        Extended weight = extended(charts.value(edge.first)) * extended(charts.value(edge.second));
        if (edge.score != 0.0) weight = weight * extended_exp(edge.score);
        if (!visit(edge, ratio(weight, total))) return;
    }
}

// heads[0..n]. The chart's goal must not be zero.
template <class Charts>
void sample_tree(const Charts& charts, Generator& random, std::vector<Item>& agenda, int* heads) {
    descend(charts, agenda, heads, [&](Item item) {
        const double u = random.uniform();
        double sum = 0.0;
        Edge last{};
        each_share(charts, item, [&](const Edge& edge, double share) {
            if (share != 0.0) sum += share, last = edge;
            return share == 0.0 || !(sum > u);
        });
        return std::optional(last);
    });
}

inline constexpr double kMoreThanHalf = 0.4;  // a little below, for rounding

// heads[0..n]; false if no tree has a probability of `least`, at least kMoreThanHalf: its edges have more than half of their items.
template <class Charts>
bool dominant_tree(const Charts& charts, int* heads, double least = kMoreThanHalf) {
    std::vector<Item> agenda;
    double probability = 1.0;
    return descend(charts, agenda, heads, [&](Item item) {
        Edge best{};
        double largest = 0.0;
        each_share(charts, item, [&](const Edge& edge, double share) {
            if (share > largest) largest = share, best = edge;
            return largest <= 0.5;
        });
        probability *= largest;
        return probability < least ? std::nullopt : std::optional(best);
    });
}

}  // namespace arbora
