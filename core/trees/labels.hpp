// Labelled trees reduce to unlabelled ones: maximise, or sum, over the labels of each arc before any tree algorithm [koo-2007, 3.4].
#pragma once

#include <vector>

#include "trees/problem.hpp"
#include "base/generator.hpp"

namespace arbora {

// scores[head, dep, label], dense, (n+1)^2 * count. Column 0 and the diagonal are ignored.
struct LabelScores {
    int n = 0;
    int count = 0;
    const double* scores = nullptr;

    const double* of(int head, int dep) const { return scores + (head * (static_cast<std::ptrdiff_t>(n) + 1) + dep) * count; }
};

// out[head, dep] <- max over labels. Throws InputError on NaN or +infinity.
void max_over_labels(LabelScores labels, double* out);
// out[head, dep] <- log sum over labels of exp.
void log_sum_over_labels(LabelScores labels, double* out);
// The first label of the largest score of each arc of a tree; labels[0] = -1.
void best_labels(LabelScores labels, const int* heads, int* out);
// A label for each arc of a tree, in proportion to exp(score).
void sample_labels(LabelScores labels, const int* heads, Generator& random, int* out);
// joint[head, dep, label] = arcs[head, dep] * P(label | arc).
void label_marginals(LabelScores labels, const double* arcs, double* joint);

struct LabelledTree {
    Heads heads, labels;
    double score = 0.0;
};

// The k best labelled trees from the k best unlabelled ones under max_over_labels: a labelled tree among the k best has a skeleton
// among the k best skeletons, and the labellings of each skeleton are enumerated in order, lazily. O(k n log(kn) + n L log L).
std::vector<LabelledTree> kbest_labelled(LabelScores labels, const std::vector<Heads>& skeletons, const std::vector<double>& scores, int k);

}  // namespace arbora
