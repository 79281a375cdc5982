// Probabilities of a graph parser: sums, ranks and trees of every family, with and without a pruner's arcs.
#include <cmath>
#include <set>
#include <vector>

#include "check.hpp"
#include "interrupts.hpp"
#include "base/errors.hpp"
#include "parser/confidence.hpp"
#include "sentences.hpp"

namespace confidence_tests {

using namespace arbora;
using namespace arbora::graph;
using problems::kRoots;
using problems::kTrees;
using problems::Random;
using sentences::below;

namespace {

constexpr int kLabelCount = 5;
constexpr std::uint32_t kTreeSize = 1 << 11, kLabelSize = 1 << 10;

Model random_model(Random& random, Trees trees, Roots roots, int order) {
    Model model{feature::Templates(sentences::random_spec(random))};
    model.trees = trees;
    model.roots = roots;
    model.siblings = order > 1;
    model.grandparents = order > 2;
    model.labels = kLabelCount;
    model.label_sets = LabelSets(std::vector<std::uint8_t>(feature::kTags * feature::kTags * kLabelCount, 1), kLabelCount);
    model.tree_size = kTreeSize;
    model.label_size = kLabelSize;
    return model;
}

feature::Encoded random_batch(Random& random, int n) {
    sentences::Tree tree{sentences::random_tree(random, n, true), std::vector<int>(static_cast<std::size_t>(n) + 1, 0)};
    return sentences::encoded(sentences::random_sentence(random, n, 4), tree);
}

void check_sums(const Confidence& found, int n) {
    const auto nodes = static_cast<std::size_t>(n) + 1;
    for (std::size_t d = 1; d < nodes; ++d) {
        double sum = 0.0;
        for (std::size_t h = 0; h < nodes; ++h) sum += found.arc_table[h * nodes + d];
        CHECK(check::near(sum, 1.0, 1e-9));
        double labels = 0.0;
        for (int label = 0; label < kLabelCount; ++label) labels += found.label_table[(d - 1) * kLabelCount + static_cast<std::size_t>(label)];
        CHECK(check::near(labels, 1.0, 1e-9));
        CHECK(found.head_probabilities[d - 1] > 0.0 && found.head_probabilities[d - 1] <= 1.0 + 1e-12);
    }
}

double sum(const std::vector<double>& values) {
    double total = 0.0;
    for (const double value : values) total += value;
    return total;
}

}  // namespace

TEST(confidence_sums_to_one_and_minimum_risk_is_never_riskier) {
    Random random(31);
    for (int round = 0; round < 96; ++round) {
        const Trees trees = kTrees[round % 2];
        const Roots roots = kRoots[round / 2 % 2];
        const int order = 1 + round / 4 % 3, n = 1 + below(random, 9);
        const Model model = random_model(random, trees, roots, order), small = random_model(random, Trees::nonprojective, Roots::single, 1);
        const auto batch = random_batch(random, n);
        const auto tree = sentences::random_weights(random, kTreeSize), labels = sentences::random_weights(random, kLabelSize);
        const WeightView weights{tree.data(), labels.data(), 1.0};
        const Pruner pruner{&small, {tree.data(), nullptr, 1.0}, 3, 100.0};
        const Pruner* used = round / 12 % 2 == 0 ? nullptr : &pruner;
        Asked asked;
        asked.staged = round % 3 > 0;
        asked.tree_temperature = asked.risk_temperature = 2.0;
        asked.arc_table = asked.label_table = true;
        const auto best = judge(batch, model, weights, asked, used, 1);
        check_sums(best, n);
        const auto parsed = parse(batch, model, weights, asked.staged, used, 1);
        CHECK(best.heads == parsed.heads);
        CHECK(best.labels == parsed.labels);
        asked.decode = Decode::minimum_risk;
        const auto risk = judge(batch, model, weights, asked, used, 1);
        check_sums(risk, n);
        CHECK(sum(risk.head_probabilities) >= sum(best.head_probabilities) - 1e-5);
        // Decoded at another temperature, the probabilities are those of the trees' own.
        asked.risk_temperature = 1e-3;
        const auto sharp = judge(batch, model, weights, asked, used, 1);
        if (sharp.heads == best.heads) CHECK(sharp.head_probabilities == best.head_probabilities);
        asked.decode = Decode::given;
        const auto given = judge(batch, model, weights, asked, used, 1);
        CHECK(given.heads.size() == static_cast<std::size_t>(n));
        CHECK(best.log_probabilities[0] <= 0.0);
    }
}

TEST(confidence_ranks_are_all_different_and_fall) {
    Random random(32);
    for (int round = 0; round < 48; ++round) {
        const int order = 1 + round % 3, n = 1 + below(random, 6);
        const Model model = random_model(random, kTrees[round / 3 % 2], kRoots[round / 6 % 2], order);
        const bool searched = order > 1 && model.trees == Trees::nonprojective;
        const auto batch = random_batch(random, n);
        const auto tree = sentences::random_weights(random, kTreeSize), labels = sentences::random_weights(random, kLabelSize);
        Asked asked;
        asked.k = 1000;
        asked.tree_temperature = 5.0;
        const auto all = judge(batch, model, {tree.data(), labels.data(), 1.0}, asked, nullptr, 1);
        std::set<std::vector<std::int32_t>> seen;
        double total = 0.0;
        for (std::size_t i = 0; i < all.log_probabilities.size(); ++i) {
            total += std::exp(all.log_probabilities[i]);
            if (i > (searched ? 1 : 0)) CHECK(all.log_probabilities[i] <= all.log_probabilities[i - 1] + 1e-5);
            const auto first = all.heads.begin() + static_cast<std::ptrdiff_t>(i) * n;
            seen.insert({first, first + n});
        }
        CHECK(seen.size() == all.log_probabilities.size());
        if (all.log_probabilities.size() < 1000) CHECK(check::near(total, 1.0, 1e-5));  // every tree
    }
}

TEST(confidence_refuses_what_it_cannot_tell) {
    Random random(33);
    const Model model = random_model(random, Trees::nonprojective, Roots::single, 2);
    const auto batch = random_batch(random, 4);
    const auto tree = sentences::random_weights(random, kTreeSize);
    const auto refused = [&](const Asked& asked) {
        try {
            judge(batch, model, {tree.data(), nullptr, 1.0}, asked, nullptr, 1);
        } catch (const InputError&) {
            return true;
        }
        return false;
    };
    Asked cold, lost;
    cold.tree_temperature = 0.0;
    lost.missed = 1.0;
    CHECK(refused(cold) && refused(lost));
    CHECK(!refused({}));
}

TEST(confidence_can_be_stopped_anywhere) {
    Random random(35);
    for (const int order : {1, 2, 3}) {
        const Model model = random_model(random, Trees::projective, Roots::single, order);
        const auto batch = random_batch(random, order == 1 ? 40 : 20);
        const auto tree = sentences::random_weights(random, kTreeSize), labels = sentences::random_weights(random, kLabelSize);
        Asked asked;
        asked.arc_table = true;
        interrupts::check_stops("judge", 3, [&] { return judge(batch, model, {tree.data(), labels.data(), 1.0}, asked, nullptr, 1).arc_table; });
        // Objects that keep their memory between calls.
        Worker worker(model);
        interrupts::check_stops("parse", 1, [&] {
            std::vector<int> heads(static_cast<std::size_t>(batch.sentence(0).n) + 1, -1), names = heads;
            worker.parse(batch.sentence(0), nullptr, {tree.data(), labels.data(), 1.0}, false, heads.data(), names.data());
            return heads;
        });
        Likelihood questions(model, batch, Task::tree, nullptr, 2);
        const Weights weights = sentences::scaled(tree);
        interrupts::check_stops("total", 2, [&] { return questions.total({0}, weights, false).loss; });
        if (order > 1) continue;
        interrupts::check_stops("arc_sums", 2, [&] { return questions.arc_sums(0, questions.arc_scores(0, weights)).arcs; });
    }
}

TEST(confidence_of_a_search_can_be_stopped_anywhere) {
    Random random(36);
    const Model model = random_model(random, Trees::nonprojective, Roots::single, 3);
    const auto batch = random_batch(random, 20);
    const auto tree = sentences::random_weights(random, kTreeSize);
    Asked asked;
    asked.k = 3;
    asked.arc_table = true;
    interrupts::check_stops("search", 3, [&] { return judge(batch, model, {tree.data(), nullptr, 1.0}, asked, nullptr, 1).arc_table; });
}

}  // namespace confidence_tests
