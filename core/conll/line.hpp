// Splitting text into lines, and lines into columns.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/attributes.hpp"
#include "conll/format.hpp"

namespace arbora::conll {

enum class Ending : std::uint8_t { none, lf, crlf };  // none: the last line of a file may lack its newline

inline std::string name_of(Ending ending) { return ending == Ending::crlf ? "CR LF" : "LF"; }

struct Line {
    std::string_view text;  // without its ending
    Ending ending = Ending::none;
    std::size_t next = 0;  // where the following line starts

    bool blank() const { return text.empty() && ending != Ending::none; }
};

// The line that starts at text[at]. Unless `whole` is set or no text follows, it is incomplete and must not be used yet. O(length
// of the line).
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

struct BlankRun {
    std::int64_t count = 0;
    std::size_t next = 0;
    bool whole = false;  // something else, or the end of the file, follows
};

// The blank lines from text[at] on. A run stops where the line ending changes: the reader then reports it.
inline BlankRun blank_run(std::string_view text, std::size_t at, bool last, Ending ending) {
    BlankRun run{0, at, false};
    while (run.next < text.size()) {
        const std::string_view rest = text.substr(run.next);
        const Ending here = rest[0] == '\n' ? Ending::lf : rest.starts_with("\r\n") ? Ending::crlf : Ending::none;
        if (rest == "\r" && !last) return run;  // half a line ending
        if (here == Ending::none || (ending != Ending::none && here != ending)) {
            run.whole = true;
            return run;
        }
        ending = here;
        run.next += here == Ending::crlf ? 2 : 1;
        ++run.count;
    }
    run.whole = last;
    return run;
}

// Where the tabs of a line are. Found eight bytes at a time, with the two things that need a closer look.
struct Tabs {
    std::array<std::uint32_t, column_count> at{};  // of the first ten tabs
    int count = 0;
    bool ascii = true;
    bool carriage_return = false;
};

// The high bit of every byte of `word` that equals `byte`, and no other bit (exact: no carry between bytes).
inline std::uint64_t bytes_equal(std::uint64_t word, unsigned char byte) {
    constexpr std::uint64_t low7 = 0x7F7F7F7F7F7F7F7F;
    const std::uint64_t difference = word ^ (0x0101010101010101 * byte);
    return ~(((difference & low7) + low7) | difference | low7);
}

// O(length). Lines are shorter than 4 GiB: the reader rejects longer ones.
inline Tabs find_tabs(std::string_view line) {
    Tabs tabs;
    std::uint64_t high = 0, carriage = 0;
    const auto scan = [&](std::size_t at, std::size_t size) __attribute__((always_inline)) {
        std::uint64_t word = 0;
        std::memcpy(&word, line.data() + at, size);
        if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
        high |= word;
        carriage |= bytes_equal(word, '\r');
        for (std::uint64_t hits = bytes_equal(word, '\t'); hits != 0; hits &= hits - 1, ++tabs.count)
            if (tabs.count < column_count)
                tabs.at[static_cast<std::size_t>(tabs.count)] = static_cast<std::uint32_t>(at + static_cast<std::size_t>(std::countr_zero(hits) / 8));
    };
    std::size_t at = 0;
    for (; at + 8 <= line.size(); at += 8) scan(at, 8);
    if (at < line.size()) scan(at, line.size() - at);
    tabs.ascii = (high & 0x8080808080808080) == 0;
    tabs.carriage_return = carriage != 0;
    return tabs;
}

// A column of a line with all ten.
ARBORA_INLINE inline std::string_view field(std::string_view row, const Tabs& tabs, int column) {
    const std::size_t begin = column == 0 ? 0 : tabs.at[static_cast<std::size_t>(column) - 1] + 1;
    const std::size_t end = column == column_count - 1 ? row.size() : tabs.at[static_cast<std::size_t>(column)];
    return row.substr(begin, end - begin);
}

// A decimal number as CoNLL writes it: digits only, no leading zero, at most 2^31 - 1; -1 for anything else.
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
