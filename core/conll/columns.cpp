#include "conll/columns.hpp"

#include <algorithm>

#include "base/errors.hpp"

#include <charconv>

namespace arbora::conll {

namespace {

void append_number(std::int64_t number, std::string& out) {
    char digits[20];
    const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    out.append(digits, end);
}

constexpr int label_column = 7;

void append_head(std::int32_t head, std::string& out) {
    if (head == no_head)
        out += '_';
    else
        append_number(head, out);
}

void append_word(const Columns& columns, std::size_t word, std::int64_t id, const NewTrees* trees, std::string& out) {
    append_number(id, out);
    std::size_t column = 0;
    for (int i = 1; i < column_count; ++i) {
        out += '\t';
        if (i == head_column) {
            append_head(trees == nullptr ? columns.heads[word] : trees->heads[word], out);
            continue;
        }
        if (i == label_column && trees != nullptr) {
            const std::int32_t label = trees->labels[word];
            out += label < 0 ? std::string_view("_") : std::string_view((*trees->names)[static_cast<std::size_t>(label)]);
        } else {
            out += columns.tables[column][static_cast<std::size_t>(columns.ids[column][word])];
        }
        ++column;
    }
}

void append(const Columns& columns, std::size_t s, const NewTrees* trees, std::string& out);

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

void append_sentence(const Columns& columns, std::size_t s, std::string& out) { append(columns, s, nullptr, out); }

void append_sentence(const Columns& columns, std::size_t s, const NewTrees& trees, std::string& out) { append(columns, s, &trees, out); }

namespace {

void append(const Columns& columns, std::size_t s, const NewTrees* trees, std::string& out) {
    const std::string_view newline = columns.carriage_returns[s] != 0 ? "\r\n" : "\n";
    if (s == 0) {
        if (columns.byte_order_mark) out += "\xEF\xBB\xBF";
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
        append_word(columns, static_cast<std::size_t>(word), word - first + 1, trees, out);
        out += newline;
    }
    append_extras_before(last - first);
    const bool cut = s + 1 == columns.sentence_count() && !columns.final_newline;
    if (cut) out.erase(out.size() - newline.size());
    for (std::int64_t i = 0; i < columns.blank_lines[s]; ++i) out += newline;
}

}  // namespace

Columns with_column(const Columns& columns, std::size_t column, const std::int32_t* ids, const std::vector<std::string>& names) {
    StringTable table;
    std::vector<std::int32_t> places;
    places.reserve(names.size());
    for (const auto& name : names) places.push_back(table.intern(name));
    Columns result = columns;
    for (std::size_t w = 0; w < columns.word_count(); ++w) {
        if (ids[w] < 0 || static_cast<std::size_t>(ids[w]) >= names.size())
            throw InputError("ids: expected numbers below " + std::to_string(names.size()) + ", got " + std::to_string(ids[w]));
        result.ids[column][w] = places[static_cast<std::size_t>(ids[w])];
    }
    result.tables[column] = std::move(table);
    return result;
}

Columns select(const Columns& columns, const std::vector<std::int64_t>& sentences) {
    Columns result;
    result.tables = columns.tables;
    for (const auto sentence : sentences) {
        const auto s = static_cast<std::size_t>(sentence);
        const auto first = columns.sentence_offsets[s], last = columns.sentence_offsets[s + 1];
        const auto append = [&](auto& to, const auto& from) { to.insert(to.end(), from.begin() + first, from.begin() + last); };
        for (std::size_t c = 0; c < result.ids.size(); ++c) append(result.ids[c], columns.ids[c]);
        append(result.heads, columns.heads);
        append(result.lines, columns.lines);
        for (auto e = columns.extra_offsets[s]; e < columns.extra_offsets[s + 1]; ++e) {
            const auto extra = static_cast<std::size_t>(e);
            result.add_extra(static_cast<ExtraKind>(columns.extra_kinds[extra]), columns.extra_positions[extra], columns.extra(extra));
        }
        result.sentence_offsets.push_back(static_cast<std::int64_t>(result.heads.size()));
        result.extra_offsets.push_back(static_cast<std::int64_t>(result.extra_kinds.size()));
        result.sentence_lines.push_back(columns.sentence_lines[s]);
        result.blank_lines.push_back(std::max<std::int64_t>(columns.blank_lines[s], 1));
        result.carriage_returns.push_back(columns.carriage_returns[s]);
    }
    return result;
}

}  // namespace arbora::conll
