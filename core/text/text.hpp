// Words as texts: characters of UTF-8, ends of words, case and shape. What saved models rest on, so it never changes in part.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace arbora::text {

inline bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

// The number of characters. O(bytes).
std::size_t characters(std::string_view text);

// The whole text where it has fewer characters.
std::string_view first_characters(std::string_view text, std::size_t count);
std::string_view last_characters(std::string_view text, std::size_t count);

// In small or capital letters: Latin, Greek and Cyrillic ones of one or two bytes; everything else stays as it is.
std::string lowered(std::string_view text);
std::string raised(std::string_view text);

// X, x, d or the character itself: "Mc-Donald2" gives "Xx-Xxxxxxd". Letters outside ASCII count as x, once per byte.
std::string shape(std::string_view text);
// Each run once: "Xx-Xxd".
std::string short_shape(std::string_view text);

}  // namespace arbora::text
