#include "conll/reader.hpp"

#include <algorithm>
#include <limits>

#include "base/errors.hpp"
#include "conll/tree_shape.hpp"
#include "base/text.hpp"

namespace arbora::conll {

namespace {

// A line that is not a word, and its place: after so many words, comments first, then empty nodes, then a range.
struct OtherLine {
    std::string_view text;
    std::pair<std::int32_t, int> order;
};

OtherLine place(std::string_view text) {
    const std::string_view id = text.substr(0, text.find('\t'));
    const std::size_t mark = id.find_first_of("-.");
    if (text.starts_with('#') || mark == std::string_view::npos) return {text, {0, 0}};
    const std::int32_t number = parse_number(id.substr(0, mark));
    return id[mark] == '-' ? OtherLine{text, {number - 1, 2}} : OtherLine{text, {number, 1}};
}

}  // namespace

std::size_t Reader::parse(std::string_view text, bool last) {
    std::size_t at = 0;
    incomplete_ = false;
    if (at_start_) start_of_file(text, last, at);
    while (at < text.size() && !failed_ && !incomplete_)
        skip_ == Skip::nothing ? read_sentence(text, last, at) : skip_sentence(text, last, at);
    if (last && !failed_) end_of_file();
    return at;
}

Columns Reader::take() {
    Columns taken;
    std::swap(taken, columns_);
    if (taken.sentence_count() == 0) {  // the first sentence still needs these
        columns_.byte_order_mark = taken.byte_order_mark;
        columns_.leading_blank_lines = taken.leading_blank_lines;
    }
    return taken;
}

std::vector<Problem> Reader::take_problems() { return std::exchange(problems_, {}); }

void Reader::start_of_file(std::string_view text, bool last, std::size_t& at) {
    const bool marked = text.starts_with(byte_order_mark);
    const auto run = blank_run(text, marked ? byte_order_mark.size() : 0, last, Ending::none);
    incomplete_ = !run.whole || (!last && text.size() < byte_order_mark.size());
    if (incomplete_) return;
    at_start_ = false;
    columns_.byte_order_mark = marked;
    columns_.leading_blank_lines = run.count;
    line_ = run.count;
    if (run.count > 0) now_.ending = text.substr(0, run.next).ends_with("\r\n") ? Ending::crlf : Ending::lf;
    at = run.next;
}

void Reader::read_sentence(std::string_view text, bool last, std::size_t& at) {
    const std::int64_t line_before = line_;
    // Blank lines at the start of the file have the line ending of the first sentence, which writes them.
    const Ending ending_before = sentences_ == 0 ? now_.ending : Ending::none;
    now_ = Sentence{};
    now_.ending = ending_before;
    now_.first_line = line_ + 1;
    std::size_t here = at;
    if (!read_lines(text, last, here)) {
        at = here;
        return;
    }
    const auto run = blank_run(text, here, last, now_.ending);
    if (incomplete_ || !run.whole) {
        incomplete_ = true;
        columns_.drop_unfinished();
        line_ = line_before;
        now_.ending = ending_before;
        return;
    }
    at = run.next;
    const std::int64_t last_line = line_;
    if (!check_sentence()) {
        skip_ = Skip::blank_lines;
        line_ = last_line + run.count;
        return;
    }
    line_ += run.count;
    end_sentence(here == 0 || text[here - 1] == '\n', run.count);
}

// Up to the first blank line. Sets incomplete_ when the piece ends before it.
bool Reader::read_lines(std::string_view text, bool last, std::size_t& at) {
    while (at < text.size()) {
        bool whole = false;
        const Line line = line_at(text, at, whole);
        if (!whole && !last) break;
        if (line.blank()) {
            const bool first = line_ + 1 == now_.first_line;  // so the blank lines before it end in another way
            if (!first && line.ending == now_.ending) return true;
            ++line_;
            at = line.next;
            return fail("line ending changes before a blank line",
                        name_of(line.ending == Ending::lf ? Ending::crlf : Ending::lf),
                        name_of(line.ending));
        }
        ++line_;
        at = line.next;
        if (!read_line(line)) return false;
    }
    incomplete_ = !last;
    return true;
}

void Reader::skip_sentence(std::string_view text, bool last, std::size_t& at) {
    while (skip_ == Skip::lines && at < text.size()) {
        bool whole = false;
        const Line line = line_at(text, at, whole);
        incomplete_ = !whole && !last;
        if (incomplete_) return;
        if (line.blank()) {
            skip_ = Skip::blank_lines;
            break;
        }
        ++line_;
        at = line.next;
    }
    while (skip_ == Skip::blank_lines && at < text.size()) {
        const auto run = blank_run(text, at, last, Ending::none);
        at = run.next;
        line_ += run.count;
        incomplete_ = !run.whole;
        if (incomplete_) return;
        if (run.count == 0) skip_ = Skip::nothing;
    }
}

bool Reader::read_line(const Line& line) {
    if (line.text.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
        return fail("line too long", "less than 2 GiB", std::to_string(line.text.size()) + " bytes");
    if (!check_ending(line.ending)) return false;
    const Tabs tabs = find_tabs(line.text);
    if (!check_text(line.text, tabs)) return false;
    return line.text[0] == '#' ? read_comment(line.text) : read_row(line.text, tabs);
}

bool Reader::check_ending(Ending ending) {
    if (ending == Ending::none) return true;
    if (now_.ending == Ending::none) now_.ending = ending;
    if (ending == now_.ending) return true;
    return fail("line ending changes within a sentence", name_of(now_.ending), name_of(ending));
}

bool Reader::check_text(std::string_view text, const Tabs& tabs) {
    if (tabs.carriage_return)
        return fail("carriage return inside a line", "CR only before LF at the end of a line", quote(text));
    if (tabs.ascii) return true;
    const std::size_t bad = text::first_bad_utf8(text);
    if (bad == text.size()) return true;
    return fail("bad UTF-8 at byte " + std::to_string(bad + 1) + " of the line", "UTF-8 text", quote(text.substr(bad, 4)));
}

bool Reader::read_comment(std::string_view text) {
    if (now_.started) return fail("comment inside a sentence", "comments before its first word only", quote(text));
    columns_.add_extra(ExtraKind::comment, 0, text);
    return true;
}

bool Reader::check_columns(std::string_view text, const Tabs& tabs) {
    if (tabs.count != column_count - 1) {
        if (text.find_first_not_of(" \t") == std::string_view::npos)
            return fail("white space on a line of its own", "an empty line between sentences", quote(text));
        return fail("wrong number of columns", "10 columns separated by tabs", std::to_string(tabs.count + 1) + " in " + quote(text));
    }
    for (int column = 0; column < column_count; ++column)
        if (field(text, tabs, column).empty())
            return fail("empty " + std::string(column_names[static_cast<std::size_t>(column)]) + " column",
                        column == 0 ? "a word number" : "a value, or _ for none", "nothing");
    return true;
}

bool Reader::check_names(std::string_view text, const Tabs& tabs) {
    for (std::size_t c = 0; c < text_column_count; ++c) {
        const std::size_t bytes = field(text, tabs, text_columns[c]).size();
        if (is_name_column(text_columns[c]) && bytes > most_name_bytes) return name_too_long(c, bytes);
    }
    return true;
}

bool Reader::name_too_long(std::size_t text_column, std::size_t bytes) {
    const std::string name(column_names[static_cast<std::size_t>(text_columns[text_column])]);
    return fail(name + " too long", "at most " + std::to_string(most_name_bytes) + " bytes", std::to_string(bytes));
}

bool Reader::read_row(std::string_view text, const Tabs& tabs) {
    if (!check_columns(text, tabs)) return false;
    now_.started = true;
    const std::string_view id = field(text, tabs, 0);
    const std::size_t mark = id.find_first_of("-.");
    if (mark == std::string_view::npos) return read_word(id, text, tabs);
    if (options_.format == Format::conllx)
        return fail("id out of order", std::to_string(now_.words + 1) + " (multiword tokens and empty nodes are CoNLL-U)", quote(id));
    return id[mark] == '-' ? read_range(id, mark, text) : read_empty_node(id, mark, text);
}

bool Reader::bad_id(std::string_view id) {
    std::string expected = std::to_string(now_.words + 1);
    if (options_.format == Format::conllu && !now_.range_open)
        expected += ", or a range from it, or " + std::to_string(now_.words) + "." + std::to_string(now_.empties + 1);
    return fail("id out of order", std::move(expected), quote(id));
}

bool Reader::read_word(std::string_view id, std::string_view text, const Tabs& tabs) {
    if (parse_number(id) != now_.words + 1) return bad_id(id);
    if (text.size() > most_name_bytes && !check_names(text, tabs)) return false;
    const std::string_view head = field(text, tabs, head_column);
    const bool given = head != "_";
    const std::int32_t number = given ? parse_number(head) : no_head;
    if (given && number < 0) return fail("head is no number", "0, the number of a word, or _", quote(head));
    for (std::size_t i = 0; i < text_column_count; ++i)
        columns_.ids[i].push_back(columns_.tables[i].intern(field(text, tabs, text_columns[i])));
    add_word(number);
    return true;
}

void Reader::add_word(std::int32_t head) {
    ++now_.words;
    now_.empties = 0;
    now_.range_open = false;
    columns_.heads.push_back(head);
    columns_.lines.push_back(line_);
}

bool Reader::read_range(std::string_view id, std::size_t dash, std::string_view text) {
    const std::int32_t first = parse_number(id.substr(0, dash)), last = parse_number(id.substr(dash + 1));
    if (now_.range_open || first != now_.words + 1) return bad_id(id);
    if (last < first)
        return fail("bad range of a multiword token", "a last word from " + std::to_string(first) + " on", quote(id));
    if (first <= now_.range_end)
        return fail("multiword tokens overlap", "a range that starts after word " + std::to_string(now_.range_end), quote(id));
    now_.range_open = true;
    now_.range_end = last;
    now_.range_line = line_;
    columns_.add_extra(ExtraKind::multiword, now_.words, text);
    return true;
}

bool Reader::read_empty_node(std::string_view id, std::size_t dot, std::string_view text) {
    const std::int32_t word = parse_number(id.substr(0, dot)), index = parse_number(id.substr(dot + 1));
    if (now_.range_open || word != now_.words || index != now_.empties + 1) return bad_id(id);
    ++now_.empties;
    columns_.add_extra(ExtraKind::empty, now_.words, text);
    return true;
}

bool Reader::check_sentence() {
    if (now_.words == 0)
        return fail_at(now_.first_line, "sentence without words", "a line for word 1", now_.started ? "empty nodes only" : "comments only");
    if (now_.range_end > now_.words)
        return fail_at(now_.range_line, "multiword token reaches beyond the sentence",
                       "a last word of at most " + std::to_string(now_.words), std::to_string(now_.range_end));
    const auto first = static_cast<std::size_t>(columns_.sentence_offsets.back());
    const auto heads = std::span<const std::int32_t>(columns_.heads).subspan(first);
    const auto fault = find_tree_fault(heads, options_.roots, scratch_);
    if (!fault) return true;
    return fail_at(columns_.lines[first + fault->word], fault->what, fault->expected, fault->got);
}

void Reader::end_sentence(bool final_newline, std::int64_t blank_lines) {
    columns_.sentence_offsets.push_back(static_cast<std::int64_t>(columns_.word_count()));
    columns_.extra_offsets.push_back(static_cast<std::int64_t>(columns_.extra_kinds.size()));
    columns_.sentence_lines.push_back(now_.first_line);
    columns_.blank_lines.push_back(blank_lines);
    columns_.carriage_returns.push_back(now_.ending == Ending::crlf ? 1 : 0);
    columns_.final_newline = final_newline;
    ++sentences_;
}

void Reader::end_of_file() {
    if (at_start_ || sentences_ > 0) return;
    if (!columns_.byte_order_mark && columns_.leading_blank_lines == 0) return;
    sentences_ = 1;
    fail_at(1, "no sentence", "at least one, or an empty file",
            columns_.leading_blank_lines > 0 ? std::to_string(columns_.leading_blank_lines) + " blank lines"
                                             : "a byte order mark");
}

void Reader::read_arrays(Columns given) {
    const std::size_t words = given.word_count();
    check_offsets("offsets", given.sentence_offsets, words);
    check_offsets("offsets", given.extra_offsets, given.extra_kinds.size());
    if (given.extra_offsets.size() != given.sentence_offsets.size()) throw InputError("other lines: expected a list per sentence");
    std::vector<bool> bad_words(words);
    for (std::size_t c = 0; c < given.ids.size(); ++c) {
        if (given.ids[c].size() != words)
            reject(column_names[static_cast<std::size_t>(text_columns[c])], ": expected one text per word");
        std::vector<bool> bad_strings(given.tables[c].size());
        const std::size_t most = is_name_column(text_columns[c]) ? most_name_bytes : std::string_view::npos;
        for (std::size_t i = 0; i < bad_strings.size(); ++i)
            bad_strings[i] = !is_field(given.tables[c][i]) || given.tables[c][i].size() > most;
        if (std::find(bad_strings.begin(), bad_strings.end(), true) == bad_strings.end()) continue;
        for (std::size_t w = 0; w < words; ++w)
            if (bad_strings[static_cast<std::size_t>(given.ids[c][w])]) bad_words[w] = true;
    }
    for (std::size_t s = 0; s + 1 < given.sentence_offsets.size(); ++s)
        if (!read_array_sentence(given, s, bad_words)) return;
    columns_.tables = std::move(given.tables);
    columns_.ids = std::move(given.ids);
}

bool Reader::read_array_sentence(const Columns& given, std::size_t s, const std::vector<bool>& bad_words) {
    now_ = Sentence{};
    now_.first_line = line_ + 1;
    const auto first = given.sentence_offsets[s], last = given.sentence_offsets[s + 1];
    std::vector<OtherLine> others;
    for (auto e = given.extra_offsets[s]; e < given.extra_offsets[s + 1]; ++e) others.push_back(place(given.extra(static_cast<std::size_t>(e))));
    std::stable_sort(others.begin(), others.end(), [](const OtherLine& a, const OtherLine& b) { return a.order < b.order; });
    auto other = others.begin();
    for (auto word = first; word <= last; ++word) {
        for (; other != others.end() && (other->order.first <= word - first || word == last); ++other) {
            ++line_;
            if (!read_other_line(other->text)) return false;
        }
        if (word == last) break;
        ++line_;
        const auto w = static_cast<std::size_t>(word);
        if (bad_words[w]) return check_field(given, w);
        now_.started = true;
        add_word(given.heads[w]);
    }
    if (!check_sentence()) return false;
    end_sentence(true, 1);
    ++line_;
    return true;
}

bool Reader::read_other_line(std::string_view text) {
    if (text.empty() || text.find('\n') != std::string_view::npos)
        return fail("line break or nothing in a line", "one line", quote(text));
    const Tabs tabs = find_tabs(text);
    if (!check_text(text, tabs)) return false;
    if (text[0] == '#') return read_comment(text);
    if (!check_columns(text, tabs)) return false;
    const std::string_view id = field(text, tabs, 0);
    return id.find_first_of("-.") == std::string_view::npos ? bad_id(id) : read_row(text, tabs);
}

bool Reader::check_field(const Columns& given, std::size_t word) {
    for (std::size_t c = 0; c < given.ids.size(); ++c) {
        const std::string_view text = given.tables[c][static_cast<std::size_t>(given.ids[c][word])];
        const std::string name(column_names[static_cast<std::size_t>(text_columns[c])]);
        if (text.empty()) return fail("empty " + name + " column", "a value, or _ for none", "nothing");
        if (!is_field(text)) return fail("tab or line break in the " + name + " column", "text without them", quote(text));
        if (is_name_column(text_columns[c]) && text.size() > most_name_bytes) return name_too_long(c, text.size());
    }
    return true;
}

bool Reader::fail_at(std::int64_t line, std::string_view what, std::string expected, std::string got) {
    if (problems_.size() < most_problems)
        problems_.push_back({line, std::string(what), std::move(expected), std::move(got)});
    columns_.drop_unfinished();
    failed_ = !options_.lenient;
    if (failed_) return false;
    ++skipped_;
    ++sentences_;
    skip_ = Skip::lines;
    return false;
}

}  // namespace arbora::conll
