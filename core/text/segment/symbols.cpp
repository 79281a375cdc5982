#include "text/segment/symbols.hpp"

#include "base/text.hpp"

namespace arbora::segment {

namespace {

void push(Symbols& out, std::uint32_t code, std::uint32_t lowered, std::uint8_t kind, const Place& at) {
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

}  // namespace

bool Symbols::glued(std::size_t k) const {
    using enum CharacterClass;
    return kind(k) == mark || kind(k) == joiner || kind(k - 1) == joiner;
}

void read_paragraph(std::string_view text, Place& place, Symbols& out) {
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
        // Regional indicators go in pairs: the second belongs to the first.
        if (kind == CharacterClass::regional && !gap.open && out.kind(out.codes.size() - 1) == CharacterClass::regional)
            kind = CharacterClass::mark;
        gap.open = false;
        push(out, code, characters.lower(code), static_cast<std::uint8_t>(kind), here);
    }
    for (std::size_t i = 0; i < kPad; ++i) push(out, 0x2029, 0x2029, kEdge, gap.open ? gap.begin : place);
}

}  // namespace arbora::segment
