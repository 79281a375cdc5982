// The trees around a tree: a list and sums where neither all trees nor the best of them can be had, as of second-order
// non-projective ones.
//
// Best-first search. The best tree that is not yet expanded is expanded: it adds all trees that differ from it by
//   - one change: d moves from its head f to h, which is not below d; with a single root, the root keeps its place;
//   - two changes: d moves from f to h, which is below d, and some c on the path from h up to d moves to f.
// So it ends after `width` expansions, or when nothing is left. With all arcs allowed, every tree can be reached from every other,
// and a width of at least the number of trees finds all of them. Sums are over the trees that were found, so they are
// lower bounds of those over all trees; an expansion finds n k trees, most of which are in no list of the best.
// With k heads per word, trees of depth t and c for the gain of a change (see HeadChanges): O(width n k t c) time, O(n) space for
// each expansion and O(1) for each tree that is found. Trees whose change passes through a forbidden part are not found.
// Ties go to the tree that was found first.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <queue>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/interrupt.hpp"
#include "trees/hill_climbing.hpp"
#include "trees/problem.hpp"

namespace arbora {

// Expansions for probabilities where no list is asked for.
inline constexpr int kProbabilityWidth = 32;

template <class Parts>  // as for HeadChanges
class FoundTrees {
public:
    // start[0..n]: a tree, and its score.
    FoundTrees(const Parts& parts, const int* start, double score, int width)
        : p_(parts), nodes_(static_cast<std::size_t>(parts.n()) + 1), tree_(start, start + nodes_), score_(score), changes_(p_, tree_.data()) {
        known_.insert(hash(tree_));
        expanded_.push_back(tree_);
        found_.push_back({score, 0, {}, {}});
        for (int i = 0; i < width && found_.size() < kMost; ++i) {
            if (i > 0 && !go_to_next()) break;
            expand();
        }
        for (const Found& each : found_) top_ = std::max(top_, each.score);
        for (const Found& each : found_) total_ += weight(each);
    }

    FoundTrees(const FoundTrees&) = delete;

    std::size_t size() const { return found_.size(); }
    bool has(const int* heads) const { return known_.contains(hash({heads, heads + nodes_})); }
    double log_sum() const { return top_ + std::log(total_); }
    double mean_score() const {
        double sum = 0.0;
        for (const Found& each : found_) sum += weight(each) / total_ * each.score;
        return sum;
    }

