// A cube-pruning parser against every labelled tree, scored from the definition of its features, and against the exact parsers.
#include <algorithm>
#include <set>
#include <vector>

#include "check.hpp"
#include "interrupts.hpp"
#include "cube_cases.hpp"
#include "base/errors.hpp"
#include "sentences.hpp"

namespace cube_tests {

using namespace arbora;
using namespace arbora::cube;
using namespace cube_cases;
using hypergraph::Update;
using problems::kRoots;

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
                Case c(random, n, roots, Order::all, n == 4 ? 2 : kLabelCount);
                c.label_cost = n % 2 == 0 ? 0.5 : 1.0;
                Questions questions(c.model, c.batch, nullptr, Update::standard, nullptr, 1, {1.0, c.label_cost});
                const Weights w = c.learned();
                const auto best = c.all(augmented).front().second;
                const Reply reply = questions.ask(0, w, augmented);
                CHECK(reply.loss == c.cost(best));
                CHECK(c.is_difference(reply.difference, best));
                CHECK_NEAR(reply.margin, c.score(c.gold) - c.score(best), 1e-5);
                CHECK(questions.take_tally().non_violations == 0);  // search is exact
            }
}

// With a beam of one, the tree found at the root may be worse than the gold tree; the nodes that the strategies choose never are.
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

// Before training, all trees score the same; a wrong one must cause an update nevertheless.
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

TEST(cube_can_be_stopped_anywhere) {
    Random random(29);
    for (const Trees trees : {Trees::projective, Trees::nonprojective}) {
        Case c(random, 6, Roots::single, Order::all, kLabelCount, trees);
        c.model.beam = 4;
        Worker worker(c.model);
        interrupts::check_stops("kbest", 2, [&] {
            std::vector<std::vector<int>> found;
            for (int round = 0; round < 10; ++round)
                for (const auto& tree : worker.kbest(c.batch.sentence(0), nullptr, c.view(), 5)) found.push_back(tree.heads);
            return found;
        });
    }
}

}  // namespace cube_tests
