// The network of a neural parser, forward only: from words to scores of arcs, labels and tags, or to the best of each.
//
//   x        word embedding, character features, rectified projection of the word vector, embeddings of given tags. The root has its
//            own vector.
//   s        bidirectional LSTM of several layers over root and words; or given, by an encoder elsewhere. Then there are no tensors of x
//            and of the LSTM, but one for the state of the root.
//   arcs     score(h, d) = dep(s_d)ᵀ U head(s_h) + uᵀ head(s_h) + b_c + H_c head(s_h) + D_c dep(s_d)
//            dep, head: one layer each, leaky rectifier; c: the class of the arc's length and direction (arcs.cpp);
//            b, H and D are the tensors lengths.bias, lengths.head and lengths.dep
//   siblings score(h, d, s) = sum over k of head''_k(s_h) dep''_k(s_d) sib''_k(s_s), where there are tensors sibling_*
//   labels   score(l | h, d) = L_l [head'(s_h) ∘ dep'(s_d); head'(s_h); dep'(s_d)] + c_l, tensors labels.weight and labels.bias
//   tags     one linear layer for each column over tags(s'_d), and one over x without given tags (tensors output.NAME.words);
//            s': the states of all LSTM layers, concatenated, or s if it is given; tags: one layer, leaky rectifier. If s is given
//            there is no layer over x.
//
// Multiplications of x become sums of rows: each distinct word is multiplied by the weights at most once per batch
// (type_cache.hpp), and each given tag once per network. O(words · size²), with O(n² · size) for the arcs of a sentence and O(n³ ·
// rank) for its siblings.
//
// Tensors are float32, or int8 with scales for their rows (weight_reader.hpp). The storage format does not determine the
// arithmetic: it is float32 unless `quantized` is set. Then each matrix of weights is kept in int8 with a scale for each output,
// and float32 tensors are rounded on loading; inputs of a layer are rounded row by row, and products are summed in int32
// (numeric/quantized.hpp). The product of heads and dependents that gives arcs, the sums of siblings, LSTM cells and embeddings
// stay float32. Plain AVX2 and SSE2 are faster in int8 than in float32 (docs/speed.md), so there is no fallback to float32
// arithmetic.
//
// No result depends on the number of threads or on the other sentences of a batch.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/memory.hpp"
#include "neural/layers.hpp"
#include "neural/type_cache.hpp"
#include "neural/weight_reader.hpp"
#include "neural/word_types.hpp"
#include "neural/workspaces.hpp"
#include "trees/problem.hpp"

namespace arbora::neural {

// Arcs to the left, none (unused) and to the right, by length; arcs.cpp has the bounds.
inline constexpr std::size_t kLengthClasses = 29;

// Sentences: their words are ids of distinct words, which have features.
struct Input {
    std::span<const std::int32_t> lengths;  // [sentences], in words
    std::span<const std::int32_t> types;    // [words], places in distinct
    WordTypes distinct;
    std::vector<std::span<const std::int32_t>> tags;  // [columns][words], rows of the columns' tables
};

// The states of the root and the words of each sentence, from the LSTM or another encoder.
struct States {
    std::vector<std::size_t> first;  // [sentences + 1], rows; the root's comes first
    std::shared_ptr<UnsetVector<float>> rows;  // [words + sentences, stride]: the states of all layers, the last at the end
    std::size_t stride = 0, last = 0;          // last: where the last layer's states begin in a row
    std::shared_ptr<UnsetVector<float>> type_rows;  // [distinct words, type_stride]: gates of the first layer, then scores of tags
    std::size_t type_stride = 0;
    std::vector<std::size_t> type_of;  // [words], the rows of their distinct words

    std::size_t sentences() const { return first.size() - 1; }
    std::size_t words() const { return first.back() - sentences(); }
    std::size_t nodes(std::size_t sentence) const { return first[sentence + 1] - first[sentence]; }
    // The number of the sentence's first word among all words.
    std::size_t first_word(std::size_t sentence) const { return first[sentence] - sentence; }
    const float* of(std::size_t row) const { return all_of(row) + last; }
    const float* all_of(std::size_t row) const { return rows->data() + row * stride; }
    const float* type_row(std::size_t word) const { return type_rows->data() + type_of[word] * type_stride; }
};

// The labels that arcs may have, [labels] each, nonzero if allowed; empty, or nothing allowed: all.
struct LabelMasks {
    std::span<const std::uint8_t> root, other;  // arcs from the root, all other arcs
};

class Network {
public:
    // `quantized`: multiply in int8. Throws InputError if tensors are missing, or their shapes or values are invalid.
    Network(const Tensors& tensors, VectorTable vectors, const std::vector<std::string>& outputs, bool quantized);

    std::size_t tag_columns() const { return tags_.size(); }
    std::size_t label_count() const { return label_count_; }
    std::size_t output_count() const { return outputs_.size(); }
    std::size_t output_size(std::size_t which) const { return outputs_[which].count; }
    std::size_t parameters() const { return parameters_; }
    bool has_siblings() const { return sibling_rank_ > 0; }

