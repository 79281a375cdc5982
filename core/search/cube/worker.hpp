// Parses and answers for one sentence at a time; keeps its memory between sentences. One per thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "search/cube/reattachment.hpp"
#include "search/cube/search.hpp"

namespace arbora::cube {

// How often search lost the best tree: at the root, the gold tree had a higher score than the result.
struct Tally {
    std::int64_t asked = 0, non_violations = 0;
};

using graph::Ranked;

inline constexpr int kListBeam = 16;  // of each node, for k-best lists

inline void count(const Search::Gold& gold, Tally& tally) {
    tally.asked += 1;
    tally.non_violations += gold.nodes.back().violation < 0.0 ? 1 : 0;
}

class Worker {
public:
    explicit Worker(const Model& model, const graph::Cost& cost = {}) : model_(&model), search_(model, cost), reattachment_(model.graph.roots) {}

    // The best tree found: heads[0..n] and labels[0..n], -1 if there are none. Throws NoTreeError if the arcs contain no projective
    // tree, or no tree at all for non-projective models.
    void parse(const feature::Sentence& sentence, const graph::ArcSet* arcs, const WeightView& weights, int* heads, int* labels) {
        search_.parts().load(sentence, arcs, weights, false, false);
        take_best();
        tree_.read(heads, labels);
    }

    // The tree that parse() finds, and others best first: the k best of those that differ in heads, and of those that differ in
    // heads or labels. A wider search than parse(), so one of them may be better. For non-projective models: those that differ from
    // the first in the head or label of one word.
    std::vector<Ranked> kbest(const feature::Sentence& sentence, const graph::ArcSet* arcs, const WeightView& weights, int k);

    // f(gold) - f(predicted), and the cost of the predicted, at the nodes that the update selects. For non-projective models, the
    // whole tree after hill climbing is one more node, above the root of search.
    Answer answer(const feature::Sentence& sentence, const graph::ArcSet* arcs, const WeightView& weights, bool cost_augmented,
                  hypergraph::Update update, Tally& tally);
    // The same at the root, for the k best trees there.
    std::vector<Answer> candidates(const feature::Sentence& sentence, const graph::ArcSet* arcs, const WeightView& weights, int k,
                                   Tally& tally);

private:
    bool crossing() const { return model_->graph.trees == Trees::nonprojective; }
    Keys best_keys() const { return model_->exact_keys ? Keys::exact : Keys::loose; }
    // Fills tree_, after hill climbing for non-projective models: a derivation of the root; the best one found; or, if no kept tree
    // is projective because given arcs cross, the best first-order tree (projective models throw NoTreeError).
    void take(int rank);
    void take_best() {
        search_.run(best_keys(), model_->beam, model_->beam) ? take(0) : take_best_of_arcs();
    }
    void take_best_of_arcs();
    void compare_whole_trees(Answer& answer) {
        answer.loss += tree_.cost();
        gold_.add_features(1.0F, answer.difference);
        tree_.add_features(-1.0F, answer.difference);
    }
    // The missing derivations of the root.
    void append(std::vector<Ranked>& trees, int most);
    void append_neighbours(std::vector<Ranked>& trees, std::size_t most);
    Ranked ranked();

    const Model* model_;
    Search search_;
    Reattachment reattachment_;
    WholeTree tree_, gold_;
    std::vector<int> heads_, labels_;
    std::vector<double> dense_;
    Arena arena_;
};

}  // namespace arbora::cube
