// Sentences as ids: later steps read no strings.
//
// Each node has one 32-bit value per field, the hash of its text. A sentence of n words has n + 5 rows: two before the root, for
// offsets beyond the left end, the root, the words, and two after them. Each node also has a small tag id, for sets of tags between
// two words and for the labels allowed for a pair of tags. With another parser as guide, each word also has the head and the label
// that the guide gives (extractor.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "conll/columns.hpp"
#include "features/clusters.hpp"

namespace arbora::feature {

enum class Field : std::uint8_t { form, lemma, tag, fine, feats, prefix, suffix, ending, shape, guide, cluster, cluster4, cluster6, cluster8 };
inline constexpr int kFields = 9;  // of words' own texts: before guide, which is a label, and clusters
inline constexpr int kAllFields = 14;

using Row = std::array<std::uint32_t, kAllFields>;

// The fields of a word's cluster (clusters.hpp), with the number of branches that each reads.
struct ClusterField {
    Field field;
    int bits;
};
inline constexpr std::array<ClusterField, 4> kClusterFields = {{{Field::cluster, 15}, {Field::cluster4, 4}, {Field::cluster6, 6}, {Field::cluster8, 8}}};
inline constexpr bool is_cluster(Field field) { return field >= Field::cluster; }

inline constexpr int kPadding = 2;  // largest offset of an atom
inline constexpr int kOtherTag = 62;
inline constexpr int kRootTag = 63;
inline constexpr int kTags = 64;

// The row of a missing node: no sibling, no grandparent, no child.
const Row& absent_row();

// One sentence of a batch; node 0 is the root.
struct Sentence {
    int n = 0;
    const Row* rows = nullptr;           // rows[-2 .. n+2]
    const std::uint8_t* tags = nullptr;  // [0 .. n]
    const std::int32_t* heads = nullptr;   // gold, [1 .. n]; -1 not given
    const std::int32_t* labels = nullptr;  // gold, [1 .. n]; -1 not given or unknown
    const std::int32_t* guide_heads = nullptr;  // [0 .. n], -1 at the root; null: no guide
    bool has_clusters = false;

    const Row& row(int node, int offset) const { return node < 0 ? absent_row() : rows[node + offset]; }
};

// A model's vocabulary: coarse tags (ids 0, 1, ... in order; those past 61 share one), labels, and the columns that it ignores.
class Names {
public:
    // `ignored`: names of conll::text_columns other than the form's; InputError for others.
    Names(const std::vector<std::string>& tags, const std::vector<std::string>& labels, const std::vector<std::string>& ignored = {});
    int tag(std::string_view text) const;
    int label(std::string_view text) const;  // -1: unknown
    int labels() const { return static_cast<int>(labels_.size()); }
    bool ignores(std::size_t column) const { return ignored_ >> column & 1; }

private:
    std::unordered_map<std::string, int> tags_, labels_;
    std::uint32_t ignored_ = 0;
};

// A batch of sentences. Immutable once built; 66 bytes per word, 4 more with a guide.
class Encoded {
public:
    // O(words + distinct text). Features of clusters require clusters.
    Encoded(const conll::Columns& columns, const Names& names, const Clusters* clusters = nullptr);

    std::size_t size() const { return offsets_.size() - 1; }
    std::size_t words() const { return static_cast<std::size_t>(offsets_.back()); }
    const std::vector<std::int64_t>& offsets() const { return offsets_; }
    Sentence sentence(std::size_t s) const;
    // Replaces the gold heads: one per word, all sentences in a row; -1: none. Throws InputError for an invalid head.
    void set_heads(const std::int32_t* heads);
    // The guide's trees: a head and a label per word, all sentences in a row; labels are places in `names`, -1: none. Throws
    // InputError for an invalid head or label, and then changes nothing.
    void set_guide(const std::int32_t* heads, const std::int32_t* labels, const std::vector<std::string>& names);
    bool has_guide() const { return !guide_heads_.empty(); }

private:
    // put(row, head) of every word, in order. Throws InputError for a head below `lowest`, beyond the sentence or equal to the
    // word.
    template <class Put>
    void each_head(const std::int32_t* heads, std::int32_t lowest, Put&& put) const;

    static std::size_t row_of_root(std::size_t s, std::int64_t offset) {
        return static_cast<std::size_t>(offset) + s * (2 * kPadding + 1) + kPadding;
    }

    std::vector<std::int64_t> offsets_;
    std::vector<Row> rows_;
    std::vector<std::uint8_t> tags_;
    std::vector<std::int32_t> heads_, labels_;  // one per row
    std::vector<std::int32_t> guide_heads_;     // as heads_, labels_; empty: no guide
    bool has_clusters_;
};

}  // namespace arbora::feature
