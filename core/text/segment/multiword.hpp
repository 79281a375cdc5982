// Tokens of several words (don't = do n't, du = de le): rules that split them, and where rules may apply.
//
// A rule cuts the token at fixed distances from its end (or its beginning), and then replaces the last characters of each piece:
//
//     don't -> do n't      cut 3 from the end;  pieces "do", "n't" stay
//     pelo  -> por o       cut 1 from the end;  "pel": 2 off, "or" on;  "o" stays
//
// Kept characters are the token's own, so they keep their case. Added characters are upper-cased if the whole token is upper case,
// or capitalized at the token's start. A form seen in training has the rules that it occurred with. Any other form has the rules of
// its longest known ending (or beginning, for rules that cut there). A linear classifier chooses among them, or no rule.
#pragma once

#include <algorithm>
#include <bit>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/errors.hpp"
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

// One word of a split token; if it is part of the token, as characters [first, last) of it.
struct Word {
    Codes form;
    std::size_t first = 0, last = 0;
    bool verbatim = false;
};

inline std::uint64_t join_forms(std::uint64_t a, std::uint64_t b) { return a * kOdd + feature::mix(b); }

inline std::uint64_t hash_codes(std::span<const std::uint32_t> codes, std::uint64_t seed) {
    std::uint64_t state = feature::mix(seed);
    for (const std::uint32_t code : codes) state = (state ^ code) * 0xa0761d6478bd642fULL, state ^= state >> 29;
    return feature::mix(state ^ codes.size());
}

inline bool is_upper(std::uint32_t code) {
    const CharacterClass kind = Characters::shared().kind(code);
    return kind == CharacterClass::upper || kind == CharacterClass::title;
}

// Whether all cased letters are upper case, and there are at least two.
inline bool all_upper(std::span<const std::uint32_t> token) {
    int upper = 0;
    for (const std::uint32_t code : token) {
        if (Characters::shared().kind(code) == CharacterClass::lower) return false;
        upper += is_upper(code);
    }
    return upper >= 2;
}

inline Codes lower(std::span<const std::uint32_t> codes) {
    Codes lowered(codes.begin(), codes.end());
    for (auto& code : lowered) code = Characters::shared().lower(code);
    return lowered;
}

// Where the words' boundaries are in the token when its characters are aligned with theirs at the lowest cost (insert, delete and
// replace cost 1; ties go to a match, then to the longer piece on the left).
inline std::vector<std::size_t> align(const Codes& token, const std::vector<Codes>& words) {
    Codes all;
    for (const auto& word : words) all.insert(all.end(), word.begin(), word.end());
    const std::size_t n = token.size(), m = all.size();
    std::vector<std::uint32_t> cost((n + 1) * (m + 1));
    const auto at = [&](std::size_t i, std::size_t j) -> std::uint32_t& { return cost[i * (m + 1) + j]; };
    for (std::size_t i = 0; i <= n; ++i)
        for (std::size_t j = 0; j <= m; ++j) {
            if (i == 0 || j == 0) {
                at(i, j) = static_cast<std::uint32_t>(i + j);
                continue;
            }
            at(i, j) = std::min({at(i - 1, j - 1) + (token[i - 1] == all[j - 1] ? 0u : 1u), at(i - 1, j) + 1, at(i, j - 1) + 1});
        }
    std::vector<std::size_t> place(m + 1, 0);  // of the token's characters before the j-th of the words'
    std::size_t i = n, j = m;
    place[m] = n;
    while (i > 0 || j > 0) {
        if (i > 0 && j > 0 && at(i, j) == at(i - 1, j - 1) + (token[i - 1] == all[j - 1] ? 0u : 1u)) {
            --i, --j;
            place[j] = i;
        } else if (j > 0 && at(i, j) == at(i, j - 1) + 1) {
            --j;
            place[j] = i;
        } else {
            --i;
        }
    }
    std::vector<std::size_t> cuts;
    std::size_t before = 0;
    for (std::size_t w = 0; w + 1 < words.size(); ++w) {
        before += words[w].size();
        cuts.push_back(place[before]);
    }
    return cuts;
}

