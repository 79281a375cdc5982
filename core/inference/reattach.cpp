#include "inference/reattach.hpp"

#include <cmath>

#include "arborescence/max_arborescence.hpp"
#include "errors/errors.hpp"
#include "inference/queries.hpp"

namespace arbora {

namespace {

struct Move {
    double gain = 0.0;
    int dep = 0, head = 0;
};

class Reattachment {
public:
    Reattachment(const Problem& problem, int* heads)
        : p_(problem), heads_(heads), below_(problem.n + 1), inner_(cells()), outer_(cells()) {}

    void run() {
        while (true) {
            const Move move = best_move();
            if (move.dep == 0) return;
            heads_[move.dep] = move.head;
        }
    }

private:
    std::size_t cells() const { return static_cast<std::size_t>(p_.nodes() * p_.nodes()); }

    double sibling(int head, int dep, int inner) const {
        return dep < 0 ? 0.0 : allowed(p_.siblings[(head * p_.nodes() + dep) * p_.nodes() + inner]);
    }

    // For each head and each position: the next dependent towards the head (or the head), and away from it (or -1).
    void find_neighbours() {
        for (int h = 0; h <= p_.n; ++h) {
            int* inner = &inner_[h * p_.nodes()];
            int* outer = &outer_[h * p_.nodes()];
            for (int d = h + 1, last = h; d <= p_.n; ++d) inner[d] = last, last = heads_[d] == h ? d : last;
            for (int d = h - 1, last = h; d >= 1; --d) inner[d] = last, last = heads_[d] == h ? d : last;
            for (int d = p_.n, last = -1; d > h; --d) outer[d] = last, last = heads_[d] == h ? d : last;
            for (int d = 1, last = -1; d < h; ++d) outer[d] = last, last = heads_[d] == h ? d : last;
        }
    }

    // What the parts around (head, dep) gain by dep's hanging there.
    double worth(int head, int dep) const {
        const int inner = inner_[head * p_.nodes() + dep], outer = outer_[head * p_.nodes() + dep];
        return p_.arc(head, dep) + sibling(head, dep, inner) + sibling(head, outer, dep) - sibling(head, outer, inner);
    }

    void mark_below(int dep) {
        for (int w = 0; w <= p_.n; ++w) below_[w] = 0;
        below_[0] = 1;
        below_[dep] = 2;
        for (int w = 1; w <= p_.n; ++w) {
            int top = w;
            while (below_[top] == 0) top = heads_[top];
            const char found = below_[top];
            for (int v = w; below_[v] == 0; v = heads_[v]) below_[v] = found;
        }
    }

    Move best_move() {
        find_neighbours();
        Move best;
        for (int d = 1; d <= p_.n; ++d) {
            const bool single = p_.roots == Roots::single;
            if (single && heads_[d] == 0) continue;
            const double now = worth(heads_[d], d);
            mark_below(d);
            for (int h = single ? 1 : 0; h <= p_.n; ++h) {
                if (below_[h] == 2 || h == heads_[d] || allowed(p_.arc(h, d)) == kMinusInfinity) continue;
                const double then = worth(h, d);
                // Rounding must not make a gain out of a tie, or the search would not end.
                if (then - now > best.gain + 1e-12 * (1.0 + std::abs(then) + std::abs(now))) best = {then - now, d, h};
            }
        }
        return best;
    }

    const Problem& p_;
    int* heads_;
    std::vector<char> below_;
    std::vector<int> inner_, outer_;
};

}  // namespace

bool best_by_reattachment(const Problem& problem, Arena& arena, int* heads) {
    Problem projective = problem;
    projective.trees = Trees::projective;
    try {
        argmax(projective, arena, heads);
    } catch (const NoTreeError&) {
        // No projective tree: start from the best tree by arcs alone.
        Problem first_order = problem;
        first_order.siblings = nullptr;
        argmax(first_order, arena, heads);
        if (tree_score(problem, heads) == kMinusInfinity) return false;
    }
    Reattachment(problem, heads).run();
    return true;
}

}  // namespace arbora
