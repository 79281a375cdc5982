// The network of a neural parser, forward only: from words to scores of arcs, labels and tags.
//
//   x      word embedding, character features, projected word vector, embeddings of given tags; the root has a vector of its own
//   s      bidirectional LSTM of several layers over root and words
//   arcs   score(h, d) = dep(s_d)ᵀ U head(s_h) + uᵀ head(s_h)                      dep, head: one layer each, leaky rectifier
//   labels score(l | h, d) = [head'(s_h); 1]ᵀ L_l [dep'(s_d); 1]
//   tags   one linear layer for each column
//
// Of the first layer's inputs only a sum of rows is left: each distinct word is multiplied by the weights once per batch, and so is
// each tag once per network. O(words · size²), with O(n² · size) for the arcs of a sentence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/memory.hpp"
#include "neural/layers.hpp"

namespace arbora::neural {

// An array of the caller's, row by row.
struct Tensor {
    std::vector<std::size_t> shape;
    const float* data = nullptr;
};
using Tensors = std::map<std::string, Tensor, std::less<>>;

// Fixed word vectors, one byte per number: row r is scales[r] · values[r]. Row 0 stands for no vector.
struct VectorTable {
    std::vector<std::int8_t> values;
    std::vector<float> scales;
    std::size_t size = 0;  // numbers per row
};

// Sentences: their words are numbers of distinct words, which have features.
struct Input {
    std::span<const std::int32_t> lengths;      // [sentences], in words
    std::span<const std::int32_t> types;        // [words], places in the following two
    std::span<const std::int32_t> words, vectors;  // [distinct words], rows of the tables; 0: unknown, none
    std::span<const std::int32_t> characters;   // of all distinct words, one after the other
    std::span<const std::int64_t> ends;         // [distinct words], where each one's characters end
    std::vector<std::span<const std::int32_t>> tags;  // [columns][words], rows of the columns' tables
};

// What the LSTM says of the root and the words of each sentence.
struct States {
    std::vector<std::size_t> first;  // [sentences + 1], rows; the root's comes first
    LargeVector<float> rows;         // [words + sentences, stride]
    std::size_t stride = 0;

    std::size_t sentences() const { return first.size() - 1; }
    std::size_t nodes(std::size_t sentence) const { return first[sentence + 1] - first[sentence]; }
    const float* of(std::size_t row) const { return rows.data() + row * stride; }
};

class WeightReader;

class Network {
public:
    // InputError where tensors are missing, or their shapes or values do not fit.
    Network(const Tensors& tensors, VectorTable vectors, const std::vector<std::string>& outputs);

    std::size_t tag_columns() const { return tags_.size(); }
    std::size_t label_count() const { return label_count_; }
    std::size_t output_size(std::size_t which) const { return output_sizes_.at(which); }
    std::size_t parameters() const { return parameters_; }

    // InputError where the input names rows that do not exist. The result does not depend on `threads`.
    States encode(const Input& input, int threads) const;
    // target(sentence) [n + 1, n + 1] gets the scores of arcs [head, dep]; column 0 and the diagonal are 0.
    void arcs(const States& states, int threads, const std::function<double*(std::size_t)>& target) const;
    // out [words, labels]: the scores of the labels of the words' arcs from `heads` [words].
    void labels(const States& states, std::span<const std::int32_t> heads, int threads, float* out) const;
    // out [words, output_size(which)].
    void outputs(const States& states, std::size_t which, int threads, float* out) const;

private:
    struct Convolution {
        std::size_t width = 0, filters = 0;
        std::vector<float> table;  // [characters, width, filters]: what a character adds at each place
        std::vector<float> bias;
    };
    struct Layer {
        Dense input;  // both directions
        Lstm forward, backward;
    };

    void read_words(WeightReader& read);
    std::vector<Matrix> read_layers(WeightReader& read);
    std::vector<std::size_t> state_places() const;
    void split_first_layer(WeightReader& read, const std::vector<Matrix>& tag_tables);
    void read_outputs(WeightReader& read, const std::vector<std::string>& outputs);

    void character_features(std::span<const std::int32_t> characters, float* out) const;
    LargeVector<float> type_gates(const Input& input, int threads) const;

    std::size_t parameters_ = 0, label_count_ = 0, size_ = 0, width_ = 0;
    Matrix words_;
    std::vector<float> word_rows_;
    VectorTable vectors_;
    Dense projection_;
    std::size_t characters_ = 0;
    std::vector<Convolution> convolutions_;
    std::size_t type_size_ = 0;  // inputs that depend on the word alone
    Dense type_input_;
    std::vector<float> root_gates_;
    std::vector<std::vector<float>> tags_;  // of each column, [values, gates]
    std::vector<Layer> layers_;
    Dense arc_head_, arc_dep_, arc_product_, arc_bias_, label_head_, label_dep_, label_product_;
    std::vector<Dense> outputs_;
    std::vector<std::size_t> output_sizes_;
};

}  // namespace arbora::neural
