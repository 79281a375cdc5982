#include "search/cube/parts.hpp"

#include "base/interrupt.hpp"

namespace arbora::cube {

feature::Context closing_of(const Memory& arc, const Memory& far) {
    feature::Context c{{arc.head, arc.dep, arc.inner, far.dep}, {-1, arc.label, arc.inner_label, far.label}, {0, 0, arc.inner_count, far.count},
              feature::turn(arc.head, arc.dep)};
    if (arc.dep < arc.head) {
        std::swap(c.nodes[2], c.nodes[3]);
        std::swap(c.labels[2], c.labels[3]);
        std::swap(c.counts[2], c.counts[3]);
    }
    return c;
}

void Parts::load(const feature::Sentence& sentence, const graph::ArcSet* arcs, const WeightView& weights, bool learning,
                 bool cost_augmented) {
    sentence_ = sentence;
    scale_ = static_cast<float>(weights.scale);
    worker_.score(sentence, arcs, weights);
    const feature::Table table{weights.tree, model_->graph.tree_size - 1};
    chains_.load(sentence, table);
    lineages_.load(sentence, table);
    closings_.load(sentence, table);
    if (!model_->graph.siblings) worker_.find_sides();
    positions_.resize(static_cast<std::size_t>(this->arcs().size()));
    deps_.resize(positions_.size());
    this->arcs().each([&](int, int d, int a) { deps_[static_cast<std::size_t>(a)] = d; });
    for (const Side& side : sides().all())
        for (int b = 0; b < side.count; ++b) positions_[static_cast<std::size_t>(sides().arc(side, b))] = b;
    score_labels(weights, learning, cost_augmented);
}

float Parts::sibling(int a, int inner_arc) const {
    if (!model_->graph.siblings) return 0.0F;
    const Side& side = sides().of(head(a), dep(a));
    const int inner = inner_arc < 0 ? -1 : positions_[static_cast<std::size_t>(inner_arc)];
    return worker_.sibling_scores()[sides().part(side, positions_[static_cast<std::size_t>(a)], inner)];
}

void Parts::add_arc(int head, int dep, int label, float count, std::vector<SparseEntry>& entries) {
    worker_.add_arc(head, dep, count, entries);
    if (label < 0) return;
    rows_.clear();
    labeler_.find_rows(dep, {head}, false, rows_);
    const std::uint32_t start = model_->graph.tree_size + static_cast<std::uint32_t>(label);
    for (const std::uint32_t row : rows_) entries.emplace_back(start + row, count);
}

void Parts::score_labels(const WeightView& weights, bool learning, bool cost_augmented) {
    const bool labelled = model_->graph.labels > 0;
    if (labelled) labeler_.load(sentence_, weights.labels);
    const bool filtered = labelled && weights.label_filter != nullptr;
    if (filtered) filter_.load(sentence_, weights.label_filter);
    choices_.clear();
    first_choice_.assign(1, 0);
    for (int d = 1; d <= sentence_.n; ++d) {
        const int gold_head = learning ? sentence_.heads[d] : -1, gold_label = learning ? sentence_.labels[d] : -1;
        for (const int h : arcs().heads_of(d)) {
            check_stop(512);
            const float head_cost = learning && h != gold_head ? static_cast<float>(cost_.head) : 0.0F;
            const auto begin = static_cast<std::ptrdiff_t>(choices_.size());
            if (!labelled) {
                choices_.push_back({-1, cost_augmented ? head_cost : 0.0F, head_cost});
            } else {
                find_labels(h, d, h == gold_head ? gold_label : -1, filtered);
                label_scores_.clear();
                labeler_.scores(rows_, weights.scale, labels_, label_scores_);
                for (std::size_t i = 0; i < labels_.size(); ++i) {
                    const float cost = head_cost + (learning && labels_[i] != gold_label ? static_cast<float>(cost_.label) : 0.0F);
                    choices_.push_back({labels_[i], static_cast<float>(label_scores_[i]) + (cost_augmented ? cost : 0.0F), cost});
                }
                std::stable_sort(choices_.begin() + begin, choices_.end(), [](const LabelChoice& a, const LabelChoice& b) { return a.score > b.score; });
            }
            first_choice_.push_back(choices_.size());
        }
    }
}

void Parts::find_labels(int head, int dep, int gold, bool filtered) {
    rows_.clear();
    labeler_.find_rows(dep, {head}, false, rows_);
    const auto allowed = model_->graph.label_sets.of(sentence_.tags[head], sentence_.tags[dep]);
    labels_.assign(allowed.begin(), allowed.end());
    if (filtered) {
        label_scores_.clear();
        filter_.scores(rows_, 1.0, allowed, label_scores_);
        order_.resize(allowed.size());
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) { return label_scores_[a] > label_scores_[b]; });
        std::size_t kept = std::min(order_.size(), static_cast<std::size_t>(model_->most_labels));
        while (kept > 1 && label_scores_[order_[kept - 1]] < label_scores_[order_[0]] - model_->labels_within) --kept;
        labels_.resize(kept);
        for (std::size_t i = 0; i < kept; ++i) labels_[i] = allowed[order_[i]];
    }
    if (gold >= 0 && std::find(labels_.begin(), labels_.end(), gold) == labels_.end()) labels_.push_back(static_cast<std::uint16_t>(gold));
}

}  // namespace arbora::cube
