// A complete graph parser: its trees, labels and answers against every tree, scored from the definition of its features.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "brute_force.hpp"
#include "check.hpp"
#include "base/errors.hpp"
#include "parser/batch.hpp"
#include "sentences.hpp"

namespace graph_parser_tests {

using namespace arbora;
using namespace arbora::graph;
using problems::kRoots;
using problems::kTrees;
using problems::Random;
using sentences::below;
using sentences::kLabels;
using sentences::scaled;

namespace {

constexpr int kLabelCount = 5;
constexpr std::uint32_t kTreeSize = 1 << 11, kLabelSize = 1 << 10;

const std::vector<Heads>& trees_of(int n, Trees trees, Roots roots) {
    static std::map<std::tuple<int, Trees, Roots>, std::vector<Heads>> known;
    auto [place, is_new] = known.try_emplace({n, trees, roots});
    if (is_new) place->second = brute::all_trees(n, trees, roots);
    return place->second;
}

std::vector<std::uint8_t> random_seen(Random& random) {
    std::vector<std::uint8_t> seen(feature::kTags * feature::kTags * kLabelCount);
    for (auto& flag : seen) flag = below(random, 10) < 4;
    return seen;
}

// The labels allowed for a pair of tags, by the rule: those of its own, of the dependent's tag, or all. With `kinds`, of heads that
// are the root too, or are not; and those of such heads in place of all.
std::vector<int> allowed(const std::vector<std::uint8_t>& seen, int head_tag, int dep_tag, bool kinds = false) {
    const auto flag = [&](int head, int dep, int label) { return seen[static_cast<std::size_t>((head * 64 + dep) * kLabelCount + label)] != 0; };
    const auto is_seen = [&](int label, int dep) {
        for (int head = 0; head < 64; ++head)
            if ((!kinds || (head == 63) == (head_tag == 63)) && flag(head, dep, label)) return true;
        return false;
    };
    std::vector<int> own, of_dep, of_kind, all;
    for (int label = 0; label < kLabelCount; ++label) {
        bool any = false;
        for (int dep = 0; dep < 64; ++dep) any = any || (kinds && is_seen(label, dep));
        if (flag(head_tag, dep_tag, label)) own.push_back(label);
        if (is_seen(label, dep_tag)) of_dep.push_back(label);
        if (any) of_kind.push_back(label);
        all.push_back(label);
    }
    return !own.empty() ? own : !of_dep.empty() ? of_dep : !of_kind.empty() ? of_kind : all;
}

// A random model, sentence and weights.
struct Case {
    feature::TemplateSpec spec;
    Model model;
    std::vector<std::uint8_t> seen;
    slow::Sentence sentence;
    sentences::Tree gold;
    feature::Encoded batch;
    double label_cost = 1.0;

    Case(Random& random, int n, Trees trees, Roots roots, int order)
        : spec(sentences::random_spec(random)), model(feature::Templates(spec)), seen(random_seen(random)),
          sentence(sentences::random_sentence(random, n, 4)), gold(random_gold(random, n, trees, roots)), batch(sentences::encoded(sentence, gold)) {
        model.trees = trees;
        model.roots = roots;
        model.siblings = order > 1;
        model.grandparents = order > 2;
        model.labels = kLabelCount;
        model.label_sets = LabelSets(seen, kLabelCount);
        model.tree_size = kTreeSize;
        model.label_size = kLabelSize;
    }

    sentences::Tree random_gold(Random& random, int n, Trees trees, Roots roots) const {
        sentences::Tree tree{trees_of(n, trees, roots)[static_cast<std::size_t>(below(random, static_cast<int>(trees_of(n, trees, roots).size())))], {-1}};
        for (int d = 1; d <= n; ++d) {
            const auto labels = allowed(seen, sentence.tag_number(tree.heads[static_cast<std::size_t>(d)]), sentence.tag_number(d));
            tree.labels.push_back(labels[static_cast<std::size_t>(below(random, static_cast<int>(labels.size())))]);
        }
        return tree;
    }

