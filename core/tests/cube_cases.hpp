// Random sentences and models of higher order, and every labelled tree scored from the definition of its features.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "brute_force.hpp"
#include "search/cube/batch.hpp"
#include "sentences.hpp"

namespace cube_cases {

using namespace arbora;
using namespace arbora::cube;
using problems::Random;
using sentences::below;

inline constexpr int kLabelCount = 3, kNoEnd = 1 << 20;
inline constexpr std::uint32_t kTreeSize = 1 << 12, kLabelSize = 1 << 10;

inline std::vector<slow::ContextTemplate> random_contexts(Random& random, int kind, int count) {
    const std::vector<std::vector<int>> labelled = {{1, 2}, {1, 2, 3}, {1, 2, 3}}, counted = {{0}, {}, {2, 3}};
    std::vector<slow::ContextTemplate> templates(static_cast<std::size_t>(count));
    const auto k = static_cast<std::size_t>(kind);
    const auto pick = [&](const std::vector<int>& slots) { return slots[static_cast<std::size_t>(below(random, static_cast<int>(slots.size())))]; };
    for (auto& atoms : templates) {
        for (int a = 1 + below(random, 3); a > 0; --a) atoms.push_back({below(random, 4), below(random, 5) - 2, sentences::random_field(random)});
        if (below(random, 2)) atoms.push_back({pick(labelled[k]), 0, feature::kLabelField});
        if (below(random, 3) == 0) atoms.push_back({pick(labelled[k]), 0, feature::kLabelField});
        if (below(random, 2) && !counted[k].empty()) atoms.push_back({pick(counted[k]), 0, feature::kCountField});
    }
    return templates;
}

// Listed once: there are 6^5 head vectors of five words.
inline const std::vector<Heads>& trees_of(int n, Roots roots) {
    static std::map<std::pair<int, Roots>, std::vector<Heads>> known;
    auto [place, is_new] = known.try_emplace({n, roots});
    if (is_new) place->second = brute::all_trees(n, Trees::projective, roots);
    return place->second;
}

enum class Order { arcs, siblings, all };

struct Case {
    feature::TemplateSpec spec;
    feature::ContextSpec contexts;
    Model model;
    slow::Sentence sentence;
    sentences::Tree gold;
    feature::Encoded batch;
    std::vector<float> weights;
    double label_cost = 1.0;

    Case(Random& random, int n, Roots roots, Order order, int labels, Trees trees = Trees::projective)
        : spec(sentences::random_spec(random)), contexts(random_spec(random, order)), model(graph::Model(feature::Templates(spec)), feature::Contexts(contexts)),
          sentence(sentences::random_sentence(random, n, 4)), gold(random_gold(random, n, trees, roots, labels)), batch(sentences::encoded(sentence, gold)),
          weights(sentences::random_weights(random, kTreeSize + kLabelSize)) {
        model.graph.trees = trees;
        model.graph.roots = roots;
        model.graph.siblings = order != Order::arcs;
        model.graph.grandparents = order == Order::all;
        model.graph.labels = labels;
        model.graph.label_sets = graph::LabelSets(std::vector<std::uint8_t>(static_cast<std::size_t>(feature::kTags * feature::kTags * labels), 1), labels);
        model.graph.tree_size = kTreeSize;
        model.graph.label_size = kLabelSize;
        model.beam = kNoEnd;
        model.exact_keys = true;
        model.most_labels = kLabelCount;
    }

    static feature::ContextSpec random_spec(Random& random, Order order) {
        if (order != Order::all) return {};
        return {random_contexts(random, 0, 5), random_contexts(random, 1, 5), random_contexts(random, 2, 5)};
    }

    static sentences::Tree random_gold(Random& random, int n, Trees trees, Roots roots, int labels) {
        sentences::Tree tree{{}, {-1}};
        do {
            tree.heads = sentences::random_tree(random, n, roots == Roots::single);
        } while (!brute::is_tree(tree.heads, trees, roots));
        for (int d = 1; d <= n; ++d) tree.labels.push_back(labels > 0 ? below(random, labels) : -1);
        return tree;
    }

    WeightView view() const { return {{weights.data(), weights.data() + kTreeSize, 1.0}, nullptr}; }

    std::map<std::uint32_t, int> features(const sentences::Tree& tree) const {
        std::map<std::uint32_t, int> found;
        const auto add = [&](const slow::Places& places, std::uint32_t offset) {
            for (const std::uint32_t place : places) ++found[offset + place];
        };
        for (int d = 1; d <= sentence.n(); ++d) {
            const auto nodes = slow::around(tree.heads, d);
            add(slow::arc_places(sentence, spec.arcs, nodes.head, d, kTreeSize), 0);
            const int inner = nodes.sibling < 0 ? nodes.head : nodes.sibling;
            if (model.graph.siblings) add(slow::sibling_places(sentence, spec.siblings, nodes.head, d, inner, kTreeSize), 0);
            if (model.graph.grandparents && nodes.head > 0)
                add(slow::grandparent_places(sentence, spec.grandparents, nodes.grandparent, nodes.head, d, kTreeSize), 0);
            if (model.graph.labels > 0)
                add(slow::label_rows(sentence, spec.labels, nodes, false, kLabelSize, model.graph.labels),
                    kTreeSize + static_cast<std::uint32_t>(tree.labels[static_cast<std::size_t>(d)]));
        }
        add(slow::all_context_places(sentence, contexts, tree.heads, tree.labels, kTreeSize), 0);
        return found;
    }

    double score(const sentences::Tree& tree) const {
        double sum = 0.0;
        for (const auto& [place, count] : features(tree)) sum += count * static_cast<double>(weights[place]);
        return sum;
    }

    double cost(const sentences::Tree& tree) const {
        double sum = 0.0;
        for (std::size_t d = 1; d < tree.heads.size(); ++d) sum += (tree.heads[d] != gold.heads[d]) + (tree.labels[d] != gold.labels[d] ? label_cost : 0.0);
        return sum;
    }

    // Every labelled projective tree with its score, best first.
    std::vector<std::pair<double, sentences::Tree>> all(bool augmented) const {
        std::vector<std::pair<double, sentences::Tree>> found;
        const int n = sentence.n(), labels = std::max(1, model.graph.labels);
        for (const Heads& heads : trees_of(n, model.graph.roots)) {
            sentences::Tree tree{heads, Heads(heads.size(), model.graph.labels > 0 ? 0 : -1)};
            tree.labels[0] = -1;
            for (;;) {
                found.emplace_back(score(tree) + (augmented ? cost(tree) : 0.0), tree);
                int d = n;
                while (d >= 1 && tree.labels[static_cast<std::size_t>(d)] >= labels - 1) tree.labels[static_cast<std::size_t>(d--)] = model.graph.labels > 0 ? 0 : -1;
                if (d < 1 || model.graph.labels == 0) break;
                ++tree.labels[static_cast<std::size_t>(d)];
            }
        }
        std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
        return found;
    }

    bool is_difference(const SparseVector& difference, const sentences::Tree& tree) const {
        return sentences::is_difference(difference, features(gold), features(tree));
    }

    Weights learned() const {
        const std::size_t count = kTreeSize + (model.graph.labels > 0 ? kLabelSize : 0);
        return sentences::scaled({weights.begin(), weights.begin() + static_cast<std::ptrdiff_t>(count)});
    }
};

}  // namespace cube_cases
