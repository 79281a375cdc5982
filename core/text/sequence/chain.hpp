// Sums and maxima over all labellings of one sentence. Without transitions words are independent: O(labels) each. With them a
// labelling is a path: Viterbi and forward-backward, O(labels²) per word [rabiner-1989]. Where there are many labels, Viterbi leaves out
// those that can be on no best path, and takes O(labels + kept²) per word.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
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
inline constexpr int kManyLabels = 64;

// For each label, the least and the most that the transitions into it and out of it can add to a path. O(labels²).
//
// If a path goes through `label` at some word, taking `other` there instead changes only this word's score and two transitions. So `label`
// is on no best path if score(label) + most[label] < score(other) + least[other] for any other.
struct TransitionBounds {
    std::vector<double> least, most;

    TransitionBounds(const Model& model, const float* weights, double scale) {
        const auto labels = static_cast<std::size_t>(model.labels);
        const std::vector<float> nothing(labels, 0.0F);  // no transition follows the last word
        std::vector<float> into_least(weights + model.transition(-1, 0), weights + model.transition(-1, 0) + labels), into_most = into_least;
        std::vector<float> out_least = nothing, out_most = nothing;
        for (std::size_t before = 0; before < labels; ++before) {
            const float* row = weights + model.transition(static_cast<int>(before), 0);
            for (std::size_t label = 0; label < labels; ++label) {
                into_least[label] = std::min(into_least[label], row[label]);
                into_most[label] = std::max(into_most[label], row[label]);
                out_least[before] = std::min(out_least[before], row[label]);
                out_most[before] = std::max(out_most[before], row[label]);
            }
        }
        least.resize(labels);
        most.resize(labels);
        for (std::size_t label = 0; label < labels; ++label) {
            least[label] = scale * (static_cast<double>(into_least[label]) + static_cast<double>(out_least[label]));
            most[label] = scale * (static_cast<double>(into_most[label]) + static_cast<double>(out_most[label]));
        }
    }
};

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
    // The labels that may be on a best path, in ascending order: kept_[starts_[word]] up to kept_[starts_[word + 1]].
    void keep_labels() {
        kept_.clear();
        starts_.assign(1, 0);
        const int count = model_->labels;
        std::optional<TransitionBounds> bounds;
        if (count > kManyLabels) bounds.emplace(*model_, weights_, scale_);
        for (int word = 0; word < sentence_.n; ++word) {
            const double* scores = &scores_[index(word, 0)];
            double bar = kNever;
            if (bounds)
                for (std::size_t label = 0; label < width_; ++label) bar = std::max(bar, scores[label] + bounds->least[label]);
            bar -= 1e-9 * (1.0 + std::abs(bar));  // rounding
            for (int label = 0; label < count; ++label)
                if (!bounds || !(scores[label] + bounds->most[static_cast<std::size_t>(label)] < bar)) kept_.push_back(label);
            starts_.push_back(kept_.size());
        }
    }
    std::span<const std::int32_t> kept(int word) const {
        const auto w = static_cast<std::size_t>(word);
        return {kept_.data() + starts_[w], kept_.data() + starts_[w + 1]};
    }
    void find_path() {
        if (sentence_.n == 0) return;
        keep_labels();
        before_.resize(kept_.size());  // places among the kept labels of the word before
        forward_.resize(kept_.size());
        for (std::size_t i = 0; i < starts_[1]; ++i) forward_[i] = scores_[index(0, kept_[i])] + transition(-1, kept_[i]);
        for (int word = 1; word < sentence_.n; ++word) step(word);
        const auto last = std::span(forward_).subspan(starts_[static_cast<std::size_t>(sentence_.n) - 1]);
        auto place = static_cast<std::size_t>(std::ranges::max_element(last) - last.begin());
        for (int word = sentence_.n - 1; word >= 0; --word) {
            path_[static_cast<std::size_t>(word)] = kept(word)[place];
            if (word > 0) place = static_cast<std::size_t>(before_[starts_[static_cast<std::size_t>(word)] + place]);
        }
    }
    // forward(word, label) = score(word, label) + max over before of forward(word - 1, before) + transition(before, label)
    void step(int word) {
        const auto labels = kept(word), earlier = kept(word - 1);
        check_stop(labels.size() * earlier.size());
        const double* last = &forward_[starts_[static_cast<std::size_t>(word) - 1]];
        double* now = &forward_[starts_[static_cast<std::size_t>(word)]];
        std::int32_t* from = &before_[starts_[static_cast<std::size_t>(word)]];
        std::fill_n(now, labels.size(), kNever);
        std::fill_n(from, labels.size(), 0);
        for (std::size_t before = 0; before < earlier.size(); ++before) {
            const float* weights = weights_ + model_->transition(earlier[before], 0);
            if (labels.size() < width_) {
                for (std::size_t i = 0; i < labels.size(); ++i) row_[i] = weights[labels[i]];
                weights = row_.data();
            }
            for (std::size_t i = 0; i < labels.size(); ++i) {
                const double score = last[before] + scale_ * weights[i];
                from[i] = score > now[i] ? static_cast<std::int32_t>(before) : from[i];
                now[i] = score > now[i] ? score : now[i];
            }
        }
        for (std::size_t i = 0; i < labels.size(); ++i) now[i] += scores_[index(word, labels[i])];
    }

    const Model* model_;
    Sentence sentence_;
    const float* weights_ = nullptr;
    double scale_ = 1.0;
    std::size_t width_ = 0;
    double log_sum_ = 0.0;
    std::vector<float> row_;
    std::vector<double> scores_, forward_, backward_, probabilities_;
    std::vector<std::int32_t> before_, kept_, path_;
    std::vector<std::size_t> starts_;
};

}  // namespace arbora::sequence