    std::vector<int> labels_of(int head, int dep) const { return allowed(seen, sentence.tag_number(head), sentence.tag_number(dep)); }

    // All features of a tree for a task, with their counts.
    std::map<std::uint32_t, int> features(const sentences::Tree& tree, Task task) const {
        std::map<std::uint32_t, int> found;
        const auto add = [&](const slow::Places& places, std::uint32_t offset) {
            for (const std::uint32_t place : places) ++found[offset + place];
        };
        for (int d = 1; d <= sentence.n(); ++d) {
            const auto nodes = slow::around(tree.heads, d);
            if (task != Task::labels) {
                add(slow::arc_places(sentence, spec.arcs, nodes.head, d, kTreeSize), 0);
                const int inner = nodes.sibling < 0 ? nodes.head : nodes.sibling;
                if (model.siblings) add(slow::sibling_places(sentence, spec.siblings, nodes.head, d, inner, kTreeSize), 0);
                if (model.grandparents && nodes.head > 0)
                    add(slow::grandparent_places(sentence, spec.grandparents, nodes.grandparent, nodes.head, d, kTreeSize), 0);
            }
            if (task == Task::tree) continue;
            const auto rows = slow::label_rows(sentence, spec.labels, nodes, task == Task::labels, kLabelSize, kLabelCount);
            add(rows, (task == Task::joint ? kTreeSize : 0) + static_cast<std::uint32_t>(tree.labels[static_cast<std::size_t>(d)]));
        }
        return found;
    }

    double score(const sentences::Tree& tree, Task task, const std::vector<float>& weights) const {
        double sum = 0.0;
        for (const auto& [place, count] : features(tree, task)) sum += count * static_cast<double>(weights[place]);
        return sum;
    }

    double cost(const sentences::Tree& tree, Task task) const {
        double sum = 0.0;
        for (std::size_t d = 1; d < tree.heads.size(); ++d)
            sum += (task != Task::labels && tree.heads[d] != gold.heads[d]) + (task != Task::tree && tree.labels[d] != gold.labels[d] ? label_cost : 0.0);
        return sum;
    }

    // A word's best label, with cost if required; features about the rest of the tree count if whole_tree.
    int best_label(const Heads& heads, int d, bool whole_tree, const float* weights, bool augmented) const {
        const auto nodes = slow::around(heads, d);
        const auto rows = slow::label_rows(sentence, spec.labels, nodes, whole_tree, kLabelSize, kLabelCount);
        int best = -1;
        double top = -problems::kInf;
        for (const int label : labels_of(nodes.head, d)) {
            double sum = augmented && label != gold.labels[static_cast<std::size_t>(d)] ? label_cost : 0.0;
            for (const std::uint32_t row : rows) sum += weights[row + static_cast<std::uint32_t>(label)];
            if (sum > top) top = sum, best = label;
        }
        return best;
    }

    // The best of all trees for a task; labels of the gold tree alone for Task::labels.
    sentences::Tree best(Task task, const std::vector<float>& weights, bool augmented) const {
        const float* label_weights = weights.data() + (task == Task::joint ? kTreeSize : 0);
        const auto labelled = [&](const Heads& heads) {
            sentences::Tree tree{heads, Heads(heads.size(), -1)};
            for (int d = 1; task != Task::tree && d <= sentence.n(); ++d)
                tree.labels[static_cast<std::size_t>(d)] = best_label(heads, d, task == Task::labels, label_weights, augmented);
            return tree;
        };
        if (task == Task::labels) return labelled(gold.heads);
        sentences::Tree best;
        double top = -problems::kInf;
        for (const Heads& heads : trees_of(sentence.n(), model.trees, model.roots)) {
            auto tree = labelled(heads);
            const double value = score(tree, task, weights) + (augmented ? cost(tree, task) : 0.0);
            if (value > top) top = value, best = std::move(tree);
        }
        return best;
    }

