// Sums and maxima over all labellings of one sentence. Without transitions words are independent: O(labels) each. With them a
// labelling is a path: Viterbi and forward-backward, O(labels²) per word [rabiner-1989].
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/interrupt.hpp"
#include "numeric/log_sum.hpp"

namespace arbora::sequence {

// A label for each word of a sentence. Words have features, labels have weights for each, and pairs of neighbouring labels may have
// weights.
//
// A feature is a place in one table. Its weights for labels 0, 1, 2, ... start at that place, so the scores of all labels of a word
// are sums of short rows. Rows of different features may overlap, as hashed features do. The weights of pairs of neighbouring
// labels, if any, come after the table.
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
    Sentence sentence(std::size_t s) const {
        const auto first = static_cast<std::size_t>(offsets[s]);
        return {static_cast<int>(offsets[s + 1] - offsets[s]), features, places.data() + first * static_cast<std::size_t>(features),
                labels.data() + first, gold.data() + first};
    }
};

inline constexpr double kNever = -std::numeric_limits<double>::infinity();

class Chain {
public:
    explicit Chain(const Model& model) : model_(&model) {}

    // Call first. w is scale · weights; `cost`: added to every label other than the gold one.
    void score(const Sentence& sentence, const float* weights, double scale, bool cost) {
        sentence_ = sentence;
        weights_ = weights;
        scale_ = scale;
        width_ = static_cast<std::size_t>(model_->labels);
        scores_.assign(static_cast<std::size_t>(sentence.n) * width_, kNever);
        row_.resize(width_);
        for (int word = 0; word < sentence.n; ++word) {
            const auto count = static_cast<std::size_t>(sentence.labels[word]);
            check_stop(count * static_cast<std::size_t>(sentence.features));
            std::fill_n(row_.data(), count, 0.0F);
            const std::uint32_t* places = sentence.features_of(word);
            for (int f = 0; f < sentence.features; ++f) {
                const float* row = weights + places[f];
                for (std::size_t label = 0; label < count; ++label) row_[label] += row[label];
            }
            double* scores = &scores_[index(word, 0)];
            for (std::size_t label = 0; label < count; ++label) scores[label] = scale * row_[label];
            const int gold = sentence.gold[word];
            if (cost && gold >= 0)
                for (std::size_t label = 0; label < count; ++label) scores[label] += static_cast<int>(label) != gold ? 1.0 : 0.0;
        }
    }

    // The labelling with the highest score; ties go to the lowest labels, last word first.
    std::span<const std::int32_t> best() {
        path_.resize(static_cast<std::size_t>(sentence_.n));
        if (model_->transitions) {
            find_path();
        } else {
            for (int word = 0; word < sentence_.n; ++word) {
                const double* scores = &scores_[index(word, 0)];
                path_[static_cast<std::size_t>(word)] = static_cast<std::int32_t>(std::max_element(scores, scores + sentence_.labels[word]) - scores);
            }
        }
        return path_;
    }

