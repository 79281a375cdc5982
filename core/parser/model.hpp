// The parts of a graph parser other than its weights, and the layout of the weights.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "features/extractor.hpp"
#include "trees/problem.hpp"

namespace arbora::graph {

// seen[(head_tag * kTags + dep_tag) * labels + label]: for each unseen pair, add the labels seen with the dependent's tag, or for an
// unseen tag those seen at all: of words under the root, or under words, as the pair's head is.
inline void complete(std::vector<std::uint8_t>& seen, int labels) {
    using feature::kTags;
    const auto count = static_cast<std::size_t>(labels);
    const auto is_root = [](std::size_t pair) { return pair / kTags == feature::kRootTag; };
    std::array<std::vector<std::uint8_t>, 2> by_dep, by_kind;  // under words, under the root
    by_dep.fill(std::vector<std::uint8_t>(kTags * count, 0));
    by_kind.fill(std::vector<std::uint8_t>(count, 0));
    for (std::size_t pair = 0; pair < kTags * kTags; ++pair)
        for (std::size_t l = 0; l < count; ++l) {
            by_dep[is_root(pair)][pair % kTags * count + l] |= seen[pair * count + l];
            by_kind[is_root(pair)][l] |= seen[pair * count + l];
        }
    const auto any = [&](const std::uint8_t* flags) { return std::find(flags, flags + count, 1) != flags + count; };
    for (std::size_t pair = 0; pair < kTags * kTags; ++pair) {
        std::uint8_t* own = seen.data() + pair * count;
        const std::uint8_t* same_tag = by_dep[is_root(pair)].data() + pair % kTags * count;
        if (!any(own)) std::copy_n(any(same_tag) ? same_tag : by_kind[is_root(pair)].data(), count, own);
    }
}

// The labels allowed for a dependent's tag under a head's tag: those in `seen`. For a pair without, those with the dependent's tag, and
// for a tag without, all.
class LabelSets {
public:
    LabelSets() = default;
    // seen[(head_tag * kTags + dep_tag) * labels + label]
    LabelSets(const std::vector<std::uint8_t>& seen, int labels) {
        using feature::kTags;
        const auto count = static_cast<std::size_t>(labels);
        std::vector<std::uint8_t> by_dep(kTags * count, 0);
        for (std::size_t pair = 0; pair < kTags * kTags; ++pair)
            for (std::size_t l = 0; l < count; ++l) by_dep[pair % kTags * count + l] |= seen[pair * count + l];
        const auto append = [&](const std::uint8_t* flags) {
            const std::size_t before = labels_.size();
            for (std::size_t l = 0; l < count; ++l)
                if (flags[l]) labels_.push_back(static_cast<std::uint16_t>(l));
            return labels_.size() > before;
        };
        const std::vector<std::uint8_t> every(count, 1);
        for (std::size_t pair = 0; pair < kTags * kTags; ++pair) {
            first_.push_back(static_cast<std::uint32_t>(labels_.size()));
            if (!append(seen.data() + pair * count) && !append(by_dep.data() + pair % kTags * count)) append(every.data());
        }
        first_.push_back(static_cast<std::uint32_t>(labels_.size()));
    }
    std::span<const std::uint16_t> of(int head_tag, int dep_tag) const {
        const auto pair = static_cast<std::size_t>(head_tag) * feature::kTags + static_cast<std::size_t>(dep_tag);
        return {labels_.data() + first_[pair], labels_.data() + first_[pair + 1]};
    }

private:
    std::vector<std::uint32_t> first_;
    std::vector<std::uint16_t> labels_;
};

struct Model {
    explicit Model(feature::Templates compiled) : templates(std::move(compiled)) {}

    feature::Templates templates;
    Trees trees = Trees::projective;
    Roots roots = Roots::single;
    bool siblings = false;
    bool grandparents = false;  // only with siblings
    int labels = 0;  // 0: trees without labels
    LabelSets label_sets;
    std::uint32_t tree_size = 0;   // weights of arcs and siblings, a power of two
    std::uint32_t label_size = 0;  // weights of labels, a power of two
};

// What is trained together, and so what a weight vector holds.
enum class Task {
    tree,    // heads: tree_size weights
    joint,   // heads and labels together: tree_size weights, then label_size
    labels,  // labels on a given tree: label_size weights
};

inline std::size_t weight_count(const Model& model, Task task) {
    return (task == Task::labels ? 0 : model.tree_size) + (task == Task::tree ? 0 : model.label_size);
}

// The costs of a wrong head and a wrong label.
struct Cost {
    double head = 1.0, label = 1.0;
};

// One of the best trees of a sentence.
struct Ranked {
    std::vector<int> heads, labels;  // [n+1]
    double score = 0.0;
};

// Weights as a worker reads them: w = scale * data.
struct WeightView {
    const float* tree = nullptr;
    const float* labels = nullptr;
    double scale = 1.0;
    double label_factor = 1.0;  // factor of the sums over labels, if heads and labels have different temperatures
};

inline WeightView view(const Model& model, Task task, const float* data, double scale) {
    return {task == Task::labels ? nullptr : data, task == Task::labels ? data : data + model.tree_size, scale};
}

}  // namespace arbora::graph
