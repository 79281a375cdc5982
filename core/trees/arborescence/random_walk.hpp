// Exact random multi-root trees by loop-erased random walks [wilson-1996]: each word in turn walks to a random head, in proportion to
// the arcs' weights, until it meets the tree grown so far; what it walked in circles is forgotten.
//
// A walk may take long where words prefer each other to the root, so the steps are limited and a tree may be given up. That does
// not bias those that are finished: how many steps are walked in circles is independent of the tree [propp-1998].
// Time O(n^2) to begin with, then O(n) a step, but one of a few vector operations; on the order of n steps a tree unless the scores are circular.
#pragma once

#include "trees/arborescence/elimination_state.hpp"
#include "base/generator.hpp"

namespace arbora {

class RandomWalk {
public:
    // `scores` is a Square copy (column 0, diagonal: -inf).
    RandomWalk(const double* scores, Square square, Arena& arena);

    // heads[0..n]; false where the steps ran out.
    bool draw(Generator& random, int* heads);

private:
    int step(int word, Generator& random) const;

    Square square_;
    bool possible_ = true;
    double* cumulative_;  // [dep][head]: weight of the heads up to this one
    char* in_tree_;
};

}  // namespace arbora