// The words that a rule makes of a token; nothing if it does not apply. O(length).
inline std::optional<std::vector<Word>> split_token(const Rule& rule, std::span<const std::uint32_t> token) {
    const std::size_t n = token.size();
    std::vector<Word> words(rule.pieces.size());
    std::size_t begin = 0;
    const bool shout = all_upper(token);
    for (std::size_t w = 0; w < words.size(); ++w) {
        std::size_t end = n;
        if (w < rule.cuts.size()) {
            if (rule.cuts[w] > n) return std::nullopt;
            end = rule.from_end ? n - rule.cuts[w] : rule.cuts[w];
        }
        const Piece& piece = rule.pieces[w];
        if (end < begin || end - begin < piece.removed) return std::nullopt;
        Word& word = words[w];
        word.form.assign(token.begin() + static_cast<std::ptrdiff_t>(begin), token.begin() + static_cast<std::ptrdiff_t>(end - piece.removed));
        word.verbatim = piece.removed == 0 && piece.added.empty();
        const bool initial = w == 0 && word.form.empty() && n > 0 && is_upper(token[0]);
        for (std::size_t i = 0; i < piece.added.size(); ++i)
            word.form.push_back(shout || (initial && i == 0) ? Characters::shared().upper(piece.added[i]) : piece.added[i]);
        if (word.form.empty()) return std::nullopt;
        word.first = begin;
        word.last = end;
        begin = end;
    }
    return words;
}

// A rule that makes these words of this token, if there is one, with cuts from the end or from the beginning. O(length²).
inline std::optional<Rule> find_rule(std::span<const std::uint32_t> token, const std::vector<Codes>& words, bool from_end) {
    if (words.size() < 2 || words.size() > kMostPieces || token.empty() || token.size() > 200) return std::nullopt;
    std::vector<Codes> lowered;
    for (const auto& word : words) {
        if (word.empty() || word.size() > 200) return std::nullopt;
        lowered.push_back(lower(word));
    }
    const Codes form = lower(token);
    const std::vector<std::size_t> cuts = align(form, lowered);
    Rule rule;
    rule.from_end = from_end;
    std::size_t begin = 0;
    for (std::size_t w = 0; w < words.size(); ++w) {
        const std::size_t end = w < cuts.size() ? cuts[w] : form.size();
        const Codes& word = lowered[w];
        std::size_t same = 0;
        while (begin + same < end && same < word.size() && form[begin + same] == word[same]) ++same;
        rule.pieces.push_back({static_cast<std::uint32_t>(end - begin - same), Codes(word.begin() + static_cast<std::ptrdiff_t>(same), word.end())});
        begin = end;
    }
    for (const std::size_t cut : cuts) rule.cuts.push_back(static_cast<std::uint32_t>(rule.from_end ? form.size() - cut : cut));
    const auto made = split_token(rule, token);
    if (!made) return std::nullopt;
    for (std::size_t w = 0; w < words.size(); ++w)
        if (lower((*made)[w].form) != lowered[w]) return std::nullopt;
    return rule;
}

// Throws InputError for invalid rules.
inline void require_valid(const Rule& rule) {
    const bool sizes = rule.pieces.size() >= 2 && rule.pieces.size() <= kMostPieces && rule.cuts.size() + 1 == rule.pieces.size();
    if (!sizes) throw InputError("rules: expected two to sixteen pieces with a cut between each two");
    for (std::size_t i = 1; i < rule.cuts.size(); ++i)
        if (rule.from_end ? rule.cuts[i] > rule.cuts[i - 1] : rule.cuts[i] < rule.cuts[i - 1])
            throw InputError("rules: expected cuts from left to right");
    for (const Piece& piece : rule.pieces)
        for (const std::uint32_t code : piece.added)
            if (code >= kCodeLimit || (code >= 0xD800 && code < 0xE000) || is_gap(Characters::shared().kind(code)))
                throw InputError("rules: expected characters that words may contain");
}

// Keys of the table of candidates.
inline std::uint64_t form_key(std::span<const std::uint32_t> lowered) { return hash_codes(lowered, 1); }
inline std::uint64_t affix_key(std::span<const std::uint32_t> affix, bool from_end) { return hash_codes(affix, from_end ? 2 : 3); }