    // Whether difference = f(gold) - f(tree), by definition.
    bool is_difference(const SparseVector& difference, const sentences::Tree& tree, Task task) const {
        return sentences::is_difference(difference, features(gold, task), features(tree, task));
    }
};

constexpr Task kTasks[] = {Task::tree, Task::joint, Task::labels};

bool refused(auto&& body) {
    try {
        body();
    } catch (const InputError&) {
        return true;
    }
    return false;
}

}  // namespace

TEST(graph_label_sets_follow_the_rule) {
    Random random(11);
    std::vector<std::uint8_t> seen(feature::kTags * feature::kTags * kLabelCount);
    for (int i = 0; i < 3000; ++i) seen[static_cast<std::size_t>(below(random, 64 * 40 * kLabelCount))] = 1;  // some head tags never
    for (int i = 0; i < 9; ++i) seen[static_cast<std::size_t>(((63 * 64) + 5 * i) * kLabelCount + i % 2)] = 1;  // arcs from the root
    for (std::size_t i = 0; i < seen.size(); ++i)
        if (i / kLabelCount % 64 > 50) seen[i] = 0;  // some dependents' tags never
    std::vector<std::uint8_t> completed = seen;
    complete(completed, kLabelCount);
    const LabelSets given(seen, kLabelCount), made(completed, kLabelCount);
    for (int head = 0; head < 64; ++head)
        for (int dep = 0; dep < 64; ++dep) {
            CHECK(std::ranges::equal(given.of(head, dep), allowed(seen, head, dep)));
            CHECK(std::ranges::equal(made.of(head, dep), allowed(seen, head, dep, true)));
        }
    CHECK(LabelSets({}, 0).of(3, 4).empty());
}

TEST(graph_answers_are_those_of_the_definition) {
    Random random(12);
    int mistakes = 0;
    for (int round = 0; round < 150; ++round) {
        const Trees trees = kTrees[round % 2];
        const Roots roots = kRoots[round / 2 % 2];
        // Second order without a chart is approximate; see graph_hill_climbing.
        const int order = trees == Trees::nonprojective ? 1 : 1 + round / 4 % 3;
        const Task task = kTasks[round % 3];
        Case c(random, 1 + below(random, 4), trees, roots, order);
        c.label_cost = round % 4 < 2 ? 1.0 : 0.5;
        auto w = sentences::random_weights(random, weight_count(c.model, task));
        if (round % 5 == 0) std::fill(w.begin(), w.end(), 0.0F);  // cost alone
        const Weights weights = scaled(w);
        for (const bool augmented : {false, true}) {
            if (!augmented && round % 5 == 0) continue;  // nothing but ties
            Questions questions(c.model, c.batch, task, nullptr, 1, {1.0, c.label_cost});
            const auto reply = questions.ask(0, weights, augmented);
            const auto best = c.best(task, w, augmented);
            const double value = c.score(best, task, w) + (augmented ? c.cost(best, task) : 0.0);
            const double gold = c.score(c.gold, task, w);
            // For any tree: loss and margin add up to the best value.
            CHECK_NEAR((augmented ? reply.loss : 0.0) - reply.margin, value - gold, 1e-4);
            if (round % 5 == 0) continue;
            CHECK(reply.loss == c.cost(best, task));
            CHECK(c.is_difference(reply.difference, best, task));
            CHECK_NEAR(reply.margin, gold - c.score(best, task, w), 1e-5);
            mistakes += reply.loss > 0;
        }
    }
    CHECK(mistakes > 100);
}

TEST(graph_candidates_are_the_best_trees) {
    Random random(13);
    for (int round = 0; round < 60; ++round) {
        const Trees trees = kTrees[round % 2];
        const int order = trees == Trees::nonprojective ? 1 : 1 + round / 2 % 2;
        const Task task = kTasks[round % 3 / 2];
        const Case c(random, 2 + below(random, 3), trees, kRoots[round / 2 % 2], order);
        const auto w = sentences::random_weights(random, weight_count(c.model, task));
        const Weights weights = scaled(w);
        std::vector<double> values;
        for (const Heads& heads : trees_of(c.sentence.n(), trees, c.model.roots)) {
            sentences::Tree tree{heads, Heads(heads.size(), -1)};
            for (int d = 1; task == Task::joint && d <= c.sentence.n(); ++d)
                tree.labels[static_cast<std::size_t>(d)] = c.best_label(heads, d, false, w.data() + kTreeSize, false);
            values.push_back(c.score(tree, task, w));
        }
        std::sort(values.rbegin(), values.rend());
        const double gold = c.score(c.gold, task, w);
        Questions questions(c.model, c.batch, task, nullptr, 1);
        for (const int k : {1, 2, 7, 1000}) {
            const auto replies = questions.candidates(0, weights, k);
            CHECK(replies.size() == std::min<std::size_t>(values.size(), static_cast<std::size_t>(k)));
            for (std::size_t i = 0; i < replies.size() && i < values.size(); ++i) CHECK_NEAR(gold - replies[i].margin, values[i], 1e-4);
        }
    }
}

TEST(graph_parsers_find_the_best_tree_and_its_labels) {
    Random random(14);
    for (int round = 0; round < 80; ++round) {
        const Trees trees = kTrees[round % 2];
        const int order = trees == Trees::nonprojective ? 1 : 1 + round / 4 % 3;
        const Case c(random, 1 + below(random, 4), trees, kRoots[round / 2 % 2], order);
        const auto tree_weights = sentences::random_weights(random, kTreeSize), label_weights = sentences::random_weights(random, kLabelSize);
        auto both = tree_weights;
        both.insert(both.end(), label_weights.begin(), label_weights.end());
        const WeightView view{tree_weights.data(), label_weights.data(), 1.0};
        const auto staged = parse(c.batch, c.model, view, true, nullptr, 1), joint = parse(c.batch, c.model, view, false, nullptr, 1);
        const auto bare = parse(c.batch, c.model, {tree_weights.data(), nullptr, 1.0}, true, nullptr, 1);
        const auto best = c.best(Task::tree, tree_weights, false), best_joint = c.best(Task::joint, both, false);
        for (int d = 1; d <= c.sentence.n(); ++d) {
            const auto w = static_cast<std::size_t>(d) - 1;
            CHECK(staged.heads[w] == best.heads[w + 1]);
            CHECK(staged.labels[w] == c.best_label(best.heads, d, true, label_weights.data(), false));
            CHECK(joint.heads[w] == best_joint.heads[w + 1]);
            CHECK(joint.labels[w] == best_joint.labels[w + 1]);
            CHECK(bare.heads[w] == best.heads[w + 1]);
            CHECK(bare.labels[w] == -1);
        }
    }
}

TEST(graph_pruned_arcs_hold_the_best_heads_and_a_tree) {
    Random random(15);
    for (int round = 0; round < 60; ++round) {
        Case c(random, 1 + below(random, 6) % 5, Trees::nonprojective, Roots::single, 1);
        const auto w = sentences::random_weights(random, kTreeSize);
        const int keep = 1 + below(random, 4);
        const double within = round % 2 ? 1e9 : 3.0;
        auto kept = prune(c.batch, {&c.model, {w.data(), nullptr, 1.0}, keep, within}, 1);
        const ArcSet& set = kept[0];
        CHECK(set.n == c.sentence.n());
        for (int d = 1; d <= set.n; ++d) {
            std::vector<std::pair<double, int>> ranked;
            for (int h = 0; h <= set.n; ++h) {
                double sum = 0.0;
                for (const auto place : slow::arc_places(c.sentence, c.spec.arcs, h == d ? d - 1 : h, d, kTreeSize)) sum += w[place];
                if (h != d) ranked.emplace_back(-sum, h);
            }
            std::sort(ranked.begin(), ranked.end());
            std::vector<int> expected = {d - 1};
            for (std::size_t i = 0; i < ranked.size() && i < static_cast<std::size_t>(keep); ++i)
                if (ranked[i].first - ranked[0].first <= within && ranked[i].second != d - 1) expected.push_back(ranked[i].second);
            std::sort(expected.begin(), expected.end());
            const auto found = set.heads_of(d);
            CHECK(std::vector<int>(found.begin(), found.end()) == expected);
        }
        std::int64_t missing = 0;
        for (int d = 1; d <= set.n; ++d) missing += set.find(c.gold.heads[static_cast<std::size_t>(d)], d) < 0;
        const auto before = set.size();
        const Weights weights(std::size_t{kTreeSize});
        CHECK(missing == 0 || refused([&] { Questions(c.model, c.batch, Task::tree, &kept, 1); }));
        CHECK(restore_gold(c.batch, kept) == missing);
        CHECK(kept[0].size() == before + missing);
        for (int d = 1; d <= set.n; ++d) {
            CHECK(kept[0].find(c.gold.heads[static_cast<std::size_t>(d)], d) >= 0);
            CHECK(std::ranges::is_sorted(kept[0].heads_of(d)));
        }
        CHECK(restore_gold(c.batch, kept) == 0);
        // With pruned arcs every family and order answers, with a tree of its own.
        for (const Trees trees : kTrees)
            for (const Roots roots : kRoots)
                for (int order = 1; order <= 3; ++order) {
                    c.model.trees = trees;
                    c.model.roots = roots;
                    c.model.siblings = order > 1;
                    c.model.grandparents = order > 2;
                    const Pruner pruner{&c.model, {w.data(), nullptr, 1.0}, keep, within};
                    const auto parsed = parse(c.batch, c.model, {w.data(), nullptr, 1.0}, true, &pruner, 1);
                    Heads heads = {-1};
                    heads.insert(heads.end(), parsed.heads.begin(), parsed.heads.end());
                    CHECK(brute::is_tree(heads, trees, roots));
                    Questions questions(c.model, c.batch, Task::tree, &kept, 1);
                    CHECK(questions.ask(0, weights, true).loss >= 0.0);
                }
    }
}

TEST(graph_second_order_trees_that_cross_are_never_worse_than_those_that_do_not) {
    Random random(16);
    int better = 0;
    for (int round = 0; round < 60; ++round) {
        const Roots roots = kRoots[round % 2];
        const int order = 2 + round / 2 % 2;
        Case c(random, 3 + below(random, 2), Trees::nonprojective, roots, order);
        const auto w = sentences::random_weights(random, kTreeSize);
        const auto heads_by = [&](Trees trees) {
            c.model.trees = trees;
            const auto parsed = parse(c.batch, c.model, {w.data(), nullptr, 1.0}, true, nullptr, 1);
            Heads heads = {-1};
            heads.insert(heads.end(), parsed.heads.begin(), parsed.heads.end());
            return heads;
        };
        const auto value = [&](const Heads& heads) { return c.score({heads, {}}, Task::tree, w); };
        const Heads start = heads_by(Trees::projective);
        Heads heads = start;
        // The same hill climbing with whole trees scored.
        for (bool moved = true; moved;) {
            Heads best = heads;
            for (int d = 1; d <= c.sentence.n(); ++d)
                for (int h = 0; h <= c.sentence.n(); ++h) {
                    Heads other = heads;
                    other[static_cast<std::size_t>(d)] = h;
                    if (h != d && brute::is_tree(other, Trees::nonprojective, roots) && value(other) > value(best) + 1e-9) best = other;
                }
            moved = best != heads;
            heads = best;
        }
        CHECK(heads_by(Trees::nonprojective) == heads);
        better += heads != start;
    }
    CHECK(better > 10);
}

namespace {

// Many sentences at once.
struct Batch {
    feature::TemplateSpec spec;
    Model model;
    feature::Encoded sentences;
    std::vector<float> tree, labels;

