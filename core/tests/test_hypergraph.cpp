// Forests and updates on small problems without words.
#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "check.hpp"
#include "search/forest.hpp"
#include "search/updates.hpp"
#include "problems.hpp"

namespace hypergraph_tests {

using namespace arbora::hypergraph;
using problems::Random;

namespace {

struct Word {
    int value = 0;
};

// Gold trees: random binary trees with a number of leaves and random violations; leaves have none.
std::vector<GoldNode> random_gold(Random& random, int leaves) {
    std::vector<GoldNode> nodes;
    std::vector<int> open;
    for (int i = 0; i < leaves; ++i) {
        open.push_back(static_cast<int>(nodes.size()));
        nodes.push_back({});
    }
    while (open.size() > 1) {
        const auto at = static_cast<std::size_t>(random() % (open.size() - 1));
        // A few equal ones, so that ties occur.
        nodes.push_back({{open[at], open[at + 1]}, static_cast<double>(static_cast<int>(random() % 9)) - 4.0, random() % 3 > 0});
        open[at] = static_cast<int>(nodes.size()) - 1;
        open.erase(open.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
    return nodes;
}

std::vector<int> leaves_below(const std::vector<GoldNode>& nodes, int node) {
    if (nodes[static_cast<std::size_t>(node)].children[0] < 0) return {node};
    std::vector<int> all;
    for (const int child : nodes[static_cast<std::size_t>(node)].children)
        for (const int leaf : leaves_below(nodes, child)) all.push_back(leaf);
    return all;
}

double largest_below(const std::vector<GoldNode>& nodes, int node) {
    double largest = nodes[static_cast<std::size_t>(node)].violation;
    for (const int child : nodes[static_cast<std::size_t>(node)].children)
        if (child >= 0) largest = std::max(largest, largest_below(nodes, child));
    return largest;
}

}  // namespace

TEST(hypergraph_updates_fix_violations) {
    Random random(5);
    for (int round = 0; round < 500; ++round) {
        const auto nodes = random_gold(random, 1 + static_cast<int>(random() % 12));
        const int root = static_cast<int>(nodes.size()) - 1;
        CHECK(update_nodes(Update::standard, nodes) == std::vector<int>{root});
        CHECK(update_nodes(Update::skip, nodes).empty() == (nodes.back().violation < 0.0));
        const auto single = update_nodes(Update::s_max, nodes);
        CHECK(single.size() == 1);
        CHECK(nodes[static_cast<std::size_t>(single[0])].violation == largest_below(nodes, root));
        CHECK(nodes[static_cast<std::size_t>(single[0])].violation >= 0.0);
        for (const GoldNode& node : nodes) CHECK(!node.worse_than(nodes[static_cast<std::size_t>(single[0])]));
        // The frontier covers every leaf once, and each of its nodes has the largest violation of what it covers.
        std::vector<int> covered;
        for (const int node : update_nodes(Update::p_max, nodes)) {
            CHECK(nodes[static_cast<std::size_t>(node)].violation == largest_below(nodes, node));
            CHECK(nodes[static_cast<std::size_t>(node)].violation >= 0.0);
            for (const int leaf : leaves_below(nodes, node)) covered.push_back(leaf);
        }
        std::sort(covered.begin(), covered.end());
        std::vector<int> leaves(nodes.size() / 2 + 1);
        std::iota(leaves.begin(), leaves.end(), 0);
        CHECK(covered == leaves);
    }
}

// One node built from two, with scores that depend on both sides: an unlimited beam finds all combinations, best first, and equal
// keys only once.
TEST(hypergraph_cubes_are_emptied) {
    Random random(6);
    for (int round = 0; round < 200; ++round) {
        Forest<Word> forest;
        const auto pile = [&](int size) {
            std::vector<Edge> edges;
            for (int i = 0; i < size; ++i) {
                Derivation<Word> leaf;
                leaf.context.value = i;
                leaf.score = problems::normal(random);
                const int node = forest.leaf(leaf);
                edges.push_back({node, node, 1});
            }
            return forest.grow(edges, size, [&](int, int, const auto& left, int, const auto&, int) {
                auto item = left;
                item.key = static_cast<std::uint64_t>(left.context.value);
                return item;
            });
        };
        const int a = pile(1 + static_cast<int>(random() % 5)), b = pile(1 + static_cast<int>(random() % 5)), choices = 1 + static_cast<int>(random() % 3);
        std::map<std::uint64_t, double> best;  // by key
        std::map<std::tuple<int, int, int>, double> bonus;
        int asked = 0;
        const auto combine = [&](int, int i, const auto& left, int j, const auto& right, int choice) {
            ++asked;
            const auto [place, is_new] = bonus.try_emplace({i, j, choice}, problems::normal(random));
            CHECK(is_new);  // each combination is scored once
            Derivation<Word> item;
            item.score = left.score + right.score + place->second;
            item.key = random() % 4;
            const auto [known, first] = best.try_emplace(item.key, item.score);
            if (!first) known->second = std::max(known->second, item.score);
            return item;
        };
        const std::vector<Edge> edges{{a, b, choices}};
        const int node = forest.grow(edges, 1 << 20, combine);
        CHECK(asked == forest.count(a) * forest.count(b) * choices);
        CHECK(forest.count(node) == static_cast<int>(best.size()));
        for (int i = 0; i < forest.count(node); ++i) {
            const auto& item = forest.at(forest.ranked(node, i));
            CHECK(item.score == best.at(item.key));
            CHECK(i == 0 || forest.at(forest.ranked(node, i - 1)).score >= item.score);
        }
    }
}

TEST(hypergraph_beams_are_kept) {
    Forest<Word> forest;
    std::vector<Edge> edges;
    for (int i = 0; i < 20; ++i) {
        Derivation<Word> leaf;
        leaf.score = i;
        leaf.context.value = i;
        const int node = forest.leaf(leaf);
        edges.push_back({node, node, 1});
    }
    const auto copy = [](int, int, const auto& left, int, const auto& right, int) {
        Derivation<Word> item;
        item.score = left.score;
        item.key = static_cast<std::uint64_t>(right.context.value);
        item.context = left.context;
        return item;
    };
    const int node = forest.grow(edges, 3, copy);
    CHECK(forest.count(node) == 3);
    std::vector<int> seen;
    forest.visit(forest.ranked(node, 1), [&](const auto& item) { seen.push_back(item.context.value); });
    CHECK((seen == std::vector<int>{18, 18, 18}));
}

}  // namespace hypergraph_tests
