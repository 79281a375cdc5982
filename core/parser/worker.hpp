// Parses and answers queries for one sentence at a time; keeps its memory between sentences. One per thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "numeric/batch_loop.hpp"
#include "parser/labeler.hpp"
#include "trees/hill_climbing.hpp"
#include "trees/queries.hpp"
#include "trees/sparse/chart.hpp"

namespace arbora::graph {

// The chart with grandparents takes O(n^2 k) space; longer sentences are decoded without them.
inline constexpr int kLongestWithGrandparents = 600;

// With this limit, no sum over the parts of a tree overflows.
inline constexpr float kLargestScore = 1e30F;

// The limit on sibling and grandparent parts per sentence; with all arcs there are n^3 of them.
inline constexpr std::size_t kMostParts = std::size_t{1} << 27;

inline void require_room(std::size_t parts, int words) {
    if (parts > kMostParts)
        throw InputError("a sentence of " + std::to_string(words) + " words has " + std::to_string(parts) +
                         " second-order parts, more than there is room for: prune arcs first, or split the sentence");
}

// Throws InputError if a score is not finite or too large for charts.
inline void require_finite(const std::vector<float>& scores) {
    bool good = true;
    for (const float score : scores) good &= std::abs(score) <= kLargestScore;  // false for NaN, too
    if (!good) throw InputError("scores: expected finite numbers of at most 1e30, got others; the weights are damaged, or learning diverged");
}

// Scores over an ArcSet, in the form that hill climbing reads.
template <class Value>
struct SparseParts {
    const ArcSet& arcs;
    const Sides& sides;
    const Value* arc_scores;
    const float* sibling_scores;
    const GrandParts& grand_parts;
    const float* grand_scores;  // null: none
    Roots root_rule;

    int n() const { return arcs.n; }
    Roots roots() const { return root_rule; }
    double arc(int head, int dep) const { return arc_scores[arcs.find(head, dep)]; }
    double sibling(int head, int dep, int inner) const { return sibling_scores[sides.part_of(head, dep, inner)]; }
    bool grandparents() const { return grand_scores != nullptr; }
    double grandparent(int grandparent, int head, int dep) const {
        return grand_scores[grand_parts.part(arcs.find(head, dep), arcs.find(grandparent, head), arcs.first[head])];
    }
    template <class Visit>
    void each_head(int dep, Visit visit) const {
        for (const int h : arcs.heads_of(dep)) visit(h);
    }
};

class Worker {
public:
    // A wrong label costs the same on a wrong head as on the right one.
    explicit Worker(const Model& model, const Cost& cost = {})
        : model_(&model), cost_(cost), extractor_(model.templates), labeler_(model) {}

    // Fills heads[0..n] and, if the model has labels and their weights are loaded, labels[0..n]. arcs: null for all.
    // staged: labels are chosen on the finished tree, else together with it.
    void parse(const feature::Sentence& sentence, const ArcSet* arcs, const WeightView& weights, bool staged, int* heads, int* labels);

    // Up to k predictions, best first; cost_augmented adds the cost of each wrong word to its score.
    std::vector<Answer> answers(const feature::Sentence& sentence, const ArcSet* arcs, const WeightView& weights, Task task,
                                bool cost_augmented, int k);

    // The best few heads of every word by first-order scores, and the previous word. If `among` is null, that is, all arcs, a tree
    // is always left. O(n^2).
    void prune(const feature::Sentence& sentence, const ArcSet* among, const WeightView& weights, int keep, double within, ArcSet& kept);

    // One score per arc (times scale), and per sibling part.
    void score(const feature::Sentence& sentence, const ArcSet* arcs, const WeightView& weights);
    const ArcSet& arcs() const { return *arcs_; }
    const Sides& sides() const { return sides_; }
    const std::vector<float>& arc_scores() const { return arc_scores_; }
    const std::vector<float>& sibling_scores() const { return sibling_scores_; }
    const GrandParts& grand_parts() const { return grand_parts_; }
    const std::vector<float>& grand_scores() const { return grand_scores_; }
    // sides(), which score() makes only for models with siblings.
    void find_sides() { sides_.build(*arcs_); }

    // Calls visit.arc(head, dep, score), visit.sibling(head, dep, inner, score) and visit.grandparent(grandparent, head, dep, score)
    // for every part that score() scored.
    template <class Visit>
    void each_part(Visit&& visit) const {
        arcs_->each([&](int h, int d, int a) {
            visit.arc(h, d, arc_scores_[a]);
            for (int b = arcs_->first[h]; model_->grandparents && h > 0 && b < arcs_->first[h + 1]; ++b)
                visit.grandparent(arcs_->heads[b], h, d, grand_scores_[grand_parts_.part(a, b, arcs_->first[h])]);
        });
        if (model_->siblings) sides_.each_part([&](int h, int d, int inner, std::size_t part) { visit.sibling(h, d, inner, sibling_scores_[part]); });
    }

    // Adds the features of one part to `entries`, each `count` times.
    void add_arc(int head, int dep, float count, std::vector<SparseEntry>& entries) const {
        extractor_.visit_arc(head, dep, [&](std::uint32_t place) { entries.emplace_back(place, count); });
    }
    void add_sibling(int head, int dep, int inner, float count, std::vector<SparseEntry>& entries) const {
        extractor_.visit_sibling(head, dep, inner, [&](std::uint32_t place) { entries.emplace_back(place, count); });
    }
    void add_grandparent(int grandparent, int head, int dep, float count, std::vector<SparseEntry>& entries) const {
        extractor_.visit_grandparent(grandparent, head, dep, [&](std::uint32_t place) { entries.emplace_back(place, count); });
    }

private:
    void score_siblings(float scale);
    void score_grandparents(float scale);
    void score_labels(const WeightView& weights, bool cost_augmented);
    void add_costs() {
        arcs_->each([&](int h, int d, int a) {
            if (h != gold_[d]) arc_scores_[a] += static_cast<float>(cost_.head);
        });
    }
    void decode(int* heads);
    bool decode_sparse(int* heads);
    void decode_dense(int* heads) { argmax(dense_problem(false), arena_, heads); }
    Problem dense_problem(bool siblings);
    void label_tree(const WeightView& weights, bool cost_augmented, const int* heads, int* labels);
    Answer tree_answer(Task task, const int* heads, const int* labels);
    Answer label_answer(const int* labels);
    void add_labels(int dep, const Surroundings& around, bool whole_tree, int label, float count, std::vector<SparseEntry>& entries);

    const Model* model_;
    Cost cost_;
    feature::Extractor extractor_;
    Labeler labeler_;
    feature::Sentence sentence_;
    const ArcSet* arcs_ = nullptr;
    ArcSet every_arc_;
    Sides sides_;
    GrandParts grand_parts_;
    BestTree best_tree_;
    Arena arena_;
    std::vector<float> arc_scores_, sibling_scores_, grand_scores_, label_scores_;
    std::vector<int> arc_labels_;  // the best label of each arc, if heads and labels are chosen together
    std::vector<std::uint32_t> label_rows_;
    std::vector<double> dense_arcs_, dense_siblings_;
    std::vector<int> gold_, heads_, labels_, inner_, gold_inner_;
    std::vector<Surroundings> surroundings_;
};

}  // namespace arbora::graph
