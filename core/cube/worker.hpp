// Parses and answers for one sentence at a time; keeps its memory between sentences. One per thread.
#pragma once

#include <cstdint>
#include <vector>

#include "cube/search.hpp"

namespace arbora::cube {

// How often search lost the best tree: at the root, the right tree had a better score than what was found.
struct Tally {
    std::int64_t asked = 0, non_violations = 0;
};

using graph::Ranked;

class Worker {
public:
    explicit Worker(const Model& model) : model_(&model), search_(model) {}

    // The best tree found: heads[0..n] and labels[0..n], -1 where there are none. Its score. NoTreeError where the arcs hold none.
    double parse(const feature::Sentence& sentence, const graph::ArcSet* arcs, const WeightView& weights, int* heads, int* labels);

    // The tree that parse() finds, and others, different in heads or labels, best first: k in all where there are so many.
    std::vector<Ranked> kbest(const feature::Sentence& sentence, const graph::ArcSet* arcs, const WeightView& weights, int k);

    // f(gold) - f(predicted), and the cost of the predicted, at the nodes that the update asks for.
    graph::Answer answer(const feature::Sentence& sentence, const graph::ArcSet* arcs, const WeightView& weights, bool cost_augmented,
                         hypergraph::Update update, Tally& tally);
    // The same at the root, for the k best trees there.
    std::vector<graph::Answer> candidates(const feature::Sentence& sentence, const graph::ArcSet* arcs, const WeightView& weights, int k,
                                          Tally& tally);

private:
    void run(int trees);
    Ranked ranked(int rank) const;

    const Model* model_;
    Search search_;
};

}  // namespace arbora::cube
