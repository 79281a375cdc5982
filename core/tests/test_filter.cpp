// Max-marginals against all trees of short sentences, one by one; their derivatives against counted witnesses and finite
// differences.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "brute_force.hpp"
#include "check.hpp"
#include "parser/filter.hpp"
#include "refuses.hpp"
#include "sentences.hpp"

namespace filter_tests {

using namespace arbora;
using namespace arbora::graph;
using problems::kRoots;
using problems::Random;
using sentences::below;

namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

// Multiples of 1/64, so that sums are exact in float32. `spread`: the number of different values, few for ties.
struct Drawn {
    ArcSet arcs;
    std::vector<float> scores;

    Drawn(Random& random, int n, double share, int spread) {
        arcs.n = n;
        arcs.first.assign(2, 0);
        for (int d = 1; d <= n; ++d) {
            for (int h = 0; h <= n; ++h)
                if (h != d && problems::uniform(random) < share) arcs.heads.push_back(h);
            arcs.first.push_back(arcs.size());
        }
        for (int a = 0; a < arcs.size(); ++a) scores.push_back(static_cast<float>(below(random, spread) - spread / 2) / 64.0F);
    }

    // Sum over a tree; minus infinity if an arc is missing.
    float score(const std::vector<int>& heads) const {
        float sum = 0.0F;
        for (int d = 1; d <= arcs.n; ++d) {
            const int a = arcs.find(heads[static_cast<std::size_t>(d)], d);
            sum += a < 0 ? kNothing : scores[static_cast<std::size_t>(a)];
        }
        return sum;
    }
};

// The best tree of each arc by listing all; `tied` if another tree is as good.
struct Listed {
    float best = kNothing;
    std::vector<float> values;
    std::vector<std::vector<int>> witnesses;
    bool tied = false;

    Listed(const Drawn& drawn, Roots roots) : values(drawn.scores.size(), kNothing), witnesses(drawn.scores.size()) {
        for (const auto& heads : brute::all_trees(drawn.arcs.n, Trees::projective, roots)) {
            const float score = drawn.score(heads);
            if (score == kNothing) continue;
            best = std::max(best, score);
            for (int d = 1; d <= drawn.arcs.n; ++d) {
                const auto a = static_cast<std::size_t>(drawn.arcs.find(heads[static_cast<std::size_t>(d)], d));
                tied = tied || score == values[a];
                if (score <= values[a]) continue;
                values[a] = score;
                witnesses[a] = heads;
            }
        }
    }
};

double threshold(const Drawn& drawn, Roots roots, double alpha) {
    Filter filter;
    CHECK(filter.run(drawn.arcs, drawn.scores.data(), roots, alpha));
    return filter.threshold();
}

}  // namespace

TEST(max_marginals_are_the_best_trees_through_each_arc) {
    Random random(81);
    int none = 0, some = 0;
    for (int round = 0; round < 600; ++round) {
        const Roots roots = kRoots[round % 2];
        const double shares[] = {1.0, 0.6, 0.35};
        const Drawn drawn(random, below(random, 6), shares[round / 2 % 3], round % 5 == 0 ? 3 : 4096);
        const Listed listed(drawn, roots);
        Sides sides;
        sides.build(drawn.arcs);
        MaxMarginals marginals;
        const bool found = marginals.run(drawn.arcs, sides, drawn.scores.data(), roots);
        CHECK(found == (listed.best > kNothing));
        if (!found) {
            ++none;
            continue;
        }
        ++some;
        CHECK(marginals.best() == listed.best);
        CHECK(drawn.score(marginals.best_tree()) == listed.best);
        CHECK(marginals.values() == listed.values);
    }
    CHECK(none > 20);
    CHECK(some > 200);
}

TEST(witness_counts_are_those_of_listed_trees) {
    Random random(82);
    int untied = 0;
    for (int round = 0; round < 400; ++round) {
        const Roots roots = kRoots[round % 2];
        const Drawn drawn(random, 1 + below(random, 5), round / 2 % 2 ? 1.0 : 0.6, 1 << 20);
        const Listed listed(drawn, roots);
        Sides sides;
        sides.build(drawn.arcs);
        MaxMarginals marginals;
        if (!marginals.run(drawn.arcs, sides, drawn.scores.data(), roots)) continue;
        std::vector<double> counts, best(drawn.scores.size(), 0.0), expected(drawn.scores.size(), 0.0);
        for (const auto& heads : listed.witnesses)
            for (int d = 1; d <= drawn.arcs.n && !heads.empty(); ++d)
                expected[static_cast<std::size_t>(drawn.arcs.find(heads[static_cast<std::size_t>(d)], d))] += 1.0;
        for (int d = 1; d <= drawn.arcs.n; ++d) {
            const int a = drawn.arcs.find(marginals.best_tree()[static_cast<std::size_t>(d)], d);
            best[static_cast<std::size_t>(a)] += 1.0;
        }
        marginals.count_witnesses(0.0, 1.0, counts);
        double sum = 0.0, values = 0.0;
        for (std::size_t a = 0; a < counts.size(); ++a) {
            sum += counts[a] * double{drawn.scores[a]};
            if (listed.values[a] > kNothing) values += double{listed.values[a]};
        }
        CHECK_NEAR(sum, values, 1e-9);
        if (!listed.tied) {
            ++untied;
            CHECK(counts == expected);
        }
        marginals.count_witnesses(1.0, 0.0, counts);
        CHECK(counts == best);
    }
    CHECK(untied > 100);
}

