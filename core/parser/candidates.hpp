// The arcs that a parser considers for a sentence: all, what a pruner leaves, or what agrees with the heads that are given.
//
// Given heads are kept: such a word has that arc alone. Another word may hang on h unless h is below it by given arcs, h is the root
// and another word is the only one there, or, in projective trees, the arc crosses a given one: running minima and maxima tell,
// O(n^2). A pruner then chooses among these arcs, so that a given head leaves room for what goes with it, and its own best tree is
// added, O(n^3) at most: some tree is always left. Max-marginal filtering (filter.hpp) goes on from there. Probabilities are those of
// all trees, crossing or not (matrix_tree.hpp), O(n^3); in very long sentences heads are compared by their scores alone, O(n^2).
#pragma once

#include <vector>

#include "features/encoded.hpp"
#include "parser/filter.hpp"
#include "trees/sparse/chart.hpp"
#include "parser/worker.hpp"

namespace arbora::graph {

// How arcs are chosen by their scores.
enum class PruningRule {
    margin,        // each word's best heads
    max_marginal,  // arcs of trees that are good enough; for projective trees
    probability,   // each word's heads that are not much less probable than its best one, by the sums over all trees
};

// A small first-order model that leaves each word a few heads.
struct Pruner {
    const Model* model = nullptr;
    WeightView weights;
    int keep = 0;        // heads per word at most, besides the word before it; max_marginal: those that it looks at; probability: in long sentences
    double within = 0;   // of the best head's score; max_marginal: of the best tree's; probability: of its log
    PruningRule rule = PruningRule::margin;
    double alpha = 0;    // max_marginal: see filter.hpp
};

bool has_given_heads(const feature::Sentence& sentence);

// All arcs of trees with the given heads. NoTreeError, which names words, where there is no such tree.
void find_compatible(const feature::Sentence& sentence, Trees trees, Roots roots, ArcSet& arcs);

// Keeps its memory between sentences. One per thread.
class Candidates {
public:
    // pruner: null for none. InputError for max-marginals of trees that may cross.
    Candidates(const Model& model, const Pruner* pruner, bool keep_heads);

    // Null: all arcs. Valid until the next call.
    const ArcSet* find(const feature::Encoded& sentences, std::size_t s);

private:
    void prune(const feature::Sentence& sentence, const ArcSet* among);
    void filter(const ArcSet& among, const float* scores);
    void keep_probable(const feature::Sentence& sentence, const ArcSet* among);
    // The scores of a set's arcs as a matrix, minus infinity elsewhere.
    Problem dense_problem(const ArcSet& arcs, const float* scores, Trees trees);
    void add_best_tree();

    const Model* model_;
    const Pruner* pruner_;
    bool keep_heads_;
    Worker worker_;
    ArcSet compatible_, kept_;
    Sides sides_;
    BestTree best_tree_;
    Filter filter_;
    ArcSet looked_at_;
    std::vector<float> scores_;
    Arena arena_;
    std::vector<double> dense_, probabilities_;
    std::vector<int> heads_, best_;
};

}  // namespace arbora::graph
