#include "trees/arborescence/random_walk.hpp"

#include <algorithm>

#include "numeric/kernels/kernels.hpp"

namespace arbora {

RandomWalk::RandomWalk(const double* scores, Square square, Arena& arena) : square_(square), in_tree_(arena.take<char>(square.n + 1)) {
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

// The lowest head whose cumulative weight exceeds a random part of the whole; it has weight, or its sum would be no larger.
int RandomWalk::step(int word, Generator& random) const {
    const double* line = cumulative_ + square_.line(word);
    return kernels().line_rank(line, square_.n, random.uniform() * line[square_.n]);
}

bool RandomWalk::draw(Generator& random, int* heads) {
    if (!possible_) return false;
    const int n = square_.n;
    std::fill_n(in_tree_, n + 1, 0);
    in_tree_[0] = 1;
    heads[0] = -1;
    int steps = 32 * n + 64;
    for (int start = 1; start <= n; ++start) {
        for (int word = start; in_tree_[word] == 0; word = heads[word]) {
            if (--steps < 0) return false;
            heads[word] = step(word, random);
        }
        for (int word = start; in_tree_[word] == 0; word = heads[word]) in_tree_[word] = 1;
    }
    return true;
}

}  // namespace arbora
