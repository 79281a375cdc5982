// The probability of each head of a word given the rest of a tree: what is known where sums over all trees are not.
//
// Each word in turn is hung on each of its heads that is not below it, and P(head) is proportional to exp(score of that tree).
// With a single root, a new root takes the old one below itself, at the best place, and a root that gets a head gives its place to its
// dependent on the way to that head. O(n k) trees with k arcs per word, O(n k) for the score of each.
#pragma once

#include <vector>

#include "parser/expectations.hpp"

namespace arbora::graph {

// One number per arc; expectations: loaded. heads: a tree of the set's arcs.
std::vector<double> reattachment_probabilities(Expectations& expectations, Roots roots, const int* heads);

}  // namespace arbora::graph
