#include "neural/word_types.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "neural/weight_reader.hpp"

namespace arbora::neural {

WordTypeEncoder::WordTypeEncoder(WeightReader& read, VectorTable vectors) : vectors_(std::move(vectors)) {
    const Matrix words = read.matrix("word", 0, 0);
    word_rows_.assign(words.data, words.data + words.rows * words.columns);
    words_ = {word_rows_.data(), words.rows, words.columns};
    input_size_ = words.columns;
    read_convolutions(read);
    if (vectors_.size > 0) {
        const Matrix projection = read.matrix("projection", 0, vectors_.size);
        projection_ = Dense(projection, nullptr);
        projected_size_ = projection.rows;
        input_size_ += projected_size_;
        if (vectors_.values.size() != vectors_.scales.size() * vectors_.size || vectors_.scales.empty())
            reject("network: vectors: expected a scale for each row, got ", vectors_.scales.size());
        for (const float scale : vectors_.scales)
            if (!std::isfinite(scale)) reject("network: vectors: expected finite scales, got ", scale);
    }
}

void WordTypeEncoder::read_convolutions(WeightReader& read) {
    Shape shape;
    const float* embeddings = read.take("character", {0, 0}, &shape);
    characters_ = shape[0];
    const std::size_t size = shape[1];
    for (int i = 0; read.has("convolution" + std::to_string(i) + ".weight"); ++i) {
        const std::string name = "convolution" + std::to_string(i);
        const float* weights = read.take(name + ".weight", {0, size, 0}, &shape);  // [filters, embedding, places]
        Convolution made{shape[2], shape[0], {}, {}};
        if (made.width % 2 == 0) reject("network: ", name, ": expected an odd width, got ", made.width);
        const float* bias = read.take(name + ".bias", {made.filters});
        made.bias.assign(bias, bias + made.filters);
        made.table.resize(table_size(name, {characters_, made.width, made.filters}));
        for (std::size_t c = 0; c < characters_; ++c)
            for (std::size_t place = 0; place < made.width; ++place)
                for (std::size_t f = 0; f < made.filters; ++f) {
                    float sum = 0.0f;
                    for (std::size_t e = 0; e < size; ++e) sum += embeddings[c * size + e] * weights[(f * size + e) * made.width + place];
                    made.table[(c * made.width + place) * made.filters + f] = sum;
                }
        input_size_ += made.filters;
        convolutions_.push_back(std::move(made));
    }
}

void WordTypeEncoder::check(const WordTypes& types) const {
    check_rows(types.words, words_.rows, "words");
    check_rows(types.characters, characters_, "characters");
    if (types.vectors.size() != types.size() || types.ends.size() != types.size()) reject("vectors, ends: expected one per distinct word");
    check_rows(types.vectors, vectors_.size > 0 ? vectors_.scales.size() : 1, "vectors");
    std::int64_t last = 0;
    for (const std::int64_t end : types.ends) {
        if (end < last || static_cast<std::size_t>(end) > types.characters.size()) reject("ends: expected growing places among the characters, got ", end);
        last = end;
    }
}

// Characters include boundary marks; a convolution reads nothing beyond them.
void WordTypeEncoder::character_features(std::span<const std::int32_t> characters, float* out) const {
    std::vector<float> sums;
    for (const Convolution& convolution : convolutions_) {
        const std::size_t filters = convolution.filters, half = convolution.width / 2, n = characters.size();
        std::fill_n(out, filters, 0.0f);  // a rectified maximum is at least 0
        for (std::size_t at = 0; at < n; ++at) {
            sums.assign(convolution.bias.begin(), convolution.bias.end());
            for (std::size_t place = 0; place < convolution.width; ++place) {
                if (at + place < half || at + place - half >= n) continue;
                const auto c = static_cast<std::size_t>(characters[at + place - half]);
                const float* row = convolution.table.data() + (c * convolution.width + place) * filters;
                for (std::size_t f = 0; f < filters; ++f) sums[f] += row[f];
            }
            for (std::size_t f = 0; f < filters; ++f) out[f] = std::max(out[f], sums[f]);
        }
        out += filters;
    }
}

// The projected vectors, at the end of each row of `out` [chosen, input_size_].
void WordTypeEncoder::project(const WordTypes& types, std::span<const std::size_t> chosen, float* out) const {
    const std::size_t width = projection_.width(), size = vectors_.size;
    UnsetVector<float> vectors(chosen.size() * size), projected(chosen.size() * width);
    for (std::size_t r = 0; r < chosen.size(); ++r) {
        const auto row = static_cast<std::size_t>(types.vectors[chosen[r]]);
        for (std::size_t i = 0; i < size; ++i) vectors[r * size + i] = vectors_.scales[row] * static_cast<float>(vectors_.values[row * size + i]);
    }
    projection_.rectified(vectors.data(), size, chosen.size(), projected.data(), width);
    for (std::size_t r = 0; r < chosen.size(); ++r)
        std::copy_n(projected.data() + r * width, projected_size_, out + (r + 1) * input_size_ - projected_size_);
}

UnsetVector<float> WordTypeEncoder::encode(const WordTypes& types, std::span<const std::size_t> chosen) const {
    UnsetVector<float> x(chosen.size() * input_size_);
    for (std::size_t r = 0; r < chosen.size(); ++r) {
        const float* word = words_.row(static_cast<std::size_t>(types.words[chosen[r]]));
        character_features(types.characters_of(chosen[r]), std::copy_n(word, words_.columns, x.data() + r * input_size_));
    }
    if (vectors_.size > 0) project(types, chosen, x.data());
    return x;
}

}  // namespace arbora::neural
