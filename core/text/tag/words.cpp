#include "text/tag/words.hpp"

#include "base/interrupt.hpp"

#include <array>
#include <span>
#include <string_view>

namespace arbora::tag {

namespace {

enum Field : std::uint8_t {
    there,  // whether there is a word at all
    form, lower,
    known,  // the form in small letters, if the lexicon has it
    suffix1, suffix2, suffix3, suffix4, suffix5, suffix6, prefix1, prefix2, prefix3, prefix4,
    shape, short_shape,
    traits,   // hyphens and digits
    classes,  // of the lexicon
    upos, xpos, feats,
    cluster, cluster4, cluster6, cluster8,  // all branches of the word's cluster, and the first ones
    field_count,
};

using Row = std::array<std::uint32_t, field_count>;
constexpr int kPadding = 2;
constexpr int kSuffixes = 6, kPrefixes = 4;

struct Atom {
    Field field = there;
    int offset = 0;
};

struct Template {
    int count = 0;
    std::array<Atom, 3> atoms{};
    constexpr Template(Atom a) : count(1), atoms{a, {}, {}} {}
    constexpr Template(Atom a, Atom b) : count(2), atoms{a, b, {}} {}
    constexpr Template(Atom a, Atom b, Atom c) : count(3), atoms{a, b, c} {}
};

constexpr Atom at(Field field, int offset = 0) { return {field, offset}; }

constexpr Template kUpos[] = {
    at(there), at(form), at(lower),
    at(suffix1), at(suffix2), at(suffix3), at(suffix4), at(suffix5), at(suffix6),
    at(prefix1), at(prefix2), at(prefix3), at(prefix4),
    at(short_shape), at(shape), at(traits), {at(short_shape), at(there, -1)},
    at(lower, -1), at(lower, 1), at(lower, -2), at(lower, 2),
    {at(lower, -1), at(lower)}, {at(lower), at(lower, 1)}, {at(lower, -1), at(lower, 1)},
    at(suffix3, -1), at(suffix3, 1), at(suffix2, -1), at(suffix2, 1), {at(suffix3), at(suffix3, 1)}, {at(suffix3, -1), at(suffix3)},
    at(classes), at(classes, -1), at(classes, 1), at(classes, -2), at(classes, 2),
    {at(classes), at(classes, 1)}, {at(classes, -1), at(classes)}, {at(classes, -1), at(classes, 1)},
    {at(classes, 1), at(classes, 2)}, {at(classes, -2), at(classes, -1)}, {at(classes, -1), at(classes), at(classes, 1)},
    {at(short_shape), at(short_shape, 1)}, {at(short_shape, -1), at(short_shape)}, {at(short_shape), at(suffix3)},
};

// Every feature holds the word's own UPOS: each tag has labels of its own.
constexpr Template kMorph[] = {
    at(upos), {at(upos), at(form)}, {at(upos), at(lower)}, {at(upos), at(known)},
    {at(upos), at(suffix1)}, {at(upos), at(suffix2)}, {at(upos), at(suffix3)}, {at(upos), at(suffix4)}, {at(upos), at(suffix5)},
    {at(upos), at(prefix1)}, {at(upos), at(prefix2)}, {at(upos), at(prefix3)},
    {at(upos), at(short_shape)}, {at(upos), at(traits)}, {at(upos), at(classes)},
    {at(upos), at(lower, -1)}, {at(upos), at(lower, 1)}, {at(upos), at(lower, -2)}, {at(upos), at(lower, 2)},
    {at(upos), at(suffix2, -1)}, {at(upos), at(suffix3, -1)}, {at(upos), at(suffix2, 1)}, {at(upos), at(suffix3, 1)},
    {at(upos), at(upos, -1)}, {at(upos), at(upos, 1)}, {at(upos), at(upos, -2), at(upos, -1)}, {at(upos), at(upos, 1), at(upos, 2)},
    {at(upos), at(upos, -1), at(upos, 1)}, {at(upos), at(upos, -1), at(suffix2)}, {at(upos), at(upos, 1), at(suffix2)},
    {at(upos), at(lower, -1), at(suffix2)}, {at(upos), at(lower, -1), at(lower)}, {at(upos), at(lower), at(lower, 1)},
    {at(upos), at(suffix3, -1), at(suffix3)},
};

// Cluster features: upos-v2 and morph-v2 have them after the templates of the first versions.
constexpr Template kUposClusters[] = {
    at(cluster), at(cluster8), at(cluster6), at(cluster4), at(cluster, -1), at(cluster, 1), at(cluster8, -1), at(cluster8, 1), at(cluster8, -2), at(cluster8, 2),
    {at(cluster8, -1), at(cluster8)}, {at(cluster8), at(cluster8, 1)}, {at(cluster8, -1), at(cluster8, 1)}, {at(cluster6, -1), at(cluster6), at(cluster6, 1)},
    {at(cluster), at(short_shape)}, {at(cluster8), at(suffix2)}, {at(cluster8), at(classes, -1)}, {at(cluster8), at(classes, 1)}, {at(classes), at(cluster8, 1)}, {at(classes), at(cluster8, -1)},
};

constexpr Template kMorphClusters[] = {
    {at(upos), at(cluster)}, {at(upos), at(cluster8)}, {at(upos), at(cluster6)}, {at(upos), at(cluster8, -1)}, {at(upos), at(cluster8, 1)},
    {at(upos), at(cluster8), at(suffix2)},
};

constexpr Template kLemma[] = {
    at(upos), {at(upos), at(form)}, {at(upos), at(lower)}, {at(upos), at(known)},
    {at(upos), at(known), at(feats)}, {at(upos), at(known), at(xpos)},
    {at(upos), at(suffix1), at(feats)}, {at(upos), at(suffix2), at(feats)}, {at(upos), at(suffix3), at(feats)},
    {at(upos), at(suffix4), at(feats)}, {at(upos), at(suffix5), at(feats)}, {at(upos), at(suffix6), at(feats)},
    {at(upos), at(suffix2), at(xpos)}, {at(upos), at(suffix3), at(xpos)}, {at(upos), at(suffix4), at(xpos)},
    {at(upos), at(suffix2)}, {at(upos), at(suffix3)}, {at(upos), at(suffix4)}, {at(upos), at(suffix5)},
    {at(upos), at(prefix1)}, {at(upos), at(prefix2)}, {at(upos), at(prefix3)},
    {at(upos), at(feats)}, {at(upos), at(xpos)}, {at(upos), at(short_shape)}, {at(upos), at(shape)},
    {at(upos), at(short_shape), at(there, -1)}, {at(upos), at(short_shape), at(short_shape, 1)},
};

std::vector<Template> joined(std::span<const Template> first, std::span<const Template> more) {
    std::vector<Template> all(first.begin(), first.end());
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

std::vector<Template> templates_of(Set set) {
    switch (set) {
        case Set::upos_v1: return joined(kUpos, {});
        case Set::upos_v2: return joined(kUpos, kUposClusters);
        case Set::morph_v1: return joined(kMorph, {});
        case Set::morph_v2: return joined(kMorph, kMorphClusters);
        case Set::lemma_v1: return joined(kLemma, {});
    }
    throw InputError("set: expected a set of features");
}

std::uint32_t value(Field field, std::string_view text) {
    return static_cast<std::uint32_t>(feature::hash_text(text, std::uint64_t{0x74616700} + field));
}

// A place outside the sentence. No text of a treebank contains this control character, so no word has these values.
Row special_row(std::string_view name) {
    Row row;
    for (int f = 0; f < field_count; ++f) row[static_cast<std::size_t>(f)] = value(static_cast<Field>(f), std::string("\x01").append(name));
    return row;
}

std::string traits_of(std::string_view text) {
    const bool hyphen = text.find('-') != std::string_view::npos, digit = text.find_first_of("0123456789") != std::string_view::npos;
    return {hyphen ? '-' : ' ', digit ? 'd' : ' '};
}

// All values that a form alone determines; lexicon values come later.
Row form_row(std::string_view text) {
    const std::string small = text::lowered(text);
    const std::size_t length = text::characters(small);
    const auto part = [&](std::size_t count, std::string_view piece) { return length < count ? std::string_view() : piece; };
    Row row{};
    row[there] = value(there, "");
    row[form] = value(form, text);
    row[lower] = value(lower, small);
    for (std::size_t k = 1; k <= kSuffixes; ++k)
        row[suffix1 + k - 1] = value(static_cast<Field>(suffix1 + k - 1), part(k, text::last_characters(small, k)));
    for (std::size_t k = 1; k <= kPrefixes; ++k)
        row[prefix1 + k - 1] = value(static_cast<Field>(prefix1 + k - 1), part(k, text::first_characters(small, k)));
    row[shape] = value(shape, text::shape(text));
    row[short_shape] = value(short_shape, text::short_shape(text));
    row[traits] = value(traits, traits_of(text));
    return row;
}

void set_clusters(Row& row, feature::ClusterCode code) {
    constexpr std::pair<Field, int> fields[] = {{cluster, 15}, {cluster4, 4}, {cluster6, 6}, {cluster8, 8}};
    for (const auto& [field, bits] : fields) row[field] = feature::number_value((std::uint64_t{0x74616700} + field) << 32, feature::cluster_prefix(code, bits));
}

std::vector<std::uint32_t> values(const conll::StringTable& table, Field field) {
    std::vector<std::uint32_t> result(table.size());
    for (std::size_t id = 0; id < table.size(); ++id) result[id] = value(field, table[id]);
    return result;
}

// The rows of one sentence and its neighbours, from tables of distinct strings.
class Rows {
public:
    Rows(const conll::Columns& columns, const Lexicon& lexicon, const feature::Clusters* clusters, const std::int32_t* own_tags)
        : columns_(&columns), lexicon_(&lexicon), own_tags_(own_tags), upos_(values(columns.tables[upos_column], upos)),
          xpos_(values(columns.tables[xpos_column], xpos)), feats_(values(columns.tables[feats_column], feats)) {
        const auto& table = columns.tables[form_column];
        for (std::size_t id = 0; id < table.size(); ++id) {
            forms_.push_back(form_row(table[id]));
            keys_.push_back(lexicon_key(table[id]));
            if (clusters != nullptr) set_clusters(forms_.back(), clusters->find(table[id]));
            learn(forms_.back(), lexicon.find(keys_.back()));
        }
    }

    // rows[kPadding] is the first word.
    void fill(std::size_t first, std::size_t last, std::vector<Row>& rows) const {
        rows.assign(last - first + 2 * kPadding, after_);
        for (int i = 0; i < kPadding; ++i) rows[static_cast<std::size_t>(i)] = before_;
        for (std::size_t w = first; w < last; ++w) {
            Row& row = rows[w - first + kPadding];
            const auto id = static_cast<std::size_t>(columns_->ids[form_column][w]);
            row = forms_[id];
            if (own_tags_ != nullptr) learn(row, lexicon_->find_without(keys_[id], own_tags_[w]));
            row[upos] = upos_[static_cast<std::size_t>(columns_->ids[upos_column][w])];
            row[xpos] = xpos_[static_cast<std::size_t>(columns_->ids[xpos_column][w])];
            row[feats] = feats_[static_cast<std::size_t>(columns_->ids[feats_column][w])];
        }
    }

private:
    static void learn(Row& row, std::uint32_t class_of_word) {
        row[classes] = class_of_word;
        row[known] = class_of_word == kUnknownClass ? kUnknownClass : row[lower];
    }

    const conll::Columns* columns_;
    const Lexicon* lexicon_;
    const std::int32_t* own_tags_;
    std::vector<std::uint32_t> upos_, xpos_, feats_, keys_;
    std::vector<Row> forms_;
    Row before_ = special_row("before"), after_ = special_row("after");
};

// A different odd factor for each atom of each template.
std::uint32_t factor(std::size_t number, int atom) {
    return static_cast<std::uint32_t>(feature::mix(number * 4 + static_cast<std::size_t>(atom) + 1)) | 1U;
}

struct Compiled {
    struct Term {
        int offset;
        Field field;
        std::uint32_t factor;
    };
    std::vector<Term> terms;        // of all templates in a row
    std::vector<int> counts;        // of each template
    std::vector<std::uint32_t> bases;

    explicit Compiled(std::span<const Template> templates) {
        for (std::size_t t = 0; t < templates.size(); ++t) {
            counts.push_back(templates[t].count);
            bases.push_back(static_cast<std::uint32_t>(feature::mix(t + 1)));
            for (int a = 0; a < templates[t].count; ++a) {
                const Atom atom = templates[t].atoms[static_cast<std::size_t>(a)];
                terms.push_back({atom.offset, atom.field, factor(t, a)});
            }
        }
    }

    // `row` is the word's, those next to it its neighbours'. The high bits of sums are mixed best.
    void places(const Row* row, int shift, std::uint32_t* out) const {
        const Term* term = terms.data();
        for (std::size_t t = 0; t < counts.size(); ++t) {
            std::uint32_t sum = bases[t];
            for (int a = 0; a < counts[t]; ++a, ++term) sum += row[term->offset][term->field] * term->factor;
            out[t] = sum * 0x9e3779b1U >> shift;
        }
    }
};

}  // namespace

Set set_of(const std::string& name) {
    if (name == "upos-v1") return Set::upos_v1;
    if (name == "upos-v2") return Set::upos_v2;
    if (name == "morph-v1") return Set::morph_v1;
    if (name == "morph-v2") return Set::morph_v2;
    if (name == "lemma-v1") return Set::lemma_v1;
    throw InputError("set: expected upos-v1, upos-v2, morph-v1, morph-v2 or lemma-v1, got '" + name + "'");
}

sequence::Batch encode(const conll::Columns& columns, Set set, const Lexicon& lexicon, const feature::Clusters* clusters, const std::int32_t* own_tags, int bits) {
    if ((set == Set::upos_v2 || set == Set::morph_v2) && clusters == nullptr) throw InputError("clusters: these features need word clusters, got none");
    if (bits < sequence::kSmallestTable || bits > sequence::kLargestTable)
        throw InputError("bits: expected " + std::to_string(sequence::kSmallestTable) + " to " + std::to_string(sequence::kLargestTable) + ", got " + std::to_string(bits));
    const Compiled compiled(templates_of(set));
    const Rows source(columns, lexicon, clusters, own_tags);
    sequence::Batch batch;
    batch.features = static_cast<int>(compiled.counts.size());
    batch.offsets = columns.sentence_offsets;
    batch.places.resize(columns.word_count() * compiled.counts.size());
    std::vector<Row> rows;
    std::uint32_t* out = batch.places.data();
    for (std::size_t s = 0; s < columns.sentence_count(); ++s) {
        const auto first = static_cast<std::size_t>(columns.sentence_offsets[s]), last = static_cast<std::size_t>(columns.sentence_offsets[s + 1]);
        source.fill(first, last, rows);
        for (std::size_t w = first; w < last; ++w, out += compiled.counts.size()) {
            check_stop(256);
            compiled.places(&rows[w - first + kPadding], 32 - bits, out);
        }
    }
    return batch;
}

}  // namespace arbora::tag
