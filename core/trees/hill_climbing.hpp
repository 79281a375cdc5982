// Hill climbing over single changes of a tree [mcdonald-2006]: always the best change of one word, while the score rises.
//
// HillClimber is the loop, generic in the change and its score. It remembers the best change of every word. A change that moves d from h
// to h' alters it only for words that may hang on one of these three, for the three themselves, and for the ancestors of h and h'. With c
// the time for the best change of one word, k candidate heads per word and trees of depth t: O(n c) for the start, O((k + t) c) per
// step, O(n + number of arcs) space. At most kStepsPerWord (n + 1) steps: where large scores cancel, rounding can make a gain of a
// tie, and the search would not end.
//
// A scorer offers: int n(); int head(d); each_head(d, visit) over the heads that d may have; Change best_change(d), with dep = 0
// where no change of d raises the score; apply(change).
// HeadChanges is the scorer of second-order trees: c is O(k (t + children)), after O(n^2) for the start.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/interrupt.hpp"
#include "trees/chart/layout.hpp"

namespace arbora {

struct HeadChange {
    double gain = 0.0;
    double rounding = 0.0;  // the error that the gain may have
    int dep = 0, head = 0;

    static HeadChange of(double before, double after, int dep, int head) {
        return {after - before, 1e-12 * (1.0 + std::abs(after) + std::abs(before)), dep, head};
    }
    // Rounding must not make a gain out of a tie, or the search would not end.
    bool beats(const HeadChange& other) const { return dep != 0 && gain > other.gain + rounding; }
};

inline bool is_below(const int* heads, int node, int dep) {
    while (node > 0 && node != dep) node = heads[node];
    return node == dep;
}

// Keeps its memory between trees.
template <class Change>
class HillClimber {
public:
    static constexpr std::size_t kStepsPerWord = 8;

    template <class Scorer>
    void run(Scorer& scorer) {
        const auto nodes = static_cast<std::size_t>(scorer.n()) + 1;
        possible_.resize(std::max(possible_.size(), nodes));
        for (auto& dependents : possible_) dependents.clear();
        for (int d = 1; d <= scorer.n(); ++d) scorer.each_head(d, [&](int h) { possible_[static_cast<std::size_t>(h)].push_back(d); });
        changes_.assign(nodes, {});
        for (int d = 1; d <= scorer.n(); ++d) {
            check_stop();
            changes_[static_cast<std::size_t>(d)] = scorer.best_change(d);
        }
        for (std::size_t step = 0; step < kStepsPerWord * nodes; ++step) {
            check_stop();
            Change best;
            for (const Change& change : changes_)
                if (change.beats(best)) best = change;
            if (best.dep == 0) return;
            apply(scorer, best);
        }
    }

private:
    template <class Scorer>
    void apply(Scorer& scorer, const Change& change) {
        const int from = scorer.head(change.dep);
        changed_.clear();
        const auto add_ancestors = [&](int node) {
            for (; node > 0; node = scorer.head(node)) changed_.push_back(node);
        };
        add_ancestors(from);
        scorer.apply(change);
        add_ancestors(change.head);
        changed_.push_back(change.dep);
        for (const int word : {from, change.head, change.dep}) {
            const auto& dependents = possible_[static_cast<std::size_t>(word)];
            changed_.insert(changed_.end(), dependents.begin(), dependents.end());
        }
        std::sort(changed_.begin(), changed_.end());
        changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
        for (const int d : changed_) {
            check_stop();
            changes_[static_cast<std::size_t>(d)] = scorer.best_change(d);
        }
    }

