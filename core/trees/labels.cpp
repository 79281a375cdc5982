#include "trees/labels.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>
#include <string>

#include "base/errors.hpp"

namespace arbora {

namespace {

template <class Reduce>
void reduce(LabelScores labels, double* out, Reduce reduce_arc) {
    const auto nodes = static_cast<std::ptrdiff_t>(labels.n) + 1;
    std::fill_n(out, nodes * nodes, kMinusInfinity);
    for (int h = 0; h <= labels.n; ++h) {
        for (int d = 1; d <= labels.n; ++d) {
            if (h != d) out[h * nodes + d] = reduce_arc(labels.of(h, d), h, d);
        }
    }
}

double largest(const double* scores, int count, int head, int dep) {
    double best = kMinusInfinity;
    for (int l = 0; l < count; ++l) {
        if (!(scores[l] <= kLargestScore)) {
            throw InputError("scores: expected numbers up to 1e300 (-inf forbids a part), got " + std::to_string(scores[l]) +
                             " at [" + std::to_string(head) + ", " + std::to_string(dep) + ", " + std::to_string(l) + "]");
        }
        best = scores[l] > best ? scores[l] : best;
    }
    return allowed(best);
}

// One skeleton's labellings in order of score: words sorted by what their second-best label costs, ranks raised step by step.
// A state raises the label of the word at `last` (an index into the order) or of a later word, so each labelling is reached once.
struct Labelling {
    double score;
    std::size_t skeleton;
    int last;
    std::vector<std::pair<int, int>> raised;  // (word, rank), words in the order of first raising

    bool operator<(const Labelling& other) const {
        return score != other.score ? score < other.score : skeleton > other.skeleton;
    }
};

class LabelSearch {
public:
    LabelSearch(LabelScores labels, const std::vector<Heads>& skeletons, const std::vector<double>& scores)
        : labels_(labels), skeletons_(skeletons) {
        for (std::size_t i = 0; i < skeletons.size(); ++i) {
            queue_.push({scores[i], i, 1, {}});
        }
    }

    std::vector<LabelledTree> run(int k) {
        std::vector<LabelledTree> trees;
        while (static_cast<int>(trees.size()) < k && !queue_.empty()) {
            const Labelling top = queue_.top();
            queue_.pop();
            trees.push_back(build(top));
            // Next: one more step for the word raised last, or a first step for any later word. A frontier of "first step of the next
            // later word" would be lazier; n is small beside the chart, and only k of these are ever expanded.
            for (int word = top.last; word <= labels_.n; ++word) raise(top, word);
        }
        return trees;
    }

private:
    // Labels of an arc, best first, ties by index.
    const std::vector<int>& order(int head, int dep) {
        auto& sorted = orders_[head * (static_cast<std::ptrdiff_t>(labels_.n) + 1) + dep];
        if (sorted.empty()) {
            const double* scores = labels_.of(head, dep);
            sorted.resize(labels_.count);
            std::iota(sorted.begin(), sorted.end(), 0);
            std::stable_sort(sorted.begin(), sorted.end(), [&](int a, int b) { return scores[a] > scores[b]; });
        }
        return sorted;
    }

    void raise(const Labelling& from, int word) {
        const int head = skeletons_[from.skeleton][word];
        const auto& sorted = order(head, word);
        const bool again = !from.raised.empty() && from.raised.back().first == word;
        const int rank = again ? from.raised.back().second + 1 : 1;
        if (rank >= labels_.count) return;
        const double* scores = labels_.of(head, word);
        const double loss = scores[sorted[rank - 1]] - scores[sorted[rank]];
        if (allowed(scores[sorted[rank]]) == kMinusInfinity) return;
        Labelling next{from.score - loss, from.skeleton, word, from.raised};
        if (again) {
            next.raised.back().second = rank;
        } else {
            next.raised.emplace_back(word, 1);
        }
        queue_.push(std::move(next));
    }

    LabelledTree build(const Labelling& labelling) {
        LabelledTree tree{skeletons_[labelling.skeleton], Heads(labels_.n + 1, -1), labelling.score};
        for (int d = 1; d <= labels_.n; ++d) tree.labels[d] = order(tree.heads[d], d)[0];
        for (const auto& [word, rank] : labelling.raised) tree.labels[word] = order(tree.heads[word], word)[rank];
        return tree;
    }

    LabelScores labels_;
    const std::vector<Heads>& skeletons_;
    std::vector<std::vector<int>> orders_{static_cast<std::size_t>(labels_.n + 1) * (labels_.n + 1)};
    std::priority_queue<Labelling> queue_;
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
    out[0] = -1;
    for (int d = 1; d <= labels.n; ++d) {
        const double* scores = labels.of(heads[d], d);
        const double top = *std::max_element(scores, scores + labels.count);
        double total = 0.0;
        for (int l = 0; l < labels.count; ++l) total += std::exp(scores[l] - top);
        const double target = random.uniform() * total;
        double sum = 0.0;
        for (int l = 0; l < labels.count; ++l) {
            const double weight = std::exp(scores[l] - top);
            if (weight == 0.0) continue;
            sum += weight;
            out[d] = l;
            if (sum > target) break;
        }
    }
}

void label_marginals(LabelScores labels, const double* arcs, double* joint) {
    const auto nodes = static_cast<std::ptrdiff_t>(labels.n) + 1;
    std::fill_n(joint, nodes * nodes * labels.count, 0.0);
    for (int h = 0; h <= labels.n; ++h) {
        for (int d = 1; d <= labels.n; ++d) {
            const double arc = arcs[h * nodes + d];
            if (arc <= 0.0) continue;
            const double* scores = labels.of(h, d);
            double* out = joint + (h * nodes + d) * labels.count;
            const double top = *std::max_element(scores, scores + labels.count);
            double total = 0.0;
            for (int l = 0; l < labels.count; ++l) total += out[l] = std::exp(scores[l] - top);
            for (int l = 0; l < labels.count; ++l) out[l] *= arc / total;
        }
    }
}

std::vector<LabelledTree> kbest_labelled(LabelScores labels, const std::vector<Heads>& skeletons, const std::vector<double>& scores, int k) {
    return LabelSearch(labels, skeletons, scores).run(k);
}

}  // namespace arbora