    // The k best trees, the best first.
    std::vector<Heads> best(int k) const {
        std::vector<std::size_t> order(found_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        const auto end = order.begin() + static_cast<std::ptrdiff_t>(std::min(order.size(), static_cast<std::size_t>(k)));
        std::partial_sort(order.begin(), end, order.end(), [&](std::size_t a, std::size_t b) {
            return found_[a].score != found_[b].score ? found_[a].score > found_[b].score : a < b;
        });
        std::vector<Heads> trees;
        for (auto place = order.begin(); place != end; ++place) trees.push_back(heads_of(found_[*place]));
        return trees;
    }

    // P(arc) as a table [head, dep]. A tree counts as the one that it came from, less what changed.
    std::vector<double> arcs() const {
        std::vector<double> masses(expanded_.size(), 0.0), table(nodes_ * nodes_, 0.0);
        for (const Found& each : found_) masses[each.from] += weight(each) / total_;
        for (std::size_t e = 0; e < expanded_.size(); ++e)
            for (std::size_t d = 1; d < nodes_; ++d) table[at(expanded_[e][d], d)] += masses[e];
        for (const Found& each : found_)
            for (const Move& move : {each.first, each.second}) {
                if (move.dep == 0) continue;
                const auto d = static_cast<std::size_t>(move.dep);
                table[at(move.head, d)] += weight(each) / total_;
                table[at(expanded_[each.from][d], d)] -= weight(each) / total_;
            }
        for (double& p : table) p = std::clamp(p, 0.0, 1.0);
        return table;
    }

    // visit(heads, P(tree)) for each tree. O(n) each.
    template <class Visit>
    void each(Visit visit) const {
        for (const Found& found : found_) visit(heads_of(found), weight(found) / total_);
    }

private:
    static constexpr std::size_t kMost = std::size_t{1} << 18;  // found trees after which none is expanded

    struct Move {
        int dep = 0, head = 0;  // dep = 0: none
    };
    struct Found {
        double score = 0.0;
        std::size_t from = 0;  // of `expanded_`
        Move first, second;
    };

    std::size_t at(int head, std::size_t dep) const { return static_cast<std::size_t>(head) * nodes_ + dep; }
    double weight(const Found& each) const { return std::exp(each.score - top_); }

    Heads heads_of(const Found& found) const {
        Heads heads = expanded_[found.from];
        for (const Move& move : {found.first, found.second})
            if (move.dep > 0) heads[static_cast<std::size_t>(move.dep)] = move.head;
        return heads;
    }

    // A tree's hash is the sum of its arcs', so that a change costs O(1).
    std::uint64_t hash_of(int head, int dep) const {
        std::uint64_t x = (static_cast<std::uint64_t>(head) * nodes_ + static_cast<std::uint64_t>(dep) + 1) * 0x9e3779b97f4a7c15ULL;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
        return x ^ (x >> 31);
    }
    std::uint64_t hash(const Heads& heads) const {
        std::uint64_t sum = 0;
        for (std::size_t d = 1; d < nodes_; ++d) sum += hash_of(heads[d], static_cast<int>(d));
        return sum;
    }

    // Makes the best tree of `open_` the current one; false where there is none.
    bool go_to_next() {
        if (open_.empty()) return false;
        const Found& best = found_[open_.top().second];
        const Heads next = heads_of(best);
        score_ = best.score;
        open_.pop();
        for (std::size_t d = 1; d < nodes_; ++d)
            if (tree_[d] != next[d]) changes_.apply({.dep = static_cast<int>(d), .head = next[d]});
        expanded_.push_back(next);
        return true;
    }

    void expand() {
        hash_ = hash(tree_);
        const bool single = p_.roots() == Roots::single;
        for (int d = 1; d <= p_.n(); ++d) {
            check_stop(16 * nodes_);
            const int from = tree_[static_cast<std::size_t>(d)];
            p_.each_head(d, [&](int h) {
                if (h == from || (single && h == 0)) return;
                if (is_below(tree_.data(), h, d)) return swap(d, h);
                if (!single || from != 0) add(changes_.gain(d, h), {d, h}, {});
            });
        }
    }

    // d moves below itself, and a word on the way there takes its place.
    void swap(int d, int h) {
        const double gain = changes_.gain(d, h);
        if (!std::isfinite(gain)) return;
        const int from = tree_[static_cast<std::size_t>(d)];
        changes_.apply({.dep = d, .head = h});
        for (int c = h; c != d; c = tree_[static_cast<std::size_t>(c)]) {
            bool possible = false;
            p_.each_head(c, [&](int head) { possible |= head == from; });
            if (possible) add(gain + changes_.gain(c, from), {d, h}, {c, from});
        }
        changes_.apply({.dep = d, .head = from});
    }

    void add(double gain, Move first, Move second) {
        if (!std::isfinite(gain)) return;
        std::uint64_t changed = hash_;
        for (const Move& move : {first, second})
            if (move.dep > 0) changed += hash_of(move.head, move.dep) - hash_of(expanded_.back()[static_cast<std::size_t>(move.dep)], move.dep);
        if (!known_.insert(changed).second) return;
        open_.emplace(score_ + gain, found_.size());
        found_.push_back({score_ + gain, expanded_.size() - 1, first, second});
    }

    struct Worse {
        bool operator()(const std::pair<double, std::size_t>& a, const std::pair<double, std::size_t>& b) const {
            return a.first != b.first ? a.first < b.first : a.second > b.second;
        }
    };

    Parts p_;
    std::size_t nodes_;
    Heads tree_;  // the current one, and its score and hash
    double score_ = 0.0;
    std::uint64_t hash_ = 0;
    HeadChanges<Parts> changes_;
    std::vector<Heads> expanded_;
    std::vector<Found> found_;
    std::unordered_set<std::uint64_t> known_;
    std::priority_queue<std::pair<double, std::size_t>, std::vector<std::pair<double, std::size_t>>, Worse> open_;
    double top_ = kMinusInfinity, total_ = 0.0;
};

}  // namespace arbora
