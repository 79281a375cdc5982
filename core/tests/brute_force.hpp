// Every tree of a short sentence, listed one by one: the oracle of the inference tests.
//
// Idea: all head vectors, kept if they are trees by definition, scored part by part in long double. From the core only the types of
// a problem are used (Problem, Trees, Roots); this file contains no parsing algorithm. Time and space O(n^n): meant for n <= 5.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "trees/problem.hpp"

namespace brute {

using arbora::Heads;
using arbora::Problem;
using arbora::Roots;
using arbora::Trees;

inline constexpr long double kNothing = -std::numeric_limits<long double>::infinity();

// Whether `word` is below `head` or equal to it. Also false for words that never reach the root.
inline bool dominates(const Heads& heads, int head, int word) {
    for (std::size_t steps = 0; steps <= heads.size() && word != head; ++steps) {
        if (word == 0) return false;
        word = heads[word];
    }
    return word == head;
}

inline bool is_tree(const Heads& heads, Trees trees, Roots roots) {
    const int n = static_cast<int>(heads.size()) - 1;
    for (int d = 1; d <= n; ++d) {
        if (heads[d] < 0 || heads[d] > n || heads[d] == d) return false;
    }
    for (int d = 1; d <= n; ++d) {
        if (!dominates(heads, 0, d)) return false;
    }
    if (roots == Roots::single && n > 0 && std::count(heads.begin() + 1, heads.end(), 0) != 1) return false;
    if (trees == Trees::nonprojective) return true;
    for (int d = 1; d <= n; ++d) {
        for (int k = std::min(d, heads[d]) + 1; k < std::max(d, heads[d]); ++k) {
            if (!dominates(heads, heads[d], k)) return false;
        }
    }
    return true;
}

inline std::vector<Heads> all_trees(int n, Trees trees, Roots roots) {
    std::vector<Heads> result;
    Heads heads(n + 1, 0);
    heads[0] = -1;
    for (;;) {
        if (is_tree(heads, trees, roots)) result.push_back(heads);
        int d = n;
        while (d >= 1 && heads[d] == n) heads[d--] = 0;
        if (d < 1) return result;
        ++heads[d];
    }
}

// The next dependent of d's head on the way from d to it; the head itself if there is none.
inline int sibling(const Heads& heads, int d) {
    const int h = heads[d], step = d < h ? 1 : -1;
    for (int k = d + step; k != h; k += step) {
        if (heads[k] == h) return k;
    }
    return h;
}

inline long double score(const Problem& p, const Heads& heads) {
    const std::ptrdiff_t nodes = p.n + 1;
    long double sum = 0.0L;
    const auto add = [&](double part) { sum += part < -1e300 ? kNothing : static_cast<long double>(part); };
    for (int d = 1; d <= p.n; ++d) {
        const int h = heads[d], s = sibling(heads, d);
        add(p.arcs[h * nodes + d]);
        if (p.siblings != nullptr) add(p.siblings[(h * nodes + d) * nodes + s]);
        if (h == 0) continue;
        const std::ptrdiff_t grand = (heads[h] * nodes + h) * nodes + d;
        if (p.grandparents != nullptr) add(p.grandparents[grand]);
        if (p.grandsiblings != nullptr) add(p.grandsiblings[grand * nodes + s]);
    }
    return sum;
}

// The trees that a problem allows, best first, with the sums over them.
struct Forest {
    Problem problem;
    std::vector<Heads> trees;
    std::vector<long double> scores;
    long double log_partition = kNothing;

    explicit Forest(const Problem& p) : problem(p) {
        std::vector<std::pair<long double, Heads>> found;
        for (const Heads& heads : all_trees(p.n, p.trees, p.roots)) {
            const long double value = score(p, heads);
            if (value > kNothing) found.emplace_back(value, heads);
        }
        std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
        long double sum = 0.0L;
        for (const auto& [value, heads] : found) {
            scores.push_back(value);
            trees.push_back(heads);
            sum += std::exp(value - found[0].first);
        }
        if (!found.empty()) log_partition = found[0].first + std::log(sum);
    }

    bool empty() const { return trees.empty(); }
    long double probability(std::size_t i) const { return std::exp(scores[i] - log_partition); }
    std::size_t find(const Heads& heads) const { return std::find(trees.begin(), trees.end(), heads) - trees.begin(); }

    // The probabilities of a kind of part, as an array of this size (none if it is 0); place(heads, d) gives the place of the part
    // of word d, -1 for none.
    template <class Place>
    std::vector<double> marginals(std::size_t size, Place place) const {
        std::vector<long double> sums(size, 0.0L);
        for (std::size_t i = 0; i < trees.size() && size > 0; ++i) {
            for (int d = 1; d <= problem.n; ++d) {
                const std::ptrdiff_t at = place(trees[i], d);
                if (at >= 0) sums[static_cast<std::size_t>(at)] += probability(i);
            }
        }
        return {sums.begin(), sums.end()};
    }
};

}  // namespace brute