    std::vector<Change> changes_;             // of each word, the best
    std::vector<std::vector<int>> possible_;  // of each head, the words that may hang on it
    std::vector<int> changed_;
};

// Parts must offer: int n(), Roots roots(), double arc(h, d), double sibling(h, d, inner) (inner == h: none), and
// each_head(d, visit) over the heads that d may have, ascending; for grandparents also bool grandparents() and
// double grandparent(g, h, d). With a single root, the root's dependent keeps its place.
template <class Parts>
class HeadChanges {
public:
    HeadChanges(const Parts& parts, int* heads)
        : p_(parts), heads_(heads), nodes_(static_cast<std::size_t>(parts.n()) + 1), inner_(nodes_ * nodes_), outer_(inner_) {
        for (int h = 0; h <= n(); ++h) find_neighbours(h);
    }

    int n() const { return p_.n(); }
    int head(int dep) const { return heads_[dep]; }
    template <class Visit>
    void each_head(int dep, Visit visit) const { p_.each_head(dep, visit); }

    HeadChange best_change(int d) const {
        HeadChange best;
        const bool single = p_.roots() == Roots::single;
        if (single && heads_[d] == 0) return best;
        const double now = worth(heads_[d], d);
        p_.each_head(d, [&](int h) {
            if (h == heads_[d] || (single && h == 0) || is_below(heads_, h, d)) return;
            const auto change = HeadChange::of(now, worth(h, d), d, h);
            if (change.beats(best)) best = change;
        });
        return best;
    }

    // What the score of the parts gains if d moves to h; not for its own head.
    double gain(int d, int h) const { return worth(h, d) - worth(heads_[d], d); }

    void apply(const HeadChange& change) {
        const int from = heads_[change.dep];
        heads_[change.dep] = change.head;
        find_neighbours(from);
        find_neighbours(change.head);
    }

private:
    double sibling(int head, int dep, int inner) const { return dep < 0 ? 0.0 : p_.sibling(head, dep, inner); }

    // For each position seen from h: the next dependent towards h (or h), and away from it (or -1).
    void find_neighbours(int h) {
        int* inner = &inner_[static_cast<std::size_t>(h) * nodes_];
        int* outer = &outer_[static_cast<std::size_t>(h) * nodes_];
        for (int d = h + 1, last = h; d <= n(); ++d) inner[d] = last, last = heads_[d] == h ? d : last;
        for (int d = h - 1, last = h; d >= 1; --d) inner[d] = last, last = heads_[d] == h ? d : last;
        for (int d = n(), last = -1; d > h; --d) outer[d] = last, last = heads_[d] == h ? d : last;
        for (int d = 1, last = -1; d < h; ++d) outer[d] = last, last = heads_[d] == h ? d : last;
    }

    // The score of the parts around (head, dep) if dep hangs there, less that of the parts it replaces.
    double worth(int head, int dep) const {
        const std::size_t at = static_cast<std::size_t>(head) * nodes_ + static_cast<std::size_t>(dep);
        const int inner = inner_[at], outer = outer_[at];
        double sum = p_.arc(head, dep) + sibling(head, dep, inner) + sibling(head, outer, dep) - sibling(head, outer, inner);
        if constexpr (requires { p_.grandparents(); })
            if (p_.grandparents()) sum += worth_of_grandparents(head, dep);
        return sum;
    }

    double worth_of_grandparents(int head, int dep) const {
        double sum = head > 0 ? p_.grandparent(heads_[head], head, dep) : 0.0;
        const int* outer = &outer_[static_cast<std::size_t>(dep) * nodes_];
        for (const int nearest : {dep - 1, dep + 1}) {
            if (nearest < 1 || nearest > n()) continue;
            for (int child = heads_[nearest] == dep ? nearest : outer[nearest]; child > 0; child = outer[child])
                sum += p_.grandparent(head, dep, child);
        }
        return sum;
    }

    const Parts& p_;
    int* heads_;
    std::size_t nodes_;
    std::vector<int> inner_, outer_;
};

// Climbs from a tree of second-order parts.
template <class Parts>
void climb(const Parts& parts, int* heads) {
    HeadChanges scorer(parts, heads);
    HillClimber<HeadChange>().run(scorer);
}

}  // namespace arbora