    Batch(Random& random, const std::vector<int>& lengths, Trees trees, bool grandparents)
        : spec(sentences::random_spec(random)), model(feature::Templates(spec)), sentences(encode(random, lengths)) {
        model.trees = trees;
        model.siblings = true;
        model.grandparents = grandparents;
        model.labels = kLabelCount;
        model.label_sets = LabelSets(std::vector<std::uint8_t>(64 * 64 * kLabelCount, 1), kLabelCount);
        model.tree_size = kTreeSize;
        model.label_size = kLabelSize;
        tree = sentences::random_weights(random, kTreeSize);
        labels = sentences::random_weights(random, kLabelSize);
    }

    static feature::Encoded encode(Random& random, const std::vector<int>& lengths) {
        std::string text;
        for (const int n : lengths) {
            sentences::Tree gold{sentences::random_tree(random, n, true), {-1}};
            for (int d = 1; d <= n; ++d) gold.labels.push_back(below(random, kLabelCount));
            text += sentences::conllu(sentences::random_sentence(random, n, 4), gold);
        }
        return sentences::encoded(text, {"T0", "T1", "T2", "T3"});
    }

    Parsed parse(int threads, bool pruned = true) const {
        Model small(model.templates);
        small.trees = Trees::nonprojective;
        small.tree_size = kTreeSize;
        const Pruner pruner{&small, {tree.data(), nullptr, 1.0}, 3, 1e9};
        return graph::parse(sentences, model, {tree.data(), labels.data(), 1.0}, true, pruned ? &pruner : nullptr, threads);
    }

