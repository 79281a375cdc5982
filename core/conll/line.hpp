// Cutting text into lines, and lines into columns.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "conll/format.hpp"

namespace arbora::conll {

enum class Ending : std::uint8_t { none, lf, crlf };  // none: the last line of a file may lack its newline

struct Line {
    std::string_view text;  // without its ending
    Ending ending = Ending::none;
    std::size_t next = 0;  // where the following line starts

    bool blank() const { return text.empty() && ending != Ending::none; }
};

// The line that starts at text[at]; `whole` says whether its end is in sight: if not, and more text may follow, the
// line must not be used yet. O(length of the line).
inline Line line_at(std::string_view text, std::size_t at, bool& whole) {
    const char* begin = text.data() + at;
    const auto* newline = static_cast<const char*>(std::memchr(begin, '\n', text.size() - at));
    whole = newline != nullptr;
    if (!whole) return {text.substr(at), Ending::none, text.size()};
    auto length = static_cast<std::size_t>(newline - begin);
    const std::size_t next = at + length + 1;
    const bool carriage = length > 0 && begin[length - 1] == '\r';
    if (carriage) --length;
    return {{begin, length}, carriage ? Ending::crlf : Ending::lf, next};
}

// Where the tabs of a line are, found eight bytes at a time together with the two things that need a second look.
struct Tabs {
    std::array<std::uint32_t, column_count> at{};  // of the first ten tabs
    int count = 0;
    bool ascii = true;
    bool carriage_return = false;
};

namespace detail {

// The high bit of every byte of `word` that equals `byte`, and no other bit (exact: no carry between bytes).
inline std::uint64_t bytes_equal(std::uint64_t word, unsigned char byte) {
    constexpr std::uint64_t low7 = 0x7F7F7F7F7F7F7F7F;
    const std::uint64_t difference = word ^ (0x0101010101010101 * byte);
    return ~(((difference & low7) + low7) | difference | low7);
}

inline std::uint64_t load_little_endian(const char* from, std::size_t size) {
    std::uint64_t word = 0;
    std::memcpy(&word, from, size);
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    return word;
}

inline void scan_word(std::uint64_t word, std::uint32_t at, Tabs& tabs, std::uint64_t& high, std::uint64_t& carriage) {
    high |= word;
    carriage |= bytes_equal(word, '\r');
    for (std::uint64_t hits = bytes_equal(word, '\t'); hits != 0; hits &= hits - 1) {
        if (tabs.count < column_count)
            tabs.at[static_cast<std::size_t>(tabs.count)] = at + static_cast<std::uint32_t>(std::countr_zero(hits) / 8);
        ++tabs.count;
    }
}

}  // namespace detail

// O(length). Lines are shorter than 4 GiB: the reader refuses longer ones.
inline Tabs find_tabs(std::string_view line) {
    Tabs tabs;
    std::uint64_t high = 0, carriage = 0;
    std::size_t at = 0;
    for (; at + 8 <= line.size(); at += 8)
        detail::scan_word(detail::load_little_endian(line.data() + at, 8), static_cast<std::uint32_t>(at), tabs, high,
                          carriage);
    if (at < line.size())
        detail::scan_word(detail::load_little_endian(line.data() + at, line.size() - at),
                          static_cast<std::uint32_t>(at), tabs, high, carriage);
    tabs.ascii = (high & 0x8080808080808080) == 0;
    tabs.carriage_return = carriage != 0;
    return tabs;
}

// A decimal number as CoNLL writes it: digits only, no leading zero, at most 2^31 - 1; -1 if it is anything else.
inline std::int32_t parse_number(std::string_view text) {
    if (text.empty() || text.size() > 10 || (text.size() > 1 && text[0] == '0')) return -1;
    std::int64_t value = 0;
    for (const char digit : text) {
        if (digit < '0' || digit > '9') return -1;
        value = 10 * value + (digit - '0');
    }
    return value <= INT32_MAX ? static_cast<std::int32_t>(value) : -1;
}

}  // namespace arbora::conll
