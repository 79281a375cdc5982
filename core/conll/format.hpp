// Options and errors of the CoNLL reader, and the columns of a file.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.hpp"

namespace arbora::conll {

// conllu: multiword tokens (3-4) and empty nodes (5.1) may stand between words. conllx: plain word lines only;
// columns 9 and 10 are PHEAD and PDEPREL, and are kept as text like DEPS and MISC.
enum class Format : std::uint8_t { conllu, conllx };

enum class Roots : std::uint8_t { multi, single };

struct Options {
    Format format = Format::conllu;
    Roots roots = Roots::multi;
    bool lenient = false;  // skip a bad sentence and count it, instead of stopping at it
};

// One error in a file: line counts from 1; the three texts are valid UTF-8 for any file.
struct Problem {
    std::int64_t line = 0;
    std::string what;
    std::string expected;
    std::string got;
};

inline constexpr int column_count = 10;
inline constexpr int head_column = 6;

// The eight columns that are interned: all but ID and HEAD, in the order of the file.
inline constexpr int text_column_count = 8;
inline constexpr std::array<int, text_column_count> text_columns = {1, 2, 3, 4, 5, 7, 8, 9};
inline constexpr std::array<std::string_view, column_count> column_names = {
    "ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC"};

inline constexpr std::size_t deprel_column = 5;  // among the text columns

// UPOS, XPOS and DEPREL are names from a small set. A long one is damage, and models would compare it with every word.
inline constexpr std::size_t most_name_bytes = 1000;
inline bool is_name_column(int column) { return column == 3 || column == 4 || column == 7; }

// Whether a column can hold this text: it is not empty and has no tab or line break.
inline bool is_field(std::string_view text) { return !text.empty() && text.find_first_of("\t\n\r") == std::string_view::npos; }

inline constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

// HEAD of a word whose head is not given ("_").
inline constexpr std::int32_t no_head = -1;

using text::quote;

}  // namespace arbora::conll
