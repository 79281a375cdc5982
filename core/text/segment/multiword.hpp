// Tokens that are several words (don't = do n't, du = de le): rules that split them, and where rules may apply.
//
// A rule cuts the token at fixed distances from its end (or from its beginning), and then replaces the last characters of each piece:
//
//     don't -> do n't      cut 3 from the end;  pieces "do", "n't" stay
//     pelo  -> por o       cut 1 from the end;  "pel": 2 off, "or" on;  "o" stays
//
// What is kept has the token's own letters, so that case comes by itself; what is put on takes the token's case where that is all
// upper, or where it begins the token. A form that training knew has the rules that it was seen with; any other has those of its
// longest known ending (or beginning, for rules that cut there). Which of them, or none, is a linear classifier's choice.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/segment/features.hpp"

namespace arbora::segment {

inline constexpr std::size_t kMostRules = 4096;
inline constexpr std::size_t kMostPieces = 16;
inline constexpr std::uint16_t kPlain = 0xFFFF;  // no rule: the token is one word
inline constexpr std::size_t kMultiwordFeatures = 16;
inline constexpr std::size_t kLongestAffix = 6;

using Codes = std::vector<std::uint32_t>;

struct Piece {
    std::uint32_t removed = 0;  // characters off the end
    Codes added;                // in lower case
    auto operator<=>(const Piece&) const = default;
};

struct Rule {
    bool from_end = true;
    std::vector<std::uint32_t> cuts;  // descending from the end, ascending from the beginning: left to right
    std::vector<Piece> pieces;        // one more than cuts
    auto operator<=>(const Rule&) const = default;
};

// One word of a split token; where it is as it stands in the token, that is characters [first, last) of it.
struct Word {
    Codes form;
    std::size_t first = 0, last = 0;
    bool verbatim = false;
};

// The words that a rule makes of a token; nothing where it does not fit. O(length).
std::optional<std::vector<Word>> split_token(const Rule& rule, std::span<const std::uint32_t> token);

// A rule that makes these words of this token, if there is one, with cuts from the end or from the beginning. O(length²).
std::optional<Rule> find_rule(std::span<const std::uint32_t> token, const std::vector<Codes>& words, bool from_end);

// InputError where a rule's numbers make no sense.
void require_valid(const Rule& rule);

// Keys of the table of candidates.
std::uint64_t form_key(std::span<const std::uint32_t> lowered);
std::uint64_t affix_key(std::span<const std::uint32_t> affix, bool from_end);

struct Candidate {
    std::uint64_t key = 0;
    std::uint16_t rule = kPlain;
    auto operator<=>(const Candidate&) const = default;
};

// Sorted candidates, found by a small hash table; most tokens have none, and that is told by one load.
class Candidates {
public:
    Candidates() = default;
    explicit Candidates(std::vector<Candidate> sorted);  // InputError where they are not

    // The rules for a form that training knew; for any other, those of its longest affix that has some.
    std::span<const Candidate> of_form(std::span<const std::uint32_t> lowered) const { return find(form_key(lowered)); }
    std::span<const Candidate> of_affix(std::span<const std::uint32_t> lowered) const;
    const std::vector<Candidate>& all() const { return all_; }

private:
    std::span<const Candidate> find(std::uint64_t key) const;

    std::vector<Candidate> all_;
    std::vector<std::uint32_t> slots_;  // place in all_, plus 1
    std::uint64_t mask_ = 0;
};

// Places, each below 2^bits, of the features of "this rule splits token t"; `form_counts`: whether the form is known.
void multiword_features(const Symbols& symbols, std::span<const Token> tokens, std::size_t t, std::uint16_t rule, bool form_counts, int bits,
                        std::span<std::uint32_t, kMultiwordFeatures> out);

}  // namespace arbora::segment
