// A transition parser over many sentences; see parser/treebank.hpp.
#pragma once

#include "search/transition/worker.hpp"

namespace arbora::transition {

graph::Parsed parse(const feature::Encoded& sentences, const Model& model, const graph::WeightView& weights, int threads, bool keep_heads);

// Up to k trees of each sentence, best first.
std::vector<std::vector<graph::Ranked>> kbest(const feature::Encoded& sentences, const Model& model, const graph::WeightView& weights, int k,
                                              int threads, bool keep_heads);

// A learner's questions. InputError where gold is missing, or has crossing arcs or several roots that the system cannot make.
class Questions : public graph::TreebankQuestions<Questions, Worker> {
public:
    Questions(const Model& model, const feature::Encoded& sentences, const Training& training, int threads);

    Answer answer(Worker& worker, std::size_t s, const Weights& weights, bool cost_augmented);
    std::vector<Answer> candidate_answers(Worker& worker, std::size_t s, const Weights& weights, int k);
    std::size_t weight_count() const { return model_->weight_count(); }

    // The states of all sentences, in their order.
    Instances instances();

private:
    const Model* model_;
    Training training_;
};

}  // namespace arbora::transition
