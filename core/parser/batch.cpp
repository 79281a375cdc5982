#include "parser/batch.hpp"

#include <algorithm>
#include <string>

#include "base/errors.hpp"
#include "base/parallel.hpp"

namespace arbora::graph {

namespace {

std::vector<Worker> make_workers(const Model& model, double label_cost, int threads) {
    std::vector<Worker> workers;
    for (int i = 0; i < std::max(threads, 1); ++i) workers.emplace_back(model, label_cost);
    return workers;
}

}  // namespace

void check_lengths(const feature::Encoded& sentences, const std::vector<ArcSet>& arcs) {
    if (arcs.size() != sentences.size())
        throw InputError("arcs: expected " + std::to_string(sentences.size()) + " sentences, got " + std::to_string(arcs.size()));
    for (std::size_t s = 0; s < arcs.size(); ++s)
        if (const int n = sentences.sentence(s).n; arcs[s].n != n)
            throw InputError("arcs: expected " + std::to_string(n) + " words in sentence " + std::to_string(s) + ", got " +
                             std::to_string(arcs[s].n) + "; give the arcs that were kept of these very sentences");
}

std::vector<ArcSet> prune(const feature::Encoded& sentences, const Pruner& pruner, int threads) {
    std::vector<ArcSet> kept(sentences.size());
    std::vector<Candidates> workers;
    for (int i = 0; i < std::max(threads, 1); ++i) workers.emplace_back(*pruner.model, &pruner, false);
    parallel_for(sentences.size(), threads, [&](int worker, std::size_t s) { kept[s] = *workers[worker].find(sentences, s); });
    return kept;
}

std::int64_t restore_gold(const feature::Encoded& sentences, std::vector<ArcSet>& arcs) {
    std::int64_t missing = 0;
    check_lengths(sentences, arcs);
    for (std::size_t s = 0; s < sentences.size(); ++s) missing += arcs[s].add(sentences.sentence(s).heads);
    return missing;
}

Parsed parse(const feature::Encoded& sentences, const Model& model, const WeightView& weights, bool staged, const Pruner* pruner,
             int threads, bool keep_heads) {
    Parsed parsed{std::vector<std::int32_t>(sentences.words()), std::vector<std::int32_t>(sentences.words(), -1)};
    struct Own {
        Worker worker;
        Candidates candidates;
        std::vector<int> heads, labels;
    };
    std::vector<Own> workers;
    for (int i = 0; i < std::max(threads, 1); ++i) workers.push_back({Worker(model), Candidates(model, pruner, keep_heads), {}, {}});
    parallel_for(sentences.size(), threads, [&](int worker, std::size_t s) {
        const auto sentence = sentences.sentence(s);
        Own& own = workers[worker];
        own.heads.assign(static_cast<std::size_t>(sentence.n) + 1, -1);
        own.labels.assign(own.heads.size(), -1);
        own.worker.parse(sentence, own.candidates.find(sentences, s), weights, staged, own.heads.data(), own.labels.data());
        const auto first = sentences.offsets()[s];
        std::copy(own.heads.begin() + 1, own.heads.end(), parsed.heads.begin() + first);
        std::copy(own.labels.begin() + 1, own.labels.end(), parsed.labels.begin() + first);
    });
    return parsed;
}

Questions::Questions(const Model& model, const feature::Encoded& sentences, Task task, const std::vector<ArcSet>* arcs, int threads,
                     double label_cost)
    : model_(&model), sentences_(&sentences), task_(task), arcs_(arcs), workers_(make_workers(model, label_cost, threads)) {
    if (arcs != nullptr) check_lengths(sentences, *arcs);
    if (task != Task::tree && model.labels == 0) throw InputError("task: expected tree for a model without labels, got labels to learn");
    check_gold();
}

void Questions::check_gold() const {
    for (std::size_t s = 0; s < size(); ++s) {
        const auto sentence = sentences_->sentence(s);
        for (int d = 1; d <= sentence.n; ++d) {
            const int head = sentence.heads[d], label = sentence.labels[d];
            const auto fail = [&](const std::string& what) {
                throw InputError("sentence " + std::to_string(s) + ", word " + std::to_string(d) + ": " + what);
            };
            if (head < 0) fail("expected a head to learn from, got none");
            if (task_ != Task::tree && (label < 0 || label >= model_->labels)) fail("expected a known label to learn from, got none");
            if (arcs_ != nullptr && (*arcs_)[s].find(head, d) < 0)
                fail("expected the gold arc among those kept, got none; put pruned gold arcs back first");
        }
    }
}

void Questions::check(const Weights& weights) const {
    if (weights.size() != weight_count())
        throw InputError("weights: expected " + std::to_string(weight_count()) + ", got " + std::to_string(weights.size()));
}

std::vector<Answer> Questions::answers(int worker, std::size_t s, const Weights& weights, bool cost_augmented, int k) {
    return workers_[worker].answers(sentences_->sentence(s), arcs_ == nullptr ? nullptr : &(*arcs_)[s],
                                    view(*model_, task_, weights.data(), weights.scale()), task_, cost_augmented, k);
}

Questions::Reply Questions::ask(std::size_t sentence, const Weights& weights, bool cost_augmented) {
    check(weights);
    return reply_of(std::move(answers(0, sentence, weights, cost_augmented, 1).front()), weights);
}

std::vector<Questions::Reply> Questions::candidates(std::size_t sentence, const Weights& weights, int k) {
    check(weights);
    std::vector<Reply> replies;
    for (auto& answer : answers(0, sentence, weights, false, k)) replies.push_back(reply_of(std::move(answer), weights));
    return replies;
}

Questions::Reply Questions::total(const std::vector<std::int64_t>& sentences, const Weights& weights, bool cost_augmented) {
    check(weights);
    return total_of(sentences, weights, static_cast<int>(workers_.size()),
                    [&](int worker, std::size_t s) { return std::move(answers(worker, s, weights, cost_augmented, 1).front()); });
}

}  // namespace arbora::graph
