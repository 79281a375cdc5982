#include "parser/likelihood.hpp"

namespace arbora::graph {

Likelihood::Likelihood(const Model& model, const feature::Encoded& sentences, Task task, const std::vector<ArcSet>* arcs, int threads,
                       const Cost& cost)
    : TreebankQuestions(sentences, arcs, make_workers(threads, [&] { return LikelihoodWorker{Expectations(model, cost)}; })),
      model_(&model), task_(task) {
    check_task(model, task);
    if (model.siblings && model.trees == Trees::nonprojective && task != Task::labels)
        throw InputError("second-order non-projective trees have no exact sums; expected projective trees, or first order");
    check_gold(sentences, {.arcs = arcs, .heads = false});
}

Answer Likelihood::answer(LikelihoodWorker& worker, std::size_t s, const Weights& weights, bool cost_augmented) {
    worker.held = 0;
    return worker.sums.answer(sentence(s), arcs_of(s), view(*model_, task_, weights.data(), weights.scale()), task_, cost_augmented);
}

void Likelihood::require_arcs(const char* what) const {
    if (model_->siblings || task_ != Task::tree)
        throw InputError(std::string(what) + ": expected a first-order model of trees without labels, got another");
}

void Likelihood::require_size(const char* what, std::size_t s, std::size_t got) const {
    if (got != arcs(s)) throw InputError(std::string(what) + ": expected " + std::to_string(arcs(s)) + " arcs, got " + std::to_string(got));
}

Expectations& Likelihood::holding(std::size_t s) {
    LikelihoodWorker& worker = workers_[0];
    if (worker.held != s + 1) {
        if (zeros_.empty()) zeros_.assign(weight_count(), 0.0F);
        worker.sums.load(sentence(s), arcs_of(s), {zeros_.data(), nullptr, 1.0}, false);
        worker.held = s + 1;
    }
    return worker.sums;
}

std::size_t Likelihood::arcs(std::size_t s) const {
    const auto n = static_cast<std::size_t>(sentence(s).n);
    return arcs_ == nullptr ? n * n : (*arcs_)[s].heads.size();
}

std::vector<double> Likelihood::arc_scores(std::size_t s, const Weights& weights) {
    require_arcs("arc_scores");
    check_weights(weights, weight_count());
    workers_[0].held = s + 1;
    workers_[0].sums.load(sentence(s), arcs_of(s), view(*model_, task_, weights.data(), weights.scale()), false);
    return workers_[0].sums.arc_scores();
}

std::vector<double> Likelihood::gold_arcs(std::size_t s) {
    require_arcs("gold_arcs");
    const ArcSet& set = holding(s).arcs();
    std::vector<double> gold(set.heads.size(), 0.0);
    for (int d = 1; d <= sentence(s).n; ++d) {
        const int head = sentence(s).heads[d];
        if (head < 0) throw InputError("sentence " + std::to_string(s) + ", word " + std::to_string(d) + ": expected a head, got none");
        gold[set.find(head, d)] = 1.0;
    }
    return gold;
}

Sums Likelihood::arc_sums(std::size_t s, const std::vector<double>& scores) {
    require_arcs("arc_sums");
    require_size("scores", s, scores.size());
    return holding(s).sums_of(scores);
}

SparseVector Likelihood::arc_features(std::size_t s, const std::vector<double>& coefficients) {
    require_arcs("arc_features");
    require_size("coefficients", s, coefficients.size());
    return coalesce(holding(s).pull_back(coefficients));
}

}  // namespace arbora::graph
