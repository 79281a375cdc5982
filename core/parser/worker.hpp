// Parses and answers for one sentence at a time; keeps its memory between sentences. One per thread.
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

// No sum over the parts of a tree overflows.
inline constexpr float kLargestScore = 1e30F;

// Parts of siblings and grandparents that a sentence may have; with all arcs there are n^3 of them.
inline constexpr std::size_t kMostParts = std::size_t{1} << 27;

inline void require_room(std::size_t parts, int words) {
    if (parts > kMostParts)
        throw InputError("a sentence of " + std::to_string(words) + " words has " + std::to_string(parts) +
                         " second-order parts, more than there is room for: prune arcs first, or split the sentence");
}

// InputError where a score is not finite or beyond all bounds: charts would not know what to make of it.
inline void require_finite(const std::vector<float>& scores) {
    bool good = true;
    for (const float score : scores) good &= std::abs(score) <= kLargestScore;  // false for NaN, too
    if (!good) throw InputError("scores: expected finite numbers of at most 1e30, got others; the weights are damaged, or learning diverged");
}

// Scores over an ArcSet, as parts of hill climbing.
struct SparseParts {
    const ArcSet& arcs;
    const Sides& sides;
    const float* arc_scores;
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
    // A wrong label costs as much on a wrong head as on the right one.
    explicit Worker(const Model& model, const Cost& cost = {})
        : model_(&model), cost_(cost), extractor_(model.templates), labeler_(model) {}

    // Fills heads[0..n] and, where the model has labels and the weights are there, labels[0..n]. arcs: null for all.
    // staged: labels are chosen on the finished tree, else together with it.
    void parse(const feature::Sentence& sentence, const ArcSet* arcs, const WeightView& weights, bool staged, int* heads, int* labels) {
        score(sentence, arcs, weights);
        const bool labelled = model_->labels > 0 && weights.labels != nullptr && labels != nullptr;
        if (labelled && !staged) score_labels(weights, false);
        decode(heads);
        if (labelled && staged) return label_tree(weights, false, heads, labels);
        if (!labelled) return;
        labels[0] = -1;
        for (int d = 1; d <= sentence.n; ++d) labels[d] = arc_labels_[arcs_->find(heads[d], d)];
    }

    // Up to k predictions, best first (k = 1 unless asked for several); cost_augmented adds the cost of each wrong word to its score.
    std::vector<Answer> answers(const feature::Sentence& sentence, const ArcSet* arcs, const WeightView& weights, Task task,
                                bool cost_augmented, int k) {
        sentence_ = sentence;
        const auto nodes = static_cast<std::size_t>(sentence.n) + 1;
        gold_.assign(sentence.heads, sentence.heads + nodes);
        heads_.resize(nodes);
        labels_.resize(nodes);
        if (task == Task::labels) {
            label_tree(weights, cost_augmented, gold_.data(), labels_.data());
            return {label_answer(labels_.data())};
        }
        gold_inner_.resize(nodes);
        adjacent_siblings(gold_.data(), sentence.n, gold_inner_.data());
        score(sentence, arcs, weights);
        if (cost_augmented) add_costs();
        if (task == Task::joint) score_labels(weights, cost_augmented);
        const auto answer = [&](const int* heads) {
            for (int d = 1; task == Task::joint && d <= sentence.n; ++d) labels_[d] = arc_labels_[arcs_->find(heads[d], d)];
            return tree_answer(task, heads, labels_.data());
        };
        if (k == 1) {
            decode(heads_.data());
            return {answer(heads_.data())};
        }
        std::vector<Answer> all;
        for (const Heads& heads : kbest(dense_problem(model_->siblings), k, arena_)) all.push_back(answer(heads.data()));
        return all;
    }

