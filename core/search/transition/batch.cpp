#include "search/transition/batch.hpp"

#include <algorithm>
#include <string>

#include "conll/tree_shape.hpp"
#include "base/errors.hpp"
#include "base/parallel.hpp"

namespace arbora::transition {

namespace {

// parse(worker, sentence, s) for every sentence.
template <class Parse>
void each_sentence(const feature::Encoded& sentences, const Model& model, int threads, Parse&& parse) {
    std::vector<Worker> workers(static_cast<std::size_t>(std::max(threads, 1)), Worker(model));
    parallel_for(sentences.size(), threads, [&](int worker, std::size_t s) { parse(workers[static_cast<std::size_t>(worker)], sentences.sentence(s), s); });
}

Roots roots_of(const Model& model) {
    return std::visit([](const auto& system) { return system.roots; }, model.system);
}

}  // namespace

graph::Parsed parse(const feature::Encoded& sentences, const Model& model, const graph::WeightView& weights, int threads, bool keep_heads) {
    graph::Parsed parsed{std::vector<std::int32_t>(sentences.words()), std::vector<std::int32_t>(sentences.words(), -1)};
    each_sentence(sentences, model, threads, [&](Worker& worker, const feature::Sentence& sentence, std::size_t s) {
        std::vector<int> heads(static_cast<std::size_t>(sentence.n) + 1), labels(heads.size());
        worker.parse(sentence, weights, keep_heads, heads.data(), labels.data());
        const auto first = sentences.offsets()[s];
        std::copy(heads.begin() + 1, heads.end(), parsed.heads.begin() + first);
        std::copy(labels.begin() + 1, labels.end(), parsed.labels.begin() + first);
    });
    return parsed;
}

std::vector<std::vector<graph::Ranked>> kbest(const feature::Encoded& sentences, const Model& model, const graph::WeightView& weights, int k,
                                              int threads, bool keep_heads) {
    std::vector<std::vector<graph::Ranked>> trees(sentences.size());
    each_sentence(sentences, model, threads, [&](Worker& worker, const feature::Sentence& sentence, std::size_t s) {
        trees[s] = worker.kbest(sentence, weights, keep_heads, k);
    });
    return trees;
}

Questions::Questions(const Model& model, const feature::Encoded& sentences, const Training& training, int threads)
    : model_(&model), sentences_(&sentences), training_(training), workers_(static_cast<std::size_t>(std::max(threads, 1)), Worker(model)) {
    check_gold();
}

void Questions::check_gold() const {
    const bool may_cross = std::holds_alternative<Swap>(model_->system), is_single = roots_of(*model_) == Roots::single;
    std::vector<std::int32_t> heads;
    for (std::size_t s = 0; s < size(); ++s) {
        const auto sentence = sentences_->sentence(s);
        const auto fail = [&](int word, const std::string& what) {
            throw InputError("sentence " + std::to_string(s) + ", word " + std::to_string(word) + ": " + what);
        };
        for (int d = 1; d <= sentence.n; ++d) {
            if (sentence.heads[d] < 0) fail(d, "expected a head to learn from, got none");
            const int label = sentence.labels[d];
            if (model_->labels > 0 && (label < 0 || label >= model_->labels)) fail(d, "expected a known label to learn from, got none");
        }
        heads.assign(sentence.heads + 1, sentence.heads + sentence.n + 1);
        const auto shape = conll::measure_trees(heads, std::vector<std::int64_t>{0, sentence.n});
        if (shape.roots[0] < 0) fail(1, "expected a tree to learn from, got a cycle");
        if (is_single && shape.roots[0] > 1) fail(1, "expected a tree with one root, got " + std::to_string(shape.roots[0]));
        for (int d = 1; d <= sentence.n && !may_cross; ++d)
            if (shape.nonprojective[static_cast<std::size_t>(d) - 1]) fail(d, "expected a projective tree, got crossing arcs; projectivize first");
    }
}

graph::WeightView Questions::view(const Weights& weights) const {
    if (weights.size() != weight_count())
        throw InputError("weights: expected " + std::to_string(weight_count()) + ", got " + std::to_string(weights.size()));
    return model_->view(weights.data(), weights.scale());
}

Training Questions::training(bool cost_augmented) const {
    Training training = training_;
    training.cost_augmented = cost_augmented;
    return training;
}

Reply Questions::ask(std::size_t s, const Weights& weights, bool cost_augmented) {
    return graph::reply_of(workers_[0].answer(sentences_->sentence(s), view(weights), training(cost_augmented)), weights);
}

std::vector<Reply> Questions::candidates(std::size_t s, const Weights& weights, int k) {
    std::vector<Reply> replies;
    for (auto& answer : workers_[0].candidates(sentences_->sentence(s), view(weights), training_, k)) replies.push_back(graph::reply_of(std::move(answer), weights));
    return replies;
}

Reply Questions::total(const std::vector<std::int64_t>& sentences, const Weights& weights, bool cost_augmented) {
    const graph::WeightView viewed = view(weights);
    const Training asked = training(cost_augmented);
    return graph::total_of(sentences, weights, static_cast<int>(workers_.size()), [&](int worker, std::size_t s) {
        return workers_[static_cast<std::size_t>(worker)].answer(sentences_->sentence(s), viewed, asked);
    });
}

Instances Questions::instances() {
    Instances all;
    for (std::size_t s = 0; s < size(); ++s) workers_[0].add_instances(sentences_->sentence(s), all);
    return all;
}

}  // namespace arbora::transition
