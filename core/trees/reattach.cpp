#include "trees/reattach.hpp"

#include "trees/arborescence/max_arborescence.hpp"
#include "base/errors.hpp"
#include "trees/hill_climbing.hpp"
#include "trees/queries.hpp"

namespace arbora {

namespace {

// The dense arrays of a Problem, as parts of hill climbing.
struct DenseParts {
    const Problem& p;

    int n() const { return p.n; }
    Roots roots() const { return p.roots; }
    double arc(int head, int dep) const { return p.arc(head, dep); }
    double sibling(int head, int dep, int inner) const {
        return allowed(p.siblings[(head * p.nodes() + dep) * p.nodes() + inner]);
    }
    template <class Visit>
    void each_head(int dep, Visit visit) const {
        for (int h = 0; h <= p.n; ++h)
            if (allowed(p.arc(h, dep)) != kMinusInfinity) visit(h);
    }
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
    climb(DenseParts{problem}, heads);
    return true;
}

}  // namespace arbora