struct Candidate {
    std::uint64_t key = 0;
    std::uint16_t rule = kPlain;
    auto operator<=>(const Candidate&) const = default;
};

// Sorted candidates, found with a small hash table. Most tokens have none, which one load shows.
class Candidates {
public:
    Candidates() = default;
    // Throws InputError if they are not sorted.
    explicit Candidates(std::vector<Candidate> sorted) : all_(std::move(sorted)) {
        if (!std::is_sorted(all_.begin(), all_.end())) throw InputError("candidates: expected keys in ascending order");
        slots_.assign(std::bit_ceil(2 * all_.size() + 2), 0);
        mask_ = slots_.size() - 1;
        for (std::size_t i = 0; i < all_.size(); ++i) {
            if (i > 0 && all_[i].key == all_[i - 1].key) continue;
            std::size_t at = all_[i].key & mask_;
            while (slots_[at] != 0) at = (at + 1) & mask_;
            slots_[at] = static_cast<std::uint32_t>(i + 1);
        }
    }

    // The rules of a form seen in training; for any other, those of its longest known affix.
    std::span<const Candidate> of_form(std::span<const std::uint32_t> lowered) const { return find(form_key(lowered)); }
    std::span<const Candidate> of_affix(std::span<const std::uint32_t> lowered) const {
        if (lowered.size() < 2) return {};
        for (std::size_t length = std::min(kLongestAffix, lowered.size() - 1); length > 0; --length) {
            if (const auto found = find(affix_key(lowered.last(length), true)); !found.empty()) return found;
            if (const auto found = find(affix_key(lowered.first(length), false)); !found.empty()) return found;
        }
        return {};
    }
    const std::vector<Candidate>& all() const { return all_; }

private:
    std::span<const Candidate> find(std::uint64_t key) const {
        if (all_.empty()) return {};
        for (std::size_t at = key & mask_; slots_[at] != 0; at = (at + 1) & mask_) {
            const std::size_t first = slots_[at] - 1;
            if (all_[first].key != key) continue;
            std::size_t last = first;
            while (last < all_.size() && all_[last].key == key) ++last;
            return std::span(all_).subspan(first, last - first);
        }
        return {};
    }

    std::vector<Candidate> all_;
    std::vector<std::uint32_t> slots_;  // place in all_, plus 1
    std::uint64_t mask_ = 0;
};

// Places, each below 2^bits, of the features of "this rule splits token t"; `form_counts`: whether the form is known.
inline void multiword_features(const Symbols& s, std::span<const Token> tokens, std::size_t t, std::uint16_t rule, bool form_counts, int bits,
                               std::span<std::uint32_t, kMultiwordFeatures> out) {
    static constexpr Token nothing{};
    const auto at = [&](std::size_t i) -> const Token& { return i < tokens.size() ? tokens[i] : nothing; };
    const Token &token = tokens[t], &before = at(t - 1), &before2 = at(t - 2), &after = at(t + 1), &after2 = at(t + 2);
    std::size_t count = 0;
    std::uint64_t number = feature::mix(rule + 1);
    const auto add = [&](std::uint64_t a, std::uint64_t b = 0) {
        number += kOdd;
        out[count++] = static_cast<std::uint32_t>(feature::mix(feature::mix(a ^ number) + b) >> (64 - bits));
    };
    const std::uint64_t form = form_counts ? token.form : 0;
    add(0);
    add(form);
    add(form, token.shape);
    add(form, before.form);
    add(form, after.form);
    add(form, before.suffix);
    add(form, after.suffix);
    add(form, after.shape);
    add(form, join_forms(before2.form, before.form));
    add(form, join_forms(after.form, after2.form));
    add(token.shape);
    const std::span<const std::uint32_t> lowered(s.lowered.data() + token.first, token.last - token.first);
    for (std::size_t length = 2; length <= 5; ++length)
        add(length <= lowered.size() ? hash_codes(lowered.last(length), 4) : length);
    add(hash_codes(lowered.first(std::min<std::size_t>(3, lowered.size())), 5));
}

}  // namespace arbora::segment
