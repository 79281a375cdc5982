// The k best trees from a chart of maxima, for any factorization whose trees have one derivation each: lazy enumeration [huang-2005].
//
// Each item keeps its derivations found so far, best first, and a heap of candidates; a derivation is an edge and the ranks of its two
// parts. The next-best of an item is asked for only when a larger item needs it. Items that no good tree touches cost nothing.
// Time O(n^3 + k n log(kn)) beyond the chart in the usual case, space O(n^2 + kn).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "factorization/layout.hpp"

namespace arbora {

template <class Charts>
class LazyKBest {
public:
    explicit LazyKBest(const Charts& charts)
        : charts_(charts), states_of_(static_cast<std::size_t>(Charts::kKinds) * nodes() * nodes(), -1) {}

    // Up to k trees, best first, heads[0..n] each.
    std::vector<std::vector<int>> run(int k) {
        std::vector<std::vector<int>> trees;
        const int top = state(charts_.top());
        for (int rank = 0; rank < k && grow(top, rank); ++rank) {
            trees.emplace_back(nodes(), -1);
            collect(top, rank, trees.back());
        }
        return trees;
    }

private:
    struct Derivation {
        double score;
        int edge;
        int first_rank, second_rank;
    };
    // Heap order: best score first, then the first edge, so that ties do not depend on the heap's history.
    struct Worse {
        bool operator()(const Derivation& a, const Derivation& b) const {
            if (a.score != b.score) return a.score < b.score;
            if (a.edge != b.edge) return a.edge > b.edge;
            return a.first_rank != b.first_rank ? a.first_rank > b.first_rank : a.second_rank > b.second_rank;
        }
    };
    struct State {
        Item item;
        std::vector<Derivation> found;
        std::vector<Derivation> candidates;  // heap
    };

    std::size_t nodes() const { return static_cast<std::size_t>(charts_.layout.n) + 1; }

    int state(Item item) {
        std::int32_t& index = states_of_[(item.kind * nodes() + item.left) * nodes() + item.right];
        if (index < 0) {
            index = static_cast<std::int32_t>(states_.size());
            states_.push_back({item, {}, {}});
            begin(states_.back());
        }
        return index;
    }

    // One candidate per edge, from the best of its parts.
    void begin(State& state) {
        if (Charts::is_leaf(state.item)) {
            state.found.push_back({0.0, -1, 0, 0});
            return;
        }
        const double constant = charts_.constant(state.item);
        for (int i = 0; i < charts_.edge_count(state.item); ++i) {
            const Edge edge = charts_.edge(state.item, i);
            const double score = charts_.value(edge.first) + charts_.value(edge.second) + edge.score + constant;
            if (score > kMinusInfinity) state.candidates.push_back({score, i, 0, 0});
        }
        std::make_heap(state.candidates.begin(), state.candidates.end(), Worse{});
    }

    // Makes derivation `rank` of a state available; false where there are fewer.
    bool grow(int index, int rank) {
        while (static_cast<int>(states_[index].found.size()) <= rank) {
            State& state = states_[index];
            if (state.candidates.empty()) return false;
            std::pop_heap(state.candidates.begin(), state.candidates.end(), Worse{});
            const Derivation next = state.candidates.back();
            state.candidates.pop_back();
            state.found.push_back(next);
            // Ranks (i, j) are reached from (i, j-1), and (i, 0) from (i-1, 0): each pair once.
            push(index, {0.0, next.edge, next.first_rank, next.second_rank + 1});
            if (next.second_rank == 0) push(index, {0.0, next.edge, next.first_rank + 1, 0});
        }
        return true;
    }

    void push(int index, Derivation derivation) {
        const Item item = states_[index].item;
        const Edge edge = charts_.edge(item, derivation.edge);
        const int first = state(edge.first), second = state(edge.second);
        if (!grow(first, derivation.first_rank) || !grow(second, derivation.second_rank)) return;
        derivation.score = states_[first].found[derivation.first_rank].score +
                           states_[second].found[derivation.second_rank].score + edge.score + charts_.constant(item);
        auto& candidates = states_[index].candidates;
        candidates.push_back(derivation);
        std::push_heap(candidates.begin(), candidates.end(), Worse{});
    }

    void collect(int index, int rank, std::vector<int>& heads) {
        std::vector<std::pair<int, int>> agenda{{index, rank}};
        while (!agenda.empty()) {
            const auto [at, which] = agenda.back();
            agenda.pop_back();
            const Item item = states_[at].item;
            if (Charts::is_leaf(item)) continue;
            const Arc arc = charts_.arc(item);
            if (arc.dep != 0) heads[arc.dep] = arc.head;
            const Derivation derivation = states_[at].found[which];
            const Edge edge = charts_.edge(item, derivation.edge);
            const int first = state(edge.first), second = state(edge.second);
            grow(first, derivation.first_rank);
            grow(second, derivation.second_rank);
            agenda.push_back({first, derivation.first_rank});
            agenda.push_back({second, derivation.second_rank});
        }
    }

    const Charts& charts_;
    std::vector<std::int32_t> states_of_;
    std::vector<State> states_;
};

}  // namespace arbora
