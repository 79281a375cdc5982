// Checks and measures of trees given by their heads.
//
// Heads of one sentence: heads[i] is the head of word i + 1, 0 for the root, -1 if not given.
//
// An arc (h, d) is non-projective if h does not dominate some word strictly between h and d (the root dominates every word). Let right(h)
// be the first word after h that h does not dominate: an arc to the right is non-projective if and only if d > right(h). The left side
// is symmetric. If h dominates k, it dominates all of k .. right(k) - 1, so right(h) is found by jumps: O(n) time and space in all.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "conll/format.hpp"

namespace arbora::conll {

struct TreeFault {
    std::size_t word = 0;  // index into heads
    std::string what, expected, got;
};

// The first error of the tree: a head beyond the sentence, a word that is its own ancestor, or a second root if only one is
// allowed. Skips heads that are not given. O(n); `scratch` only saves allocations.
std::optional<TreeFault> find_tree_fault(std::span<const std::int32_t> heads, Roots roots, std::vector<std::int32_t>& scratch);

struct TreeShapes {
    std::vector<std::uint8_t> nonprojective;  // per word: its arc is crossed as defined above
    std::vector<std::int32_t> depths;         // per sentence: arcs from the root to the deepest word; -1 no tree
    std::vector<std::int32_t> roots;          // per sentence: words whose head is 0; -1 no tree
};

// Shapes of all trees of a treebank, in O(words). A sentence has no tree if a head is not given, is out of range or lies on a
// cycle: then its depth and roots are -1 and its words are not marked. `offsets` ascend from 0 to heads.size(), with one more entry
// than sentences.
TreeShapes measure_trees(std::span<const std::int32_t> heads, std::span<const std::int64_t> offsets);

}  // namespace arbora::conll
