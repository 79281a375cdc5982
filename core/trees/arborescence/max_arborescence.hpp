// The best non-projective tree: maximum spanning arborescence of a dense graph, with one root arc if required.
//
// Grow a path backwards along best entering arcs [tarjan-1977, gabow-1986]. If it reaches the root, or a component that is already
// attached, the path is complete. If it meets itself, the cycle is contracted and its entering arcs are re-scored relative to the
// arcs they would replace. A component's entering arcs are one line (best arc per source), so a contraction is a few vector maxima.
// Greedy heads that form a tree are returned directly.
//
// Single root: scores are compared as pairs (uses no root arc, score). Best trees under that order have the fewest root arcs, hence
// one if possible, and among those the best score [stanojevic-2021 use a large constant, which loses precision]. Cycles never
// contain a root arc, so re-scoring never mixes the two, and the rule becomes: take a root arc only if no other arc is left.
//
// Soft masks: scores such as +-1e32 would absorb ordinary ones when arcs are re-scored. They are replaced by the smallest values
// that still outweigh any sum of ordinary ones, which keeps the order of trees.
//
// Time O(n^2), space O(n^2). Ties go to the lowest head.
#pragma once

#include <vector>

#include "trees/chart/layout.hpp"
#include "numeric/kernels/kernels.hpp"

namespace arbora {

// A run over entering[dep][head] (Square layout, transposed scores, overwritten). Nodes 1..n are words, n+1.. contractions.
class Contraction {
public:
    // With `runners_up`, each line also keeps the second-best arc per source (for k best trees).
    Contraction(Arena& arena, Square square, Roots roots, bool runners_up);
    virtual ~Contraction() = default;

    // heads[1..n] <- the best tree. Returns false if no tree is allowed.
    bool run(double* entering, int* heads);

protected:
    // Called when a component's best entering arc is found, before it may be contracted into a larger one.
    virtual void entered(int /*node*/, int /*source*/, int /*word*/) {}
    double* line(int node) const { return lines_[node]; }
    double* runner_up_line(int node) const { return seconds_[node]; }

    Square square_;
    Roots roots_;
    const Kernels& kernels_;

private:
    bool best_entering(int node);
    int contract(int repeated);
    void expand(int* heads);
    int component(int node);
    void prepare(double* entering);

    bool runners_up_;
    double** lines_;    // node -> best score per source
    double** words_;    // node -> the word that arc enters
    double** seconds_;  // node -> runner-up per source
    double* identity_words_;
    double* second_memory_;
    int* union_parent_;  // sets of nodes now contracted together; the newest node is the representative
    int* tree_parent_;   // contraction a node went into
    int *first_word_, *last_word_, *next_word_;  // words of a component, as a list
    int *source_, *word_;                        // chosen entering arc
    double* value_;
    int *state_, *path_;
    int path_length_ = 0, nodes_ = 0, root_arcs_ = 0;
};

// The scores for contractions: unchanged, or a copy with soft masks moved next to the ordinary scores.
const double* without_soft_masks(const double* scores, Square square, Arena& arena);
// heads[0..n], heads[0] = -1. `scores` is a Square copy (column 0, diagonal: -inf). Returns false if no tree is allowed.
bool max_arborescence(const double* scores, Square square, Roots roots, Arena& arena, int* heads);
// Up to k trees, best first: heads[0..n] each. Empty if no tree is allowed. See kbest_arborescence.cpp.
std::vector<std::vector<int>> kbest_arborescences(const double* scores, Square square, Roots roots, int k, Arena& arena);

}  // namespace arbora
