// Word classes by the exchange algorithm [martin-1998].
//
// The likelihood of a text under bigrams of classes is P(w | v) = P(w | class w) P(class w | class v). With N counts of classes and
// of pairs of neighbours, and up to a constant, its logarithm is
//
//     F = Σ_{g, h} f(N(g, h)) - 2 Σ_g f(N(g)),    f(n) = n log n
//
// Each word in turn is taken out of its class and put into the class with the greatest F, so F never falls. Sentences begin and end
// with a boundary, which keeps its own class.
//
// One word costs O(neighbours of the word + classes · classes of its neighbours); memory O(distinct bigrams + classes²). Words are
// visited in the order of their ids. A word moves only if another class is better; ties go to the lower class.
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

// text: word ids, sentences separated by kBoundary (optional at start and end); start: the class of each word, below `classes`.
// Ends after `rounds`, or after a round in which no word moves. Throws InputError for ids out of range.
Exchanged exchange(std::span<const std::int32_t> text, std::vector<std::int32_t> start, std::size_t classes, std::size_t rounds);

}  // namespace arbora::classes
