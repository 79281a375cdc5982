// Parses and answers for one sentence at a time; keeps its memory between sentences. One per thread.
#pragma once

#include <vector>

#include "features/extractor.hpp"
#include "numeric/batch_loop.hpp"
#include "parser/arc_set.hpp"
#include "parser/labeler.hpp"
#include "parser/model.hpp"
#include "trees/sparse/chart.hpp"
#include "numeric/sparse.hpp"

namespace arbora::graph {

class Worker {
public:
    // A wrong label costs as much on a wrong head as on the right one.
    explicit Worker(const Model& model, const Cost& cost = {})
        : model_(&model), cost_(cost), extractor_(model.templates), labeler_(model) {}

    // Fills heads[0..n] and, where the model has labels and the weights are there, labels[0..n]. arcs: null for all.
    // staged: labels are chosen on the finished tree, else together with it.
    void parse(const feature::Sentence& sentence, const ArcSet* arcs, const WeightView& weights, bool staged, int* heads, int* labels);

    // Up to k predictions, best first (k = 1 unless asked for several); cost_augmented adds the cost of each wrong word to its score.
    std::vector<Answer> answers(const feature::Sentence& sentence, const ArcSet* arcs, const WeightView& weights, Task task,
                                bool cost_augmented, int k);

    // The best few heads of every word by first-order scores, and the word before it: where `among` is null, for all arcs, a tree is
    // always left. O(n^2).
    void prune(const feature::Sentence& sentence, const ArcSet* among, const WeightView& weights, int keep, double within, ArcSet& kept);

    // One score per arc (times scale), and per sibling part.
    void score(const feature::Sentence& sentence, const ArcSet* arcs, const WeightView& weights);
    const ArcSet& arcs() const { return *arcs_; }
    const Sides& sides() const { return sides_; }
    const std::vector<float>& arc_scores() const { return arc_scores_; }
    const std::vector<float>& sibling_scores() const { return sibling_scores_; }
    const GrandParts& grand_parts() const { return grand_parts_; }
    const std::vector<float>& grand_scores() const { return grand_scores_; }
    // sides(), which score() makes only where there are siblings.
    void find_sides() { sides_.build(*arcs_); }

    // Calls visit.arc(head, dep, score), visit.sibling(head, dep, inner, score) and visit.grandparent(grandparent, head, dep, score)
    // for every part that score() scored.
    template <class Visit>
    void each_part(Visit&& visit) const;

    // The features of one part, into `entries`, each `count` times.
    void add_arc(int head, int dep, float count, std::vector<SparseEntry>& entries) const;
    void add_sibling(int head, int dep, int inner, float count, std::vector<SparseEntry>& entries) const;
    void add_grandparent(int grandparent, int head, int dep, float count, std::vector<SparseEntry>& entries) const;

private:
    void score_siblings(float scale);
    void score_grandparents(float scale);
    void score_labels(const WeightView& weights, bool cost_augmented);
    void add_costs();
    void decode(int* heads);
    bool decode_sparse(int* heads);
    void decode_dense(int* heads);
    std::vector<Heads> decode_kbest(int k);
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
    std::vector<int> arc_labels_;  // the best label of each arc, where heads and labels are chosen together
    std::vector<std::uint32_t> label_rows_;
    std::vector<double> dense_arcs_, dense_siblings_;
    std::vector<int> gold_, heads_, labels_, inner_, gold_inner_;
    std::vector<Surroundings> surroundings_;
};

template <class Visit>
void Worker::each_part(Visit&& visit) const {
    for (int d = 1; d <= arcs_->n; ++d)
        for (int a = arcs_->first[d]; a < arcs_->first[d + 1]; ++a) {
            const int h = arcs_->heads[a];
            visit.arc(h, d, arc_scores_[a]);
            for (int b = arcs_->first[h]; model_->grandparents && h > 0 && b < arcs_->first[h + 1]; ++b)
                visit.grandparent(arcs_->heads[b], h, d, grand_scores_[grand_parts_.part(a, b, arcs_->first[h])]);
        }
    if (!model_->siblings) return;
    for (const Side& side : sides_.all())
        for (int b = 0; b < side.count; ++b)
            for (int a = -1; a < b; ++a)
                visit.sibling(side.head, sides_.dep(side, b), a < 0 ? side.head : sides_.dep(side, a),
                              sibling_scores_[sides_.part(side, b, a)]);
}

}  // namespace arbora::graph
