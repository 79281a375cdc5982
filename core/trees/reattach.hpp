// Second-order non-projective trees, approximately [mcdonald-2006]: hill climbing over single head changes from the best projective
// tree (hill_climbing.hpp). Each step is O(n^2). The result is a tree of the family that no single head change improves. It is never
// worse than the best projective tree, but need not be the best. With a single root, the root's dependent keeps its place.
#pragma once

#include "trees/problem.hpp"

namespace arbora {

// False where no start could be found.
bool best_by_reattachment(const Problem& problem, Arena& arena, int* heads);

}  // namespace arbora
