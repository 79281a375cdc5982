// The k best non-projective trees, in order [camerini-1980, zmigrod-2021].
//
// The set of trees is split: for a subset (some arcs required, some forbidden) with best tree A, find the arc e of A whose loss costs least;
// the subset's second-best tree is the best one without e. Emit it, and split the subset into "with e" (best tree A) and "without e"
// (best tree the second-best). The arc e comes out of one contraction: when a component's best entering arc b belongs to A, the cheapest
// replacement enters the same component from a source that does not hang below b in A; e is the b with the smallest difference.
// In the single-root case a root arc is replaced by a root arc, any other by another: see max_arborescence.hpp.
//
// Time O(k n^2), space O(n^2 + k n).
#pragma once

#include <vector>

#include "trees/arborescence/max_arborescence.hpp"

namespace arbora {

// Up to k trees, best first: heads[0..n] each. Empty where no tree is allowed.
std::vector<std::vector<int>> kbest_arborescences(const double* scores, Square square, Roots roots, int k, Arena& arena);

}  // namespace arbora
