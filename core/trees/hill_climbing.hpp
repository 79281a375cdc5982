// Second-order non-projective search [mcdonald-2006]: from a given tree, re-attach one word at a time, always the best
// re-attachment, while the score rises. Generic in where scores come from.
//
// The best move of every word is remembered. A move of m from h to h' changes it only for words that may hang on m, h or h' (their
// parts changed), for these three, and for the ancestors of h and h' (they must not hang below themselves): with k candidate heads
// per word and trees of depth t, a step looks at O(k + t) words, each in O(k (t + children)), after O(n^2) for the start.
//
// Parts must offer: int n(), Roots roots(), double arc(h, d), double sibling(h, d, inner) (inner == h: none), and
// each_head(d, visit) over the heads that d may have, ascending; for grandparents also bool grandparents() and
// double grandparent(g, h, d). With a single root, the root's dependent keeps its place.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "trees/chart/layout.hpp"

namespace arbora {

template <class Parts>
class HillClimbing {
public:
    HillClimbing(const Parts& parts, int* heads)
        : p_(parts), heads_(heads), nodes_(static_cast<std::size_t>(parts.n()) + 1), moves_(nodes_), inner_(nodes_ * nodes_), outer_(inner_),
          possible_(nodes_) {
        for (int d = 1; d <= p_.n(); ++d) p_.each_head(d, [&](int h) { possible_[static_cast<std::size_t>(h)].push_back(d); });
    }

    void run() {
        for (int h = 0; h <= p_.n(); ++h) find_neighbours(h);
        for (int d = 1; d <= p_.n(); ++d) moves_[static_cast<std::size_t>(d)] = best_move(d);
        while (true) {
            Move best;
            for (int d = 1; d <= p_.n(); ++d)
                if (moves_[static_cast<std::size_t>(d)].beats(best)) best = moves_[static_cast<std::size_t>(d)];
            if (best.dep == 0) return;
            apply(best);
        }
    }

private:
    struct Move {
        double gain = 0.0;
        double rounding = 0.0;  // what the gain may be wrong by
        int dep = 0, head = 0;

        // Rounding must not make a gain out of a tie, or the search would not end.
        bool beats(const Move& other) const { return dep != 0 && gain > other.gain + rounding; }
    };

    void apply(const Move& move) {
        const int from = heads_[move.dep];
        changed_.clear();
        add_ancestors(from);
        heads_[move.dep] = move.head;
        add_ancestors(move.head);
        find_neighbours(from);
        find_neighbours(move.head);
        changed_.push_back(move.dep);
        for (const int h : {from, move.head, move.dep})
            changed_.insert(changed_.end(), possible_[static_cast<std::size_t>(h)].begin(), possible_[static_cast<std::size_t>(h)].end());
        std::sort(changed_.begin(), changed_.end());
        changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
        for (const int d : changed_) moves_[static_cast<std::size_t>(d)] = best_move(d);
    }

    // The node itself and all above it but the root.
    void add_ancestors(int node) {
        for (; node > 0; node = heads_[node]) changed_.push_back(node);
    }

    double sibling(int head, int dep, int inner) const { return dep < 0 ? 0.0 : p_.sibling(head, dep, inner); }

    // For each position seen from h: the next dependent towards h (or h), and away from it (or -1).
    void find_neighbours(int h) {
        const int n = p_.n();
        int* inner = &inner_[static_cast<std::size_t>(h) * nodes_];
        int* outer = &outer_[static_cast<std::size_t>(h) * nodes_];
        for (int d = h + 1, last = h; d <= n; ++d) inner[d] = last, last = heads_[d] == h ? d : last;
        for (int d = h - 1, last = h; d >= 1; --d) inner[d] = last, last = heads_[d] == h ? d : last;
        for (int d = n, last = -1; d > h; --d) outer[d] = last, last = heads_[d] == h ? d : last;
        for (int d = 1, last = -1; d < h; ++d) outer[d] = last, last = heads_[d] == h ? d : last;
    }

    // What the parts around (head, dep) gain by dep's hanging there.
    double worth(int head, int dep) const {
        const std::size_t at = static_cast<std::size_t>(head) * nodes_ + static_cast<std::size_t>(dep);
        const int inner = inner_[at], outer = outer_[at];
        double sum = p_.arc(head, dep) + sibling(head, dep, inner) + sibling(head, outer, dep) - sibling(head, outer, inner);
        if constexpr (requires { p_.grandparents(); }) {
            if (p_.grandparents()) sum += worth_of_grandparents(head, dep);
        }
        return sum;
    }

    double worth_of_grandparents(int head, int dep) const {
        double sum = head > 0 ? p_.grandparent(heads_[head], head, dep) : 0.0;
        const int* outer = &outer_[static_cast<std::size_t>(dep) * nodes_];
        for (const int nearest : {dep - 1, dep + 1}) {
            if (nearest < 1 || nearest > p_.n()) continue;
            for (int child = heads_[nearest] == dep ? nearest : outer[nearest]; child > 0; child = outer[child])
                sum += p_.grandparent(head, dep, child);
        }
        return sum;
    }

    bool is_below(int node, int dep) const {
        while (node > 0 && node != dep) node = heads_[node];
        return node == dep;
    }

    Move best_move(int d) const {
        Move best;
        const bool single = p_.roots() == Roots::single;
        if (single && heads_[d] == 0) return best;
        const double now = worth(heads_[d], d);
        p_.each_head(d, [&](int h) {
            if (h == heads_[d] || (single && h == 0) || is_below(h, d)) return;
            const double then = worth(h, d);
            const Move move{then - now, 1e-12 * (1.0 + std::abs(then) + std::abs(now)), d, h};
            if (move.beats(best)) best = move;
        });
        return best;
    }

    const Parts& p_;
    int* heads_;
    std::size_t nodes_;
    std::vector<Move> moves_;  // of each word, the best
    std::vector<int> inner_, outer_;
    std::vector<std::vector<int>> possible_;  // of each head, the words that may hang on it
    std::vector<int> changed_;
};

}  // namespace arbora
