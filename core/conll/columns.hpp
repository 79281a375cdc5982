// A treebank as a few flat arrays. Sentence s owns words sentence_offsets[s] .. sentence_offsets[s+1]. Comments, multiword tokens and empty
// nodes are "extras": raw lines with their places, so that append_sentence() writes the bytes that were read. About 48 bytes per word plus
// the distinct strings.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "conll/format.hpp"
#include "conll/string_table.hpp"

namespace arbora::conll {

enum class ExtraKind : std::uint8_t { comment, multiword, empty };

struct Columns {
    // Per word:
    std::array<StringTable, text_column_count> tables;
    std::array<std::vector<std::int32_t>, text_column_count> ids;  // into tables, same index
    std::vector<std::int32_t> heads;                               // within the sentence; 0 root, -1 not given
    std::vector<std::int64_t> lines;                               // where in the file, from 1

    // Per sentence (offsets have one more entry):
    std::vector<std::int64_t> sentence_offsets{0};
    std::vector<std::int64_t> extra_offsets{0};
    std::vector<std::int64_t> sentence_lines;    // of the first line, comments included
    std::vector<std::int64_t> blank_lines;       // that follow it: 1 as a rule
    std::vector<std::uint8_t> carriage_returns;  // 1: its lines end in CR LF

    // Per extra line: its text is extra_text[extra_ends[e - 1] .. extra_ends[e]].
    std::vector<std::uint8_t> extra_kinds;
    std::vector<std::int32_t> extra_positions;  // number of words of the sentence before it
    std::vector<std::int64_t> extra_ends;
    std::string extra_text;

    // Per file:
    bool byte_order_mark = false;
    bool final_newline = true;
    std::int64_t leading_blank_lines = 0;

    std::size_t sentence_count() const { return sentence_lines.size(); }
    std::size_t word_count() const { return heads.size(); }
    std::string_view extra(std::size_t index) const;
    void add_extra(ExtraKind kind, std::int32_t position, std::string_view text);

    // Drops words and extras that belong to no finished sentence. O(words dropped).
    void drop_unfinished();
};

// All functions below renumber strings in order of appearance, as the reader does.

// A copy with other texts in one column: ids are places in `names`, one per word. Throws InputError for invalid ids.
Columns with_column(const Columns& columns, std::size_t column, const std::int32_t* ids, const std::vector<std::string>& names);

// A copy with other trees: heads, and labels as places in `names` (-1: none), one per word. Throws InputError if heads form no tree
// or a label cannot be written to a file. O(words + distinct text).
Columns with_trees(const Columns& columns, std::span<const std::int32_t> heads, const std::int32_t* labels,
                   const std::vector<std::string>& names);

// A copy of some sentences, in the given order. O(words chosen + distinct text).
Columns select(const Columns& columns, std::span<const std::int64_t> sentences);
// All sentences of several Columns, in order. Joining the pieces of one file gives the file. O(words + distinct text).
Columns concat(std::span<const Columns* const> parts);
// Appends sentence s as it was in the file, with the blank lines after it; the first sentence also writes the byte order mark and
// the blank lines before it. Writing all sentences in order reproduces the file. O(length of the output).
void append_sentence(const Columns& columns, std::size_t s, std::string& out);

}  // namespace arbora::conll
