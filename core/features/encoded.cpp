#include "features/encoded.hpp"

#include <algorithm>

#include "base/errors.hpp"
#include "base/interrupt.hpp"
#include "features/hash.hpp"
#include "base/text.hpp"

namespace arbora::feature {

namespace {

// Columns of the treebank, as numbered in conll::text_columns.
enum Column : std::size_t { form_column, lemma_column, tag_column, fine_column, feats_column, label_column };

constexpr std::string_view kInputs[] = {"lemma", "upos", "xpos", "feats"};  // from lemma_column on
constexpr std::int32_t kNothing = 0;  // the number of `_` in every column

constexpr std::size_t kPrefix = 4, kSuffix = 3, kEnding = 2;  // characters

std::uint32_t value(Field field, std::string_view text) {
    return static_cast<std::uint32_t>(hash_text(text, static_cast<std::uint64_t>(field) + 1));
}

// A missing node. No text of a treebank contains this control character, so no word has these values.
Row special_row(std::string_view name) {
    Row row;
    for (std::size_t f = 0; f < row.size(); ++f) row[f] = value(static_cast<Field>(f), std::string("\x01").append(name));
    return row;
}

void set(Row& row, Field field, std::uint32_t value) { row[static_cast<std::size_t>(field)] = value; }

// make(text) for every distinct string of a column.
auto of_each(const conll::StringTable& table, auto&& make) {
    std::vector<decltype(make(table[0]))> result;
    for (std::size_t id = 0; id < table.size(); ++id) result.push_back(make(table[id]));
    return result;
}

// The values of fields that are derived from a form.
Row form_row(std::string_view text) {
    Row row{};
    set(row, Field::form, value(Field::form, text));
    set(row, Field::prefix, value(Field::prefix, text::first_characters(text, kPrefix)));
    set(row, Field::suffix, value(Field::suffix, text::last_characters(text, kSuffix)));
    set(row, Field::ending, value(Field::ending, text::last_characters(text, kEnding)));
    set(row, Field::shape, value(Field::shape, text::short_shape(text)));
    return row;
}

void set_clusters(Row& row, ClusterCode code) {
    for (const auto& [field, bits] : kClusterFields) set(row, field, number_value(static_cast<std::uint64_t>(field) << 32, cluster_prefix(code, bits)));
}

}  // namespace

const Row& absent_row() {
    static const Row row = special_row("absent");
    return row;
}

Names::Names(const std::vector<std::string>& tags, const std::vector<std::string>& labels, const std::vector<std::string>& ignored) {
    for (const auto& name : ignored) {
        const auto found = std::find(std::begin(kInputs), std::end(kInputs), name);
        if (found == std::end(kInputs)) throw InputError("ignored: expected lemma, upos, xpos or feats, got '" + name + "'");
        ignored_ |= 1U << (lemma_column + (found - std::begin(kInputs)));
    }
    for (const auto& tag : tags) tags_.emplace(tag, std::min<int>(static_cast<int>(tags_.size()), kOtherTag));
    for (const auto& label : labels) labels_.emplace(label, static_cast<int>(labels_.size()));
}

int Names::tag(std::string_view text) const {
    const auto found = tags_.find(std::string(text));
    return found == tags_.end() ? kOtherTag : found->second;
}

int Names::label(std::string_view text) const {
    const auto found = labels_.find(std::string(text));
    return found == labels_.end() ? -1 : found->second;
}

Encoded::Encoded(const conll::Columns& columns, const Names& names, const Clusters* clusters)
    : offsets_(columns.sentence_offsets), has_clusters_(clusters != nullptr) {
    static const Row before = special_row("before"), root = special_row("root"), after = special_row("after");
    const auto& tables = columns.tables;
    const auto id = [&](std::size_t column, std::size_t word) { return names.ignores(column) ? kNothing : columns.ids[column][word]; };
    const auto values = [&](std::size_t column, Field field) { return of_each(tables[column], [&](auto text) { return value(field, text); }); };
    auto forms = of_each(tables[form_column], form_row);
    for (std::size_t form = 0; has_clusters_ && form < forms.size(); ++form) set_clusters(forms[form], clusters->find(tables[form_column][form]));
    const auto small_forms = of_each(tables[form_column], [](auto text) { return value(Field::lemma, text::lowered(text)); });
    const auto lemmas = values(lemma_column, Field::lemma), tag_values = values(tag_column, Field::tag),
               fines = values(fine_column, Field::fine), feats = values(feats_column, Field::feats);
    const auto tags = of_each(tables[tag_column], [&](auto text) { return static_cast<std::uint8_t>(names.tag(text)); });
    const auto labels = of_each(tables[label_column], [&](auto text) { return names.label(text); });

    const std::size_t rows = row_of_root(size(), offsets_.back()) - kPadding;
    rows_.assign(rows, after);
    tags_.assign(rows, kRootTag);
    heads_.assign(rows, -1);
    labels_.assign(rows, -1);
    for (std::size_t s = 0; s < size(); ++s) {
        check_stop(32 * static_cast<std::size_t>(offsets_[s + 1] - offsets_[s]));
        std::size_t at = row_of_root(s, offsets_[s]);
        rows_[at - 2] = rows_[at - 1] = before;
        rows_[at] = root;
        for (auto w = static_cast<std::size_t>(offsets_[s]); w < static_cast<std::size_t>(offsets_[s + 1]); ++w) {
            Row& row = rows_[++at];
            const auto form = id(form_column, w), lemma = id(lemma_column, w);
            row = forms[form];
            // A treebank without lemmas uses the word in lower case.
            set(row, Field::lemma, lemma == kNothing ? small_forms[form] : lemmas[lemma]);
            set(row, Field::tag, tag_values[id(tag_column, w)]);
            set(row, Field::fine, fines[id(fine_column, w)]);
            set(row, Field::feats, feats[id(feats_column, w)]);
            tags_[at] = tags[id(tag_column, w)];
            heads_[at] = columns.heads[w];
            labels_[at] = labels[id(label_column, w)];
        }
    }
}

Sentence Encoded::sentence(std::size_t s) const {
    const std::size_t root = row_of_root(s, offsets_[s]);
    return {static_cast<int>(offsets_[s + 1] - offsets_[s]), &rows_[root], &tags_[root], &heads_[root], &labels_[root],
            has_guide() ? &guide_heads_[root] : nullptr, has_clusters_};
}

template <class Put>
void Encoded::each_head(const std::int32_t* heads, std::int32_t lowest, Put&& put) const {
    for (std::size_t s = 0; s < size(); ++s) {
        const auto n = offsets_[s + 1] - offsets_[s];
        std::size_t at = row_of_root(s, offsets_[s]);
        for (std::int64_t d = 1; d <= n; ++d) {
            const std::int32_t head = heads[offsets_[s] + d - 1];
            if (head < lowest || head > n || head == d)
                throw InputError("sentence " + std::to_string(s) + ", word " + std::to_string(d) + ": expected a head of 0 to " +
                                 std::to_string(n) + " that is another word" + (lowest < 0 ? ", or -1" : "") + ", got " + std::to_string(head));
            put(++at, head);
        }
    }
}

void Encoded::set_heads(const std::int32_t* heads) {
    each_head(heads, -1, [&](std::size_t row, std::int32_t head) { heads_[row] = head; });
}

void Encoded::set_guide(const std::int32_t* heads, const std::int32_t* labels, const std::vector<std::string>& names) {
    const auto count = static_cast<std::int32_t>(names.size());
    for (std::size_t w = 0; w < words(); ++w)
        if (labels[w] < -1 || labels[w] >= count)
            throw InputError("guide, word " + std::to_string(w) + ": expected a label of -1 to " + std::to_string(count - 1) + ", got " + std::to_string(labels[w]));
    std::vector<std::int32_t> found(rows_.size(), -1);
    each_head(heads, 0, [&](std::size_t row, std::int32_t head) { found[row] = head; });
    guide_heads_ = std::move(found);
    std::vector<std::uint32_t> known;
    for (const auto& name : names) known.push_back(value(Field::guide, name));
    const std::uint32_t none = value(Field::guide, "\x01none");
    for (std::size_t row = 0; row < rows_.size(); ++row) {
        if (guide_heads_[row] < 0) continue;  // no word
        const std::int32_t label = *labels++;
        set(rows_[row], Field::guide, label < 0 ? none : known[static_cast<std::size_t>(label)]);
    }
}

}  // namespace arbora::feature
