// A transition parser over many sentences, on several threads; nothing depends on their number. See graph/batch.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "parser/batch.hpp"
#include "search/transition/worker.hpp"

namespace arbora::transition {

graph::Parsed parse(const feature::Encoded& sentences, const Model& model, const graph::WeightView& weights, int threads, bool keep_heads);

// Up to k trees of each sentence, best first.
std::vector<std::vector<graph::Ranked>> kbest(const feature::Encoded& sentences, const Model& model, const graph::WeightView& weights, int k,
                                              int threads, bool keep_heads);

// What a learner asks. Holds no copy of what it is made from.
class Questions {
public:
    // Throws InputError where gold is missing, or has crossing arcs or several roots that the system cannot make.
    Questions(const Model& model, const feature::Encoded& sentences, const Training& training, int threads);
    Questions(const Questions&) = delete;

    Reply ask(std::size_t sentence, const Weights& weights, bool cost_augmented);
    std::vector<Reply> candidates(std::size_t sentence, const Weights& weights, int k);
    // The sum over sentences; differences are whole numbers, so sums are exact in any order.
    Reply total(const std::vector<std::int64_t>& sentences, const Weights& weights, bool cost_augmented);

    // The states of all sentences, in their order.
    Instances instances();

    std::size_t size() const { return sentences_->size(); }
    std::size_t weight_count() const { return model_->weight_count(); }

private:
    void check_gold() const;
    graph::WeightView view(const Weights& weights) const;
    Training training(bool cost_augmented) const;

    const Model* model_;
    const feature::Encoded* sentences_;
    Training training_;
    std::vector<Worker> workers_;
};

}  // namespace arbora::transition
