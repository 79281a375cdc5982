// Sums over all non-projective trees: log Z and marginals, by elimination without subtraction.
//
// The matrix-tree theorem [koo-2007] gives Z as a determinant of the Laplacian. Gaussian elimination on it subtracts, and loses all
// precision if two words score each other far above the root. The same elimination is possible with sums of positive terms only
// [grassmann-1985]: remove word k and let its arcs pass through it,
//     weight(h, d) += weight(h, k) * weight(k, d) / D_k,    D_k = sum_h weight(h, k),
// where self-loops (h = d) are dropped. Z = product of D_k: the diagonal of the Laplacian is never stored, so it never cancels.
//
// Single root: scale the root's arcs by a small t. Z(t) = t * Z_single + O(t^2), so the first order in t is needed: every D_k
// leaves out the root, except the last, where no other head remains. (As the Markov-chain tree theorem [koo-2007, eq. 6].)
//
// Marginals are d log Z / d score, by backpropagation through the elimination (kernels/elimination.hpp). Plain doubles, with
// columns scaled to a maximum of 1, suffice if a bound proves that no flushed weight mattered; otherwise extended range
// (numeric/extended.hpp) is used. Time O(n^3) by one factorization, space O(n^2).
#pragma once

#include <vector>

#include "trees/arborescence/elimination_state.hpp"
#include "base/generator.hpp"

namespace arbora {

class MatrixTree {
public:
    enum class For { log_partition, everything };

    // `scores` is a Square copy (column 0, diagonal: -inf) and must outlive this object, as must the arena's memory.
    MatrixTree(const double* scores, Square square, Roots roots, Arena& arena, For use = For::everything);
    // Returns false if no tree is allowed; then call nothing else.
    bool any_tree() const { return any_tree_; }
    double log_partition() const { return log_partition_; }
    // A cheap bound: rounding cannot put the best tree above log_partition if the sum of each word's best score is no larger.
    bool at_least_best() const { return at_least_best_; }
    // out[head, dep], dense (n+1) x (n+1): P(arc).
    void marginals(double* out);
    // out[head, dep], dense: the derivative of P(arc) along `direction`, a Square that is 0 for forbidden arcs. Call before
    // marginals or sample, not after.
    void marginals_along(const double* direction, double* out);
    // heads[0..n] <- a tree drawn from the distribution; O(n^2) a tree (see sample_tree.cpp).
    void sample(Generator& random, int* heads);

private:
    void run_extended();
    template <class Numbers>
    void draw(const Numbers& numbers, Generator& random, int* heads);

    const double* scores_;
    Square square_;
    Roots roots_;
    Arena& arena_;
    bool any_tree_ = false;
    bool extended_ = false;
    bool at_least_best_ = false;
    double log_partition_ = 0.0;
    Elimination plain_;
    ExtendedElimination wide_;
    double* inverse_ = nullptr;   // 1 / pivot (plain path), for draw()
    double* original_ = nullptr;  // scaled weights before elimination (plain path)
    int *origin_ = nullptr, *bucket_ = nullptr, *next_in_bucket_ = nullptr, *side_ = nullptr;  // of draw()
};

}  // namespace arbora
