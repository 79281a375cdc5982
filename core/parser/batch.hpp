// A graph parser over many sentences: pruning, parsing, and a learner's queries about the best trees or about all trees.
#pragma once

#include "parser/candidates.hpp"
#include "parser/expectations.hpp"

namespace arbora::graph {

// A worker, and the arcs that it may use.
template <class Parser>
struct PrunedWorker {
    Parser parser;
    Candidates candidates;
};

std::vector<ArcSet> prune(const feature::Encoded& sentences, const Pruner& pruner, int threads);

// Adds the missing arcs of the gold trees; returns how many were missing.
std::int64_t restore_gold(const feature::Encoded& sentences, std::vector<ArcSet>& arcs);

// pruner: null for all arcs. keep_heads: keeps the heads that the sentences have; see candidates.hpp.
Parsed parse(const feature::Encoded& sentences, const Model& model, const WeightView& weights, bool staged, const Pruner* pruner,
                    int threads, bool keep_heads = false);

// Throws InputError if labels must be learned and the model has none.
inline void check_task(const Model& model, Task task) {
    if (task != Task::tree && model.labels == 0) throw InputError("task: expected tree for a model without labels, got labels to learn");
}

// A learner's queries about the best trees. Throws InputError without gold trees. See TreebankQuestions.
class Questions : public TreebankQuestions<Questions, Worker> {
public:
    Questions(const Model& model, const feature::Encoded& sentences, Task task, const std::vector<ArcSet>* arcs, int threads,
              const Cost& cost = {})
        : TreebankQuestions(sentences, arcs, make_workers(threads, [&] { return Worker(model, cost); })), model_(&model), task_(task) {
        check_task(model, task);
        check_gold(sentences, {.arcs = arcs, .labels = task == Task::tree ? 0 : model.labels});
    }

    Answer answer(Worker& worker, std::size_t s, const Weights& weights, bool cost_augmented) {
        const WeightView seen = view(*model_, task_, weights.data(), weights.scale());
        return std::move(worker.answers(sentence(s), arcs_of(s), seen, task_, cost_augmented, 1).front());
    }
    std::vector<Answer> candidate_answers(Worker& worker, std::size_t s, const Weights& weights, int k) {
        return worker.answers(sentence(s), arcs_of(s), view(*model_, task_, weights.data(), weights.scale()), task_, false, k);
    }
    std::size_t weight_count() const { return graph::weight_count(*model_, task_); }

private:
    const Model* model_;
    Task task_;
};

struct LikelihoodWorker {
    Expectations sums;
    std::size_t held = 0;  // the sentence whose arcs `sums` holds, from 1; 0: none or unknown
};

// The log-likelihood of the known heads and labels (-1: unknown): loss is -log P, difference is its negative gradient.
class Likelihood : public TreebankQuestions<Likelihood, LikelihoodWorker> {
public:
    // arcs: null for all arcs, else one set per sentence, known arcs included.
    Likelihood(const Model& model, const feature::Encoded& sentences, Task task, const std::vector<ArcSet>* arcs, int threads,
               const Cost& cost = {})
        : TreebankQuestions(sentences, arcs, make_workers(threads, [&] { return LikelihoodWorker{Expectations(model, cost)}; })),
          model_(&model), task_(task) {
        check_task(model, task);
        if (model.siblings && model.trees == Trees::nonprojective && task != Task::labels)
            throw InputError("second-order non-projective trees have no exact sums; expected projective trees, or first order");
        check_gold(sentences, {.arcs = arcs, .heads = false});
    }

    Answer answer(LikelihoodWorker& worker, std::size_t s, const Weights& weights, bool cost_augmented) {
        worker.held = 0;
        return worker.sums.answer(sentence(s), arcs_of(s), view(*model_, task_, weights.data(), weights.scale()), task_, cost_augmented);
    }
    std::size_t weight_count() const { return graph::weight_count(*model_, task_); }

    // First-order models: the arcs of a sentence, for learners that keep a number for each.
    std::size_t arcs(std::size_t s) const {
        const auto n = static_cast<std::size_t>(sentence(s).n);
        return arcs_ == nullptr ? n * n : (*arcs_)[s].heads.size();
    }
    std::vector<double> arc_scores(std::size_t s, const Weights& weights);
    // 1 for arcs of the gold tree, else 0.
    std::vector<double> gold_arcs(std::size_t s);
    Sums arc_sums(std::size_t s, const std::vector<double>& scores) {
        require_arcs("arc_sums");
        require_size("scores", s, scores.size());
        return holding(s).sums_of(scores);
    }
    SparseVector arc_features(std::size_t s, const std::vector<double>& coefficients) {
        require_arcs("arc_features");
        require_size("coefficients", s, coefficients.size());
        return coalesce(holding(s).pull_back(coefficients));
    }

private:
    // A worker that holds this sentence's arcs, with arbitrary scores.
    Expectations& holding(std::size_t s);
    // Throws InputError unless the model is first-order, without labels, and the array has one number per arc.
    void require_arcs(const char* what) const {
        if (model_->siblings || task_ != Task::tree)
            throw InputError(std::string(what) + ": expected a first-order model of trees without labels, got another");
    }
    void require_size(const char* what, std::size_t s, std::size_t got) const {
        if (got != arcs(s)) throw InputError(std::string(what) + ": expected " + std::to_string(arcs(s)) + " arcs, got " + std::to_string(got));
    }

    const Model* model_;
    Task task_;
    std::vector<float> zeros_;
};

}  // namespace arbora::graph
