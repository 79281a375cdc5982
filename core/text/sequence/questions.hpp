// A learner's queries about sentences with labels: the best labelling, or the sum over all.
#pragma once

#include <limits>

#include "numeric/batch_loop.hpp"
#include "text/sequence/chain.hpp"

namespace arbora::sequence {

// Throws InputError unless all places and labels of the batch fit the model; with transitions all words must have all labels.
inline void check(const Model& model, const Batch& batch) {
    for (std::size_t w = 0; w < batch.words(); ++w) {
        const int labels = batch.labels[w], gold = batch.gold[w];
        if (labels < 1 || labels > model.labels || (model.transitions && labels != model.labels))
            throw InputError("labels: expected 1 to " + std::to_string(model.labels) + " for word " + std::to_string(w) + ", got " + std::to_string(labels));
        if (gold >= labels) throw InputError("gold: expected a number below " + std::to_string(labels) + " for word " + std::to_string(w));
    }
    const auto end = std::uint64_t{1} << model.bits;
    for (const std::uint32_t place : batch.places)
        if (place >= end) throw InputError("places: expected numbers below " + std::to_string(end));
}

// The best labels of all words, all sentences in a row.
inline std::vector<std::int32_t> predict(const Model& model, const Batch& batch, const float* weights, int threads) {
    check(model, batch);
    std::vector<std::int32_t> result(batch.words());
    auto workers = make_workers(threads, [&] { return Chain(model); });
    parallel_for(batch.size(), threads, [&](int worker, std::size_t s) {
        Chain& chain = workers[static_cast<std::size_t>(worker)];
        chain.score(batch.sentence(s), weights, 1.0, false);
        const auto best = chain.best();
        std::copy(best.begin(), best.end(), result.begin() + batch.offsets[s]);
    });
    return result;
}

// Answers about the best labelling: loss is the number of wrong labels among words with a known label; other words are ignored.
// With sums, about all labellings: loss is -log P of the known labels, and the difference is its negative gradient.
class Questions : public BatchQuestions<Questions, Chain> {
public:
    static constexpr std::size_t kPiece = std::numeric_limits<std::size_t>::max();  // sums are rounded once

    // Copies none of its arguments. Throws InputError if the batch does not fit the model.
    Questions(const Model& model, const Batch& batch, int threads)
        : BatchQuestions(make_workers(threads, [&] { return Chain(model); })), model_(&model), batch_(&batch) {
        check(model, batch);
    }

    Answer answer(Chain& chain, std::size_t s, const Weights& weights, bool sums, bool cost_augmented) {
        const Sentence sentence = batch_->sentence(s);
        chain.score(sentence, weights.data(), weights.scale(), cost_augmented);
        if (!sums) return best_answer(chain, sentence);
        Answer answer{chain.sum(), {}};
        add_expectations(chain, sentence, -1.0, answer.difference);
        answer.loss -= chain.sum_of_known();
        add_expectations(chain, sentence, 1.0, answer.difference);
        return answer;
    }
    std::size_t size() const { return batch_->size(); }
    std::size_t weight_count() const { return model_->weight_count(); }
    // Whether the gold label of every word is known.
    bool is_annotated() const {
        return std::all_of(batch_->gold.begin(), batch_->gold.end(), [](std::int32_t gold) { return gold >= 0; });
    }

private:
    using Entries = std::vector<SparseEntry>;
    Answer best_answer(Chain& chain, const Sentence& sentence) const {
        Answer answer;
        Entries& entries = answer.difference;
        const auto best = chain.best();
        const auto right = [&](int word) { return word < 0 ? -1 : sentence.gold[word] >= 0 ? sentence.gold[word] : best[static_cast<std::size_t>(word)]; };
        for (int word = 0; word < sentence.n; ++word) {
            const int found = best[static_cast<std::size_t>(word)], gold = right(word), before = word == 0 ? -1 : best[static_cast<std::size_t>(word) - 1];
            if (gold != found) {
                answer.loss += 1.0;
                add_word(sentence, word, gold, 1.0, entries);
                add_word(sentence, word, found, -1.0, entries);
            }
            if (model_->transitions && (gold != found || right(word - 1) != before)) {
                entries.emplace_back(static_cast<std::uint32_t>(model_->transition(right(word - 1), gold)), 1.0F);
                entries.emplace_back(static_cast<std::uint32_t>(model_->transition(before, found)), -1.0F);
            }
        }
        return answer;
    }
    void add_word(const Sentence& sentence, int word, int label, double count, Entries& entries) const {
        const std::uint32_t* places = sentence.features_of(word);
        for (int f = 0; f < sentence.features; ++f) entries.emplace_back(places[f] + static_cast<std::uint32_t>(label), static_cast<float>(count));
    }
    void add_expectations(const Chain& chain, const Sentence& sentence, double factor, Entries& entries) const {
        for (int word = 0; word < sentence.n; ++word) {
            for (int label = 0; label < sentence.labels[word]; ++label) {
                if (const double p = chain.probability(word, label); p != 0) {
                    add_word(sentence, word, label, factor * p, entries);
                    if (model_->transitions && word == 0) entries.emplace_back(static_cast<std::uint32_t>(model_->transition(-1, label)), static_cast<float>(factor * p));
                }
                if (!model_->transitions || word == 0) continue;
                for (int before = 0; before < model_->labels; ++before)
                    if (const double p = chain.pair_probability(word, before, label); p != 0)
                        entries.emplace_back(static_cast<std::uint32_t>(model_->transition(before, label)), static_cast<float>(factor * p));
            }
        }
    }

    const Model* model_;
    const Batch* batch_;
};

}  // namespace arbora::sequence
