// Sums and maxima over all labellings of one sentence. Without transitions words are independent: O(labels) each. With them a
// labelling is a path: Viterbi and forward-backward, O(labels²) per word [rabiner-1989].
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "text/sequence/model.hpp"

namespace arbora::sequence {

class Chain {
public:
    explicit Chain(const Model& model) : model_(&model) {}

    // Must come first. w is scale · weights; `cost`: one more for every label that is not the right one.
    void score(const Sentence& sentence, const float* weights, double scale, bool cost);

    // The labelling with the greatest score; ties go to the lowest numbers, last word first.
    std::span<const std::int32_t> best();

    // log of the sum of exp(score) over all labellings; afterwards the probabilities of labels, and of pairs of neighbours.
    double sum();
    // The same over those labellings alone that have the known labels; `sum` first.
    double sum_of_known();
    double probability(int word, int label) const { return probabilities_[index(word, label)]; }
    // Of `label` at `word` after `before` at the word before it.
    double pair_probability(int word, int before, int label) const;

private:
    std::size_t index(int word, int label) const { return static_cast<std::size_t>(word) * width_ + static_cast<std::size_t>(label); }
    double transition(int before, int label) const { return scale_ * weights_[model_->transition(before, label)]; }
    double independent_sum();
    double path_sum();
    void find_path();

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
