// Queries about a weighted set of trees, for one sentence. Each throws NoTreeError where no tree is allowed and InputError on scores that
// are not numbers; `arena` is reset, so nothing of it may be in use.
#pragma once

#include <cstdint>
#include <vector>

#include "trees/problem.hpp"
#include "base/generator.hpp"

namespace arbora {

// Second-order non-projective search, for one tree and for several, is approximate; everything else is exact.
// heads[0..n].
void argmax(const Problem& problem, Arena& arena, int* heads);
// Up to k trees, best first, all different.
std::vector<Heads> kbest(const Problem& problem, int k, Arena& arena);
// Never below the score of the best tree.
double log_partition(const Problem& problem, Arena& arena);

// As in Problem; all but arcs may be null where the problem's are.
struct MarginalArrays {
    double *arcs = nullptr, *siblings = nullptr, *grandparents = nullptr, *grandsiblings = nullptr;
};
void marginals(const Problem& problem, Arena& arena, MarginalArrays out);

// out[head, dep]: the derivative of P(arc) as arc scores move along `direction`, shaped as they are. It is the covariance of the arc with
// the direction's sum over the tree, so one row of the Hessian of log Z times the direction. First-order problems only; entries that no
// tree uses are ignored, others must be finite.
void marginals_along(const Problem& problem, const double* direction, Arena& arena, double* out);
// `count` independent trees, heads[count][n+1].
void sample(const Problem& problem, int count, Generator& random, Arena& arena, int* heads);

}  // namespace arbora
