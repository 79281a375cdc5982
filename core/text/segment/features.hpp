// The segmenter's features, hashed into places of a weight table.
//
// All decisions are pointwise [neubig-2011]: whether a token ends between two symbols depends on the text alone, not on other
// decisions, so training examples are independent and time is linear. Whether a sentence ends after a token depends on the tokens
// around it and on the sentence's start.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

#include "features/hash.hpp"
#include "text/segment/symbols.hpp"

namespace arbora::segment {

inline constexpr int kFeatureVersion = 1;
inline constexpr std::size_t kTokenFeatures = 31;
inline constexpr std::size_t kSentenceFeatures = 44;
inline constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15ULL;  // separates features with the same values

// A token: symbols [first, last), and the values that features use.
struct Token {
    std::uint32_t first = 0, last = 0;
    std::uint64_t form = 0;     // of the lower-cased characters
    std::uint64_t cased = 0;    // of the characters
    std::uint64_t shape = 0;    // of the classes, runs cut to two
    std::uint64_t suffix = 0;   // the last three characters, lower-cased
    std::uint8_t head = kEdge;  // class of the first character
    std::uint8_t tail = kEdge;  // class of the last character
};

inline constexpr std::size_t kLongestRun = 16;  // of characters that are hashed as one word
constexpr std::uint64_t join(std::uint64_t a, std::uint64_t b) { return (a ^ (b + kOdd + (a << 6) + (a >> 2))) * 0xd6e8feb86659fd93ULL; }

// Numbers its features in order.
struct Writer {
    std::uint32_t* out;
    int shift;
    std::uint64_t number = 0;

    void operator()(std::uint64_t value) {
        number += kOdd;
        *out++ = static_cast<std::uint32_t>(feature::mix(value ^ feature::mix(number)) >> shift);
    }
    void operator()(std::uint64_t a, std::uint64_t b) { (*this)(join(a, b)); }
    void operator()(std::uint64_t a, std::uint64_t b, std::uint64_t c) { (*this)(join(join(a, b), c)); }
    void operator()(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) { (*this)(join(join(join(a, b), c), d)); }
};

inline bool is_gap_kind(std::uint8_t kind) { return kind <= static_cast<std::uint8_t>(CharacterClass::control) || kind == kEdge; }

// Merges the classes of letters and marks into one, and those of numbers into another.
inline std::uint8_t coarse(std::uint8_t kind) {
    using enum CharacterClass;
    const auto is = [&](CharacterClass one) { return kind == static_cast<std::uint8_t>(one); };
    if (is(upper) || is(lower) || is(title) || is(mark)) return static_cast<std::uint8_t>(letter);
    return is(number) ? static_cast<std::uint8_t>(digit) : kind;
}

// Walks from symbol `at` to the right, or to the left.
inline constexpr std::size_t kRight = 1, kLeft = static_cast<std::size_t>(-1);

// The run of characters of one kind; at most kLongestRun of them.
inline std::uint64_t hash_run(const Symbols& s, std::size_t at, std::size_t step) {
    const std::uint8_t kind = coarse(s.kinds[at]);
    std::uint64_t hash = kind;
    for (std::size_t i = 0; i < kLongestRun && coarse(s.kinds[at]) == kind && kind != kEdge; ++i, at += step) hash = join(hash, s.lowered[at]);
    return hash;
}

// Everything up to the next gap; at most kLongestRun characters.
inline std::uint64_t hash_chunk(const Symbols& s, std::size_t at, std::size_t step) {
    std::uint64_t hash = step == kLeft ? 1 : 2;
    for (std::size_t i = 0; i < kLongestRun && !is_gap_kind(s.kinds[at]); ++i, at += step) hash = join(hash, s.lowered[at]);
    return hash;
}

// The classes up to the next gap, runs counted once; at most eight.
inline std::uint64_t hash_classes(const Symbols& s, std::size_t at, std::size_t step, bool coarsely) {
    std::uint64_t hash = step == kLeft ? 3 : 5;
    std::uint8_t before = kEdge;
    int parts = 0;
    for (std::size_t i = 0; i < 2 * kLongestRun && !is_gap_kind(s.kinds[at]) && parts < 8; ++i, at += step) {
        const std::uint8_t kind = coarsely ? coarse(s.kinds[at]) : s.kinds[at];
        if (kind != before) hash = join(hash, kind), ++parts;
        before = kind;
    }
    return hash;
}

// A number in buckets: exact below 4, then by powers of sqrt 2.
inline std::uint32_t bucket(std::size_t count) {
    if (count < 4) return static_cast<std::uint32_t>(count);
    const int width = std::bit_width(count);
    return static_cast<std::uint32_t>(2 * width + ((count >> (width - 2)) & 1));
}

inline bool looks_final(std::uint8_t kind) {
    return kind == static_cast<std::uint8_t>(CharacterClass::stop) || kind == static_cast<std::uint8_t>(CharacterClass::terminator);
}

// The token of symbols [first, last); O(length).
inline Token make_token(const Symbols& symbols, std::size_t first, std::size_t last) {
    Token token{static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last)};
    token.head = symbols.kinds[first];
    token.tail = symbols.kinds[last - 1];
    std::uint64_t form = 0, cased = 0, shape = 0;
    std::uint8_t before = kEdge, before2 = kEdge;
    for (std::size_t k = first; k < last; ++k) {
        form = (form ^ symbols.lowered[k]) * 0xa0761d6478bd642fULL;
        form ^= form >> 32;
        cased = (cased ^ symbols.codes[k]) * 0xa0761d6478bd642fULL;
        cased ^= cased >> 32;
        const std::uint8_t kind = symbols.kinds[k];
        if (kind != before || kind != before2) shape = shape * 0xd6e8feb86659fd93ULL + kind + 1;
        before2 = before;
        before = kind;
    }
    token.form = form;
    token.cased = cased;
    token.shape = shape;
    const std::size_t tail = std::max(first, last >= 3 ? last - 3 : 0);
    for (std::size_t k = tail; k < last; ++k) token.suffix = token.suffix << 21 | symbols.lowered[k];
    return token;
}