    // log of the sum of exp(score) over all labellings; afterwards the probabilities of labels, and of pairs of neighbours.
    double sum() {
        probabilities_.assign(scores_.size(), 0.0);
        log_sum_ = model_->transitions ? path_sum() : independent_sum();
        return log_sum_;
    }
    // The same over the labellings that have the known labels; call `sum` first.
    double sum_of_known() {
        for (int word = 0; word < sentence_.n; ++word) {
            if (const int gold = sentence_.gold[word]; gold >= 0)
                for (int label = 0; label < sentence_.labels[word]; ++label)
                    if (label != gold) scores_[index(word, label)] = kNever;
        }
        return sum();
    }
    double probability(int word, int label) const { return probabilities_[index(word, label)]; }
    // The probability of `label` at `word` after `before` at the previous word.
    double pair_probability(int word, int before, int label) const {
        return std::exp(forward_[index(word - 1, before)] + transition(before, label) + scores_[index(word, label)] + backward_[index(word, label)] - log_sum_);
    }

private:
    std::size_t index(int word, int label) const { return static_cast<std::size_t>(word) * width_ + static_cast<std::size_t>(label); }
    double transition(int before, int label) const { return scale_ * weights_[model_->transition(before, label)]; }
    double independent_sum() {
        double total = 0.0;
        for (int word = 0; word < sentence_.n; ++word) {
            const double* scores = &scores_[index(word, 0)];
            const double sum = log_sum_exp({scores, scores + sentence_.labels[word]});
            for (int label = 0; label < sentence_.labels[word]; ++label) probabilities_[index(word, label)] = std::exp(scores[label] - sum);
            total += sum;
        }
        return total;
    }
    double path_sum() {
        const int n = sentence_.n, count = model_->labels;
        if (n == 0) return 0.0;
        forward_ = scores_;
        backward_.assign(scores_.size(), 0.0);
        std::vector<double> terms(width_);
        for (int label = 0; label < count; ++label) forward_[index(0, label)] += transition(-1, label);
        for (int word = 1; word < n; ++word) {
            check_stop(16 * width_ * width_);
            for (int label = 0; label < count; ++label) {
                for (int before = 0; before < count; ++before)
                    terms[static_cast<std::size_t>(before)] = forward_[index(word - 1, before)] + transition(before, label);
                forward_[index(word, label)] += log_sum_exp(terms);
            }
        }
        for (int word = n - 1; word-- > 0;) {
            check_stop(16 * width_ * width_);
            for (int label = 0; label < count; ++label) {
                for (int after = 0; after < count; ++after)
                    terms[static_cast<std::size_t>(after)] = transition(label, after) + scores_[index(word + 1, after)] + backward_[index(word + 1, after)];
                backward_[index(word, label)] = log_sum_exp(terms);
            }
        }
        const double* last = &forward_[index(n - 1, 0)];
        const double total = log_sum_exp({last, last + count});
        for (std::size_t i = 0; i < scores_.size(); ++i) probabilities_[i] = std::exp(forward_[i] + backward_[i] - total);
        return total;
    }
    void find_path() {
        const int n = sentence_.n, count = model_->labels;
        if (n == 0) return;
        before_.resize(scores_.size());
        forward_ = scores_;
        for (int label = 0; label < count; ++label) forward_[index(0, label)] += transition(-1, label);
        for (int word = 1; word < n; ++word) {
            check_stop(width_ * width_);
            double* now = &forward_[index(word, 0)];
            std::int32_t* from = &before_[index(word, 0)];
            const double* last = &forward_[index(word - 1, 0)];
            reached_.assign(width_, kNever);
            for (int before = 0; before < count; ++before) {
                const float* weights = weights_ + model_->transition(before, 0);
                for (int label = 0; label < count; ++label) {
                    const double score = last[before] + scale_ * weights[label];
                    double& best = reached_[static_cast<std::size_t>(label)];
                    from[label] = score > best ? before : from[label];
                    best = score > best ? score : best;
                }
            }
            for (int label = 0; label < count; ++label) now[label] += reached_[static_cast<std::size_t>(label)];
        }
        const double* last = &forward_[index(n - 1, 0)];
        auto label = static_cast<std::int32_t>(std::max_element(last, last + count) - last);
        for (int word = n - 1; word >= 0; --word) {
            path_[static_cast<std::size_t>(word)] = label;
            if (word > 0) label = before_[index(word, label)];
        }
    }

    const Model* model_;
    Sentence sentence_;
    const float* weights_ = nullptr;
    double scale_ = 1.0;
    std::size_t width_ = 0;
    double log_sum_ = 0.0;
    std::vector<float> row_;
    std::vector<double> scores_, forward_, backward_, reached_, probabilities_;
    std::vector<std::int32_t> before_, path_;
};

}  // namespace arbora::sequence
