// The k best trees of a sentence over the kept arcs, exactly.
//
// First order: the k-best charts and arborescences of trees/. Second-order projective: Lawler's partition [lawler-1972]. The trees
// other than the best fall into n sets: those that share the best tree's heads up to a word and differ at that word. Each set's
// best tree is an argmax over fewer arcs. The best of all is the next tree, and its set is split again. k n argmaxes. Ties go to
// the set that was split off first.
#pragma once

#include <algorithm>
#include <vector>

#include "parser/expectations.hpp"

namespace arbora::graph {

class RankedTrees {
public:
    explicit RankedTrees(const Model& model) : model_(&model) {}

    // Up to k different trees, best first. Throws InputError for second-order non-projective models.
    std::vector<Heads> best(Expectations& expectations, int k);

private:
    // A set of trees, represented by its best one: words before `from` have its heads, word `from` has none of `forbidden`.
    struct Set {
        double score = 0.0;
        Heads heads;
        int from = 1;
        std::vector<int> forbidden;
    };

    // The best tree of a set whose words before `from` have the heads of `prefix`; false if it is empty.
    bool solve(const Heads& prefix, Set& set);
    std::vector<Heads> split(int k);

    const Model* model_;
    Expectations* expectations_ = nullptr;
    BestTree best_tree_;
    Arena arena_;
    std::vector<double> dense_;
    std::vector<float> scores_, allowed_;
};

}  // namespace arbora::graph