// Places, each below 2^bits, of the features of "a token ends before symbol k" (k may be a gap inside a possible token).
inline void token_features(const Symbols& s, std::size_t k, int bits, std::span<std::uint32_t, kTokenFeatures> out) {
    Writer add{out.data(), 64 - bits};
    // A gap inside a possible token represents itself, to the right.
    const auto c = [&](int i) -> std::uint64_t { return s.lowered[k + static_cast<std::size_t>(i)]; };
    const auto t = [&](int i) -> std::uint64_t { return s.kinds[k + static_cast<std::size_t>(i)]; };
    add(0);
    for (int i = -3; i < 3; ++i) add(c(i));
    for (int i = -3; i < 2; ++i) add(c(i) << 21 | c(i + 1));
    for (int i = -3; i < 1; ++i) add(c(i) << 42 | c(i + 1) << 21 | c(i + 2));
    add(c(-2) << 42 | c(-1) << 21 | c(0), c(1));
    add(t(-1) << 8 | t(0));
    add(t(-2) << 24 | t(-1) << 16 | t(0) << 8 | t(1));
    add(t(-3) << 40 | t(-2) << 32 | t(-1) << 24 | t(0) << 16 | t(1) << 8 | t(2));
    add(t(-1) << 21 | c(0), t(1));
    add(c(-1) << 8 | t(0), t(-2));
    const std::uint64_t run_left = hash_run(s, k - 1, kLeft), run_right = hash_run(s, k, kRight), left = hash_chunk(s, k - 1, kLeft), right = hash_chunk(s, k, kRight);
    add(run_left, c(0));
    add(c(-1), run_right);
    add(run_left, run_right);
    add(left);
    add(right);
    add(left, c(0));
    add(c(-1), right);
    const auto shape = [&](bool coarsely) { return join(hash_classes(s, k - 1, kLeft, coarsely), hash_classes(s, k, kRight, coarsely)); };
    add(shape(true));
    add(shape(false), c(-1) << 21 | c(0));
}

// State of the sentence up to some token.
struct SentenceSoFar {
    std::size_t first = 0;  // its first token
    int brackets = 0;       // open ones
    int quotes = 0;         // straight ones, and opening less closing ones
    int ends = 0;           // tokens in it that look like an end

