// Second-order non-projective trees, approximately [mcdonald-2006]: start from the best projective tree and re-attach one word at a
// time, always the best re-attachment, while the score rises. Each step is O(n^2). The result is a tree of the family, never
// worse than the best projective one, and no single re-attachment improves it; it need not be the best. With a
// single root, the root's dependent keeps its place.
#pragma once

#include "trees/problem.hpp"

namespace arbora {

// False where no start could be found.
bool best_by_reattachment(const Problem& problem, Arena& arena, int* heads);

}  // namespace arbora
