// The scores of all parts of one sentence's trees.
//
// Arcs, their labels, siblings and grandparents over the kept arcs are scored when a sentence is loaded; larger contexts when
// search needs them. The features of each part are visited by the same code.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "features/contexts.hpp"
#include "parser/worker.hpp"

namespace arbora::cube {

// The parts of a cube-pruning parser other than its weights.
struct Model {
    Model(graph::Model parts, feature::Contexts higher) : graph(std::move(parts)), contexts(std::move(higher)) {}

    graph::Model graph;  // projective; weights: heads, then labels of arcs
    feature::Contexts contexts;  // share the weights of heads
    int beam = 6;         // derivations per node
    int most_labels = 6;  // of an arc
    double labels_within = 1.0;  // of the best label's score by the filter
    bool exact_keys = false;  // see Keys in search.hpp
};

// Weights as a worker reads them, and those that select the best few labels of an arc; null: all labels that the tags allow.
struct WeightView : graph::WeightView {
    const float* label_filter = nullptr;
};

// The memory of a derivation. Of a half: its head's outermost dependent and the one further in; of an arc: the new dependent, and
// the dependent's own outermost one on the side towards the head.
struct Memory {
    int head = -1;
    int dep = -1, arc = -1, label = -1;  // -1: no dependent yet
    int before = -1, before_label = -1;  // the next dependent towards the head
    int count = 0;                       // dependents on this side
    int inner = -1, inner_label = -1, inner_count = 0;  // of arcs
    float cost = 0.0F;                   // of all arcs so far, where costs are counted
    bool is_arc = false;
    std::uint64_t list = 0;              // names the dependents, and their labels unless keys are loose
};

inline feature::Context chain_of(int head, int dep, int label, const Memory& outer) {
    return {{head, dep, outer.dep, outer.before}, {-1, label, outer.label, -1}, {outer.count + 1, 0, 0, 0}, feature::turn(head, dep)};
}

// `half`: with the dependent as its outermost one; `label`: of its head under the grandparent.
inline feature::Context lineage_of(int grandparent, int label, const Memory& half) {
    return {{grandparent, half.head, half.dep, half.before}, {-1, label, half.label, half.before_label}, {0, 0, 0, 0},
            feature::turn(half.head, half.dep) + 3 * feature::turn(grandparent, half.head)};
}

feature::Context closing_of(const Memory& arc, const Memory& far);

struct LabelChoice {
    int label = -1;
    float score = 0.0F;
    float cost = 0.0F;  // of label and head together, where costs are counted
};

using graph::Side;

class Parts {
public:
    explicit Parts(const Model& model, const graph::Cost& cost = {})
        : model_(&model), cost_(cost), worker_(model.graph), labeler_(model.graph), filter_(model.graph),
          chains_(model.contexts.chains), lineages_(model.contexts.lineages),
          closings_(model.contexts.closings) {}

    // learning: the gold label is among those of each arc, and each choice has its cost; cost_augmented: scores include it.
    void load(const feature::Sentence& sentence, const graph::ArcSet* arcs, const WeightView& weights, bool learning,
              bool cost_augmented);

    const feature::Sentence& sentence() const { return sentence_; }
    const graph::ArcSet& arcs() const { return worker_.arcs(); }
    const graph::Sides& sides() const { return worker_.sides(); }

    int head(int a) const { return arcs().heads[static_cast<std::size_t>(a)]; }
    int dep(int a) const { return deps_[static_cast<std::size_t>(a)]; }
    float arc(int a) const { return worker_.arc_scores()[static_cast<std::size_t>(a)]; }
    // The choices of an arc, best first; one with label -1 if there are no labels.
    std::span<const LabelChoice> choices(int a) const {
        return {choices_.data() + first_choice_[static_cast<std::size_t>(a)], choices_.data() + first_choice_[static_cast<std::size_t>(a) + 1]};
    }
    // For arc a = (h, d), with the next dependent towards h, or -1.
    float sibling(int a, int inner_arc) const;
    // For arc a = (h, d) under arc b = (g, h).
    float grandparent(int a, int b, int head) const {
        if (!model_->graph.grandparents) return 0.0F;
        return worker_.grand_scores()[worker_.grand_parts().part(a, b, arcs().first[static_cast<std::size_t>(head)])];
    }

    float chain_free(const feature::Context& c) const { return scale_ * chains_.sum(c, 0, chains_.templates().chosen); }
    float chain_chosen(const feature::Context& c) const { return scale_ * chains_.sum(c, chains_.templates().chosen, chains_.templates().size()); }
    float lineage_free(const feature::Context& c) const { return scale_ * lineages_.sum(c, 0, lineages_.templates().chosen); }
    float lineage_chosen(const feature::Context& c) const {
        return scale_ * lineages_.sum(c, lineages_.templates().chosen, lineages_.templates().size());
    }
    float closing(const feature::Context& c) const { return scale_ * closings_.sum(c, 0, closings_.templates().size()); }
    bool has_chosen_lineages() const { return lineages_.templates().chosen < lineages_.templates().size(); }

    // Features, each `count` times.
    void add_arc(int head, int dep, int label, float count, std::vector<SparseEntry>& entries);
    void add_sibling(int head, int dep, int inner, float count, std::vector<SparseEntry>& entries) const {
        if (model_->graph.siblings) worker_.add_sibling(head, dep, inner < 0 ? head : inner, count, entries);
    }
    void add_grandparent(int grandparent, int head, int dep, float count, std::vector<SparseEntry>& entries) const {
        if (model_->graph.grandparents) worker_.add_grandparent(grandparent, head, dep, count, entries);
    }
    void add_chain(const feature::Context& c, float count, std::vector<SparseEntry>& entries) const { add(chains_, c, count, entries); }
    void add_lineage(const feature::Context& c, float count, std::vector<SparseEntry>& entries) const { add(lineages_, c, count, entries); }
    void add_closing(const feature::Context& c, float count, std::vector<SparseEntry>& entries) const { add(closings_, c, count, entries); }

private:
    static void add(const feature::ContextExtractor& extractor, const feature::Context& c, float count, std::vector<SparseEntry>& entries) {
        extractor.visit(c, [&](std::uint32_t place) { entries.emplace_back(place, count); });
    }
    void score_labels(const WeightView& weights, bool learning, bool cost_augmented);
    // Fills labels_: those that the tags allow and the filter keeps, best first, always including the gold one.
    void find_labels(int head, int dep, int gold, bool filtered);

    const Model* model_;
    graph::Cost cost_;
    graph::Worker worker_;
    graph::Labeler labeler_, filter_;
    feature::ContextExtractor chains_, lineages_, closings_;
    feature::Sentence sentence_;
    float scale_ = 1.0F;
    std::vector<LabelChoice> choices_;
    std::vector<std::size_t> first_choice_;
    std::vector<int> positions_, deps_;  // of each arc: its dependent's place on the head's side, and its dependent
    std::vector<std::uint32_t> rows_;
    std::vector<double> label_scores_;
    std::vector<std::uint16_t> labels_;  // those of an arc
    std::vector<std::size_t> order_;
};

}  // namespace arbora::cube
