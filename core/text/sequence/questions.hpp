// What a learner asks of sentences with labels: the best labelling, or the sum over all, on several threads.
// Each sentence is computed alone and sums are made in the order of sentences, so nothing depends on the number of threads.
#pragma once

#include <cstdint>
#include <vector>

#include "numeric/reply.hpp"
#include "numeric/weights.hpp"
#include "text/sequence/chain.hpp"

namespace arbora::sequence {

// The best labels of all words, all sentences in a row.
std::vector<std::int32_t> predict(const Model& model, const Batch& batch, const float* weights, int threads);

class Questions {
public:
    // Holds no copy of what it is made from. InputError where the batch does not fit the model.
    Questions(const Model& model, const Batch& batch, int threads);
    Questions(const Questions&) = delete;

    // The best labelling: loss is the number of wrong labels, of words whose right one is known; others are left alone.
    Reply ask(std::size_t sentence, const Weights& weights, bool cost_augmented);
    // All labellings: loss is -log P of the known labels, the difference its negative gradient.
    Reply ask_sum(std::size_t sentence, const Weights& weights, bool cost_augmented);
    // Sums of the two over sentences.
    Reply total(const std::vector<std::int64_t>& sentences, const Weights& weights, bool sums, bool cost_augmented);
    // Adds the gradient of -log P to `gradient` [weight_count]; returns -log P.
    double gradient(const std::vector<std::int64_t>& sentences, const Weights& weights, bool cost_augmented, double* gradient);

    std::size_t size() const { return batch_->size(); }
    std::size_t weight_count() const { return model_->weight_count(); }
    // Whether the right label of every word is known.
    bool is_annotated() const;

private:
    using Entries = std::vector<SparseEntry>;
    double best_difference(Chain& chain, std::size_t sentence, const Weights& weights, bool cost_augmented, Entries& entries) const;
    double sum_difference(Chain& chain, std::size_t sentence, const Weights& weights, bool cost_augmented, Entries& entries) const;
    void add_word(const Sentence& sentence, int word, int label, double count, Entries& entries) const;
    void add_expectations(const Chain& chain, const Sentence& sentence, double factor, Entries& entries) const;
    void check(const Weights& weights) const;

    const Model* model_;
    const Batch* batch_;
    std::vector<Chain> workers_;
};

}  // namespace arbora::sequence
