// A transition parser over many sentences; see parser/treebank.hpp.
#pragma once

#include "search/transition/worker.hpp"

namespace arbora::transition {

inline std::vector<Worker> workers_of(const Model& model, int threads) {
    return make_workers(threads, [&] { return Worker(model); });
}

inline graph::Parsed parse(const feature::Encoded& sentences, const Model& model, const graph::WeightView& weights, int threads, bool keep_heads) {
    return graph::parse_each(sentences, workers_of(model, threads), [&](Worker& worker, std::size_t s, int* heads, int* labels) {
        worker.parse(sentences.sentence(s), weights, keep_heads, heads, labels);
    });
}

// Up to k trees of each sentence, best first.
std::vector<std::vector<graph::Ranked>> kbest(const feature::Encoded& sentences, const Model& model, const graph::WeightView& weights, int k,
                                                     int threads, bool keep_heads);

// A learner's queries. Throws InputError if gold trees are missing, or if the system cannot derive their crossing arcs or several
// roots.
class Questions : public graph::TreebankQuestions<Questions, Worker> {
public:
    Questions(const Model& model, const feature::Encoded& sentences, const Training& training, int threads)
        : TreebankQuestions(sentences, nullptr, workers_of(model, threads)), model_(&model), training_(training) {
        const Roots roots = std::visit([](const auto& system) { return system.roots; }, model.system);
        graph::check_gold(sentences, {.labels = model.labels, .projective = !std::holds_alternative<Swap>(model.system), .tree = roots});
    }

    Answer answer(Worker& worker, std::size_t s, const Weights& weights, bool cost_augmented) {
        Training training = training_;
        training.cost_augmented = cost_augmented;
        return worker.answer(sentence(s), model_->view(weights.data(), weights.scale()), training);
    }
    std::vector<Answer> candidate_answers(Worker& worker, std::size_t s, const Weights& weights, int k) {
        return worker.candidates(sentence(s), model_->view(weights.data(), weights.scale()), training_, k);
    }
    std::size_t weight_count() const { return model_->weight_count(); }

    // The states of all sentences, in their order.
    Instances instances() {
        Instances all;
        for (std::size_t s = 0; s < size(); ++s) workers_[0].add_instances(sentence(s), all);
        return all;
    }

private:
    const Model* model_;
    Training training_;
};

}  // namespace arbora::transition
