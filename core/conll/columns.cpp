#include "conll/columns.hpp"

#include <algorithm>
#include <charconv>

#include "base/errors.hpp"
#include "conll/tree_shape.hpp"

namespace arbora::conll {

namespace {

void append_number(std::int64_t number, std::string& out) {
    char digits[20];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

void append_word(const Columns& columns, std::size_t word, std::int64_t id, std::string& out) {
    append_number(id, out);
    std::size_t column = 0;
    for (int i = 1; i < column_count; ++i) {
        out += '\t';
        if (i != head_column) {
            out += columns.tables[column][static_cast<std::size_t>(columns.ids[column][word])];
            ++column;
        } else if (columns.heads[word] == no_head) {
            out += '_';
        } else {
            append_number(columns.heads[word], out);
        }
    }
}

// Replaces a column by names[ids[w]] of every word w; -1 is "_" where `optional`.
void replace_column(Columns& columns, std::size_t column, const std::int32_t* ids, const std::vector<std::string>& names, bool optional) {
    StringTable table;
    std::vector<std::int32_t> numbers(names.size(), -1);
    for (std::size_t w = 0; w < columns.word_count(); ++w) {
        const auto id = static_cast<std::size_t>(ids[w]);  // a negative one is beyond any size
        if (id >= names.size() && !(optional && ids[w] == -1))
            reject("ids: expected numbers below ", names.size(), ", got ", ids[w]);
        if (id < names.size() && numbers[id] < 0) numbers[id] = table.intern(names[id]);
        columns.ids[column][w] = id < names.size() ? numbers[id] : 0;
    }
    columns.tables[column] = std::move(table);
}

// Gathers sentences of other Columns.
class Collector {
public:
    Columns result;

    void open(const Columns& source) {
        source_ = &source;
        for (std::size_t c = 0; c < numbers_.size(); ++c) numbers_[c].assign(source.tables[c].size(), -1);
    }

    void add(std::size_t s) {
        const Columns& from = *source_;
        const auto first = static_cast<std::size_t>(from.sentence_offsets[s]), last = static_cast<std::size_t>(from.sentence_offsets[s + 1]);
        for (std::size_t c = 0; c < numbers_.size(); ++c)
            for (std::size_t w = first; w < last; ++w) result.ids[c].push_back(number(c, static_cast<std::size_t>(from.ids[c][w])));
        for (std::size_t w = first; w < last; ++w) {
            result.heads.push_back(from.heads[w]);
            result.lines.push_back(from.lines[w]);
        }
        for (auto e = static_cast<std::size_t>(from.extra_offsets[s]); e < static_cast<std::size_t>(from.extra_offsets[s + 1]); ++e)
            result.add_extra(static_cast<ExtraKind>(from.extra_kinds[e]), from.extra_positions[e], from.extra(e));
        result.sentence_offsets.push_back(static_cast<std::int64_t>(result.heads.size()));
        result.extra_offsets.push_back(static_cast<std::int64_t>(result.extra_kinds.size()));
        result.sentence_lines.push_back(from.sentence_lines[s]);
        result.blank_lines.push_back(std::max<std::int64_t>(from.blank_lines[s], 1));
        result.carriage_returns.push_back(from.carriage_returns[s]);
    }

private:
    std::int32_t number(std::size_t column, std::size_t id) {
        std::int32_t& known = numbers_[column][id];
        if (known < 0) known = result.tables[column].intern(source_->tables[column][id]);
        return known;
    }

    const Columns* source_ = nullptr;
    std::array<std::vector<std::int32_t>, text_column_count> numbers_;  // of the source's strings in the result; -1: none yet
};

}  // namespace

std::string_view Columns::extra(std::size_t index) const {
    const auto begin = static_cast<std::size_t>(index == 0 ? 0 : extra_ends[index - 1]);
    return std::string_view(extra_text).substr(begin, static_cast<std::size_t>(extra_ends[index]) - begin);
}

void Columns::add_extra(ExtraKind kind, std::int32_t position, std::string_view text) {
    extra_text.append(text);
    extra_kinds.push_back(static_cast<std::uint8_t>(kind));
    extra_positions.push_back(position);
    extra_ends.push_back(static_cast<std::int64_t>(extra_text.size()));
}

void Columns::drop_unfinished() {
    const auto words = static_cast<std::size_t>(sentence_offsets.back());
    const auto extras = static_cast<std::size_t>(extra_offsets.back());
    for (auto& column : ids) column.resize(words);
    heads.resize(words);
    lines.resize(words);
    extra_kinds.resize(extras);
    extra_positions.resize(extras);
    extra_ends.resize(extras);
    extra_text.resize(extras == 0 ? 0 : static_cast<std::size_t>(extra_ends.back()));
}

void append_sentence(const Columns& columns, std::size_t s, std::string& out) {
    const std::string_view newline = columns.carriage_returns[s] != 0 ? "\r\n" : "\n";
    if (s == 0) {
        if (columns.byte_order_mark) out += byte_order_mark;
        for (std::int64_t i = 0; i < columns.leading_blank_lines; ++i) out += newline;
    }
    const auto first = columns.sentence_offsets[s], last = columns.sentence_offsets[s + 1];
    auto extra = static_cast<std::size_t>(columns.extra_offsets[s]);
    const auto extra_end = static_cast<std::size_t>(columns.extra_offsets[s + 1]);
    const auto append_extras_before = [&](std::int64_t word) {
        for (; extra < extra_end && columns.extra_positions[extra] <= word; ++extra) {
            out += columns.extra(extra);
            out += newline;
        }
    };
    for (auto word = first; word < last; ++word) {
        append_extras_before(word - first);
        append_word(columns, static_cast<std::size_t>(word), word - first + 1, out);
        out += newline;
    }
    append_extras_before(last - first);
    const bool cut = s + 1 == columns.sentence_count() && !columns.final_newline;
    if (cut) out.erase(out.size() - newline.size());
    for (std::int64_t i = 0; i < columns.blank_lines[s]; ++i) out += newline;
}

Columns with_column(const Columns& columns, std::size_t column, const std::int32_t* ids, const std::vector<std::string>& names) {
    Columns result = columns;
    replace_column(result, column, ids, names, false);
    return result;
}

Columns with_trees(const Columns& columns, std::span<const std::int32_t> heads, const std::int32_t* labels,
                   const std::vector<std::string>& names) {
    std::vector<std::int32_t> scratch;
    for (std::size_t s = 0; s < columns.sentence_count(); ++s) {
        const auto first = static_cast<std::size_t>(columns.sentence_offsets[s]), last = static_cast<std::size_t>(columns.sentence_offsets[s + 1]);
        if (const auto fault = find_tree_fault(heads.subspan(first, last - first), Roots::multi, scratch))
            reject("heads of sentence ", s + 1, ": ", fault->what, ": expected ", fault->expected, ", got ", fault->got);
    }
    Columns result = columns;
    result.heads.assign(heads.begin(), heads.end());
    replace_column(result, deprel_column, labels, names, true);
    const StringTable& table = result.tables[deprel_column];
    for (std::size_t i = 0; i < table.size(); ++i)
        if (!is_field(table[i])) reject("names: expected texts without tab or line break, not empty; got ", quote(table[i]));
    return result;
}

Columns select(const Columns& columns, std::span<const std::int64_t> sentences) {
    Collector collector;
    collector.open(columns);
    for (const auto s : sentences) collector.add(static_cast<std::size_t>(s));
    return std::move(collector.result);
}

Columns concat(std::span<const Columns* const> parts) {
    Collector collector;
    Columns& result = collector.result;
    std::int64_t last_blank_lines = 1;
    for (const Columns* part : parts) {
        if (part->sentence_count() == 0) continue;
        if (result.sentence_count() == 0) {
            result.byte_order_mark = part->byte_order_mark;
            result.leading_blank_lines = part->leading_blank_lines;
        }
        collector.open(*part);
        for (std::size_t s = 0; s < part->sentence_count(); ++s) collector.add(s);
        result.final_newline = part->final_newline;
        last_blank_lines = part->blank_lines.back();
    }
    if (result.sentence_count() > 0) result.blank_lines.back() = last_blank_lines;
    return std::move(result);
}

}  // namespace arbora::conll