TEST(slopes_of_the_threshold_are_its_differences) {
    Random random(83);
    int compared = 0;
    for (int round = 0; round < 60; ++round) {
        const Roots roots = kRoots[round % 2];
        const double alpha = below(random, 5) / 4.0;
        Drawn drawn(random, 2 + below(random, 4), 1.0, 1 << 16);
        if (Listed(drawn, roots).tied) continue;
        Filter filter;
        CHECK(filter.run(drawn.arcs, drawn.scores.data(), roots, alpha));
        std::vector<double> slopes;
        filter.slopes(slopes);
        constexpr float kStep = 1.0F / 1024.0F;  // less than scores differ by, so that no witness changes
        for (std::size_t a = 0; a < slopes.size(); ++a) {
            const float before = drawn.scores[a];
            drawn.scores[a] = before + kStep;
            const double above = threshold(drawn, roots, alpha);
            drawn.scores[a] = before - kStep;
            const double below_it = threshold(drawn, roots, alpha);
            drawn.scores[a] = before;
            CHECK(std::abs((above - below_it) / (2.0 * double{kStep}) - slopes[a]) < 1e-4);
            ++compared;
        }
    }
    CHECK(compared > 300);
}

TEST(a_filter_keeps_its_best_tree_and_what_reaches_the_threshold) {
    Random random(84);
    for (int round = 0; round < 200; ++round) {
        const Roots roots = kRoots[round % 2];
        const Drawn drawn(random, 1 + below(random, 5), 1.0, round % 3 ? 4096 : 3);
        const double alpha = below(random, 5) / 4.0, within = round % 4 ? 0.0 : 1.0 / 3.0;
        const Listed listed(drawn, roots);
        Filter filter;
        CHECK(filter.run(drawn.arcs, drawn.scores.data(), roots, alpha));
        double mean = 0.0;
        for (const float value : listed.values) mean += double{value} / static_cast<double>(listed.values.size());
        CHECK_NEAR(filter.threshold(), alpha * double{listed.best} + (1 - alpha) * mean, 1e-9);
        const double enough = std::min(filter.threshold(), double{listed.best} - within);
        ArcSet kept;
        filter.keep(within, kept);
        for (int d = 1; d <= drawn.arcs.n; ++d) {
            CHECK(kept.find(filter.marginals().best_tree()[static_cast<std::size_t>(d)], d) >= 0);
            for (int a = drawn.arcs.first[d]; a < drawn.arcs.first[d + 1]; ++a) {
                const float value = listed.values[static_cast<std::size_t>(a)];
                if (std::abs(double{value} - enough) > 1e-9)
                    CHECK((kept.find(drawn.arcs.heads[static_cast<std::size_t>(a)], d) >= 0) == (double{value} > enough));
            }
        }
    }
}

TEST(max_marginals_of_a_long_sentence) {
    Random random(85);
    for (const Roots roots : kRoots) {
        Drawn drawn(random, 300, 0.04, 512);
        std::vector<int> chain(301);  // so that there is a tree
        for (int d = 0; d <= 300; ++d) chain[static_cast<std::size_t>(d)] = d - 1;
        drawn.arcs.add(chain.data());
        drawn.scores.clear();
        for (int a = 0; a < drawn.arcs.size(); ++a) drawn.scores.push_back(static_cast<float>(below(random, 512)) / 64.0F);
        Sides sides;
        sides.build(drawn.arcs);
        MaxMarginals marginals;
        CHECK(marginals.run(drawn.arcs, sides, drawn.scores.data(), roots));
        for (int round = 0; round < 25; ++round) {
            // The best tree if the word must have another head.
            const int d = 1 + below(random, 300), a = drawn.arcs.first[d] + below(random, drawn.arcs.first[d + 1] - drawn.arcs.first[d]);
            Drawn forced = drawn;
            for (int b = drawn.arcs.first[d]; b < drawn.arcs.first[d + 1]; ++b)
                if (b != a) forced.scores[static_cast<std::size_t>(b)] = kNothing;
            BestTree chart;
            std::vector<int> heads(301);
            const bool found = chart.find({&forced.arcs, &sides, roots, forced.scores.data()}, heads.data());
            CHECK(marginals.values()[static_cast<std::size_t>(a)] == (found ? forced.score(heads) : kNothing));
        }
        std::vector<double> counts;
        marginals.count_witnesses(0.0, 1.0, counts);
        double sum = 0.0, values = 0.0;
        std::size_t reachable = 0;
        for (std::size_t a = 0; a < counts.size(); ++a) {
            sum += counts[a] * double{drawn.scores[a]};
            if (marginals.values()[a] == kNothing) continue;
            values += double{marginals.values()[a]};
            ++reachable;
        }
        CHECK(sum == values);
        for (int d = 1; d <= 300; ++d) {
            double heads = 0.0;
            for (int a = drawn.arcs.first[d]; a < drawn.arcs.first[d + 1]; ++a) heads += counts[static_cast<std::size_t>(a)];
            CHECK(heads == static_cast<double>(reachable));
        }
    }
}

