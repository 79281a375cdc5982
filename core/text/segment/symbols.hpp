// The segmenter's view of text: one paragraph at a time, each run of spaces as one symbol.
//
// A paragraph ends at a blank line (or U+2029) or at the end of the text. Runs of spaces, tabs, control characters and line ends
// become one symbol: U+0020, or U+000A if a line ends in it. kPad symbols of the class `edge` surround the paragraph, so windows
// need no bounds checks. 17 bytes per character of the paragraph; O(length).
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

#include "base/text.hpp"

namespace arbora::segment {

// The segmenter's table of characters: a class for each, and simple case mapping.
//
// The tables are runs of equal classes (characters_table.inc, made by make_characters.py), expanded at first use to one byte per
// character, so a lookup is one load. Saved models depend on the classes: another table needs another version.
inline constexpr int kCharacterVersion = 1;

struct ClassRun {
    std::uint32_t first;
    std::uint8_t kind;
};

// Characters first, first + stride, ..., last; the other case of each is at this distance.
struct CaseRun {
    std::uint32_t first, last, stride;
    std::int32_t distance;
};

#include "text/segment/characters_table.inc"

inline constexpr std::uint32_t kCodeLimit = 0x110000;

template <std::size_t n>
inline std::uint32_t in_runs(const CaseRun (&runs)[n], std::uint32_t code) {
    const auto after = std::upper_bound(std::begin(runs), std::end(runs), code,
                                        [](std::uint32_t value, const CaseRun& run) { return value < run.first; });
    if (after == std::begin(runs)) return code;
    // Runs of every second character may interleave: look at two.
    for (auto run = after - 1;; --run) {
        if (code <= run->last && (code - run->first) % run->stride == 0)
            return static_cast<std::uint32_t>(static_cast<std::int64_t>(code) + run->distance);
        if (run == std::begin(runs) || run + 2 <= after) return code;
    }
}

class Characters {
public:
    static const Characters& shared() {
        static const Characters characters;
        return characters;
    }

    CharacterClass kind(std::uint32_t code) const { return code < kCodeLimit ? static_cast<CharacterClass>(kinds_[code]) : CharacterClass::other; }
    std::uint32_t lower(std::uint32_t code) const { return code < kLow ? low_[code] : mapped(code, true); }
    std::uint32_t upper(std::uint32_t code) const { return mapped(code, false); }

private:
    static constexpr std::uint32_t kLow = 0x600;  // the most common cased scripts

    Characters() {
        std::uint32_t end = kCodeLimit;
        for (auto run = std::rbegin(kClassRuns); run != std::rend(kClassRuns); ++run) {
            std::fill(kinds_ + run->first, kinds_ + end, run->kind);
            end = run->first;
        }
        for (std::uint32_t code = 0; code < kLow; ++code) low_[code] = static_cast<std::uint16_t>(mapped(code, true));
    }
    static std::uint32_t mapped(std::uint32_t code, bool lower) {
        return lower ? in_runs(kLowerRuns, code) : in_runs(kUpperRuns, code);
    }

    std::uint8_t kinds_[kCodeLimit];
    std::uint16_t low_[kLow];
};

// Gaps between words: spaces of any width, line ends, control characters.
constexpr bool is_gap(CharacterClass kind) { return kind <= CharacterClass::control; }

inline constexpr std::size_t kPad = 6;
inline constexpr std::uint8_t kEdge = kCharacterClasses;       // the class of what lies outside
inline constexpr std::size_t kKinds = kCharacterClasses + 1;

struct Symbols {
    std::vector<std::uint32_t> codes;
    std::vector<std::uint32_t> lowered;
    std::vector<std::uint8_t> kinds;
    std::vector<std::uint32_t> offsets;  // in characters, from the beginning of the text
    std::vector<std::uint32_t> bytes;

    std::size_t first() const { return kPad; }
    std::size_t last() const { return codes.size() - kPad; }
    bool empty() const { return codes.size() <= 2 * kPad; }

    CharacterClass kind(std::size_t k) const { return static_cast<CharacterClass>(kinds[k]); }
    bool gap(std::size_t k) const { return kinds[k] <= static_cast<std::uint8_t>(CharacterClass::control); }

    // Whether no token may end between symbols k - 1 and k, neither a gap: marks belong to the previous symbol, joiners to both.
    bool glued(std::size_t k) const {
        using enum CharacterClass;
        return kind(k) == mark || kind(k) == joiner || kind(k - 1) == joiner;
    }
};

// The position of a walk through a text.
struct Place {
    std::size_t byte = 0;
    std::uint32_t character = 0;
};

inline void push(Symbols& out, std::uint32_t code, std::uint32_t lowered, std::uint8_t kind, const Place& at) {
    out.codes.push_back(code);
    out.lowered.push_back(lowered);
    out.kinds.push_back(kind);
    out.offsets.push_back(at.character);
    out.bytes.push_back(static_cast<std::uint32_t>(at.byte));
}

// A run of gaps, from its first character.
struct Gap {
    Place begin;
    int line_ends = 0;
    bool open = false;
    std::uint32_t before = 0;

    void take(std::uint32_t code, CharacterClass kind, const Place& at) {
        if (!open) *this = {at, 0, true, 0};
        if (kind == CharacterClass::newline && !(code == '\n' && before == '\r')) line_ends += code == 0x2029 ? 2 : 1;
        before = code;
    }
};

// The next paragraph from `place`, which advances past it. Empty only at the end of the text. `text` is well-formed UTF-8 of less
// than 4 GiB. O(length of the paragraph).
inline void read_paragraph(std::string_view text, Place& place, Symbols& out) {
    const Characters& characters = Characters::shared();
    for (auto* values : {&out.codes, &out.lowered, &out.offsets, &out.bytes}) values->clear();
    out.kinds.clear();
    for (std::size_t i = 0; i < kPad; ++i) push(out, 0x2029, 0x2029, kEdge, place);
    Gap gap;
    while (place.byte < text.size()) {
        const Place here = place;
        const std::uint32_t code = text::decode(text, place.byte);
        ++place.character;
        CharacterClass kind = characters.kind(code);
        if (is_gap(kind)) {
            gap.take(code, kind, here);
            continue;
        }
        if (gap.open && out.codes.size() > kPad) {
            if (gap.line_ends >= 2) {
                place = here;
                break;
            }
            const bool line = gap.line_ends == 1;
            push(out, line ? '\n' : ' ', line ? '\n' : ' ', static_cast<std::uint8_t>(line ? CharacterClass::newline : CharacterClass::space),
                 gap.begin);
        }
        // Regional indicators form pairs: the second belongs to the first.
        if (kind == CharacterClass::regional && !gap.open && out.kind(out.codes.size() - 1) == CharacterClass::regional)
            kind = CharacterClass::mark;
        gap.open = false;
        push(out, code, characters.lower(code), static_cast<std::uint8_t>(kind), here);
    }
    for (std::size_t i = 0; i < kPad; ++i) push(out, 0x2029, 0x2029, kEdge, gap.open ? gap.begin : place);
}

}  // namespace arbora::segment
