// Classes of words by the exchange algorithm [martin-1998].
//
// The likelihood of a text under bigrams of classes, P(w | v) = P(w | class w) P(class w | class v), is, but for what no choice of classes
// changes, with N counts of classes and of pairs of neighbours,
//
//     F = Σ_{g, h} f(N(g, h)) - 2 Σ_g f(N(g)),    f(n) = n log n
//
// Word after word is taken out of its class and put into that in which F is greatest, so F never falls. Sentences begin and end with a
// boundary, which has a class of its own that does not change.
//
// One word costs O(neighbours of the word + classes · classes of its neighbours); memory O(distinct bigrams + classes²). Words are visited in
// the order of their numbers; a word stays where it is unless another class is better, and ties go to the lower one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace arbora::classes {

inline constexpr std::int32_t kBoundary = -1;

struct Exchanged {
    std::vector<std::int32_t> classes;  // of each word
    std::vector<double> values;         // F before the first round and after each
    std::vector<std::int64_t> moved;    // words that changed their class, per round
};

// text: numbers of words, sentences apart by kBoundary (first and last may be left out); start: the class of each word, below `classes`.
// Ends after `rounds`, or after one in which no word moves. InputError where numbers are out of range.
Exchanged exchange(std::span<const std::int32_t> text, std::vector<std::int32_t> start, std::size_t classes, std::size_t rounds);

}  // namespace arbora::classes
