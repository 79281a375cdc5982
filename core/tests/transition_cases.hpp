// For the tests of transition systems: scores that depend on the history alone, and systems written again, as simply as possible.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "brute_force.hpp"
#include "features/hash.hpp"
#include "problems.hpp"
#include "search/greedy.hpp"
#include "search/transition/arc_eager.hpp"
#include "search/transition/arc_standard.hpp"
#include "search/transition/swap.hpp"

namespace transition_cases {

using namespace arbora::transition;
using arbora::Heads;
using arbora::Roots;
using arbora::Trees;

inline constexpr int kLabels = 2;

// A score for each action in each state: a hash of the words on its stack and in its buffer.
class HashScorer {
public:
    explicit HashScorer(std::uint64_t seed) : seed_(seed) {}

    void look(const Space& space, const State& state) {
        key_ = seed_;
        for (int i = state.stack; i >= 0; i = space.item(i).below) key_ = arbora::feature::mix(key_ * 31 + static_cast<std::uint64_t>(space.item(i).word + 7));
        for (int k = 0; space.buffer_word(state, k) >= 0; ++k)
            key_ = arbora::feature::mix(key_ * 37 + static_cast<std::uint64_t>(space.buffer_word(state, k) + 11));
    }
    double move(Move move) const { return number(static_cast<std::uint64_t>(move)); }
    double label(const Arc&, Move move, int label) const { return number(100 + static_cast<std::uint64_t>(move) * 10 + static_cast<std::uint64_t>(label)); }
    std::span<const arbora::search::LabelScore> labels(const Arc& arc, Move move, int most) {
        labels_.clear();
        for (int l = 0; l < kLabels; ++l) labels_.push_back({l, label(arc, move, l)});
        std::stable_sort(labels_.begin(), labels_.end(), [](const auto& a, const auto& b) { return a.score > b.score; });
        labels_.resize(std::min(labels_.size(), static_cast<std::size_t>(most)));
        return labels_;
    }

private:
    double number(std::uint64_t salt) const { return static_cast<double>(arbora::feature::mix(key_ + salt * 0x9e3779b97f4a7c15ULL) % 1000) / 100.0 - 5.0; }
    std::uint64_t seed_, key_ = 0;
    std::vector<arbora::search::LabelScore> labels_;
};

inline bool is_asked_for(const Heads& heads, Trees trees, Roots roots) { return brute::is_tree(heads, trees, roots); }

// Arc-eager with several roots as in the paper's table, on plain lists. Moves are named by their letters.
struct PlainEager {
    std::vector<int> stack, buffer;  // tops last, fronts first
    Heads heads;

    explicit PlainEager(int n) : heads(static_cast<std::size_t>(n) + 1, -1) {
        for (int w = 1; w <= n; ++w) buffer.push_back(w);
        buffer.push_back(0);
    }
    std::string moves() const {
        std::string found;
        const bool at_root = buffer[0] == 0;
        if (!at_root) found += 'S';
        if (stack.empty()) return found;
        const bool has_head = heads[static_cast<std::size_t>(stack.back())] >= 0;
        found += has_head ? 'D' : 'L';
        if (!at_root) found += 'R';
        return found;
    }
    PlainEager after(char move) const {
        PlainEager next = *this;
        const int front = buffer[0];
        if (move == 'L') next.heads[static_cast<std::size_t>(stack.back())] = front;
        if (move == 'R') next.heads[static_cast<std::size_t>(front)] = stack.back();
        if (move == 'L' || move == 'D') next.stack.pop_back();
        if (move == 'S' || move == 'R') {
            next.stack.push_back(front);
            next.buffer.erase(next.buffer.begin());
        }
        return next;
    }
    // The least number of wrong heads among all reachable trees.
    int least_loss(const Heads& gold) const {
        const std::string possible = moves();
        if (possible.empty()) {
            int wrong = 0;
            for (std::size_t d = 1; d < heads.size(); ++d) wrong += heads[d] != gold[d];
            return wrong;
        }
        int least = static_cast<int>(heads.size());
        for (const char move : possible) least = std::min(least, after(move).least_loss(gold));
        return least;
    }
};

}  // namespace transition_cases
