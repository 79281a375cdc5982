// A cube-pruning parser against every labelled tree, scored from the definition of its features, and against the exact parsers.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "brute_force.hpp"
#include "check.hpp"
#include "cube/batch.hpp"
#include "errors/errors.hpp"
#include "sentences.hpp"

namespace cube_tests {

using namespace arbora;
using namespace arbora::cube;
using hypergraph::Update;
using problems::kRoots;
using problems::Random;
using sentences::below;

namespace {

constexpr int kLabelCount = 3, kNoEnd = 1 << 20;
constexpr std::uint32_t kTreeSize = 1 << 12, kLabelSize = 1 << 10;

std::vector<slow::ContextTemplate> random_contexts(Random& random, int kind, int count) {
    const std::vector<std::vector<int>> labelled = {{1, 2}, {1, 2, 3}, {1, 2, 3}}, counted = {{0}, {}, {2, 3}};
    std::vector<slow::ContextTemplate> templates(static_cast<std::size_t>(count));
    const auto k = static_cast<std::size_t>(kind);
    const auto pick = [&](const std::vector<int>& slots) { return slots[static_cast<std::size_t>(below(random, static_cast<int>(slots.size())))]; };
    for (auto& atoms : templates) {
        for (int a = 1 + below(random, 3); a > 0; --a) atoms.push_back({below(random, 4), below(random, 5) - 2, below(random, feature::kFields)});
        if (below(random, 2)) atoms.push_back({pick(labelled[k]), 0, feature::kLabelField});
        if (below(random, 3) == 0) atoms.push_back({pick(labelled[k]), 0, feature::kLabelField});
        if (below(random, 2) && !counted[k].empty()) atoms.push_back({pick(counted[k]), 0, feature::kCountField});
    }
    return templates;
}

// Listed once: there are 6^5 head vectors of five words to go through.
const std::vector<Heads>& trees_of(int n, Roots roots) {
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

    Case(Random& random, int n, Roots roots, Order order, int labels)
        : spec(sentences::random_spec(random)), contexts(random_spec(random, order)), model(graph::Model(feature::Templates(spec)), feature::Contexts(contexts)),
          sentence(sentences::random_sentence(random, n, 4)), gold(random_gold(random, n, roots, labels)), batch(sentences::encoded(sentence, gold)),
          weights(sentences::random_weights(random, kTreeSize + kLabelSize)) {
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

    static sentences::Tree random_gold(Random& random, int n, Roots roots, int labels) {
        sentences::Tree tree{{}, {-1}};
        do {
            tree.heads = sentences::random_tree(random, n, roots == Roots::single);
        } while (!brute::is_tree(tree.heads, Trees::projective, roots));
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
        for (std::size_t d = 1; d < tree.heads.size(); ++d) sum += (tree.heads[d] != gold.heads[d]) + (tree.labels[d] != gold.labels[d]);
        return sum;
    }

    // Every labelled tree with its score, best first.
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

}  // namespace

TEST(cube_finds_the_best_of_all_trees) {
    Random random(21);
    for (const Roots roots : kRoots)
        for (int n = 1; n <= 5; ++n)
            for (const int labels : {0, n == 4 ? 2 : kLabelCount}) {
                if (labels > 0 && n > 4) continue;
                const int rounds = labels > 0 && n == 4 ? 1 : 4;  // the list of these trees is the longest by far
                for (int round = 0; round < rounds; ++round) {
                    const Case c(random, n, roots, Order::all, labels);
                    Worker worker(c.model);
                    const auto expected = c.all(false);
                    const auto found = worker.kbest(c.batch.sentence(0), nullptr, c.view(), 5);
                    CHECK(found.size() >= std::min<std::size_t>(5, expected.size()));
                    std::set<std::vector<int>> all_heads, found_heads;
                    for (const auto& tree : expected) all_heads.insert(tree.second.heads);
                    for (const auto& tree : found) found_heads.insert(tree.heads);
                    CHECK(found_heads.size() >= std::min<std::size_t>(5, all_heads.size()));
                    for (std::size_t i = 0; i < std::min<std::size_t>(5, found.size()); ++i) {
                        CHECK_NEAR(found[i].score, expected[i].first, 1e-5);
                        CHECK(found[i].heads == expected[i].second.heads);
                        CHECK(found[i].labels == expected[i].second.labels);
                    }
                }
            }
}

TEST(cube_equals_exact_parsers_of_lower_order) {
    Random random(22);
    for (const Roots roots : kRoots)
        for (const Order order : {Order::arcs, Order::siblings})
            for (int round = 0; round < 10; ++round) {
                const Case c(random, 1 + below(random, 6), roots, order, kLabelCount);
                const auto n = static_cast<std::size_t>(c.sentence.n()) + 1;
                std::vector<int> heads(n), labels(n), exact_heads(n), exact_labels(n);
                Worker worker(c.model);
                worker.parse(c.batch.sentence(0), nullptr, c.view(), heads.data(), labels.data());
                graph::Worker exact(c.model.graph);
                exact.parse(c.batch.sentence(0), nullptr, c.view(), false, exact_heads.data(), exact_labels.data());
                CHECK(heads == exact_heads);
                CHECK(labels == exact_labels);
            }
}

TEST(cube_answers_are_differences_of_features) {
    Random random(23);
    for (const Roots roots : kRoots)
        for (int n = 1; n <= 4; ++n)
            for (const bool augmented : {false, true}) {
                const Case c(random, n, roots, Order::all, n == 4 ? 2 : kLabelCount);
                Questions questions(c.model, c.batch, nullptr, Update::standard, nullptr, 1);
                const Weights w = c.learned();
                const auto best = c.all(augmented).front().second;
                const Reply reply = questions.ask(0, w, augmented);
                CHECK(reply.loss == c.cost(best));
                CHECK(c.is_difference(reply.difference, best));
                CHECK_NEAR(reply.margin, c.score(c.gold) - c.score(best), 1e-5);
                CHECK(questions.take_tally().non_violations == 0);  // search is exact
            }
}

// With a beam of one, what search finds at the root may be worse than the gold tree; what the strategies choose never is.
TEST(cube_violations_are_never_negative) {
    Random random(24);
    int lost = 0;
    for (int round = 0; round < 150; ++round) {
        Case c(random, 2 + below(random, 5), kRoots[round % 2], Order::all, kLabelCount);
        c.model.beam = 1;
        for (const auto& [place, count] : c.features(c.gold)) c.weights[place] += 0.6F * static_cast<float>(count);
        const Weights w = c.learned();
        for (const Update update : {Update::standard, Update::skip, Update::s_max, Update::p_max}) {
            Questions questions(c.model, c.batch, nullptr, update, nullptr, 1);
            const Reply reply = questions.ask(0, w, false);
            const bool non_violation = questions.take_tally().non_violations == 1;
            if (update == Update::standard) lost += non_violation;
            if (update == Update::standard) CHECK((reply.margin > 1e-4) <= non_violation);
            if (update != Update::standard) CHECK(reply.margin <= 1e-4);
            if (update == Update::skip && non_violation) CHECK(reply.difference.size() == 0);
        }
    }
    CHECK(lost > 10);
}

// Before anything is learned, all trees are equal: a wrong one must be updated from nevertheless.
TEST(cube_wrong_trees_of_equal_scores_are_violations) {
    Random random(26);
    int wrong = 0;
    for (int round = 0; round < 20; ++round) {
        Case c(random, 3 + below(random, 4), kRoots[round % 2], Order::all, kLabelCount);
        c.model.beam = 1;
        std::fill(c.weights.begin(), c.weights.end(), 0.0F);
        const Weights w = c.learned();
        const auto loss = [&](Update update) { return Questions(c.model, c.batch, nullptr, update, nullptr, 1).ask(0, w, false).loss; };
        const double whole = loss(Update::standard);
        wrong += whole > 0.0;
        for (const Update update : {Update::skip, Update::s_max, Update::p_max}) CHECK(loss(update) == whole);
    }
    CHECK(wrong > 10);
}

TEST(cube_refuses_what_it_cannot_learn_from) {
    Random random(25);
    const Case c(random, 4, Roots::single, Order::all, kLabelCount);
    const auto refused = [&](const std::vector<int>& heads, const std::vector<graph::ArcSet>* arcs) {
        const auto batch = sentences::encoded(c.sentence, {heads, {-1, 0, 0, 0, 0}});
        try {
            Questions(c.model, batch, arcs, Update::s_max, nullptr, 1);
        } catch (const InputError&) {
            return true;
        }
        return false;
    };
    CHECK(!refused({-1, 0, 1, 2, 3}, nullptr));
    CHECK(refused({-1, 3, 4, 0, 3}, nullptr));  // 1-3 and 2-4 cross
    std::vector<graph::ArcSet> none(1);
    none[0].set_all(4);
    CHECK(!refused({-1, 0, 1, 2, 3}, &none));
    none[0].heads[0] = 4;  // no longer under the root
    CHECK(refused({-1, 0, 1, 2, 3}, &none));
}

TEST(cube_parses_long_sentences) {
    Random random(26);
    Case c(random, 1, Roots::single, Order::all, kLabelCount);
    const int n = 100;
    const auto sentence = sentences::random_sentence(random, n, 4);
    std::vector<int> chain(static_cast<std::size_t>(n) + 1, -1), labels(static_cast<std::size_t>(n) + 1, 0);
    for (int d = 1; d <= n; ++d) chain[static_cast<std::size_t>(d)] = d - 1;
    const auto batch = sentences::encoded(sentence, {chain, labels});
    graph::ArcSet arcs;
    arcs.n = n;
    arcs.first.assign(2, 0);
    for (int d = 1; d <= n; ++d) {
        for (int h = std::max(0, d - 2); h <= std::min(n, d + 2); ++h)
            if (h != d) arcs.heads.push_back(h);
        arcs.first.push_back(arcs.size());
    }
    c.model.beam = 4;
    Worker worker(c.model);
    std::vector<int> heads(chain.size());
    worker.parse(batch.sentence(0), &arcs, c.view(), heads.data(), labels.data());
    CHECK(brute::is_tree(heads, Trees::projective, Roots::single));
    std::vector<graph::ArcSet> sets{arcs};
    Questions questions(c.model, batch, &sets, Update::p_max, nullptr, 1);
    CHECK(questions.ask(0, c.learned(), true).margin <= 1e-2);
}

}  // namespace cube_tests
