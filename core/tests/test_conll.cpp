#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "check.hpp"
#include "conll/reader.hpp"
#include "conll/tree_shape.hpp"
#include "base/text.hpp"
#include "refuses.hpp"

namespace conll_tests {

using namespace arbora::conll;

namespace {

std::string row(const std::string& id, const std::string& head, const std::string& form = "w") {
    return id + "\t" + form + "\t_\tNOUN\t_\t_\t" + head + "\tdep\t_\t_";
}

std::string lines(const std::vector<std::string>& rows, const std::string& newline = "\n") {
    std::string text;
    for (const auto& one : rows) text += one + newline;
    return text;
}

std::string written(const Columns& columns) {
    std::string out;
    for (std::size_t s = 0; s < columns.sentence_count(); ++s) append_sentence(columns, s, out);
    return out;
}

// Reads in pieces of the given size, like a caller with a file.
Columns read(Reader& reader, const std::string& text, std::size_t piece) {
    std::size_t used = 0, seen = 0;
    while (!reader.failed()) {
        seen = std::min(text.size(), seen + piece);
        used += reader.parse(std::string_view(text).substr(used, seen - used), seen == text.size());
        if (seen == text.size()) break;
    }
    return reader.take();
}

bool survives(const std::string& text, Options options = {}) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, text.size() + 1}) {
        Reader reader(options);
        if (written(read(reader, text, piece)) != text || reader.failed()) return false;
    }
    return true;
}

// The error in `text` as "line: what"; empty if there is none.
std::string fault(const std::string& text, Options options = {}) {
    Reader reader(options);
    reader.parse(text, true);
    const auto problems = reader.take_problems();
    return problems.empty() ? "" : std::to_string(problems[0].line) + ": " + problems[0].what;
}

constexpr Options single_root{Format::conllu, Roots::single, false};
constexpr Options conllx{Format::conllx, Roots::multi, false};
constexpr Options lenient{Format::conllu, Roots::multi, true};

}  // namespace

TEST(conll_fills_the_arrays) {
    Reader reader({});
    const std::string text = lines({"# a = b", row("1", "2", "A"), row("2", "0", "B"), "", row("1", "_", "A"), ""});
    CHECK(reader.parse(text, true) == text.size());
    const Columns columns = reader.take();
    CHECK(columns.sentence_offsets == (std::vector<std::int64_t>{0, 2, 3}));
    CHECK(columns.heads == (std::vector<std::int32_t>{2, 0, -1}));
    CHECK(columns.lines == (std::vector<std::int64_t>{2, 3, 5}));
    CHECK(columns.sentence_lines == (std::vector<std::int64_t>{1, 5}));
    CHECK(columns.ids[0] == (std::vector<std::int32_t>{1, 2, 1}));
    CHECK(columns.ids[1] == (std::vector<std::int32_t>{0, 0, 0}));
    CHECK(columns.tables[0][0] == "_" && columns.tables[0][1] == "A" && columns.tables[0][2] == "B");
    CHECK(columns.extra(0) == "# a = b");
}

TEST(conll_gives_back_every_byte) {
    const std::vector<std::string> rich = {
        "# text = x",   row("1-2", "_"), row("1", "2"), row("1.1", "_"), row("1.2", "_"), row("2", "0"), "",
        row("0.1", "_"), row("1", "0"),   ""};
    for (const std::string newline : {"\n", "\r\n"}) {
        CHECK(survives(lines(rich, newline)));
        CHECK(survives("\xEF\xBB\xBF" + lines(rich, newline)));
        CHECK(survives(newline + newline + lines(rich, newline)));
        CHECK(survives(lines(rich, newline) + newline + newline));
        std::string cut = lines(rich, newline);
        cut.erase(cut.size() - newline.size());
        CHECK(survives(cut));
        cut.erase(cut.size() - newline.size());
        CHECK(survives(cut));
    }
    CHECK(survives(""));
    CHECK(survives(lines({row("1", "0"), "", row("1", "0"), ""}), conllx));
    CHECK(survives(lines({row("1", "0"), ""}, "\r\n") + lines({row("1", "0"), ""}, "\n")));
}

TEST(conll_arrays_are_read_as_text_is) {
    const std::string text = lines({"# text = x", row("0.1", "_"), row("1-2", "_"), row("1", "2", "A"), row("1.1", "_"), row("2", "0", "B"),
                                    row("2.1", "_"), "", row("1", "_", "B"), ""});
    Reader reader({}), again({});
    reader.parse(text, true);
    Columns columns = reader.take();
    again.read_arrays(columns);
    const Columns same = again.take();
    CHECK(written(same) == text);
    CHECK(same.lines == columns.lines && same.sentence_lines == columns.sentence_lines);
    CHECK(same.extra_kinds == columns.extra_kinds && same.extra_positions == columns.extra_positions);

    const auto fault_of = [](const Columns& given) {
        Reader strict({});
        strict.read_arrays(given);
        const auto problems = strict.take_problems();
        return problems.empty() ? "" : std::to_string(problems[0].line) + ": " + problems[0].what;
    };
    CHECK(fault_of(columns) == "");
    Columns tab = columns;
    tab.ids[0][2] = tab.tables[0].intern("a\tb");
    CHECK(fault_of(tab) == "9: tab or line break in the FORM column");
    Columns empty = columns;
    empty.ids[7][1] = empty.tables[7].intern("");
    CHECK(fault_of(empty) == "6: empty MISC column");
    Columns cycle = columns;
    cycle.heads = {2, 1, 0};
    CHECK(fault_of(cycle).starts_with("4: "));
    Columns beyond = columns;
    beyond.heads[2] = -2;
    CHECK(fault_of(beyond).starts_with("9: "));
    CHECK(refuses([&] { columns.sentence_offsets.back() = 4; fault_of(columns); }));
}