    void take(const Token& token) {
        using enum CharacterClass;
        const bool single = token.last - token.first == 1;
        const auto kind = static_cast<CharacterClass>(token.head);
        if (single && kind == open) ++brackets;
        if (single && kind == close && brackets > 0) --brackets;
        if (single && kind == quote) quotes ^= 1;
        if (single && kind == opening_quote) quotes = 1;
        if (single && kind == closing_quote) quotes = 0;
        if (looks_final(token.tail)) ++ends;
    }
};

// The line that contains a token.
enum class Break : std::uint8_t { none, space, line };

// What separates token t from the next one.
inline Break break_after(const Symbols& symbols, const Token& token) {
    if (!symbols.gap(token.last)) return Break::none;
    return symbols.kind(token.last) == CharacterClass::newline ? Break::line : Break::space;
}

// Places of the features of "a sentence ends after token t". `tokens` are those of a paragraph.
inline void sentence_features(const Symbols& symbols, std::span<const Token> tokens, std::size_t t, const SentenceSoFar& so_far, std::size_t line_length,
                              int bits, std::span<std::uint32_t, kSentenceFeatures> out) {
    static constexpr Token nothing{};
    Writer add{out.data(), 64 - bits};
    const auto at = [&](std::size_t i) -> const Token& { return i < tokens.size() ? tokens[i] : nothing; };
    const Token &a = tokens[t], &b = at(t - 1), &bb = at(t - 2), &n = at(t + 1), &nn = at(t + 2), &nnn = at(t + 3);
    const auto gap = static_cast<std::uint64_t>(break_after(symbols, a));
    const std::uint64_t length = bucket(t + 1 - so_far.first), rest = bucket(tokens.size() - t - 1);
    const std::uint64_t single = a.last - a.first == 1;
    const std::uint64_t classes = gap << 16 | std::uint64_t{a.tail} << 8 | n.head;
    const std::uint64_t within = (so_far.brackets > 0 ? 1 : 0) | (so_far.quotes != 0 ? 2 : 0) | (so_far.ends > 0 ? 4 : 0);
    const std::uint64_t final_kind = looks_final(a.tail) ? a.form : a.tail;
    const Token& start = tokens[so_far.first];
    const std::uint64_t line = gap == static_cast<std::uint64_t>(Break::line) ? 1 + std::min<std::size_t>(line_length / 10, 12) : 0;

    add(gap);
    add(classes);
    add(classes, single, b.tail);
    add(a.form, gap);
    add(a.cased);
    add(a.form, n.head);
    add(a.shape, n.shape, gap);
    add(n.form);
    add(n.cased);
    add(n.cased, a.tail);
    add(n.cased, single << 8 | a.tail, nn.form);
    add(a.form, n.form);
    add(a.cased, n.cased);
    add(b.form, a.form);
    add(b.form, a.form, n.head);
    add(b.suffix, a.form, n.head);
    add(b.shape, a.form, n.shape);
    add(a.form, n.shape, nn.shape);
    add(n.form, nn.form);
    add(n.cased, nn.head);
    add(n.shape, nn.shape, a.tail, gap);
    add(n.shape, nn.shape, nnn.head, a.tail);
    add(n.head, nn.head, a.form);
    add(b.form);
    add(nn.form);
    add(bb.head, b.head, a.tail, n.head);
    add(a.suffix, n.head);
    add(a.suffix, n.shape);
    add(length, classes);
    add(length, final_kind, n.shape);
    add(rest, classes);
    add(length, rest, a.tail);
    add(within, classes);
    add(within, a.form, n.shape);
    add(line, classes);
    add(line, length, n.head);
    add(start.form, n.form);
    add(start.shape, n.shape, gap);
    add(start.head, final_kind, n.shape);
    add(start.form, t - so_far.first < 6 ? t - so_far.first : 6, n.shape);
    add(bucket(tokens.size()), length, single << 8 | a.tail, n.head);
    add(a.tail, n.suffix);
    add(b.cased, a.tail, n.cased);
    add(a.shape, n.cased, nn.tail);
}

}  // namespace arbora::segment
