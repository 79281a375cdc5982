#include "trees/labels.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>

#include "base/errors.hpp"
#include "base/interrupt.hpp"

namespace arbora {

namespace {

template <class Reduce>
void reduce(LabelScores labels, double* out, Reduce reduce_arc) {
    const auto nodes = static_cast<std::ptrdiff_t>(labels.n) + 1;
    std::fill_n(out, nodes * nodes, kMinusInfinity);
    each_arc(labels.n, [&](int h, int d) {
        check_stop(4 * static_cast<std::size_t>(labels.count));
        out[h * nodes + d] = reduce_arc(labels.of(h, d), h, d);
    });
}

double largest(const double* scores, int count, int head, int dep) {
    double best = kMinusInfinity;
    for (int l = 0; l < count; ++l) {
        if (!(scores[l] <= kLargestScore))
            reject("scores: expected numbers up to 1e300 (-inf forbids a part), got ", scores[l], " at [", head, ", ", dep, ", ", l, "]");
        best = std::max(best, scores[l]);
    }
    return allowed(best);
}

// out[label] <- exp(score), relative to the largest; returns their sum.
double weigh(const double* scores, int count, double* out) {
    const double top = *std::max_element(scores, scores + count);
    double total = 0.0;
    for (int l = 0; l < count; ++l) total += out[l] = std::exp(scores[l] - top);
    return total;
}

// A labelling of a skeleton. Its successors raise the label of word `last` or of a later word, so each labelling is reached once.
struct Labelling {
    double score;
    std::size_t skeleton;
    int last;
    std::vector<std::pair<int, int>> raised;  // (word, rank), words in the order of first raising

    bool operator<(const Labelling& other) const {
        return score != other.score ? score < other.score : skeleton > other.skeleton;
    }
};

}  // namespace

void max_over_labels(LabelScores labels, double* out) {
    reduce(labels, out, [&](const double* scores, int h, int d) { return largest(scores, labels.count, h, d); });
}

void log_sum_over_labels(LabelScores labels, double* out) {
    reduce(labels, out, [&](const double* scores, int h, int d) {
        const double top = largest(scores, labels.count, h, d);
        if (top == kMinusInfinity) return top;
        double sum = 0.0;
        for (int l = 0; l < labels.count; ++l) sum += std::exp(allowed(scores[l]) - top);
        return top + std::log(sum);
    });
}

void best_labels(LabelScores labels, const int* heads, int* out) {
    out[0] = -1;
    for (int d = 1; d <= labels.n; ++d) {
        const double* scores = labels.of(heads[d], d);
        out[d] = static_cast<int>(std::max_element(scores, scores + labels.count) - scores);
    }
}

void sample_labels(LabelScores labels, const int* heads, Generator& random, int* out) {
    std::vector<double> weights(labels.count);
    out[0] = -1;
    for (int d = 1; d <= labels.n; ++d) {
        const double target = weigh(labels.of(heads[d], d), labels.count, weights.data()) * random.uniform();
        double sum = 0.0;
        for (int l = 0; l < labels.count; ++l) {
            if (weights[l] == 0.0) continue;
            sum += weights[l];
            out[d] = l;
            if (sum > target) break;
        }
    }
}

void label_marginals(LabelScores labels, const double* arcs, double* joint) {
    const auto nodes = static_cast<std::ptrdiff_t>(labels.n) + 1;
    std::fill_n(joint, nodes * nodes * labels.count, 0.0);
    each_arc(labels.n, [&](int h, int d) {
        const double arc = arcs[h * nodes + d];
        if (arc <= 0.0) return;
        check_stop(4 * static_cast<std::size_t>(labels.count));
        double* out = joint + (h * nodes + d) * labels.count;
        const double total = weigh(labels.of(h, d), labels.count, out);
        for (int l = 0; l < labels.count; ++l) out[l] *= arc / total;
    });
}

std::vector<LabelledTree> kbest_labelled(LabelScores labels, const std::vector<Heads>& skeletons, const std::vector<double>& scores, int k) {
    std::vector<std::vector<int>> orders(static_cast<std::size_t>(labels.n + 1) * (labels.n + 1));
    // Labels of an arc, best first, ties by index.
    const auto order = [&](int head, int dep) -> const std::vector<int>& {
        auto& sorted = orders[head * (static_cast<std::ptrdiff_t>(labels.n) + 1) + dep];
        if (sorted.empty()) {
            const double* own = labels.of(head, dep);
            sorted.resize(labels.count);
            std::iota(sorted.begin(), sorted.end(), 0);
            std::stable_sort(sorted.begin(), sorted.end(), [&](int a, int b) { return own[a] > own[b]; });
        }
        return sorted;
    };
    std::priority_queue<Labelling> queue;
    for (std::size_t i = 0; i < skeletons.size(); ++i) queue.push({scores[i], i, 1, {}});
    std::vector<LabelledTree> trees;
    while (static_cast<int>(trees.size()) < k && !queue.empty()) {
        check_stop(256 * static_cast<std::size_t>(labels.n));
        const Labelling top = queue.top();
        queue.pop();
        LabelledTree tree{skeletons[top.skeleton], Heads(labels.n + 1, -1), top.score};
        for (int d = 1; d <= labels.n; ++d) tree.labels[d] = order(tree.heads[d], d)[0];
        for (const auto& [word, rank] : top.raised) tree.labels[word] = order(tree.heads[word], word)[rank];
        // Next: one more step for the word raised last, or a first step for a later word.
        for (int word = top.last; word <= labels.n; ++word) {
            const bool again = !top.raised.empty() && top.raised.back().first == word;
            const int rank = again ? top.raised.back().second + 1 : 1;
            if (rank >= labels.count) continue;
            const auto& sorted = order(tree.heads[word], word);
            const double* own = labels.of(tree.heads[word], word);
            if (allowed(own[sorted[rank]]) == kMinusInfinity) continue;
            Labelling next{top.score - (own[sorted[rank - 1]] - own[sorted[rank]]), top.skeleton, word, top.raised};
            if (!again) next.raised.emplace_back(word, 1);
            next.raised.back().second = rank;
            queue.push(std::move(next));
        }
        trees.push_back(std::move(tree));
    }
    return trees;
}

}  // namespace arbora
