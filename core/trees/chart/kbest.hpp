// The k best trees from a chart of maxima, for any factorization whose trees have one derivation each: lazy enumeration [huang-2005].
//
// Each item keeps the derivations found so far, best first, and a heap of candidates; a derivation is an edge and the ranks of its
// two parts. An item computes its next-best only when a larger item needs it. Items that are in no good tree cost nothing. Time
// O(n^3 + k n log(kn)) beyond the chart in the usual case, space O(n^2 + kn).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/interrupt.hpp"
#include "trees/chart/layout.hpp"

namespace arbora {

template <class Charts>
class LazyKBest {
public:
    explicit LazyKBest(const Charts& charts)
        : charts_(charts), states_of_(static_cast<std::size_t>(Charts::kKinds) * nodes() * nodes(), -1) {
        states_.reserve(8 * nodes());
    }

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
    // For items other than leaves: leaves have one derivation, which is empty.
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
        const double constant = charts_.constant(state.item);
        const int count = charts_.edge_count(state.item);
        check_stop(16 * static_cast<std::size_t>(count));
        state.candidates.reserve(static_cast<std::size_t>(count) + 4);
        state.found.reserve(4);
        for (int i = 0; i < count; ++i) {
            const Edge edge = charts_.edge(state.item, i);
            const double score = charts_.value(edge.first) + charts_.value(edge.second) + edge.score + constant;
            if (score > kMinusInfinity) state.candidates.push_back({score, i, 0, 0});
        }
        std::make_heap(state.candidates.begin(), state.candidates.end(), Worse{});
    }

    // Makes derivation `rank` of a state available; false if there are fewer.
    bool grow(int index, int rank) {
        while (static_cast<int>(states_[index].found.size()) <= rank) {
            check_stop(256);
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

    // The score of derivation `rank` of an item; empty if there are fewer.
    std::optional<double> score(Item item, int rank) {
        if (Charts::is_leaf(item)) return rank == 0 ? std::optional(0.0) : std::nullopt;
        const int index = state(item);
        return grow(index, rank) ? std::optional(states_[index].found[rank].score) : std::nullopt;
    }

    void push(int index, Derivation derivation) {
        const Item item = states_[index].item;
        const Edge edge = charts_.edge(item, derivation.edge);
        const auto first = score(edge.first, derivation.first_rank);
        if (!first) return;
        const auto second = score(edge.second, derivation.second_rank);
        if (!second) return;
        derivation.score = *first + *second + edge.score + charts_.constant(item);
        auto& candidates = states_[index].candidates;
        candidates.push_back(derivation);
        std::push_heap(candidates.begin(), candidates.end(), Worse{});
    }

    void collect(int index, int rank, std::vector<int>& heads) {
        agenda_.assign(1, {index, rank});
        const auto visit = [&](Item item, int which) {
            if (Charts::is_leaf(item)) return;
            const int at = state(item);
            grow(at, which);
            agenda_.push_back({at, which});
        };
        while (!agenda_.empty()) {
            const auto [at, which] = agenda_.back();
            agenda_.pop_back();
            const Item item = states_[at].item;
            const Arc arc = charts_.arc(item);
            if (arc.dep != 0) heads[arc.dep] = arc.head;
            const Derivation derivation = states_[at].found[which];
            const Edge edge = charts_.edge(item, derivation.edge);
            visit(edge.first, derivation.first_rank);
            visit(edge.second, derivation.second_rank);
        }
    }

    const Charts& charts_;
    std::vector<std::int32_t> states_of_;
    std::vector<State> states_;
    std::vector<std::pair<int, int>> agenda_;  // scratch of collect
};

}  // namespace arbora