    Heads heads_of(const Parsed& parsed, std::size_t s) const {
        Heads heads = {-1};
        heads.insert(heads.end(), parsed.heads.begin() + sentences.offsets()[s], parsed.heads.begin() + sentences.offsets()[s + 1]);
        return heads;
    }
};

}  // namespace

TEST(graph_answers_do_not_depend_on_threads) {
    Random random(17);
    const std::vector<int> lengths = {5, 1, 9, 3, 12, 2, 7, 7, 10, 1, 4, 6};
    for (const Trees trees : kTrees) {
        const Batch batch(random, lengths, trees, true);
        const auto one = batch.parse(1);
        const auto unpruned = batch.parse(1, false);
        const Weights weights = scaled(batch.tree);
        std::vector<std::int64_t> order(300);  // more than a piece of a sum, with repeats
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i * 7 % lengths.size());
        Reply total;
        for (const int threads : {1, 2, 3, 40}) {
            const auto parsed = batch.parse(threads);
            CHECK(parsed.heads == one.heads);
            CHECK(parsed.labels == one.labels);
            CHECK(batch.parse(threads, false).heads == unpruned.heads);
            Questions questions(batch.model, batch.sentences, Task::tree, nullptr, threads);
            const auto reply = questions.total(order, weights, true);
            if (threads == 1) total = reply;
            CHECK(reply.loss == total.loss);
            CHECK(reply.margin == total.margin);
            CHECK(reply.difference == total.difference);
        }
        Questions questions(batch.model, batch.sentences, Task::tree, nullptr, 1);
        double loss = 0.0, margin = 0.0;
        SparseVector difference;
        for (const auto s : order) {
            const auto reply = questions.ask(static_cast<std::size_t>(s), weights, true);
            loss += reply.loss;
            margin += reply.margin;
            difference = add(difference, reply.difference);
        }
        CHECK(total.loss == loss);
        CHECK_NEAR(total.margin, margin, 1e-9);
        CHECK(total.difference == difference);
        CHECK(questions.total({}, weights, true).loss == 0.0);
    }
}

