// Scores of labels: one row of weights per feature, one weight per label in it.
//
// On a given tree all templates count, including those about siblings, grandparents and children. On a bare arc, before the tree is
// known, only those about head and dependent count. O(templates * labels allowed) per arc.
#pragma once

#include <span>
#include <vector>

#include "parser/model.hpp"

namespace arbora::graph {

// The nodes around a word in a tree; -1: none.
struct Surroundings {
    int head = -1, sibling = -1, grandparent = -1, left_child = -1, right_child = -1;
};

using feature::Role;

inline constexpr std::uint32_t kLeftward = 0x27d4eb2fU;

inline int node(const feature::Sentence& sentence, const Surroundings& around, Role role, int dep) {
    switch (role) {
        case Role::head: return around.head;
        case Role::sibling: return around.sibling;
        case Role::grandparent: return around.grandparent;
        case Role::left_child: return around.left_child;
        case Role::right_child: return around.right_child;
        case Role::guide_head: return sentence.guide_heads[dep];
        default: return dep;
    }
}

// For all words; index 0 is unused. heads[d] = -1: unknown, so d counts as no node's child. O(n).
inline void find_surroundings(const int* heads, int n, std::vector<Surroundings>& out) {
    out.assign(static_cast<std::size_t>(n) + 1, {});
    std::vector<int> inner(static_cast<std::size_t>(n) + 1, -1);
    adjacent_siblings(heads, n, inner.data());
    for (int d = 1; d <= n; ++d) {
        const int h = heads[d];
        if (h < 0) continue;
        out[d].head = h;
        out[d].sibling = inner[d] == h ? -1 : inner[d];
        out[d].grandparent = h > 0 ? heads[h] : -1;
        if (out[h].left_child < 0) out[h].left_child = d;
        out[h].right_child = d;
    }
}

class Labeler {
public:
    explicit Labeler(const Model& model) : model_(&model) {}

    // Throws InputError if the templates read a guide's trees or clusters that the sentence does not have.
    void load(const feature::Sentence& sentence, const float* weights) {
        feature::require_inputs(model_->templates, sentence);
        sentence_ = sentence;
        weights_ = weights;
    }

    // Appends the starts of the rows of all features of an arc and prefetches them, so call it some time before the rows are read.
    // `around.grandparent` etc. are read only if whole_tree.
    void find_rows(int dep, const Surroundings& around, bool whole_tree, std::vector<std::uint32_t>& rows) const {
        const std::uint32_t direction = around.head < dep ? 0 : kLeftward;
        const std::uint64_t starts = model_->label_size - static_cast<std::uint32_t>(model_->labels);
        for (const auto& t : model_->templates.labels) {
            if (!whole_tree && !t.of_arc) continue;
            std::uint32_t sum = direction;
            if (t.guided) sum += feature::agreement_value(sentence_, around.head, dep);
            for (const auto& [role, summand] : t.summands) sum += summand(sentence_, node(sentence_, around, role, dep));
            const auto row = static_cast<std::uint32_t>(sum * starts >> 32) & ~std::uint32_t{feature::kLine - 1};
            rows.push_back(row);
            // Labels are numbered by frequency, so reads nearly always touch only the first line of a row.
            if (weights_ != nullptr) __builtin_prefetch(weights_ + row);
        }
    }

    // Appends one score per label, times `scale`.
    void scores(std::span<const std::uint32_t> rows, double scale, std::span<const std::uint16_t> labels, std::vector<double>& out) const {
        for (const std::uint16_t label : labels) {
            float sum = 0;
            for (const std::uint32_t row : rows) sum += weights_[row + label];
            out.push_back(scale * sum);
        }
    }

    struct Best {
        int label = -1;
        double score = 0.0;
    };
    // The best of the labels that the tags allow; `gold` >= 0: adds `cost` to all others. Scores times `scale`.
    Best best(std::span<const std::uint32_t> rows, double scale, int head, int dep, int gold, double cost) {
        const auto labels = model_->label_sets.of(sentence_.tags[head], sentence_.tags[dep]);
        sums_.assign(labels.size(), 0);
        for (const std::uint32_t row : rows)
            for (std::size_t i = 0; i < labels.size(); ++i) sums_[i] += weights_[row + labels[i]];
        Best best;
        for (std::size_t i = 0; i < labels.size(); ++i) {
            const double score = scale * sums_[i] + (gold >= 0 && labels[i] != gold ? cost : 0.0);
            if (best.label < 0 || score > best.score) best = {labels[i], score};
        }
        return best;
    }

private:
    const Model* model_;
    feature::Sentence sentence_;
    const float* weights_ = nullptr;
    std::vector<float> sums_;
};

}  // namespace arbora::graph
