// The scores of everything that trees of one sentence are made of.
//
// Arcs, their labels, siblings and grandparents, as far as the kept arcs make them possible, are scored when a sentence is loaded;
// larger contexts when search asks for them. The features of each are visited in the same words.
#pragma once

#include <span>
#include <vector>

#include "search/cube/model.hpp"
#include "parser/labeler.hpp"
#include "parser/worker.hpp"

namespace arbora::cube {

struct LabelChoice {
    int label = -1;
    float score = 0.0F;
    float cost = 0.0F;  // of label and head together, where costs are counted
};

class Parts {
public:
    explicit Parts(const Model& model, const graph::Cost& cost = {})
        : model_(&model), cost_(cost), worker_(model.graph), labeler_(model.graph), filter_(model.graph),
          chains_(model.contexts.chains), lineages_(model.contexts.lineages),
          closings_(model.contexts.closings) {}

    // learning: gold labels are among those of each arc, and each choice has its cost; cost_augmented: scores include it.
    void load(const feature::Sentence& sentence, const graph::ArcSet* arcs, const WeightView& weights, bool learning,
              bool cost_augmented);

    const feature::Sentence& sentence() const { return sentence_; }
    const graph::ArcSet& arcs() const { return worker_.arcs(); }
    const graph::Sides& sides() const { return worker_.sides(); }

    int head(int a) const { return arcs().heads[static_cast<std::size_t>(a)]; }
    int dep(int a) const { return deps_[static_cast<std::size_t>(a)]; }
    float arc(int a) const { return worker_.arc_scores()[static_cast<std::size_t>(a)]; }
    // The choices of an arc, best first; one with label -1 where there are no labels.
    std::span<const LabelChoice> choices(int a) const {
        return {choices_.data() + first_choice_[static_cast<std::size_t>(a)], choices_.data() + first_choice_[static_cast<std::size_t>(a) + 1]};
    }
    // Of arc a = (h, d), with the next dependent towards h, or -1.
    float sibling(int a, int inner_arc) const;
    // Of arc a = (h, d) under arc b = (g, h).
    float grandparent(int a, int b, int head) const;

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
    void add_sibling(int head, int dep, int inner, float count, std::vector<SparseEntry>& entries) const;
    void add_grandparent(int grandparent, int head, int dep, float count, std::vector<SparseEntry>& entries) const;
    void add_chain(const feature::Context& c, float count, std::vector<SparseEntry>& entries) const { add(chains_, c, count, entries); }
    void add_lineage(const feature::Context& c, float count, std::vector<SparseEntry>& entries) const { add(lineages_, c, count, entries); }
    void add_closing(const feature::Context& c, float count, std::vector<SparseEntry>& entries) const { add(closings_, c, count, entries); }

private:
    static void add(const feature::ContextExtractor& extractor, const feature::Context& c, float count, std::vector<SparseEntry>& entries) {
        extractor.visit(c, [&](std::uint32_t place) { entries.emplace_back(place, count); });
    }
    void score_labels(const WeightView& weights, bool learning, bool cost_augmented);
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
