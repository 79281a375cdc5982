// Second-order non-projective search [mcdonald-2006]: from a given tree, re-attach one word at a time, always the best
// re-attachment, while the score rises. Generic in where scores come from; each step is O(n^2 + candidate arcs).
//
// Parts must offer: int n(), Roots roots(), double arc(h, d), double sibling(h, d, inner) (inner == h: none), and
// each_head(d, visit) over the heads that d may have, ascending; for grandparents also bool grandparents() and
// double grandparent(g, h, d). With a single root, the root's dependent keeps its place.
#pragma once

#include <cmath>
#include <vector>

#include "factorization/layout.hpp"

namespace arbora {

template <class Parts>
class HillClimbing {
public:
    HillClimbing(const Parts& parts, int* heads)
        : p_(parts), heads_(heads), nodes_(static_cast<std::size_t>(parts.n()) + 1), below_(nodes_), inner_(nodes_ * nodes_), outer_(inner_) {}

    void run() {
        while (true) {
            const Move move = best_move();
            if (move.dep == 0) return;
            heads_[move.dep] = move.head;
        }
    }

private:
    struct Move {
        double gain = 0.0;
        int dep = 0, head = 0;
    };

    double sibling(int head, int dep, int inner) const { return dep < 0 ? 0.0 : p_.sibling(head, dep, inner); }

    // For each head and each position: the next dependent towards the head (or the head), and away from it (or -1).
    void find_neighbours() {
        const int n = p_.n();
        for (int h = 0; h <= n; ++h) {
            int* inner = &inner_[static_cast<std::size_t>(h) * nodes_];
            int* outer = &outer_[static_cast<std::size_t>(h) * nodes_];
            for (int d = h + 1, last = h; d <= n; ++d) inner[d] = last, last = heads_[d] == h ? d : last;
            for (int d = h - 1, last = h; d >= 1; --d) inner[d] = last, last = heads_[d] == h ? d : last;
            for (int d = n, last = -1; d > h; --d) outer[d] = last, last = heads_[d] == h ? d : last;
            for (int d = 1, last = -1; d < h; ++d) outer[d] = last, last = heads_[d] == h ? d : last;
        }
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
        for (int child = 1; child <= p_.n(); ++child)
            if (heads_[child] == dep) sum += p_.grandparent(head, dep, child);
        return sum;
    }

    void mark_below(int dep) {
        const int n = p_.n();
        for (int w = 0; w <= n; ++w) below_[w] = 0;
        below_[0] = 1;
        below_[dep] = 2;
        for (int w = 1; w <= n; ++w) {
            int top = w;
            while (below_[top] == 0) top = heads_[top];
            const char found = below_[top];
            for (int v = w; below_[v] == 0; v = heads_[v]) below_[v] = found;
        }
    }

    Move best_move() {
        find_neighbours();
        Move best;
        for (int d = 1; d <= p_.n(); ++d) {
            const bool single = p_.roots() == Roots::single;
            if (single && heads_[d] == 0) continue;
            const double now = worth(heads_[d], d);
            mark_below(d);
            p_.each_head(d, [&](int h) {
                if (below_[h] == 2 || h == heads_[d] || (single && h == 0)) return;
                const double then = worth(h, d);
                // Rounding must not make a gain out of a tie, or the search would not end.
                if (then - now > best.gain + 1e-12 * (1.0 + std::abs(then) + std::abs(now))) best = {then - now, d, h};
            });
        }
        return best;
    }

    const Parts& p_;
    int* heads_;
    std::size_t nodes_;
    std::vector<char> below_;
    std::vector<int> inner_, outer_;
};

}  // namespace arbora
