// Bottom-up search over a hypergraph with a beam of derivations per node, by cube pruning [chiang-2007, huang-2008].
//
// A node is a set of partial structures. A hyperedge is a way to build one from two smaller ones, with a choice (for example, a
// label). The score of a combination may depend on both complete derivations, so optimal substructure does not hold: each node
// keeps its `beam` best derivations, no two with equal `key`. Candidates of one node, over all its hyperedges, are (edge, i, j, c):
// the i-th best derivation on the left, the j-th on the right, the c-th choice. The best one is taken off a queue, and its
// neighbours (i+1, j, c), (i, j+1, c), (i, j, c+1) are scored and queued, each in one way only.
// Time per node: O(edges + beam) combinations; with an unlimited beam, all. Ties go to the candidate queued first.
//
// This file knows nothing of words. A problem defines its Context, the memory of a derivation, and how two derivations combine.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace arbora::hypergraph {

struct Edge {
    int left = -1, right = -1;  // nodes
    int choices = 1;
};

template <class Context>
struct Derivation {
    double score = 0.0;
    std::uint64_t key = 0;  // equal keys: every larger derivation scores the same with either
    int left = -1, right = -1;  // derivations; -1 in leaves
    Context context{};
};

template <class Context>
class Forest {
public:
    using Item = Derivation<Context>;

    void clear() {
        items_.clear();
        nodes_.clear();
    }

    // A node with one empty derivation.
    int leaf(const Item& item) {
        nodes_.push_back({static_cast<int>(items_.size()), 1});
        items_.push_back(item);
        return static_cast<int>(nodes_.size()) - 1;
    }

    // A node of the best derivations over the edges. combine(edge, i, left, j, right, choice) returns a derivation with its score
    // and key; `left` and `right` are set here. There must be at least one edge, and its nodes must have derivations.
    template <class Combine>
    int grow(std::span<const Edge> edges, int beam, Combine&& combine);

    // A derivation that is in no node's beam. combine as above.
    template <class Make>
    int derive(int left, int right, Make&& make) {
        Item made = make(items_[static_cast<std::size_t>(left)], items_[static_cast<std::size_t>(right)]);
        made.left = left;
        made.right = right;
        items_.push_back(made);
        return static_cast<int>(items_.size()) - 1;
    }

    const Item& at(int derivation) const { return items_[static_cast<std::size_t>(derivation)]; }
    int size() const { return static_cast<int>(items_.size()); }
    // The number of a node's i-th best derivation.
    int ranked(int node, int i) const { return nodes_[static_cast<std::size_t>(node)].first + i; }
    int count(int node) const { return nodes_[static_cast<std::size_t>(node)].count; }

    // visit(derivation) for a derivation and all its parts, larger ones first.
    template <class Visit>
    void visit(int derivation, Visit&& visit) const {
        std::vector<int> open{derivation};
        while (!open.empty()) {
            const Item& item = at(open.back());
            open.pop_back();
            visit(item);
            if (item.right >= 0) open.push_back(item.right);
            if (item.left >= 0) open.push_back(item.left);
        }
    }

private:
    struct Beam {
        int first, count;
    };
    struct Candidate {
        double score;
        int number;  // the order in which they were queued
        int edge, i, j, choice;
    };

    std::vector<Item> items_;
    std::vector<Beam> nodes_;
    std::vector<Candidate> queue_;
    std::vector<Item> made_, kept_;
};

template <class Context>
template <class Combine>
int Forest<Context>::grow(std::span<const Edge> edges, int beam, Combine&& combine) {
    const auto later = [](const Candidate& a, const Candidate& b) { return a.score != b.score ? a.score < b.score : a.number > b.number; };
    queue_.clear();
    made_.clear();
    kept_.clear();
    const auto queue = [&](int e, int i, int j, int choice) {
        const Edge& edge = edges[static_cast<std::size_t>(e)];
        if (i >= count(edge.left) || j >= count(edge.right) || choice >= edge.choices) return;
        const int left = ranked(edge.left, i), right = ranked(edge.right, j);
        made_.push_back(combine(e, i, at(left), j, at(right), choice));
        made_.back().left = left;
        made_.back().right = right;
        queue_.push_back({made_.back().score, static_cast<int>(made_.size()) - 1, e, i, j, choice});
        std::push_heap(queue_.begin(), queue_.end(), later);
    };
    for (int e = 0; e < static_cast<int>(edges.size()); ++e) queue(e, 0, 0, 0);
    // A candidate may have the key of an earlier one, and its neighbours may be better than it: so more are taken than are kept, as
    // long as that helps.
    const std::size_t wanted = static_cast<std::size_t>(beam), most = 2 * wanted + 4;
    const auto worse = [](const Item& a, const Item& b) { return a.score < b.score; };
    for (std::size_t taken = 0; !queue_.empty() && taken < most; ++taken) {
        const Candidate best = queue_.front();
        const Item& item = made_[static_cast<std::size_t>(best.number)];
        const auto same = std::find_if(kept_.begin(), kept_.end(), [&](const Item& other) { return other.key == item.key; });
        if (same != kept_.end()) {
            if (item.score > same->score) *same = item;
        } else if (kept_.size() < wanted) {
            kept_.push_back(item);
        } else {
            const auto worst = std::min_element(kept_.begin(), kept_.end(), worse);
            if (item.score <= worst->score) break;
            *worst = item;
        }
        std::pop_heap(queue_.begin(), queue_.end(), later);
        queue_.pop_back();
        queue(best.edge, best.i, best.j, best.choice + 1);
        if (best.choice == 0) queue(best.edge, best.i, best.j + 1, 0);
        if (best.choice == 0 && best.j == 0) queue(best.edge, best.i + 1, 0, 0);
    }
    std::stable_sort(kept_.begin(), kept_.end(), [](const Item& a, const Item& b) { return a.score > b.score; });
    nodes_.push_back({static_cast<int>(items_.size()), static_cast<int>(kept_.size())});
    items_.insert(items_.end(), kept_.begin(), kept_.end());
    return static_cast<int>(nodes_.size()) - 1;
}

}  // namespace arbora::hypergraph