namespace {

feature::Encoded batch_of(Random& random, int count, bool single_root) {
    std::string text;
    slow::Sentence last;
    for (int s = 0; s < count; ++s) {
        const int n = 1 + below(random, 9);
        sentences::Tree tree{{}, std::vector<int>(static_cast<std::size_t>(n) + 1, 0)};
        do tree.heads = sentences::random_tree(random, n, single_root);
        while (!brute::is_tree(tree.heads, Trees::projective, single_root ? Roots::single : Roots::multi));
        last = sentences::random_sentence(random, n, 4);
        text += sentences::conllu(last, tree);
    }
    return sentences::encoded(text, last.tags);
}

}  // namespace

TEST(filter_questions_are_the_loss_and_its_subgradient) {
    Random random(86);
    int answered = 0;
    for (int round = 0; round < 40; ++round) {
        Model model{feature::Templates(sentences::random_spec(random))};
        model.roots = kRoots[round % 2];
        model.tree_size = 1 << 11;
        const auto batch = batch_of(random, 6, model.roots == Roots::single);
        const double alpha = below(random, 5) / 4.0;
        const int among = round % 3 == 0 ? 2 : 100;
        FilterQuestions one(model, batch, alpha, among, 1), three(model, batch, alpha, among, 3);
        Weights weights(1 << 11);
        weights.add(coalesce([&] {
            std::vector<SparseEntry> entries;
            for (std::uint32_t i = 0; i < weights.size(); ++i) entries.emplace_back(i, static_cast<float>(problems::normal(random)) * 0.1F);
            return entries;
        }()), 1.0);
        std::vector<std::int64_t> every;
        double loss = 0.0, margin = 0.0;
        for (std::size_t s = 0; s < batch.size(); ++s) {
            every.push_back(static_cast<std::int64_t>(s));
            const auto sentence = batch.sentence(s);
            const auto plain = one.ask(s, weights, false), augmented = one.ask(s, weights, true);
            loss += augmented.loss;
            margin += augmented.margin;
            CHECK(plain.loss == 0.0 || plain.loss == sentence.n);
            CHECK(plain.loss == 0.0 || plain.margin < 1e-4);
            if (plain.loss == 0.0) CHECK(plain.difference.size() == 0);
            if (augmented.loss == 0.0 || among < sentence.n) continue;
            ++answered;
            Worker worker(model);
            worker.score(sentence, nullptr, view(model, Task::tree, weights.data(), weights.scale()));
            Filter filter;
            CHECK(filter.run(worker.arcs(), worker.arc_scores().data(), model.roots, alpha));
            double gold = 0.0;
            for (int d = 1; d <= sentence.n; ++d) gold += double{worker.arc_scores()[static_cast<std::size_t>(worker.arcs().find(sentence.heads[d], d))]};
            CHECK(std::abs(augmented.margin - (gold - filter.threshold())) < 1e-3);
        }
        const auto total = one.total(every, weights, true);
        CHECK(total.loss == loss);
        CHECK_NEAR(total.margin, margin, 1e-4);
        CHECK(three.total(every, weights, true).difference == total.difference);
    }
    CHECK(answered > 60);
}

TEST(filter_questions_refuse_what_is_no_projective_tree) {
    Random random(87);
    Model model{feature::Templates(sentences::random_spec(random))};
    model.tree_size = 1 << 11;
    const auto sentence = sentences::random_sentence(random, 4, 3);
    const auto encoded = [&](std::vector<int> heads) {
        return sentences::encoded(sentence, sentences::Tree{std::move(heads), std::vector<int>(5, 0)});
    };
    const auto crossing = encoded({-1, 3, 4, 0, 3}), good = encoded({-1, 2, 3, 0, 3});
    CHECK(refuses([&] { FilterQuestions(model, crossing, 0.5, 9, 1); }));
    CHECK(refuses([&] { FilterQuestions(model, good, 1.5, 9, 1); }));
    CHECK(refuses([&] { FilterQuestions(model, good, 0.5, 0, 1); }));
    auto partial = good;
    const std::vector<std::int32_t> heads = {2, -1, 0, 3};
    partial.set_heads(heads.data());
    CHECK(refuses([&] { FilterQuestions(model, partial, 0.5, 9, 1); }));
    model.trees = Trees::nonprojective;
    CHECK(refuses([&] { FilterQuestions(model, good, 0.5, 9, 1); }));
}

}  // namespace filter_tests