    // Whether it has an LSTM over words: then use `encode`, otherwise `given`.
    bool reads_words() const { return !layers_.empty(); }
    // Throws InputError if the input names rows that do not exist.
    States encode(const Input& input, int threads) const;
    // lengths [sentences], in words; rows [words, state_size()]: the states of all words.
    States given(std::span<const std::int32_t> lengths, std::span<const float> rows) const;
    std::size_t state_size() const { return state_size_; }

    // out[sentence] [n + 1, n + 1] gets the scores of arcs [head, dep]; column 0 and the diagonal are 0.
    void arcs(const States& states, int threads, std::span<double* const> out) const;
    // out[sentence] [n + 1, n + 1, n + 1] gets the scores of siblings [head, dep, sibling], 0 if there is no such arc; sibling ==
    // head means none.
    void siblings(const States& states, int threads, std::span<double* const> out) const;
    // out [words, labels]: the scores of the labels of the words' arcs from `heads` [words].
    void labels(const States& states, std::span<const std::int32_t> heads, int threads, float* out) const;
    // The same for one sentence.
    void labels_of(const States& states, std::size_t sentence, std::span<const std::int32_t> heads, float* out) const;
    // out [words, output_size(which)].
    void outputs(const States& states, std::size_t which, int threads, float* out) const;

    // out [words]: the heads of each sentence's best tree by its arcs, like `argmax`. given [words] or empty: required heads, -1
    // for any. Throws NoTreeError, which names the sentence, if those heads leave no tree.
    void trees(const States& states, Trees trees, Roots roots, std::span<const std::int32_t> given, int threads, std::int32_t* out) const;
    // out [words]: the best label of the words' arcs; ties go to the lowest.
    void best_labels(const States& states, std::span<const std::int32_t> heads, LabelMasks masks, int threads, std::int32_t* out) const;
    // out [output_count(), words]: the best tag in each column; ties go to the lowest.
    void best_outputs(const States& states, int threads, std::int32_t* out) const;

private:
    struct Direction {
        Dense input;
        Lstm lstm;
    };
    using Layer = std::array<Direction, 2>;  // forward, backward
    struct Output {
        std::size_t begin, count;  // among the scores of all columns
    };
    struct Group;

    void read_words(WeightReader& read, VectorTable vectors);
    std::vector<Matrix> read_layers(WeightReader& read);
    std::size_t state_layers() const { return std::max<std::size_t>(layers_.size(), 1); }
    std::vector<std::size_t> state_places(std::size_t layers = 1) const;
    void split_first_layer(WeightReader& read, const std::vector<Matrix>& tag_tables);
    void read_outputs(WeightReader& read, const std::vector<std::string>& names);
    std::size_t read_from_states(WeightReader& read, const std::string& name, std::size_t rows, Dense& made, std::size_t layers = 1) const;
    void read_arcs(WeightReader& read);
    void read_siblings(WeightReader& read);
    void read_labels(WeightReader& read);
    void quantize();

    States lay_out(std::span<const std::int32_t> lengths, std::size_t words) const;
    void check(const Input& input) const;
    void check(const States& states) const;
    void multiply_types(const Input& input, int threads, States& states) const;
    void run_lstm(const Input& input, std::span<const std::size_t> sentences, States& states, Workspace& workspace) const;
    const float* first_gates(const Input& input, const States& states, std::int64_t word, std::size_t begin, float* room) const;
    static UnsetVector<float> units(const Dense& layer, const States& states, std::span<const std::size_t> rows);
    template <class Visit>
    void score_arcs(const States& states, std::size_t begin, std::size_t end, Visit visit) const;
    struct Arcs;
    template <class Visit>
    void score_some_labels(const States& states, const Arcs& arcs, Visit visit) const;
    template <class Visit>
    void score_labels(const States& states, std::span<const std::int32_t> heads, bool with_root, int threads, Visit visit) const;
    template <class Visit>
    void score_outputs(const States& states, int threads, Visit visit) const;

    std::size_t parameters_ = 0, label_count_ = 0, sibling_rank_ = 0;
    std::size_t size_ = 0, width_ = 0;  // of one direction of the LSTM; padded
    std::size_t state_size_ = 0, state_width_ = 0;  // of one layer's states; padded
    std::vector<float> root_;  // [state_size_], where states are given
    WordTypeEncoder types_;
    Dense type_input_;  // gates of both directions, then scores of tags; where states are given, the biases of tags
    std::unique_ptr<TypeCache> cache_;
    std::unique_ptr<Workspaces> workspaces_;
    std::shared_ptr<ArrayPool> state_memory_;
    std::vector<float> root_gates_;
    std::vector<std::vector<float>> tags_;  // of each column, [values, gates]
    std::vector<Layer> layers_;
    Dense arc_head_, arc_dep_, label_head_, label_dep_, label_scores_;
    Dense arc_product_;  // of dependents: what heads are multiplied by, then terms by length
    Dense arc_lengths_;  // of heads: terms by length
    Dense sibling_head_, sibling_dep_, sibling_sib_;
    Dense output_units_, output_scores_;
    std::vector<Output> outputs_;
};

}  // namespace arbora::neural
