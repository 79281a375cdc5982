// Text as the segmenter sees it: one paragraph at a time, each run of spaces as one symbol.
//
// A paragraph ends at a blank line (or U+2029) or at the end of the text. Runs of spaces, tabs, control characters and line ends
// become one symbol: U+0020, or U+000A where a line ends in it. Around the paragraph stand kPad symbols of the class `edge`, so
// that windows need no bounds. 17 bytes per character of the paragraph; O(length).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/segment/characters.hpp"

namespace arbora::segment {

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

    // Whether no token may end between k - 1 and k, two symbols that are no gaps: marks belong to what they follow, joiners to both
    // sides. O(1).
    bool glued(std::size_t k) const;
};

// Where a walk through a text stands.
struct Place {
    std::size_t byte = 0;
    std::uint32_t character = 0;
};

// The next paragraph, from `place`, which moves behind it. Empty only at the end of the text. `text` is well-formed UTF-8 of less than
// 4 GiB. O(length of the paragraph).
void read_paragraph(std::string_view text, Place& place, Symbols& out);

}  // namespace arbora::segment
