// Text in UTF-8: validation, characters, ends of words, case, shape and quotation.
//
// Saved models depend on case and shape, so these functions never change: `lowered` and `raised` know Latin, Greek and Cyrillic
// letters of one or two bytes. The segmenter's models use Unicode's simple case mapping instead (text/segment/symbols.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace arbora::text {

// Length in bytes of the well-formed character at text[at] (no overlong form, no surrogate, none above U+10FFFF); 0: none. O(1).
std::size_t utf8_length(std::string_view text, std::size_t at);
// Position of the first byte that is not part of a well-formed character; text.size() if there is none. O(size).
std::size_t first_bad_utf8(std::string_view text);

// The character at text[at] of well-formed UTF-8; advances `at` past it.
inline std::uint32_t decode(std::string_view text, std::size_t& at) {
    const auto next = [&] { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at++])); };
    const std::uint32_t lead = next();
    if (lead < 0x80) return lead;
    std::uint32_t code = lead & (lead < 0xE0 ? 0x1F : lead < 0xF0 ? 0x0F : 0x07);
    for (int more = lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3; more > 0; --more) code = code << 6 | (next() & 0x3F);
    return code;
}

void append(std::uint32_t code, std::string& out);

inline bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

// The number of characters. O(bytes).
std::size_t characters(std::string_view text);
// The whole text if it has fewer characters.
std::string_view first_characters(std::string_view text, std::size_t count);
std::string_view last_characters(std::string_view text, std::size_t count);
std::string lowered(std::string_view text);
std::string raised(std::string_view text);
// X, x, d or the character itself: "Mc-Donald2" gives "Xx-Xxxxxxd". Letters outside ASCII count as x, once per byte.
std::string shape(std::string_view text);
// Each run collapsed to one character: "Xx-Xxd".
std::string short_shape(std::string_view text);
// `text` in double quotes, cut to a readable length, with control characters and bad UTF-8 as \xNN.
std::string quote(std::string_view text);

}  // namespace arbora::text
