// A learner's questions about sentences with labels: the best labelling, or the sum over all.
#pragma once

#include <limits>

#include "numeric/batch_loop.hpp"
#include "text/sequence/chain.hpp"

namespace arbora::sequence {

// The best labels of all words, all sentences in a row.
std::vector<std::int32_t> predict(const Model& model, const Batch& batch, const float* weights, int threads);

// Answers about the best labelling: loss is the number of wrong labels, of words whose right one is known; others are left alone.
// With sums, about all labellings: loss is -log P of the known labels, the difference its negative gradient.
class Questions : public BatchQuestions<Questions, Chain> {
public:
    static constexpr std::size_t kPiece = std::numeric_limits<std::size_t>::max();  // sums are rounded once

    // Holds no copy of what it is made from. InputError where the batch does not fit the model.
    Questions(const Model& model, const Batch& batch, int threads);

    Answer answer(Chain& chain, std::size_t s, const Weights& weights, bool sums, bool cost_augmented);
    std::size_t size() const { return batch_->size(); }
    std::size_t weight_count() const { return model_->weight_count(); }
    // Whether the right label of every word is known.
    bool is_annotated() const;

private:
    using Entries = std::vector<SparseEntry>;
    Answer best_answer(Chain& chain, const Sentence& sentence) const;
    void add_word(const Sentence& sentence, int word, int label, double count, Entries& entries) const;
    void add_expectations(const Chain& chain, const Sentence& sentence, double factor, Entries& entries) const;

    const Model* model_;
    const Batch* batch_;
};

}  // namespace arbora::sequence
