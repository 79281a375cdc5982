// The part of a network's input that depends on the word alone: its embedding, character features and the rectified projection of
// its vector, concatenated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/errors.hpp"
#include "neural/layers.hpp"

namespace arbora::neural {

class WeightReader;

// Throws InputError unless all numbers are below `count`.
inline void check_rows(std::span<const std::int32_t> rows, std::size_t count, const char* what) {
    for (const std::int32_t row : rows)
        if (row < 0 || static_cast<std::size_t>(row) >= count) reject(what, ": expected numbers below ", count, ", got ", row);
}

// Fixed word vectors, one byte per number: row r is scales[r] · values[r]. Row 0 means no vector.
struct VectorTable {
    std::vector<std::int8_t> values;
    std::vector<float> scales;
    std::size_t size = 0;  // numbers per row
};

// Distinct words and their features.
struct WordTypes {
    std::span<const std::int32_t> words, vectors;  // [types], rows of the tables; 0: unknown, none
    std::span<const std::int32_t> characters;      // of all types, one after the other
    std::span<const std::int64_t> ends;            // [types], where each one's characters end

    std::size_t size() const { return words.size(); }
    std::span<const std::int32_t> characters_of(std::size_t type) const {
        const auto from = static_cast<std::size_t>(type == 0 ? 0 : ends[type - 1]);
        return characters.subspan(from, static_cast<std::size_t>(ends[type]) - from);
    }
};

class WordTypeEncoder {
public:
    WordTypeEncoder() = default;
    WordTypeEncoder(WeightReader& read, VectorTable vectors);

    void quantize() { projection_.quantize(); }

    // Numbers per word.
    std::size_t size() const { return input_size_; }

    // Throws InputError if types name rows that do not exist.
    void check(const WordTypes& types) const;
    // The chosen types, [chosen, size()].
    UnsetVector<float> encode(const WordTypes& types, std::span<const std::size_t> chosen) const;

private:
    struct Convolution {
        std::size_t width = 0, filters = 0;
        std::vector<float> table;  // [characters, width, filters]: what a character adds at each place
        std::vector<float> bias;
    };

    void read_convolutions(WeightReader& read);
    void character_features(std::span<const std::int32_t> characters, float* out) const;
    void project(const WordTypes& types, std::span<const std::size_t> chosen, float* out) const;

    Matrix words_;
    std::vector<float> word_rows_;
    std::size_t characters_ = 0;
    std::vector<Convolution> convolutions_;
    VectorTable vectors_;
    Dense projection_;
    std::size_t projected_size_ = 0, input_size_ = 0;
};

}  // namespace arbora::neural
