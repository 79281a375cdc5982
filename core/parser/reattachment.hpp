// The probability of each head of a word given the rest of a tree, for models without sums over all trees.
//
// Each word in turn is attached to each of its heads that is not below it, and P(head) is proportional to exp(score of that tree).
// With a single root, a new root takes the old one as its dependent, at the best place. A root that gets a head gives its place to
// its dependent on the path to that head. O(n k) trees with k arcs per word, O(n k) for the score of each.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/interrupt.hpp"
#include "parser/expectations.hpp"

namespace arbora::graph {

class Reattachment {
public:
    Reattachment(Expectations& expectations, Roots roots, const int* heads)
        : e_(expectations), arcs_(expectations.arcs()), single_(roots == Roots::single), heads_(heads, heads + arcs_.n + 1) {
        root_ = static_cast<int>(std::find(heads_.begin() + 1, heads_.end(), 0) - heads_.begin());
    }

    // The score of the tree with d attached to h; minus infinity if that is no tree.
    double score(int d, int h);

private:
    struct Change {
        int dep, head;
    };

    double with(std::initializer_list<Change> changes) {
        check_stop(16 * heads_.size());
        tree_ = heads_;
        for (const auto& [dep, head] : changes) tree_[static_cast<std::size_t>(dep)] = head;
        return e_.tree_score(tree_.data());
    }

    double with_root_below(int h) {
        int top = h;
        while (heads_[static_cast<std::size_t>(top)] != root_) top = heads_[static_cast<std::size_t>(top)];
        return with({{root_, h}, {top, 0}});
    }

    double with_new_root(int d);

    Expectations& e_;
    const ArcSet& arcs_;
    bool single_;
    std::vector<int> heads_, tree_;
    int root_ = 0;
};

// One number per arc; expectations: loaded. heads: a tree of arcs in the set.
std::vector<double> reattachment_probabilities(Expectations& expectations, Roots roots, const int* heads);

}  // namespace arbora::graph