TEST(conll_sentences_are_chosen_and_joined) {
    const std::string text = "\xEF\xBB\xBF" + lines({"# a", row("1", "0", "A"), "", "", row("1", "0", "B")});
    Reader reader({});
    reader.parse(text, true);
    const Columns columns = reader.take();
    const std::vector<std::int64_t> second{1}, turned{1, 0};
    const Columns chosen = select(columns, second);
    CHECK(chosen.tables[0].size() == 2 && chosen.tables[0][1] == "B");
    CHECK(written(chosen) == lines({row("1", "0", "B"), ""}));
    CHECK(select(columns, turned).tables[0][1] == "B");
    const Columns nothing;
    const std::vector<const Columns*> parts{&nothing, &columns}, both{&columns, &chosen};
    CHECK(written(concat(parts)) == text);
    CHECK(written(concat(both)) == text + "\n" + written(chosen));
    CHECK(concat(both).ids[0] == (std::vector<std::int32_t>{1, 2, 2}));
}

TEST(conll_faults_of_lines) {
    CHECK(fault(lines({row("1", "0"), "2\tx"})) == "2: wrong number of columns");
    CHECK(fault(lines({row("1", "0") + "\tx"})) == "1: wrong number of columns");
    CHECK(fault(lines({row("1", "0"), "  ", ""})) == "2: white space on a line of its own");
    CHECK(fault(lines({row("1", "0", "")})) == "1: empty FORM column");
    CHECK(fault(lines({row("1", "")})) == "1: empty HEAD column");
    CHECK(fault(lines({row("1", "0", std::string(5000, 'w'))})).empty());
    const std::string most(most_name_bytes, 'X'), rest = "\t_\t0\tdep\t_\t_";
    CHECK(fault("1\tw\t_\t" + most + "\t" + most + rest).empty());
    CHECK(fault("1\tw\t_\t" + most + "X\t_" + rest) == "1: UPOS too long");
    CHECK(fault("1\tw\t_\t_\t" + most + "X" + rest) == "1: XPOS too long");
    CHECK(fault("1\tw\t_\t_\t_\t_\t0\t" + most + "X\t_\t_") == "1: DEPREL too long");
    CHECK(fault(lines({row("1", "0"), "# late"})) == "2: comment inside a sentence");
    CHECK(fault(lines({row("1", "0", "a\rb")})) == "1: carriage return inside a line");
    CHECK(fault(row("1", "0") + "\r") == "1: carriage return inside a line");
    CHECK(fault(lines({row("1", "0"), row("2", "1", "\xC3")})) == "2: bad UTF-8 at byte 3 of the line");
    CHECK(fault(lines({"# \xFF", row("1", "0")})) == "1: bad UTF-8 at byte 3 of the line");
    CHECK(fault(row("1", "2") + "\r\n" + row("2", "0") + "\n") == "2: line ending changes within a sentence");
    CHECK(fault(row("1", "0") + "\n\r\n") == "2: line ending changes before a blank line");
    CHECK(fault(row("1", "0") + "\n\n\r\n") == "3: line ending changes before a blank line");
}

TEST(conll_faults_of_ids) {
    CHECK(fault(lines({row("2", "0")})) == "1: id out of order");
    CHECK(fault(lines({row("1", "0"), row("1", "0")})) == "2: id out of order");
    CHECK(fault(lines({row("01", "0")})) == "1: id out of order");
    CHECK(fault(lines({row("x", "0")})) == "1: id out of order");
    CHECK(fault(lines({row("99999999999", "0")})) == "1: id out of order");
    CHECK(fault(lines({row("2-3", "_"), row("1", "0")})) == "1: id out of order");
    CHECK(fault(lines({row("1-2", "_"), row("0.1", "_")})) == "2: id out of order");
    CHECK(fault(lines({row("1-0", "_"), row("1", "0")})) == "1: bad range of a multiword token");
    CHECK(fault(lines({row("1-", "_"), row("1", "0")})) == "1: bad range of a multiword token");
    CHECK(fault(lines({row("1-2", "_"), row("1", "0"), row("2-3", "_")})) == "3: multiword tokens overlap");
    CHECK(fault(lines({row("1-2", "_"), row("1", "0"), ""})) == "1: multiword token reaches beyond the sentence");
    CHECK(fault(lines({row("1", "0"), row("1.2", "_")})) == "2: id out of order");
    CHECK(fault(lines({row("1-2", "_"), row("1", "0"), row("2", "1")}), conllx) == "1: id out of order");
    CHECK(fault(lines({"# only", "", row("1", "0")})) == "1: sentence without words");
    CHECK(fault("\n\n") == "1: no sentence");
    CHECK(fault("\xEF\xBB\xBF") == "1: no sentence");
}

