// A graph model as a probability distribution over the trees of a sentence: P(tree) = exp(score) / Z [koo-2007].
//
// Exact for first-order trees of every family and for second-order projective trees, over the arcs left by a pruner. Labels are
// summed out first: the score of an arc is the log of the sum over its labels. If only some heads or labels of a sentence are
// known, the probability is that of the known part: a sum over all trees that agree with it.
// First order: O(n^2) for the arcs and O(n^3) for the sums. Second order, with k arcs per word: O(n^2 k^2).
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "numeric/log_sum.hpp"
#include "parser/worker.hpp"

namespace arbora::graph {

// The sum over all trees, and the probability of each part; numbered as in ArcSet, Sides and GrandParts.
struct Sums {
    double log_partition = 0.0;
    std::vector<double> arcs, siblings, grandparents;
};

// The minimum weight of a part in a gradient: gradients are float32, and confident models have many parts below it.
inline constexpr double kNegligible = 1e-7;

std::vector<double> softmax(const double* scores, std::size_t count);

class Expectations {
public:
    explicit Expectations(const Model& model, const Cost& cost = {}) : model_(&model), cost_(cost), worker_(model), labeler_(model) {}

    // loss: -log P(known part of the tree); difference: f(known) - E[f], both expected if not all is known.
    // cost_augmented: adds the cost of wrong heads and labels to their scores (softmax-margin).
    Answer answer(const feature::Sentence& sentence, const ArcSet* arcs, const WeightView& weights, Task task, bool cost_augmented);

    // Scores the arcs of a sentence, summed over labels if these are chosen together with heads. Call sums() afterwards.
    void load(const feature::Sentence& sentence, const ArcSet* arcs, const WeightView& weights, bool joint_labels);
    Sums sums() { return sums_of(arc_scores_); }
    // The same for other scores of the same arcs, first order only.
    Sums sums_of(const std::vector<double>& arc_scores);
    const ArcSet& arcs() const { return worker_.arcs(); }
    const std::vector<double>& arc_scores() const { return arc_scores_; }
    // The score of a tree by its parts, labels summed out; minus infinity if an arc of it is not in the set. O(n k).
    double tree_score(const int* heads);
    // The parts and their scores.
    const Worker& worker() const { return worker_; }
    // The labels that these words' tags allow.
    std::span<const std::uint16_t> allowed(int head, int dep) const {
        return model_->label_sets.of(sentence_.tags[head], sentence_.tags[dep]);
    }
    // P(label | arc) or, if labels are chosen on the finished tree, P(label | arc, tree): one number per allowed label, in their
    // order.
    std::vector<double> label_probabilities(int arc) const {
        return softmax(labels_.scores.data() + labels_.first[arc], labels_.first[arc + 1] - labels_.first[arc]);
    }
    void label_probabilities_on_tree(const WeightView& weights, const int* heads, std::vector<std::vector<double>>& out);

    // The features of arcs, each times its coefficient.
    std::vector<SparseEntry> pull_back(const std::vector<double>& coefficients) const;

private:
    struct LabelScores {
        std::vector<std::size_t> first;  // of each arc
        std::vector<double> scores;      // one per allowed label
        std::vector<double> sums;        // log sum of exp, one per arc
    };

    void score_labels(const WeightView& weights);
    // Adds the costs of wrong heads and, if labels are known too, of wrong labels.
    void add_costs();
    bool is_known(Task task) const {
        for (int d = 1; d <= sentence_.n; ++d)
            if (sentence_.heads[d] < 0 || (task == Task::joint && sentence_.labels[d] < 0)) return false;
        return true;
    }
    // The scores of arcs that agree with the known heads and labels, and minus infinity for the others.
    std::vector<double> scores_of_known(Task task) const;
    double label_score(int arc, int label) const;
    // One for every part of the gold tree.
    void count_gold(Sums& counts);
    // Labels on the gold tree: one choice per word. Words without a head or a label contribute nothing.
    Answer label_answer(const WeightView& weights, bool cost_augmented);
    void add_parts(const Sums& counts, Answer& answer);
    void add_arc_labels(const Sums& all, const Sums& known, Answer& answer);

    const Model* model_;
    Cost cost_;
    Worker worker_;
    Labeler labeler_;
    SumChart chart_;
    GrandParts no_grandparents_;  // numbering for sums without grandparents
    Arena arena_;
    feature::Sentence sentence_;
    std::vector<double> arc_scores_, dense_scores_, dense_marginals_;
    LabelScores labels_;
    std::vector<std::uint32_t> rows_;
    std::vector<int> gold_, inner_;
};

}  // namespace arbora::graph