TEST(graph_batches_of_nothing_and_of_single_words) {
    Random random(18);
    for (const bool grandparents : {false, true}) {
        const Batch none(random, {}, Trees::projective, grandparents);
        CHECK(none.parse(2).heads.empty());
        const Batch ones(random, {1, 1, 1}, Trees::nonprojective, grandparents);
        for (const bool pruned : {false, true}) CHECK(ones.parse(1, pruned).heads == std::vector<std::int32_t>(3, 0));
    }
}

TEST(graph_long_sentences_are_parsed) {
    Random random(19);
    for (const Trees trees : kTrees) {
        const Batch batch(random, {3, trees == Trees::projective ? 310 : 610, 2}, trees, true);
        const auto parsed = batch.parse(1);
        for (std::size_t s = 0; s < batch.sentences.size(); ++s) CHECK(in_family(batch.heads_of(parsed, s), trees, Roots::single));
        CHECK(std::ranges::min(parsed.labels) >= 0);
    }
}

// Past 600 words the chart with grandparents would take too much memory: then only siblings count.
TEST(graph_the_longest_sentences_are_parsed_without_grandparents) {
    Random random(20);
    Batch batch(random, {601, 60}, Trees::projective, true);
    const auto with = batch.parse(1);
    batch.model.grandparents = false;
    const auto without = batch.parse(1);
    CHECK(batch.heads_of(with, 0) == batch.heads_of(without, 0));
    CHECK(batch.heads_of(with, 1) != batch.heads_of(without, 1));
}

