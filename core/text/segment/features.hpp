// What the segmenter looks at, hashed into places of a weight table.
//
// All decisions are pointwise [neubig-2011]: whether a token ends between two symbols depends on the text alone, not on other
// decisions, so that training examples are independent and time is linear. Whether a sentence ends after a token depends on the
// tokens around it and on where the sentence began.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "features/hash.hpp"
#include "text/segment/symbols.hpp"

namespace arbora::segment {

inline constexpr int kFeatureVersion = 1;
inline constexpr std::size_t kTokenFeatures = 31;
inline constexpr std::size_t kSentenceFeatures = 44;
inline constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15ULL;  // sets features apart that have the same values

// A token: symbols [first, last), and what features ask of it.
struct Token {
    std::uint32_t first = 0, last = 0;
    std::uint64_t form = 0;     // of the lower-cased characters
    std::uint64_t cased = 0;    // of the characters
    std::uint64_t shape = 0;    // of the classes, runs cut to two
    std::uint64_t suffix = 0;   // the last three characters, lower-cased
    std::uint8_t head = kEdge;  // class of the first character
    std::uint8_t tail = kEdge;  // class of the last character
};

// The token of symbols [first, last); O(length).
Token make_token(const Symbols& symbols, std::size_t first, std::size_t last);

// Places, each below 2^bits, of the features of "a token ends before symbol k" (k may be a gap that a token could reach over).
void token_features(const Symbols& symbols, std::size_t k, int bits, std::span<std::uint32_t, kTokenFeatures> out);

// What is known of the sentence that the tokens up to some place belong to.
struct SentenceSoFar {
    std::size_t first = 0;  // its first token
    int brackets = 0;       // open ones
    int quotes = 0;         // straight ones, and opening less closing ones
    int ends = 0;           // tokens in it that look like an end

    void take(const Token& token);
};

// The line that a token stands in.
enum class Break : std::uint8_t { none, space, line };

// Places of the features of "a sentence ends after token t". `tokens` are those of a paragraph.
void sentence_features(const Symbols& symbols, std::span<const Token> tokens, std::size_t t, const SentenceSoFar& so_far, std::size_t line_length,
                       int bits, std::span<std::uint32_t, kSentenceFeatures> out);

// What separates token t from the next one.
Break break_after(const Symbols& symbols, const Token& token);

// Letters of one word count as one class, whatever their case, with the marks on them; digits and other numbers likewise.
std::uint8_t coarse(std::uint8_t kind);

// A number as one of a few: exact below 4, then by powers of sqrt 2.
std::uint32_t bucket(std::size_t count);

}  // namespace arbora::segment
