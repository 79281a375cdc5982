// Non-projective trees by cube pruning: whole trees scored from the definition of their features, and naive hill climbing.
#include <vector>

#include "check.hpp"
#include "cube_cases.hpp"
#include "base/errors.hpp"

namespace cube_crossing_tests {

using namespace arbora;
using namespace arbora::cube;
using namespace cube_cases;
using hypergraph::Update;
using problems::kRoots;

namespace {

constexpr Trees kCrossing = Trees::nonprojective;

// All trees that differ in the head and label of one word, each scored from scratch; repeats with the best while it improves.
sentences::Tree climb_naively(const Case& c, sentences::Tree tree, bool augmented) {
    const auto score = [&](const sentences::Tree& t) { return c.score(t) + (augmented ? c.cost(t) : 0.0); };
    const bool single = c.model.graph.roots == Roots::single;
    for (;;) {
        sentences::Tree best = tree;
        for (std::size_t d = 1; d < tree.heads.size(); ++d)
            for (int h = 0; h < static_cast<int>(tree.heads.size()); ++h)
                for (int label = 0; label < c.model.graph.labels; ++label) {
                    sentences::Tree other = tree;
                    other.heads[d] = h;
                    other.labels[d] = label;
                    if (h == static_cast<int>(d) || !brute::is_tree(other.heads, kCrossing, c.model.graph.roots)) continue;
                    if (single && (h == 0) != (tree.heads[d] == 0)) continue;
                    if (score(other) > score(best) + 1e-9) best = other;
                }
        if (best.heads == tree.heads && best.labels == tree.labels) return tree;
        tree = best;
    }
}

sentences::Tree parsed(const Case& c, Worker& worker) {
    const auto nodes = static_cast<std::size_t>(c.sentence.n()) + 1;
    sentences::Tree tree{Heads(nodes), Heads(nodes)};
    worker.parse(c.batch.sentence(0), nullptr, c.view(), tree.heads.data(), tree.labels.data());
    return tree;
}

bool is_projective(const sentences::Tree& tree) { return brute::is_tree(tree.heads, Trees::projective, Roots::multi); }

}  // namespace

TEST(cube_reattachment_is_the_naive_search) {
    Random random(34);
    int crossing = 0;
    for (const Roots roots : kRoots)
        for (int round = 0; round < 12; ++round) {
            const Case c(random, round < 8 ? 4 : 3, roots, Order::all, 2, kCrossing);
            Worker worker(c.model);
            const auto found = parsed(c, worker);
            const auto expected = climb_naively(c, c.all(false).front().second, false);
            CHECK(found.heads == expected.heads);
            CHECK(found.labels == expected.labels);
            crossing += !is_projective(found);
            const auto listed = worker.kbest(c.batch.sentence(0), nullptr, c.view(), 4);
            CHECK(listed.front().heads == found.heads && listed.front().labels == found.labels);
            CHECK(listed.size() > 1);
            for (std::size_t i = 0; i < listed.size(); ++i) {
                CHECK(brute::is_tree(listed[i].heads, kCrossing, roots));
                CHECK_NEAR(listed[i].score, c.score({listed[i].heads, listed[i].labels}), 1e-4);
                CHECK(listed[i].score <= listed[i == 0 ? 0 : i - 1].score + 1e-9);
                int changed = 0;
                for (std::size_t d = 1; d < found.heads.size(); ++d) changed += listed[i].heads[d] != found.heads[d] || listed[i].labels[d] != found.labels[d];
                CHECK(changed == (i == 0 ? 0 : 1));
            }
        }
    CHECK(crossing > 3);
}

TEST(cube_answers_about_crossing_trees) {
    Random random(32);
    int crossing = 0;
    for (const Roots roots : kRoots)
        for (int round = 0; round < 5; ++round)
            for (const bool augmented : {false, true}) {
                const Case c(random, 3 + round % 2, roots, Order::all, 2, kCrossing);
                crossing += !is_projective(c.gold);
                Questions questions(c.model, c.batch, nullptr, Update::standard, nullptr, 1);
                const auto best = climb_naively(c, c.all(augmented).front().second, augmented);
                const Reply reply = questions.ask(0, c.learned(), augmented);
                CHECK(reply.loss == c.cost(best));
                CHECK(c.is_difference(reply.difference, best));
                const auto listed = questions.candidates(0, c.learned(), 3);
                CHECK(!listed.empty());
                if (!augmented) CHECK(c.is_difference(listed.front().difference, best));
            }
    CHECK(crossing > 3);
}

// If search has lost the gold tree, projective or not, the update is a violation or nothing.
TEST(cube_violations_of_crossing_trees_are_never_negative) {
    Random random(33);
    int lost = 0, partial = 0;
    for (int round = 0; round < 200; ++round) {
        Case c(random, 3 + below(random, 3), kRoots[round % 2], Order::all, kLabelCount, kCrossing);
        c.model.beam = 1;
        for (const auto& [place, count] : c.features(c.gold)) c.weights[place] += 0.6F * static_cast<float>(count);
        const Weights w = c.learned();
        double whole = 0.0;
        for (const Update update : {Update::standard, Update::skip, Update::s_max, Update::p_max}) {
            Questions questions(c.model, c.batch, nullptr, update, nullptr, 1);
            const Reply reply = questions.ask(0, w, false);
            const bool non_violation = questions.take_tally().non_violations == 1;
            if (update == Update::standard) {
                whole = reply.loss;
                lost += non_violation;
            } else {
                CHECK(reply.margin <= 1e-4);
                partial += !is_projective(c.gold) && reply.loss > 0.0 && reply.loss != whole;
            }
        }
    }
    CHECK(lost > 5);
    CHECK(partial > 0);
}

// Given heads may cross, and then there is no projective tree to start from.
TEST(cube_keeps_given_heads_that_cross) {
    Random random(34);
    for (const Roots roots : kRoots)
        for (int round = 0; round < 5; ++round) {
            Case c(random, 5, roots, Order::all, kLabelCount, kCrossing);
            const std::vector<std::int32_t> given = {3, 4, -1, -1, -1};  // 1-3 and 2-4 cross
            c.batch.set_heads(given.data());
            const auto heads = parse(c.batch, c.model, c.view(), nullptr, 1, true).heads;
            CHECK(heads[0] == 3 && heads[1] == 4);
            Heads tree{-1};
            tree.insert(tree.end(), heads.begin(), heads.end());
            CHECK(brute::is_tree(tree, kCrossing, roots));
            CHECK(!kbest(c.batch, c.model, c.view(), nullptr, 3, 1, true)[0].empty());
        }
}

}  // namespace cube_crossing_tests
