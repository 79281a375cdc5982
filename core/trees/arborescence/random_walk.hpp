// Exact random multi-root trees by loop-erased random walks [wilson-1996]: each word in turn walks to a random head, in proportion to
// the arcs' weights, until it meets the tree grown so far; loops of the walk are erased.
//
// A walk may be long if words prefer each other to the root, so the number of steps is limited and a draw may fail. That does not
// bias the trees drawn: the number of steps spent in loops is independent of the tree [propp-1998].
// Time O(n^2) to begin with, then O(n) a step, by vectors; on the order of n steps a tree unless the scores are circular.
#pragma once

#include <algorithm>

#include "base/generator.hpp"
#include "numeric/kernels/kernels.hpp"

namespace arbora {

class RandomWalk {
public:
    // `scores` is a Square copy (column 0, diagonal: -inf).
    RandomWalk(const double* scores, Square square, Arena& arena) : square_(square), in_tree_(arena.take<char>(square.n + 1)) {
        auto* tops = arena.take<double>(2 * static_cast<std::size_t>(square.stride));
        kernels().column_best(scores, square, 0, tops, tops + square.stride);
        for (int d = 1; d <= square.n; ++d) possible_ &= tops[d] > kMinusInfinity;
        Elimination sums{square, Roots::multi};
        sums.weights = arena.take<double>(square.size());
        kernels().scale_weights(scores, tops, sums);
        for (int h = 1; h <= square.n; ++h) {
            const double* above = sums.weights + square.line(h - 1);
            double* row = sums.weights + square.line(h);
            for (int d = 0; d <= square.n; ++d) row[d] += above[d];
        }
        cumulative_ = arena.take<double>(square.size());
        kernels().transpose(sums.weights, square, cumulative_);
    }

    // heads[0..n]; false if the steps ran out.
    bool draw(Generator& random, int* heads) {
        if (!possible_) return false;
        const int n = square_.n;
        std::fill_n(in_tree_, n + 1, 0);
        in_tree_[0] = 1;
        heads[0] = -1;
        int steps = 32 * n + 64;
        for (int start = 1; start <= n; ++start) {
            for (int word = start; in_tree_[word] == 0; word = heads[word]) {
                if (--steps < 0) return false;
                // The lowest head whose cumulative weight exceeds a random part of the total. It has nonzero weight, or its sum
                // would be no larger.
                const double* line = cumulative_ + square_.line(word);
                heads[word] = kernels().line_rank(line, n, random.uniform() * line[n]);
            }
            for (int word = start; in_tree_[word] == 0; word = heads[word]) in_tree_[word] = 1;
        }
        return true;
    }

private:
    Square square_;
    bool possible_ = true;
    double* cumulative_;  // [dep][head]: weight of the heads up to this one
    char* in_tree_;
};

}  // namespace arbora
