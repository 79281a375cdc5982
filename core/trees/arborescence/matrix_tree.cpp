#include "trees/arborescence/matrix_tree.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/interrupt.hpp"
#include "numeric/kernels/kernels.hpp"
#include "trees/arborescence/extended_slopes.hpp"

namespace arbora {

namespace {

// The largest score of each column, from which its scale is derived: see scale_weights. Returns false if a word has no head.
bool column_tops(const double* scores, Square q, Roots roots, double* tops, double* scratch) {
    kernels().column_best(scores, q, roots == Roots::multi ? 0 : 1, tops, scratch);
    for (int d = 1; d <= q.n; ++d) {
        if (tops[d] == kMinusInfinity) tops[d] = scores[d];
        if (tops[d] == kMinusInfinity) return false;
    }
    return true;
}

// Rounding can leave a column's sum slightly off one; then rescale it.
void normalize_columns(double* out, int nodes) {
    for (int d = 1; d < nodes; ++d) {
        if (nodes >= 64) check_stop(8 * static_cast<std::size_t>(nodes));
        double sum = 0.0;
        for (int h = 0; h < nodes; ++h) sum += out[h * static_cast<std::ptrdiff_t>(nodes) + d];
        if (std::abs(sum - 1.0) < 1e-15 * nodes) continue;
        for (int h = 0; h < nodes; ++h) out[h * static_cast<std::ptrdiff_t>(nodes) + d] /= sum;
    }
}

}  // namespace

MatrixTree::MatrixTree(const double* scores, Square square, Roots roots, Arena& arena, For use)
    : scores_(scores), square_(square), roots_(roots), arena_(arena) {
    if (square.n == 0) {
        any_tree_ = at_least_best_ = true;
        return;
    }
    auto* tops = arena.take<double>(2 * static_cast<std::size_t>(square.stride));
    if (!column_tops(scores, square, roots, tops, tops + square.stride)) return;
    plain_ = Elimination::take(arena, square, roots);
    const double taken_out = kernels().scale_weights(scores, tops, plain_);
    if (taken_out == kMinusInfinity) return;
    if (use == For::everything) {
        original_ = arena.take<double>(square.size());
        std::memcpy(original_, plain_.weights, square.size() * sizeof(double));
    }
    if (!kernels().eliminate(plain_)) {
        run_extended();
        return;
    }
    Extended product = kOne;
    for (int k = 1; k <= square.n; ++k) product = product * normalized(plain_.pivots[k], 0.0);
    any_tree_ = true;
    // Scaled so that no tree weighs more than 1, by more than the rounding error of the sums of scores.
    double magnitude = 1.0;
    for (int d = 1; d <= square.n; ++d) magnitude += std::abs(tops[d]) + std::abs(scores[d] > kMinusInfinity ? scores[d] : 0.0);
    at_least_best_ = log(product) > 1e-14 * square.n * magnitude;
    log_partition_ = taken_out + log(product);
}

void MatrixTree::run_extended() {
    extended_ = true;
    wide_ = ExtendedElimination::take(arena_, square_, roots_);
    kernels().exponentiate(scores_, wide_.weights, square_.size());
    if (!kernels().eliminate_extended(wide_)) return;
    Extended product = kOne;
    for (int k = 1; k <= square_.n; ++k) product = product * wide_.pivots.at(k);
    any_tree_ = true;
    log_partition_ = log(product);
}

void MatrixTree::marginals(double* out) {
    const Square& q = square_;
    const int nodes = q.n + 1;
    std::fill_n(out, static_cast<std::size_t>(nodes) * nodes, 0.0);
    if (q.n == 0) return;
    const auto put = [&](int h, int d, double value) { out[h * static_cast<std::ptrdiff_t>(nodes) + d] = std::min(value, 1.0); };
    if (extended_) {
        const LogPlane gradients = take_plane<LogPlane>(arena_, q.size()), weights = take_plane<LogPlane>(arena_, q.size());
        kernels().backpropagate_extended(wide_, gradients);
        // To the last digit those of the sum: of a large score, another exponential would lose digits that cancel between arcs.
        kernels().exponentiate(scores_, weights, q.size());
        each_arc(q.n, [&](int h, int d) {
            const Extended gradient = gradients.at(q.cell(h, d));
            if (!gradient.is_zero()) put(h, d, ratio(gradient * weights.at(q.cell(h, d)), kOne));
        });
    } else {
        auto* gradients = arena_.take<double>(q.size());
        kernels().backpropagate(plain_, gradients);
        each_arc(q.n, [&](int h, int d) { put(h, d, gradients[q.cell(h, d)] * original_[q.cell(h, d)]); });
    }
    normalize_columns(out, nodes);
}

void MatrixTree::marginals_along(const double* direction, double* out) {
    const Square& q = square_;
    const std::ptrdiff_t nodes = q.n + 1;
    std::fill_n(out, nodes * nodes, 0.0);
    if (q.n == 0) return;
    if (extended_) return ExtendedSlopes(scores_, direction, q, roots_).marginals_along(out);
    auto *gradients = arena_.take<double>(q.size()), *changes = arena_.take<double>(q.size());
    Elimination slopes = Elimination::take(arena_, q, roots_);
    for (std::size_t i = 0; i < q.size(); ++i) slopes.weights[i] = original_[i] * direction[i];
    kernels().eliminate_slopes(plain_, slopes);
    kernels().backpropagate(plain_, gradients);
    kernels().backpropagate_slopes(plain_, slopes, gradients, changes);
    each_arc(q.n, [&](int h, int d) {
        const std::ptrdiff_t at = q.cell(h, d);
        out[h * nodes + d] = (changes[at] + gradients[at] * direction[at]) * original_[at];
    });
}

}  // namespace arbora
