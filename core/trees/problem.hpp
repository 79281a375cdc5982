// The input of a query on one sentence: a family of trees and a score for each part. Arrays are the caller's, dense, row-major, and
// read-only.
#pragma once

#include <vector>

#include "trees/chart/layout.hpp"

namespace arbora {

enum class Trees { projective, nonprojective };

struct Problem {
    Trees trees = Trees::nonprojective;
    Roots roots = Roots::single;
    int n = 0;                              // words
    const double* arcs = nullptr;           // [head, dep], (n+1)^2
    const double* siblings = nullptr;       // [head, dep, sibling], (n+1)^3, or null
    const double* grandparents = nullptr;   // [grandparent, head, dep], (n+1)^3, or null
    const double* grandsiblings = nullptr;  // [grandparent, head, dep, sibling], (n+1)^4, or null
    int width = 0;                          // > 0: sums over second-order non-projective trees are of those that a search of this width finds

    bool second_order() const { return siblings != nullptr; }
    bool third_order() const { return grandparents != nullptr || grandsiblings != nullptr; }
    std::ptrdiff_t nodes() const { return static_cast<std::ptrdiff_t>(n) + 1; }
    double arc(int head, int dep) const { return arcs[head * nodes() + dep]; }
};

using Heads = std::vector<int>;

// The arc scores as a checked Square copy. Throws InputError if an entry that is used is NaN or too large.
const double* checked_scores(const Problem& problem, Square square, Arena& arena);
// Throws an InputError that names the first such entry.
[[noreturn]] void reject_arcs(const Problem& problem);
// All checks of a problem.
void check(const Problem& problem);
// The same check for siblings, grandparents and grandsiblings, which are read in place.
void check_higher_order(const Problem& problem);
// out[d] <- the sum of the scores of the parts that word d adds to a tree; out[0] = 0. O(n).
void word_scores(const Problem& problem, const int* heads, double* out);
// The sum of the scores of all parts of a tree. O(n).
double tree_score(const Problem& problem, const int* heads);
// Whether this is a tree of the family; heads[1..n] in 0..n. O(n).
bool in_family(const std::vector<int>& heads, Trees trees, Roots roots);
// siblings[d] <- the next dependent of d's head between the two, or the head itself; unchanged if heads[d] is -1. O(n).
void adjacent_siblings(const int* heads, int n, int* siblings);

}  // namespace arbora
