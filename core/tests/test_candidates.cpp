// Trees around given heads: the remaining arcs are exactly those of the trees with these heads.
#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "check.hpp"
#include "base/errors.hpp"
#include "parser/candidates.hpp"
#include "parser/confidence.hpp"
#include "sentences.hpp"

namespace candidates_tests {

using namespace arbora;
using namespace arbora::graph;
using problems::kRoots;
using problems::kTrees;
using problems::Random;
using sentences::below;

namespace {

feature::Encoded random_batch(Random& random, int n) {
    sentences::Tree tree{sentences::random_tree(random, n, true), std::vector<int>(static_cast<std::size_t>(n) + 1, 0)};
    return sentences::encoded(sentences::random_sentence(random, n, 4), tree);
}

// Every head of every word, all combinations: `visit` is called with those that are trees of the family.
template <class Visit>
void each_tree(int n, Trees trees, Roots roots, Visit visit) {
    std::vector<int> heads(static_cast<std::size_t>(n) + 1, 0);
    heads[0] = -1;
    const auto reaches_root = [&](int node) {
        for (int step = 0; step <= n && node > 0; ++step) node = heads[static_cast<std::size_t>(node)];
        return node == 0;
    };
    const auto crosses = [&](int a, int b) {
        const int h = heads[static_cast<std::size_t>(a)], g = heads[static_cast<std::size_t>(b)];
        return std::min(h, a) < std::min(g, b) && std::min(g, b) < std::max(h, a) && std::max(h, a) < std::max(g, b);
    };
    const auto is_tree = [&] {
        for (int d = 1; d <= n; ++d)
            if (heads[static_cast<std::size_t>(d)] == d || !reaches_root(d)) return false;
        for (int a = 1; a <= n && trees == Trees::projective; ++a)
            for (int b = 1; b <= n; ++b)
                if (crosses(a, b)) return false;
        return roots == Roots::multi || std::count(heads.begin() + 1, heads.end(), 0) == 1;
    };
    while (true) {
        if (is_tree()) visit(heads);
        int d = 1;
        while (d <= n && heads[static_cast<std::size_t>(d)] == n) heads[static_cast<std::size_t>(d++)] = 0;
        if (d > n) return;
        ++heads[static_cast<std::size_t>(d)];
    }
}

}  // namespace

TEST(candidates_are_the_arcs_of_trees_that_agree) {
    Random random(61);
    int refused = 0, found = 0;
    for (int round = 0; round < 400; ++round) {
        const Trees trees = kTrees[round % 2];
        const Roots roots = kRoots[round / 2 % 2];
        const int n = 1 + below(random, 5);
        auto batch = random_batch(random, n);
        std::vector<std::int32_t> given;
        for (int d = 1; d <= n; ++d) {
            const int head = below(random, n + 1);
            given.push_back(head == d || below(random, 5) < 2 ? -1 : head);
        }
        batch.set_heads(given.data());
        std::set<std::pair<int, int>> expected;
        each_tree(n, trees, roots, [&](const std::vector<int>& heads) {
            for (int d = 1; d <= n; ++d)
                if (given[static_cast<std::size_t>(d - 1)] >= 0 && heads[static_cast<std::size_t>(d)] != given[static_cast<std::size_t>(d - 1)])
                    return;
            for (int d = 1; d <= n; ++d) expected.emplace(heads[static_cast<std::size_t>(d)], d);
        });
        ArcSet arcs;
        try {
            find_compatible(batch.sentence(0), trees, roots, arcs);
        } catch (const NoTreeError&) {
            CHECK(expected.empty());
            ++refused;
            continue;
        }
        CHECK(!expected.empty());
        ++found;
        for (const auto& [head, dep] : expected) CHECK(arcs.find(head, dep) >= 0);
        for (int d = 1; d <= n; ++d)
            if (given[static_cast<std::size_t>(d - 1)] >= 0) CHECK(arcs.heads_of(d).size() == 1);
    }
    CHECK(refused > 5);
    CHECK(found > 100);
}

TEST(candidates_of_a_pruner_hold_a_tree) {
    Random random(62);
    for (int round = 0; round < 200; ++round) {
        const Trees trees = kTrees[round % 2];
        const Roots roots = kRoots[round / 2 % 2];
        const int n = 2 + below(random, 18), order = 1 + round / 4 % 3;
        const auto make = [&](Trees family, int its_order) {
            Model model{feature::Templates(sentences::random_spec(random))};
            model.trees = family;
            model.roots = roots;
            model.siblings = its_order > 1;
            model.grandparents = its_order > 2;
            model.tree_size = 1 << 11;
            model.label_size = 1 << 10;
            return model;
        };
        const Model model = make(trees, order), small = make(Trees::nonprojective, 1);
        auto batch = random_batch(random, n);
        const auto weights = sentences::random_weights(random, 1 << 11);
        Pruner pruner{&small, {weights.data(), nullptr, 1.0}, 1 + below(random, 3), 0.5};
        if (round % 3 == 0) pruner.rule = PruningRule::probability;
        std::vector<std::int32_t> given(static_cast<std::size_t>(n), -1);
        given[0] = n;  // far, and then heads of a tree of the family
        batch.set_heads(given.data());
        const WeightView view{weights.data(), nullptr, 1.0};
        const auto whole = parse(batch, model, view, true, &pruner, 1, true);
        CHECK(whole.heads[0] == n);
        given = whole.heads;
        for (auto& head : given)
            if (below(random, 3) > 0) head = -1;
        batch.set_heads(given.data());
        Asked asked;
        asked.keep_heads = true;
        asked.arc_table = true;
        asked.missed = 0.25;
        const auto found = judge(batch, model, view, asked, &pruner, 1);
        for (int d = 1; d <= n; ++d) {
            const auto at = static_cast<std::size_t>(d - 1);
            if (given[at] < 0) continue;
            CHECK(found.heads[at] == given[at]);
            CHECK(check::near(found.head_probabilities[at], 1.0, 1e-9));
        }
    }
}

}  // namespace candidates_tests
