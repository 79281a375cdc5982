// What the segmenter knows of characters: a class each, and simple case mapping.
//
// The tables are runs of equal classes (characters_table.inc, made by make_characters.py); they are spread over one byte per
// character at first use, so that a lookup is one load. Saved models rest on the classes: another table is another version.
#pragma once

#include <cstdint>

namespace arbora::segment {

inline constexpr int kCharacterVersion = 1;

struct ClassRun {
    std::uint32_t first;
    std::uint8_t kind;
};

// Characters first, first + stride, ..., last; each one's other case lies at this distance.
struct CaseRun {
    std::uint32_t first, last, stride;
    std::int32_t distance;
};

#include "text/segment/characters_table.inc"

inline constexpr std::uint32_t kCodeLimit = 0x110000;

class Characters {
public:
    static const Characters& shared();

    CharacterClass kind(std::uint32_t code) const { return code < kCodeLimit ? static_cast<CharacterClass>(kinds_[code]) : CharacterClass::other; }
    std::uint32_t lower(std::uint32_t code) const { return code < kLow ? low_[code] : mapped(code, true); }
    std::uint32_t upper(std::uint32_t code) const { return mapped(code, false); }

private:
    static constexpr std::uint32_t kLow = 0x600;  // the cased scripts that are met all the time

    Characters();
    static std::uint32_t mapped(std::uint32_t code, bool lower);

    std::uint8_t kinds_[kCodeLimit];
    std::uint16_t low_[kLow];
};

// Between words, never in one: spaces of any width, line ends, control characters.
constexpr bool is_gap(CharacterClass kind) { return kind <= CharacterClass::control; }

}  // namespace arbora::segment
