// Where to update when search is inexact: at which nodes of the gold derivation its subtree is compared with the best one found
// there [zhang-2013].
//
// The violation of a node is the score of the best derivation found there minus that of the gold one. At the root it is negative if
// search has lost the best tree; then an update moves the weights the wrong way. At leaves it is zero, so the maximum over all
// nodes is never negative. A tie between different trees is a violation, too: at the start, all weights are zero.
//   standard   the root, whatever its violation
//   skip       the root, unless its violation is negative
//   s_max      the node of the largest violation
//   p_max      a frontier: ft(n) = {n} if no node below n has a larger violation, else the frontiers of its children. Its nodes do not
//              overlap, and together they cover what the root covers.
// Each is a function of violations alone and takes O(nodes). Ties go to the larger structure.
#pragma once

#include <array>
#include <vector>

namespace arbora::hypergraph {

enum class Update { standard, skip, s_max, p_max };

// A node of the gold derivation; children come before their parents, and the root is last.
struct GoldNode {
    std::array<int, 2> children{-1, -1};  // -1: a leaf
    double violation = 0.0;
    bool wrong = false;  // whether the predicted subtree differs from the gold one

    // Whether a node is more wrong than another. Of equal violations, one between equal trees is none.
    bool worse_than(const GoldNode& other) const {
        return violation != other.violation ? violation > other.violation : wrong && !other.wrong;
    }
};

// The whole frontier, including nodes without a violation.
inline std::vector<int> update_frontier(const std::vector<GoldNode>& nodes) {
    std::vector<std::size_t> worst(nodes.size());  // at or below each node
    for (std::size_t n = 0; n < nodes.size(); ++n) {
        worst[n] = n;
        for (const int child : nodes[n].children)
            if (child >= 0 && nodes[worst[static_cast<std::size_t>(child)]].worse_than(nodes[worst[n]])) worst[n] = worst[static_cast<std::size_t>(child)];
    }
    std::vector<int> open{static_cast<int>(nodes.size()) - 1}, frontier;
    while (!open.empty()) {
        const auto n = static_cast<std::size_t>(open.back());
        open.pop_back();
        if (worst[n] == n)
            frontier.push_back(static_cast<int>(n));
        else
            for (const int child : nodes[n].children)
                if (child >= 0) open.push_back(child);
    }
    return frontier;
}

inline std::vector<int> update_nodes(Update update, const std::vector<GoldNode>& nodes) {
    if (update == Update::p_max) return update_frontier(nodes);
    std::size_t chosen = nodes.size() - 1;
    if (update == Update::skip && nodes.back().violation < 0.0) return {};
    if (update == Update::s_max) {
        chosen = 0;
        for (std::size_t n = 1; n < nodes.size(); ++n)
            if (!nodes[chosen].worse_than(nodes[n])) chosen = n;
    }
    return {static_cast<int>(chosen)};
}

}  // namespace arbora::hypergraph