TEST(graph_questions_need_gold_trees_that_fit) {
    Random random(21);
    Batch batch(random, {4, 3}, Trees::projective, false);
    const auto with_heads = [&](std::vector<std::int32_t> heads) {
        return refused([&] {
            batch.sentences.set_heads(heads.data());
            Questions(batch.model, batch.sentences, Task::tree, nullptr, 1);
        });
    };
    CHECK(!with_heads({0, 1, 1, 1, 0, 1, 1}));
    CHECK(with_heads({0, 1, 1, 1, 0, -1, 1}));  // none
    CHECK(with_heads({0, 1, 1, 1, 0, 1, 4}));   // beyond the sentence
    CHECK(with_heads({0, 1, 1, 1, 0, 2, 1}));   // itself
    CHECK(!with_heads({0, 1, 1, 1, 0, 1, 1}));
    Questions questions(batch.model, batch.sentences, Task::tree, nullptr, 1);
    CHECK(refused([&] { questions.ask(0, Weights(std::size_t{7}), true); }));
    const Batch other(random, {3, 4}, Trees::projective, false);
    const Weights zero(std::size_t{kTreeSize});
    const auto kept = prune(other.sentences, {&other.model, {zero.data(), nullptr, 1.0}, 9, 1e9}, 1);
    CHECK(refused([&] { Questions(batch.model, batch.sentences, Task::tree, &kept, 1); }));
    batch.model.labels = 0;
    batch.model.label_sets = LabelSets({}, 0);
    CHECK(refused([&] { Questions(batch.model, batch.sentences, Task::labels, nullptr, 1); }));
    CHECK(refused([&] { Questions(batch.model, batch.sentences, Task::joint, nullptr, 1); }));
}

// A damaged model must not crash: sums that are not numbers are reported.
TEST(graph_weights_that_are_no_numbers_are_refused) {
    Random random(22);
    for (const float bad : {std::nanf(""), static_cast<float>(problems::kInf), -static_cast<float>(problems::kInf), 3e38F})
        for (const Trees trees : kTrees)
            for (const bool grandparents : {false, true})
                for (const bool everywhere : {false, true}) {
                    Batch batch(random, {9, 5, 12, 3}, trees, grandparents);
                    for (std::size_t i = 0; i < batch.tree.size(); ++i)
                        if (everywhere || i % 50 == 0) batch.tree[i] = bad;
                    for (const bool pruned : {false, true}) CHECK(refused([&] { batch.parse(1, pruned); }));
                }
}

}  // namespace graph_parser_tests