    // The best few heads of every word by first-order scores, and the word before it: where `among` is null, for all arcs, a tree is
    // always left. O(n^2).
    void prune(const feature::Sentence& sentence, const ArcSet* among, const WeightView& weights, int keep, double within, ArcSet& kept) {
        score(sentence, among, weights);
        kept.start(sentence.n);
        std::vector<int> order;
        for (int d = 1; d <= sentence.n; ++d) {
            const float* scores = &arc_scores_[arcs_->first[d]];
            const auto heads = arcs_->heads_of(d);
            order.resize(heads.size());
            for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
            const auto count = std::min(order.size(), static_cast<std::size_t>(keep));
            std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                              [&](int a, int b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
            const std::size_t begin = kept.heads.size();
            for (std::size_t i = 0; i < count && scores[order[i]] >= scores[order[0]] - within; ++i) kept.heads.push_back(heads[order[i]]);
            const bool has_before = arcs_->find(d - 1, d) >= 0;
            if (has_before && std::find(kept.heads.begin() + static_cast<std::ptrdiff_t>(begin), kept.heads.end(), d - 1) == kept.heads.end())
                kept.heads.push_back(d - 1);
            std::sort(kept.heads.begin() + static_cast<std::ptrdiff_t>(begin), kept.heads.end());
            kept.end_word();
        }
    }

    // One score per arc (times scale), and per sibling part.
    void score(const feature::Sentence& sentence, const ArcSet* arcs, const WeightView& weights) {
        sentence_ = sentence;
        if (arcs == nullptr) {
            if (every_arc_.n != sentence.n) every_arc_.set_all(sentence.n);
            arcs = &every_arc_;
        }
        arcs_ = arcs;
        extractor_.load(sentence, {weights.tree, model_->tree_size - 1}, model_->siblings, model_->grandparents);
        const auto scale = static_cast<float>(weights.scale);
        arc_scores_.resize(arcs_->heads.size());
        arcs_->each([&](int h, int d, int a) { arc_scores_[a] = scale * extractor_.arc(h, d); });
        require_finite(arc_scores_);
        if (model_->siblings) score_siblings(scale);
        if (model_->grandparents) score_grandparents(scale);
    }
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
    void each_part(Visit&& visit) const {
        arcs_->each([&](int h, int d, int a) {
            visit.arc(h, d, arc_scores_[a]);
            for (int b = arcs_->first[h]; model_->grandparents && h > 0 && b < arcs_->first[h + 1]; ++b)
                visit.grandparent(arcs_->heads[b], h, d, grand_scores_[grand_parts_.part(a, b, arcs_->first[h])]);
        });
        if (model_->siblings) sides_.each_part([&](int h, int d, int inner, std::size_t part) { visit.sibling(h, d, inner, sibling_scores_[part]); });
    }

    // The features of one part, into `entries`, each `count` times.
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
    void score_siblings(float scale) {
        sides_.build(*arcs_);
        require_room(sides_.parts(), arcs_->n);
        sibling_scores_.resize(sides_.parts());
        for (const Side& side : sides_.all())
            for (int b = 0; b < side.count; ++b) {
                float* scores = &sibling_scores_[sides_.part(side, b, -1)];
                const int d = sides_.dep(side, b);
                scores[0] = scale * extractor_.sibling(side.head, d, side.head);
                for (int a = 0; a < b; ++a) scores[a + 1] = scale * extractor_.sibling(side.head, d, sides_.dep(side, a));
            }
        require_finite(sibling_scores_);
    }
    void score_grandparents(float scale) {
        grand_parts_.build(*arcs_);
        require_room(grand_parts_.size(), arcs_->n);
        grand_scores_.resize(grand_parts_.size());
        arcs_->each([&](int h, int d, int a) {
            for (int b = arcs_->first[h]; h > 0 && b < arcs_->first[h + 1]; ++b)
                grand_scores_[grand_parts_.part(a, b, arcs_->first[h])] = scale * extractor_.grandparent(arcs_->heads[b], h, d);
        });
        require_finite(grand_scores_);
    }
    void score_labels(const WeightView& weights, bool cost_augmented) {
        labeler_.load(sentence_, weights.labels);
        arc_labels_.resize(arcs_->heads.size());
        arcs_->each([&](int h, int d, int a) {
            label_rows_.clear();
            labeler_.find_rows(d, {h}, false, label_rows_);
            const auto best = labeler_.best(label_rows_, weights.scale, h, d, cost_augmented ? sentence_.labels[d] : -1, cost_.label);
            arc_labels_[a] = best.label;
            arc_scores_[a] += static_cast<float>(best.score);
        });
        require_finite(arc_scores_);
    }
    void add_costs() {
        arcs_->each([&](int h, int d, int a) {
            if (h != gold_[d]) arc_scores_[a] += static_cast<float>(cost_.head);
        });
    }
    void decode(int* heads) {
        const bool every_arc = arcs_ == &every_arc_;
        // The dense charts are the faster ones where every arc is there; without siblings, non-projective trees need no chart.
        if (!model_->siblings && (every_arc || model_->trees == Trees::nonprojective)) return decode_dense(heads);
        if (!decode_sparse(heads)) {
            if (model_->trees == Trees::projective) throw NoTreeError("the arcs that were kept hold no projective tree");
            decode_dense(heads);  // heads that are given may cross: then the climb starts from the best tree by arcs alone
        }
        if (model_->trees == Trees::nonprojective) {
            const float* grand = model_->grandparents ? grand_scores_.data() : nullptr;
            const SparseParts parts{*arcs_, sides_, arc_scores_.data(), sibling_scores_.data(), grand_parts_, grand, model_->roots};
            climb(parts, heads);
        }
    }
    bool decode_sparse(int* heads) {
        if (!model_->siblings) sides_.build(*arcs_);
        const float* siblings = model_->siblings ? sibling_scores_.data() : nullptr;
        const float* grand = model_->grandparents && arcs_->n <= kLongestWithGrandparents ? grand_scores_.data() : nullptr;
        return best_tree_.find({arcs_, &sides_, model_->roots, arc_scores_.data(), siblings, &grand_parts_, grand}, heads);
    }
    void decode_dense(int* heads) { argmax(dense_problem(false), arena_, heads); }
    Problem dense_problem(bool siblings) {
        const auto nodes = static_cast<std::size_t>(arcs_->n) + 1;
        arcs_->spread(arc_scores_, static_cast<double>(kNever), dense_arcs_);
        Problem problem{model_->trees, model_->roots, arcs_->n, dense_arcs_.data()};
        if (!siblings) return problem;
        dense_siblings_.assign(nodes * nodes * nodes, static_cast<double>(kNever));
        sides_.each_part([&](int h, int d, int inner, std::size_t part) {
            const auto row = static_cast<std::size_t>(h) * nodes + static_cast<std::size_t>(d);
            dense_siblings_[row * nodes + static_cast<std::size_t>(inner)] = sibling_scores_[part];
        });
        problem.siblings = dense_siblings_.data();
        return problem;
    }
    void label_tree(const WeightView& weights, bool cost_augmented, const int* heads, int* labels) {
        labeler_.load(sentence_, weights.labels);
        find_surroundings(heads, sentence_.n, surroundings_);
        label_rows_.clear();
        for (int d = 1; d <= sentence_.n; ++d) labeler_.find_rows(d, surroundings_[d], true, label_rows_);
        const std::size_t each = model_->templates.labels.size();
        labels[0] = -1;
        label_scores_.assign(static_cast<std::size_t>(sentence_.n) + 1, 0.0F);
        for (int d = 1; d <= sentence_.n; ++d) {
            const std::span rows(label_rows_.data() + static_cast<std::size_t>(d - 1) * each, each);
            const int gold = cost_augmented ? sentence_.labels[d] : -1;
            const auto best = labeler_.best(rows, weights.scale, heads[d], d, gold, cost_.label);
            labels[d] = best.label;
            label_scores_[static_cast<std::size_t>(d)] = static_cast<float>(best.score);
        }
        require_finite(label_scores_);
    }
    Answer tree_answer(Task task, const int* heads, const int* labels) {
        Answer answer;
        inner_.resize(gold_.size());
        if (model_->siblings) adjacent_siblings(heads, sentence_.n, inner_.data());
        for (int d = 1; d <= sentence_.n; ++d) {
            const bool other_head = heads[d] != gold_[d];
            if (other_head) {
                answer.loss += cost_.head;
                add_arc(gold_[d], d, 1.0F, answer.difference);
                add_arc(heads[d], d, -1.0F, answer.difference);
            }
            // "None" is named by the head, so equal names are equal parts only under equal heads.
            if (model_->siblings && (other_head || inner_[d] != gold_inner_[d])) {
                add_sibling(gold_[d], d, gold_inner_[d], 1.0F, answer.difference);
                add_sibling(heads[d], d, inner_[d], -1.0F, answer.difference);
            }
            const int gold_head = gold_[d], head = heads[d];
            if (model_->grandparents && (other_head || (head > 0 && gold_[head] != heads[head]))) {
                if (gold_head > 0) add_grandparent(gold_[gold_head], gold_head, d, 1.0F, answer.difference);
                if (head > 0) add_grandparent(heads[head], head, d, -1.0F, answer.difference);
            }
            if (task != Task::joint) continue;
            const int gold_label = sentence_.labels[d];
            if (gold_label != labels[d]) answer.loss += cost_.label;
            if (other_head || gold_label != labels[d]) {
                add_labels(d, {gold_[d]}, false, gold_label, 1.0F, answer.difference);
                add_labels(d, {heads[d]}, false, labels[d], -1.0F, answer.difference);
            }
        }
        return answer;
    }
    Answer label_answer(const int* labels) {
        Answer answer;
        for (int d = 1; d <= sentence_.n; ++d) {
            if (labels[d] == sentence_.labels[d]) continue;
            answer.loss += cost_.label;
            add_labels(d, surroundings_[d], true, sentence_.labels[d], 1.0F, answer.difference);
            add_labels(d, surroundings_[d], true, labels[d], -1.0F, answer.difference);
        }
        return answer;
    }
    void add_labels(int dep, const Surroundings& around, bool whole_tree, int label, float count, std::vector<SparseEntry>& entries) {
        label_rows_.clear();
        labeler_.find_rows(dep, around, whole_tree, label_rows_);
        const std::uint32_t start = (whole_tree ? 0 : model_->tree_size) + static_cast<std::uint32_t>(label);
        for (const std::uint32_t row : label_rows_) entries.emplace_back(start + row, count);
    }

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

}  // namespace arbora::graph
