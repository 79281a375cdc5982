#include "parser/likelihood.hpp"

#include <algorithm>
#include <string>

#include "base/errors.hpp"
#include "base/parallel.hpp"

namespace arbora::graph {

Likelihood::Likelihood(const Model& model, const feature::Encoded& sentences, Task task, const std::vector<ArcSet>* arcs, int threads,
                       double label_cost)
    : model_(&model), sentences_(&sentences), task_(task), arcs_(arcs) {
    for (int i = 0; i < std::max(threads, 1); ++i) workers_.emplace_back(model, label_cost);
    if (arcs != nullptr) check_lengths(sentences, *arcs);
    if (task != Task::tree && model.labels == 0) throw InputError("task: expected tree for a model without labels, got labels to learn");
    if (model.siblings && model.trees == Trees::nonprojective && task != Task::labels)
        throw InputError("second-order non-projective trees have no exact sums; expected projective trees, or first order");
    check_known();
}

void Likelihood::check_known() const {
    for (std::size_t s = 0; s < size(); ++s) {
        const auto sentence = sentences_->sentence(s);
        for (int d = 1; d <= sentence.n; ++d)
            if (arcs_ != nullptr && sentence.heads[d] >= 0 && (*arcs_)[s].find(sentence.heads[d], d) < 0)
                throw InputError("sentence " + std::to_string(s) + ", word " + std::to_string(d) +
                                 ": expected the known arc among those kept, got none; put pruned gold arcs back first");
    }
}

void Likelihood::check(const Weights& weights) const {
    if (weights.size() != weight_count())
        throw InputError("weights: expected " + std::to_string(weight_count()) + ", got " + std::to_string(weights.size()));
}

Questions::Reply Likelihood::ask(std::size_t s, const Weights& weights, bool cost_augmented) {
    check(weights);
    held_ = 0;
    const WeightView seen = view(*model_, task_, weights.data(), weights.scale());
    return reply_of(workers_[0].answer(sentences_->sentence(s), arcs_of(s), seen, task_, cost_augmented), weights);
}

Questions::Reply Likelihood::total(const std::vector<std::int64_t>& sentences, const Weights& weights, bool cost_augmented) {
    check(weights);
    held_ = 0;
    const WeightView seen = view(*model_, task_, weights.data(), weights.scale());
    return total_of(sentences, weights, static_cast<int>(workers_.size()), [&](int worker, std::size_t s) {
        return workers_[worker].answer(sentences_->sentence(s), arcs_of(s), seen, task_, cost_augmented);
    });
}

double Likelihood::gradient(const std::vector<std::int64_t>& sentences, const Weights& weights, bool cost_augmented, double* gradient) {
    check(weights);
    held_ = 0;
    const auto threads = static_cast<int>(workers_.size());
    const WeightView seen = view(*model_, task_, weights.data(), weights.scale());
    // In pieces, so that no more entries lie about than a piece has; each thread then adds what falls into its part of the table.
    constexpr std::size_t kPiece = 128;
    const std::size_t share = (weight_count() + workers_.size() - 1) / workers_.size();
    double loss = 0.0;
    std::vector<Answer> found(kPiece);
    for (std::size_t begin = 0; begin < sentences.size(); begin += kPiece) {
        const std::size_t count = std::min(kPiece, sentences.size() - begin);
        parallel_for(count, threads, [&](int worker, std::size_t i) {
            const auto s = static_cast<std::size_t>(sentences[begin + i]);
            found[i] = workers_[worker].answer(sentences_->sentence(s), arcs_of(s), seen, task_, cost_augmented);
        });
        for (std::size_t i = 0; i < count; ++i) loss += found[i].loss;
        parallel_for(workers_.size(), threads, [&](int, std::size_t part) {
            const std::size_t from = part * share, to = from + share;
            for (std::size_t i = 0; i < count; ++i)
                for (const auto& [place, value] : found[i].difference)
                    if (place >= from && place < to) gradient[place] -= double{value};
        });
    }
    return loss;
}

void Likelihood::require_arcs(const char* what) const {
    if (model_->siblings || task_ != Task::tree)
        throw InputError(std::string(what) + ": expected a first-order model of trees without labels, got another");
}

Expectations& Likelihood::holding(std::size_t s) {
    if (held_ != s + 1) {
        if (zeros_.empty()) zeros_.assign(weight_count(), 0.0F);
        workers_[0].load(sentences_->sentence(s), arcs_of(s), {zeros_.data(), nullptr, 1.0}, false);
        held_ = s + 1;
    }
    return workers_[0];
}

std::size_t Likelihood::arcs(std::size_t s) const {
    const auto n = static_cast<std::size_t>(sentences_->sentence(s).n);
    return arcs_ == nullptr ? n * n : (*arcs_)[s].heads.size();
}

std::vector<double> Likelihood::arc_scores(std::size_t s, const Weights& weights) {
    require_arcs("arc_scores");
    check(weights);
    held_ = s + 1;
    workers_[0].load(sentences_->sentence(s), arcs_of(s), view(*model_, task_, weights.data(), weights.scale()), false);
    return workers_[0].arc_scores();
}

std::vector<double> Likelihood::gold_arcs(std::size_t s) {
    require_arcs("gold_arcs");
    const auto sentence = sentences_->sentence(s);
    const ArcSet& set = holding(s).arcs();
    std::vector<double> gold(set.heads.size(), 0.0);
    for (int d = 1; d <= sentence.n; ++d) {
        if (sentence.heads[d] < 0) throw InputError("sentence " + std::to_string(s) + ", word " + std::to_string(d) + ": expected a head, got none");
        gold[set.find(sentence.heads[d], d)] = 1.0;
    }
    return gold;
}

Sums Likelihood::arc_sums(std::size_t s, const std::vector<double>& scores) {
    require_arcs("arc_sums");
    if (scores.size() != arcs(s)) throw InputError("scores: expected " + std::to_string(arcs(s)) + " arcs, got " + std::to_string(scores.size()));
    return holding(s).sums_of(scores);
}

SparseVector Likelihood::arc_features(std::size_t s, const std::vector<double>& coefficients) {
    require_arcs("arc_features");
    if (coefficients.size() != arcs(s))
        throw InputError("coefficients: expected " + std::to_string(arcs(s)) + " arcs, got " + std::to_string(coefficients.size()));
    return coalesce(holding(s).pull_back(coefficients));
}

}  // namespace arbora::graph
