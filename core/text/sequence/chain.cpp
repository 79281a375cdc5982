#include "text/sequence/chain.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace arbora::sequence {

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

// log(sum of exp(x)).
double log_sum_exp(const double* begin, const double* end) {
    const double top = *std::max_element(begin, end);
    if (!(top > kNever)) return kNever;
    double sum = 0.0;
    for (const double* x = begin; x < end; ++x) sum += std::exp(*x - top);
    return top + std::log(sum);
}

}  // namespace

Sentence Batch::sentence(std::size_t s) const {
    const auto first = static_cast<std::size_t>(offsets[s]);
    return {static_cast<int>(offsets[s + 1] - offsets[s]), features, places.data() + first * static_cast<std::size_t>(features),
            labels.data() + first, gold.data() + first};
}

void Chain::score(const Sentence& sentence, const float* weights, double scale, bool cost) {
    sentence_ = sentence;
    weights_ = weights;
    scale_ = scale;
    width_ = static_cast<std::size_t>(model_->labels);
    scores_.assign(static_cast<std::size_t>(sentence.n) * width_, kNever);
    row_.resize(width_);
    for (int word = 0; word < sentence.n; ++word) {
        const auto count = static_cast<std::size_t>(sentence.labels[word]);
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

std::span<const std::int32_t> Chain::best() {
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

void Chain::find_path() {
    const int n = sentence_.n, count = model_->labels;
    if (n == 0) return;
    before_.resize(scores_.size());
    forward_ = scores_;
    for (int label = 0; label < count; ++label) forward_[index(0, label)] += transition(-1, label);
    for (int word = 1; word < n; ++word) {
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

double Chain::sum() {
    probabilities_.assign(scores_.size(), 0.0);
    log_sum_ = model_->transitions ? path_sum() : independent_sum();
    return log_sum_;
}

double Chain::independent_sum() {
    double total = 0.0;
    for (int word = 0; word < sentence_.n; ++word) {
        const double* scores = &scores_[index(word, 0)];
        const double sum = log_sum_exp(scores, scores + sentence_.labels[word]);
        for (int label = 0; label < sentence_.labels[word]; ++label) probabilities_[index(word, label)] = std::exp(scores[label] - sum);
        total += sum;
    }
    return total;
}

double Chain::path_sum() {
    const int n = sentence_.n, count = model_->labels;
    if (n == 0) return 0.0;
    forward_ = scores_;
    backward_.assign(scores_.size(), 0.0);
    std::vector<double> terms(width_);
    for (int label = 0; label < count; ++label) forward_[index(0, label)] += transition(-1, label);
    for (int word = 1; word < n; ++word) {
        for (int label = 0; label < count; ++label) {
            for (int before = 0; before < count; ++before)
                terms[static_cast<std::size_t>(before)] = forward_[index(word - 1, before)] + transition(before, label);
            forward_[index(word, label)] += log_sum_exp(terms.data(), terms.data() + count);
        }
    }
    for (int word = n - 1; word-- > 0;) {
        for (int label = 0; label < count; ++label) {
            for (int after = 0; after < count; ++after)
                terms[static_cast<std::size_t>(after)] = transition(label, after) + scores_[index(word + 1, after)] + backward_[index(word + 1, after)];
            backward_[index(word, label)] = log_sum_exp(terms.data(), terms.data() + count);
        }
    }
    const double* last = &forward_[index(n - 1, 0)];
    const double total = log_sum_exp(last, last + count);
    for (std::size_t i = 0; i < scores_.size(); ++i) probabilities_[i] = std::exp(forward_[i] + backward_[i] - total);
    return total;
}

double Chain::pair_probability(int word, int before, int label) const {
    return std::exp(forward_[index(word - 1, before)] + transition(before, label) + scores_[index(word, label)] + backward_[index(word, label)] - log_sum_);
}

double Chain::sum_of_known() {
    for (int word = 0; word < sentence_.n; ++word) {
        if (const int gold = sentence_.gold[word]; gold >= 0)
            for (int label = 0; label < sentence_.labels[word]; ++label)
                if (label != gold) scores_[index(word, label)] = kNever;
    }
    return sum();
}

}  // namespace arbora::sequence