TEST(conll_faults_of_heads) {
    CHECK(fault(lines({row("1", "x")})) == "1: head is no number");
    CHECK(fault(lines({row("1", "-1")})) == "1: head is no number");
    CHECK(fault(lines({row("1", "00")})) == "1: head is no number");
    CHECK(fault(lines({row("1", "0"), row("2", "3")})) == "2: head out of range");
    CHECK(fault(lines({row("1", "1")})) == "1: word is its own head");
    CHECK(fault(lines({row("1", "0"), row("2", "3"), row("3", "2")})) == "2: cycle of heads");
    CHECK(fault(lines({row("1", "_"), row("2", "3"), row("3", "2")})) == "2: cycle of heads");
    const std::string two_roots = lines({row("1", "0"), row("2", "0"), ""});
    CHECK(fault(two_roots).empty());
    CHECK(fault(two_roots, single_root) == "2: second root");
}

TEST(conll_lenient_skips_and_counts) {
    const std::string good = lines({row("1", "0"), ""});
    const std::string text = lines({row("1", "9"), row("2", "0"), ""}) + good + lines({"bad", "worse", "", ""}) + good +
                             lines({"# no words"});
    for (const std::size_t piece : {std::size_t{1}, std::size_t{5}, text.size()}) {
        Reader reader(lenient);
        const Columns columns = read(reader, text, piece);
        CHECK(!reader.failed() && reader.skipped() == 3);
        CHECK(written(columns) == good + good);
        CHECK(columns.sentence_lines == (std::vector<std::int64_t>{4, 10}));
        const auto problems = reader.take_problems();
        CHECK(problems.size() == 3 && problems[0].line == 1 && problems[1].line == 6 && problems[2].line == 12);
    }
}

TEST(conll_strict_keeps_what_came_before_the_fault) {
    Reader reader({});
    reader.parse(lines({row("1", "0"), "", row("1", "5"), ""}), true);
    CHECK(reader.failed() && reader.take().sentence_count() == 1);
}

TEST(conll_messages_are_readable) {
    CHECK(quote("a\tb\xFF") == "\"a\\x09b\\xff\"");
    CHECK(quote(std::string(50, 'x')) == "\"" + std::string(40, 'x') + "...\"");
}

TEST(utf8_follows_the_standard) {
    for (const std::string good : {"", "a", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x8C\xB3", "\xF4\x8F\xBF\xBF"})
        CHECK(arbora::text::first_bad_utf8(good) == good.size());
    for (const std::string bad : {"\x80", "\xC0\xAF", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
                                  "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xC3", "\xE2\x82", "\xF0\x9F\x8C"})
        CHECK(arbora::text::first_bad_utf8("ab" + bad) == 2);
}

TEST(string_table_numbers_in_order) {
    StringTable table;
    CHECK(table.intern("_") == 0 && table.size() == 1);
    for (int i = 0; i < 5000; ++i) CHECK(table.intern("s" + std::to_string(i)) == i + 1);
    for (int i = 0; i < 5000; ++i) CHECK(table.intern("s" + std::to_string(i)) == i + 1);
    CHECK(table[4321] == "s4320");
}

TEST(tree_shapes_agree_with_the_definition) {
    std::mt19937 random(7);
    std::vector<std::int32_t> scratch;
    int trees = 0;
    while (trees < 2000) {
        const auto n = static_cast<std::int32_t>(1 + random() % 8);
        std::vector<std::int32_t> heads(static_cast<std::size_t>(n));
        for (auto& head : heads) head = static_cast<std::int32_t>(random() % static_cast<unsigned>(n + 1));
        if (find_tree_fault(heads, Roots::multi, scratch)) continue;
        ++trees;
        const auto head_of = [&](std::int32_t d) { return heads[static_cast<std::size_t>(d - 1)]; };
        const auto depth_of = [&](std::int32_t d) {
            int depth = 0;
            for (; d != 0; d = head_of(d)) ++depth;
            return depth;
        };
        const auto dominates = [&](std::int32_t h, std::int32_t d) {
            while (d != h && d != 0) d = head_of(d);
            return d == h;
        };
        const auto shapes = measure_trees(heads, std::vector<std::int64_t>{0, n});
        int depth = 0;
        for (std::int32_t d = 1; d <= n; ++d) {
            const std::int32_t low = std::min(d, head_of(d)), high = std::max(d, head_of(d));
            bool crossed = false;
            for (auto k = low + 1; k < high; ++k) crossed |= !dominates(head_of(d), k);
            CHECK((shapes.nonprojective[static_cast<std::size_t>(d - 1)] != 0) == crossed);
            depth = std::max(depth, depth_of(d));
        }
        CHECK(shapes.depths[0] == depth);
        CHECK(shapes.roots[0] == std::count(heads.begin(), heads.end(), 0));
    }
}

}  // namespace conll_tests
