// A label for each word of a sentence: words have features, labels have weights for each, and neighbours may have a say.
//
// A feature is a place in one table; the weights of labels 0, 1, 2, ... for it are those from there on, so that the scores of all
// labels of a word are sums of short rows. Rows of different features may overlap, as hashed features do. Behind the table stand
// the weights of pairs of neighbouring labels, if the model has such.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace arbora::sequence {

inline constexpr int kSmallestTable = 8, kLargestTable = 26;  // bits
inline constexpr int kMostLabels = 1 << 14;

struct Model {
    int bits = 0;            // the places of features are below 2^bits
    int labels = 0;          // the most that a word may have
    bool transitions = false;

    std::size_t rows() const { return (std::size_t{1} << bits) + static_cast<std::size_t>(labels); }
    std::size_t weight_count() const { return rows() + (transitions ? static_cast<std::size_t>(labels + 1) * static_cast<std::size_t>(labels) : 0); }
    // The weight of `label` after `before`, -1 at the start of a sentence.
    std::size_t transition(int before, int label) const {
        return rows() + static_cast<std::size_t>(before < 0 ? labels : before) * static_cast<std::size_t>(labels) + static_cast<std::size_t>(label);
    }
};

// One sentence of a batch.
struct Sentence {
    int n = 0;
    int features = 0;                       // per word
    const std::uint32_t* places = nullptr;  // [word, feature]
    const std::int32_t* labels = nullptr;   // how many each word may have: 0 .. labels - 1
    const std::int32_t* gold = nullptr;     // the right ones; -1: not known

    const std::uint32_t* features_of(int word) const { return places + static_cast<std::size_t>(word) * static_cast<std::size_t>(features); }
};

// Many sentences. Immutable once built; 4 bytes per feature of a word.
struct Batch {
    int features = 0;
    std::vector<std::int64_t> offsets{0};  // of sentences, in words
    std::vector<std::uint32_t> places;
    std::vector<std::int32_t> labels, gold;  // one per word

    std::size_t size() const { return offsets.size() - 1; }
    std::size_t words() const { return labels.size(); }
    Sentence sentence(std::size_t s) const;
};

// InputError unless all places and labels of the batch are the model's; with transitions all words have all labels.
void check(const Model& model, const Batch& batch);

}  // namespace arbora::sequence
