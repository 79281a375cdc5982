// Max-marginal filtering, and how its weights are trained [rush-2012, weiss-2010].
//
// With m the max-marginals of the arcs (max_marginals.hpp), arcs below
//   t(w) = alpha max m + (1 - alpha) mean m
// are dropped; a model of probabilities uses a distance from max m (log odds) instead. max m is the best tree's score, so that tree
// stays, and so does every tree that scores t or more. Arcs that are in no projective tree are dropped, and do not count for the
// mean. In long sentences each word keeps only its `among` heads with the best scores, and the previous word, so the time is O(n^2)
// for the scores and O(n^2 among) for the chart.
// Filter loss: the gold tree should score above t, by a margin of one per word,
//   max(0, n + t(w) - <w, f(gold)>),   a negative subgradient:  f(gold) - alpha f(best) - (1 - alpha) mean over arcs a of f(a's
//   witness).
#pragma once

#include <algorithm>
#include <limits>
#include <string>

#include "parser/treebank.hpp"
#include "parser/worker.hpp"
#include "trees/sparse/max_marginals.hpp"

namespace arbora::graph {

// Keeps its memory between sentences. One per thread.
class Filter {
public:
    // Returns false if the arcs contain no projective tree with these roots.
    bool run(const ArcSet& arcs, const float* arc_scores, Roots roots, double alpha);

    // After run():
    double threshold() const { return threshold_; }
    // Arcs above the threshold, or whose max-marginal is `within` of the best tree's score. kept: must not be the given set.
    void keep(double within, ArcSet& kept) const;
    // The derivative of the threshold with respect to each arc's score.
    void slopes(std::vector<double>& slopes) {
        marginals_.count_witnesses(alpha_, reachable_ == 0 ? 0.0 : (1.0 - alpha_) / static_cast<double>(reachable_), slopes);
    }
    const MaxMarginals& marginals() const { return marginals_; }

private:
    const ArcSet* arcs_ = nullptr;
    Sides sides_;
    MaxMarginals marginals_;
    double alpha_ = 0.0, threshold_ = 0.0;
    std::size_t reachable_ = 0;  // arcs of some tree
};

// The scores of the parts of the arcs that a worker scored.
inline void select_scores(const Worker& worker, const ArcSet& arcs, std::vector<float>& scores) {
    scores.resize(arcs.heads.size());
    arcs.each([&](int h, int d, int a) { scores[a] = worker.arc_scores()[worker.arcs().find(h, d)]; });
}

struct FilterWorker {
    Worker worker;
    Filter filter;
    ArcSet arcs;
    std::vector<float> scores;
    std::vector<double> slopes;
};

// A learner's queries about the filter loss of a treebank. Throws InputError unless the model is first-order and projective and all
// gold trees are of its family.
class FilterQuestions : public TreebankQuestions<FilterQuestions, FilterWorker> {
public:
    static constexpr std::size_t kPiece = 64;  // answers have many entries

    FilterQuestions(const Model& model, const feature::Encoded& sentences, double alpha, int among, int threads)
        : TreebankQuestions(sentences, nullptr, make_workers(threads, [&] { return FilterWorker{Worker(model), {}, {}, {}, {}}; })),
          model_(&model), alpha_(alpha), among_(among) {
        if (model.siblings || model.trees != Trees::projective)
            throw InputError("filter: expected a first-order model of projective trees, got another");
        if (!(alpha >= 0.0 && alpha <= 1.0)) throw InputError("alpha: expected 0 to 1, got " + std::to_string(alpha));
        if (among < 1) throw InputError("among: expected at least 1 head per word, got " + std::to_string(among));
        check_gold(sentences, {.projective = true, .tree = model.roots});
    }

    // loss: the number of words if the gold tree does not score above t or, cost_augmented, not by the margin; otherwise 0 and no
    // difference. At equal scores, such as those of zero weights, it does not score above.
    Answer answer(FilterWorker& own, std::size_t s, const Weights& weights, bool cost_augmented);
    std::size_t weight_count() const { return graph::weight_count(*model_, Task::tree); }

private:
    const Model* model_;
    double alpha_;
    int among_;
};

}  // namespace arbora::graph
