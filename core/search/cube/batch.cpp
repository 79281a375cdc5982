#include "search/cube/batch.hpp"

#include <algorithm>
#include <string>

#include "conll/tree_shape.hpp"
#include "base/errors.hpp"
#include "base/parallel.hpp"

namespace arbora::cube {

namespace {

// parse(worker, sentence, arcs, s) for every sentence.
template <class Parse>
void each_sentence(const feature::Encoded& sentences, const Model& model, const graph::Pruner* pruner, int threads, bool keep_heads, Parse&& parse) {
    struct Own {
        Worker worker;
        graph::Candidates candidates;
    };
    std::vector<Own> workers;
    for (int i = 0; i < std::max(threads, 1); ++i) workers.push_back({Worker(model), graph::Candidates(model.graph, pruner, keep_heads)});
    parallel_for(sentences.size(), threads, [&](int worker, std::size_t s) {
        Own& own = workers[static_cast<std::size_t>(worker)];
        parse(own.worker, sentences.sentence(s), own.candidates.find(sentences, s), s);
    });
}

}  // namespace

graph::Parsed parse(const feature::Encoded& sentences, const Model& model, const WeightView& weights, const graph::Pruner* pruner,
                    int threads, bool keep_heads) {
    graph::Parsed parsed{std::vector<std::int32_t>(sentences.words()), std::vector<std::int32_t>(sentences.words(), -1)};
    each_sentence(sentences, model, pruner, threads, keep_heads, [&](Worker& worker, const feature::Sentence& sentence, const graph::ArcSet* arcs, std::size_t s) {
        if (sentence.n == 0) return;
        std::vector<int> heads(static_cast<std::size_t>(sentence.n) + 1, -1), labels = heads;
        worker.parse(sentence, arcs, weights, heads.data(), labels.data());
        const auto first = sentences.offsets()[s];
        std::copy(heads.begin() + 1, heads.end(), parsed.heads.begin() + first);
        std::copy(labels.begin() + 1, labels.end(), parsed.labels.begin() + first);
    });
    return parsed;
}

std::vector<std::vector<Ranked>> kbest(const feature::Encoded& sentences, const Model& model, const WeightView& weights,
                                       const graph::Pruner* pruner, int k, int threads, bool keep_heads) {
    std::vector<std::vector<Ranked>> trees(sentences.size());
    each_sentence(sentences, model, pruner, threads, keep_heads, [&](Worker& worker, const feature::Sentence& sentence, const graph::ArcSet* arcs, std::size_t s) {
        trees[s] = worker.kbest(sentence, arcs, weights, k);
    });
    return trees;
}

Questions::Questions(const Model& model, const feature::Encoded& sentences, const std::vector<graph::ArcSet>* arcs, hypergraph::Update update,
                     const float* label_filter, int threads, double label_cost)
    : model_(&model), sentences_(&sentences), arcs_(arcs), update_(update), label_filter_(label_filter), tallies_(static_cast<std::size_t>(std::max(threads, 1))) {
    for (std::size_t i = 0; i < tallies_.size(); ++i) workers_.emplace_back(model, label_cost);
    if (arcs != nullptr) graph::check_lengths(sentences, *arcs);
    check_gold();
}

void Questions::check_gold() const {
    std::vector<std::int32_t> heads;
    for (std::size_t s = 0; s < size(); ++s) {
        const auto sentence = sentences_->sentence(s);
        heads.assign(sentence.heads + 1, sentence.heads + sentence.n + 1);
        const auto shape = conll::measure_trees(heads, std::vector<std::int64_t>{0, sentence.n});
        for (int d = 1; d <= sentence.n; ++d) {
            const auto fail = [&](const std::string& what) {
                throw InputError("sentence " + std::to_string(s) + ", word " + std::to_string(d) + ": " + what);
            };
            if (model_->graph.trees == Trees::projective && shape.nonprojective[static_cast<std::size_t>(d) - 1])
                fail("expected a projective tree, got crossing arcs; projectivize first");
            const int head = sentence.heads[d], label = sentence.labels[d];
            if (head < 0) fail("expected a head to learn from, got none");
            if (model_->graph.labels > 0 && (label < 0 || label >= model_->graph.labels)) fail("expected a known label to learn from, got none");
            if (arcs_ != nullptr && (*arcs_)[s].find(head, d) < 0)
                fail("expected the gold arc among those kept, got none; put pruned gold arcs back first");
        }
    }
}

WeightView Questions::view(const Weights& weights) const {
    if (weights.size() != weight_count())
        throw InputError("weights: expected " + std::to_string(weight_count()) + ", got " + std::to_string(weights.size()));
    return {graph::view(model_->graph, graph::Task::joint, weights.data(), weights.scale()), label_filter_};
}

Reply Questions::ask(std::size_t s, const Weights& weights, bool cost_augmented) {
    return graph::reply_of(workers_[0].answer(sentences_->sentence(s), arcs(s), view(weights), cost_augmented, update_, tallies_[0]), weights);
}

std::vector<Reply> Questions::candidates(std::size_t s, const Weights& weights, int k) {
    std::vector<Reply> replies;
    for (auto& answer : workers_[0].candidates(sentences_->sentence(s), arcs(s), view(weights), k, tallies_[0])) replies.push_back(graph::reply_of(std::move(answer), weights));
    return replies;
}

Reply Questions::total(const std::vector<std::int64_t>& sentences, const Weights& weights, bool cost_augmented) {
    const WeightView viewed = view(weights);
    return graph::total_of(sentences, weights, static_cast<int>(workers_.size()), [&](int worker, std::size_t s) {
        const auto w = static_cast<std::size_t>(worker);
        return workers_[w].answer(sentences_->sentence(s), arcs(s), viewed, cost_augmented, update_, tallies_[w]);
    });
}

Tally Questions::take_tally() {
    Tally sum;
    for (Tally& tally : tallies_) {
        sum.asked += tally.asked;
        sum.non_violations += tally.non_violations;
        tally = {};
    }
    return sum;
}

}  // namespace arbora::cube
