// Reads CoNLL-U and CoNLL-X into Columns: one pass, in pieces of any size, with every line checked.
//
// Text arrives in pieces. parse() consumes whole sentences from the front and returns the number of bytes used; the caller keeps
// the rest and calls again with more. A sentence is whole when its blank lines are complete (something else, or the end, follows).
// Memory: one piece, plus the sentences that the caller has not taken yet. O(bytes) time.
//
// Checks: ten non-empty columns; short tags and labels; ids 1, 2, 3, ... with multiword ranges and empty nodes in their places; heads within the sentence,
// without cycles, with one root if required; UTF-8; comments before the words only; one kind of line ending per sentence and no
// stray carriage return. Keeps: a byte order mark, extra blank lines, a missing last blank line or newline.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conll/columns.hpp"
#include "conll/format.hpp"
#include "conll/line.hpp"

namespace arbora::conll {

class Reader {
public:
    explicit Reader(Options options) : options_(options) {}
    // Reads the whole sentences at the front of `text` and returns the number of bytes used. The next call must begin with the
    // unused bytes. `last`: no text follows, so everything is used. A strict reader stops at an error; the sentences before it are
    // in take().
    std::size_t parse(std::string_view text, bool last);

    // Reads sentences given as arrays: `tables`, `ids`, `heads` and `sentence_offsets` of their words, and as extras their other
    // lines in any order (kinds and positions are ignored). Checks them like text; errors have the line that they would have in a
    // file. Throws InputError for arrays of wrong sizes. O(words + text).
    void read_arrays(Columns given);
    // Hands over the sentences read since the last call.
    Columns take();
    bool failed() const { return failed_; }
    std::int64_t skipped() const { return skipped_; }
    // The error that stopped a strict reader, or up to most_problems errors of a lenient one since the last call; skipped() counts
    // all.
    std::vector<Problem> take_problems();
    static constexpr std::size_t most_problems = 1000;

private:
    enum class Skip : std::uint8_t { nothing, lines, blank_lines };

    // State of the sentence being read.
    struct Sentence {
        std::int64_t first_line = 0;
        std::int32_t words = 0;
        std::int32_t empties = 0;      // empty nodes since the last word
        std::int32_t range_end = 0;    // last word of the newest multiword token
        std::int64_t range_line = 0;
        bool range_open = false;       // its first word has not come yet
        bool started = false;          // whether a line other than a comment was seen
        Ending ending = Ending::none;  // of its first line
    };

    // All of these return false on an error, after fail(); `at` advances past the text used.
    void start_of_file(std::string_view text, bool last, std::size_t& at);
    void read_sentence(std::string_view text, bool last, std::size_t& at);
    void skip_sentence(std::string_view text, bool last, std::size_t& at);
    bool read_lines(std::string_view text, bool last, std::size_t& at);
    bool read_line(const Line& line);
    bool read_comment(std::string_view text);
    bool read_row(std::string_view text, const Tabs& tabs);
    bool read_word(std::string_view id, std::string_view text, const Tabs& tabs);
    bool read_range(std::string_view id, std::size_t dash, std::string_view text);
    bool read_empty_node(std::string_view id, std::size_t dot, std::string_view text);
    bool read_array_sentence(const Columns& given, std::size_t s, const std::vector<bool>& bad_words);
    bool read_other_line(std::string_view text);
    void add_word(std::int32_t head);
    bool check_field(const Columns& given, std::size_t word);
    bool check_ending(Ending ending);
    bool check_text(std::string_view text, const Tabs& tabs);
    bool check_columns(std::string_view text, const Tabs& tabs);
    bool check_names(std::string_view text, const Tabs& tabs);
    bool name_too_long(std::size_t text_column, std::size_t bytes);
    bool check_sentence();
    void end_sentence(bool final_newline, std::int64_t blank_lines);
    void end_of_file();
    bool bad_id(std::string_view id);
    bool fail(std::string_view what, std::string expected, std::string got) {
        return fail_at(line_, what, std::move(expected), std::move(got));
    }
    bool fail_at(std::int64_t line, std::string_view what, std::string expected, std::string got);

    Options options_;
    Columns columns_;
    Sentence now_;
    std::int64_t line_ = 0;  // number of the line last looked at
    std::int64_t sentences_ = 0;  // read or skipped
    std::int64_t skipped_ = 0;
    std::vector<Problem> problems_;
    std::vector<std::int32_t> scratch_;
    Skip skip_ = Skip::nothing;
    bool at_start_ = true;
    bool failed_ = false;
    bool incomplete_ = false;  // the piece ends within the sentence being read
};

}  // namespace arbora::conll
