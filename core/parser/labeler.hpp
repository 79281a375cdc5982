// Scores of labels: one row of weights per feature, one weight per label in it.
//
// On a given tree every template counts, those about siblings, grandparents and children too; on a bare arc, before the tree is
// known, only those about head and dependent. O(templates * labels allowed) per arc.
#pragma once

#include <span>
#include <vector>

#include "parser/model.hpp"

namespace arbora::graph {

// The nodes around a word in a tree; -1: not there.
struct Surroundings {
    int head = -1, sibling = -1, grandparent = -1, left_child = -1, right_child = -1;
};

// Of all words; index 0 is unused. heads[d] = -1: not known, and so nobody's child. O(n).
void find_surroundings(const int* heads, int n, std::vector<Surroundings>& out);

class Labeler {
public:
    explicit Labeler(const Model& model) : model_(&model) {}

    // InputError where the templates look at a guide's trees and the sentence has none.
    void load(const feature::Sentence& sentence, const float* weights);

    // Appends the starts of the rows of all features of an arc and has them fetched from memory, so that rows are best found some
    // time before they are read. `around.grandparent` etc. are read only if whole_tree.
    void find_rows(int dep, const Surroundings& around, bool whole_tree, std::vector<std::uint32_t>& rows) const;

    // Appends one score per label, times `scale`.
    void scores(std::span<const std::uint32_t> rows, double scale, std::span<const std::uint16_t> labels, std::vector<double>& out) const;

    struct Best {
        int label = -1;
        double score = 0.0;
    };
    // The best of the labels that the tags allow; `gold` >= 0: all others get `cost` on top. Scores times `scale`.
    Best best(std::span<const std::uint32_t> rows, double scale, int head, int dep, int gold, double cost);

private:
    const Model* model_;
    feature::Sentence sentence_;
    const float* weights_ = nullptr;
    std::vector<float> sums_;
};

}  // namespace arbora::graph
