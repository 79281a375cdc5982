// Transition parsers on random sentences with random weights: scores, k-best lists, kept heads, and answers to learners.
#include <set>

#include "check.hpp"
#include "interrupts.hpp"
#include "features/encoded.hpp"
#include "sentences.hpp"
#include "search/transition/batch.hpp"
#include "transition_cases.hpp"

namespace transition_parser_tests {

using namespace arbora;
using namespace arbora::transition;
using problems::Random;

namespace {

constexpr int kNames = 5;

bool is_of_guide(int role) {
    const auto r = static_cast<Role>(role);
    return r == Role::left_guide || r == Role::right_guide || r == Role::dep_guide;
}

// All kinds of atoms except those about a guide, some of them combined.
std::vector<std::vector<Atom>> some_templates(int roles) {
    std::vector<std::vector<Atom>> templates;
    for (int role = 0; role < roles; ++role) {
        if (is_of_guide(role)) continue;
        templates.push_back({{role, 0, 2}});
        templates.push_back({{role, role % 3 - 1, 0}, {1, 0, 2}});
        templates.push_back({{role, 0, static_cast<int>(Extra::label)}, {0, 0, 2}});
    }
    for (const int role : {0, 1})
        for (int field = static_cast<int>(Extra::lefts); field <= static_cast<int>(Extra::distance); ++field) templates.push_back({{role, 0, field}, {1 - role, 0, 2}});
    return templates;
}

Model some_model(System system, int beam) {
    Model model(system, Templates(Kind::moves, some_templates(kMoveRoles)), Templates(Kind::labels, some_templates(kRoles)));
    model.labels = kNames;
    model.label_sets = graph::LabelSets(std::vector<std::uint8_t>(64 * 64 * kNames, 1), kNames);
    model.move_size = model.label_size = 1U << 13;
    model.beam = beam;
    model.most_labels = 2;
    return model;
}

std::vector<System> systems() {
    std::vector<System> all;
    for (const Roots roots : {Roots::single, Roots::multi}) {
        all.push_back(ArcEager{roots});
        all.push_back(ArcStandard{{roots}});
        all.push_back(Swap{{roots}});
    }
    return all;
}

Roots roots_of(const Model& model) {
    return std::visit([](const auto& system) { return system.roots; }, model.system);
}
bool may_cross(const Model& model) { return std::holds_alternative<Swap>(model.system); }

// Sentences with trees that the model can derive.
feature::Encoded some_sentences(Random& random, const Model& model, int count, int longest) {
    std::string text;
    slow::Sentence sentence;
    for (int s = 0; s < count; ++s) {
        const int n = 1 + sentences::below(random, longest);
        sentence = sentences::random_sentence(random, n, 4);
        sentences::Tree tree;
        do {
            tree.heads = sentences::random_tree(random, n, roots_of(model) == Roots::single);
        } while (!may_cross(model) && !brute::is_tree(tree.heads, Trees::projective, roots_of(model)));
        for (int w = 0; w <= n; ++w) tree.labels.push_back(sentences::below(random, kNames));
        text += sentences::conllu(sentence, tree);
    }
    return sentences::encoded(text, sentence.tags);
}

std::vector<float> some_weights(Random& random, std::size_t size) {
    std::vector<float> weights(size);
    for (auto& weight : weights) weight = static_cast<float>(sentences::below(random, 2001) - 1000) / 1000.0F;
    return weights;
}

}  // namespace

TEST(transition_parsers_give_trees_that_were_asked_for) {
    Random random(11);
    for (const System& system : systems()) {
        for (const int beam : {1, 3}) {
            const Model model = some_model(system, beam);
            const auto batch = some_sentences(random, model, 15, 12);
            const auto weights = some_weights(random, model.weight_count());
            const auto view = model.view(weights.data(), 0.5);
            const auto one = transition::parse(batch, model, view, 1, false), two = transition::parse(batch, model, view, 2, false);
            CHECK(one.heads == two.heads && one.labels == two.labels);
            const auto lists = transition::kbest(batch, model, view, 6, 2, false);
            for (std::size_t s = 0; s < batch.size(); ++s) {
                const int n = batch.sentence(s).n;
                std::set<std::pair<std::vector<int>, std::vector<int>>> seen;
                for (const auto& tree : lists[s]) {
                    CHECK(brute::is_tree(tree.heads, may_cross(model) ? Trees::nonprojective : Trees::projective, roots_of(model)));
                    CHECK(seen.emplace(tree.heads, tree.labels).second);
                    for (int d = 1; d <= n; ++d) CHECK(tree.labels[static_cast<std::size_t>(d)] >= 0 && tree.labels[static_cast<std::size_t>(d)] < kNames);
                }
                const auto first = static_cast<std::size_t>(batch.offsets()[s]);
                for (int d = 1; d <= n; ++d) CHECK(lists[s][0].heads[static_cast<std::size_t>(d)] == one.heads[first + static_cast<std::size_t>(d) - 1]);
                for (std::size_t i = 2; i < lists[s].size(); ++i) CHECK(lists[s][i].score <= lists[s][i - 1].score);
            }
        }
    }
}

TEST(transition_answers_are_differences_of_features) {
    Random random(12);
    for (const System& system : systems()) {
        for (const int beam : {1, 3}) {
            const Model model = some_model(system, beam);
            const auto batch = some_sentences(random, model, 20, 9);
            for (const search::Update update : {search::Update::early, search::Update::max_violation, search::Update::standard}) {
                Questions questions(model, batch, {update, true}, 1);
                Weights weights(questions.weight_count());
                double first = 0.0, last = 0.0;
                for (int epoch = 0; epoch < 6; ++epoch) {
                    last = 0.0;
                    for (std::size_t s = 0; s < questions.size(); ++s) {
                        const Reply reply = questions.ask(s, weights, false);
                        CHECK(reply.loss >= 0.0);
                        CHECK((reply.loss > 0.0) || reply.difference.size() == 0);
                        // The result is no worse than the gold tree.
                        if (update != search::Update::standard) CHECK(reply.margin <= 1e-4);
                        weights.add(reply.difference, 1.0);
                        last += reply.loss;
                    }
                    if (epoch == 0) first = last;
                }
                // Without a beam, losses of all epochs count all moves; with one, those of the compared steps.
                CHECK(beam > 1 || last < first);
            }
        }
    }
}

TEST(transition_candidates_have_the_costs_of_their_links) {
    Random random(13);
    for (const System& system : systems()) for (const double label_cost : {0.5, 2.0}) {
        const Model model = some_model(system, 2);
        const auto batch = some_sentences(random, model, 15, 8);
        Questions questions(model, batch, {.cost = {1.0, label_cost}}, 1);
        const auto values = some_weights(random, model.weight_count());
        Weights weights(questions.weight_count());
        SparseVector all;
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (values[i] == 0.0F) continue;
            all.indices.push_back(static_cast<std::uint32_t>(i));
            all.values.push_back(values[i]);
        }
        weights.add(all, 1.0);
        const auto lists = transition::kbest(batch, model, model.view(weights.data(), 1.0), 4, 1, false);
        for (std::size_t s = 0; s < batch.size(); ++s) {
            const auto sentence = batch.sentence(s);
            for (const Reply& reply : questions.candidates(s, weights, 4)) {
                bool is_there = false;
                for (const auto& tree : lists[s]) {
                    double cost = 0.0;
                    for (int d = 1; d <= sentence.n; ++d) {
                        const auto at = static_cast<std::size_t>(d);
                        cost += (tree.heads[at] != sentence.heads[d] ? 1.0 : 0.0) + (tree.labels[at] != sentence.labels[d] ? label_cost : 0.0);
                    }
                    is_there = is_there || cost == reply.loss;
                }
                CHECK(is_there || lists[s].size() == 4);
                CHECK((reply.loss == 0.0) == (reply.difference.size() == 0));
            }
        }
    }
}

TEST(transition_instances_make_every_arc_once) {
    Random random(15);
    for (const System& system : systems()) {
        const Model model = some_model(system, 1);
        const auto batch = some_sentences(random, model, 15, 8);
        const Instances found = Questions(model, batch, {}, 1).instances();
        CHECK(found.labels.size() == found.moves.size());
        CHECK(found.features.size() == found.moves.size() * model.moves.size());
        std::multiset<int> made, right;
        for (std::size_t i = 0; i < found.moves.size(); ++i) {
            const bool is_arc = makes_arc(static_cast<Move>(found.moves[i]));
            CHECK(is_arc == (found.labels[i] >= 0));
            if (is_arc) made.insert(found.labels[i]);
        }
        for (std::size_t s = 0; s < batch.size(); ++s)
            for (int d = 1; d <= batch.sentence(s).n; ++d) right.insert(batch.sentence(s).labels[d]);
        CHECK(made == right);
    }
}

TEST(transition_parsers_keep_given_heads) {
    Random random(14);
    for (const Roots roots : {Roots::single, Roots::multi}) {
        for (const int beam : {1, 4}) {
            const Model model = some_model(ArcEager{roots}, beam);
            auto batch = some_sentences(random, model, 60, 9);
            std::vector<std::int32_t> given;
            for (std::size_t s = 0; s < batch.size(); ++s)
                for (int d = 1; d <= batch.sentence(s).n; ++d) given.push_back(sentences::below(random, 2) == 0 ? batch.sentence(s).heads[d] : -1);
            batch.set_heads(given.data());
            const auto weights = some_weights(random, model.weight_count());
            const auto parsed = transition::parse(batch, model, model.view(weights.data(), 1.0), 1, true);
            for (std::size_t i = 0; i < given.size(); ++i) CHECK(given[i] < 0 || parsed.heads[i] == given[i]);
        }
    }
}

TEST(transition_parsers_can_be_stopped_anywhere) {
    Random random(14);
    for (const int beam : {1, 8}) {
        const Model model = some_model(ArcEager{Roots::single}, beam);
        const auto batch = some_sentences(random, model, 10, 8);
        const auto weights = some_weights(random, model.weight_count());
        Worker worker(model);
        interrupts::check_stops("parse", 2, [&] {
            std::vector<std::vector<int>> found;
            for (int round = 0; round < 10; ++round)
                for (std::size_t s = 0; s < batch.size(); ++s) {
                    const std::vector<int> none(static_cast<std::size_t>(batch.sentence(s).n) + 1, -1);
                    found.push_back(none);
                    auto names = none;
                    worker.parse(batch.sentence(s), model.view(weights.data(), 1.0), false, found.back().data(), names.data());
                }
            return found;
        });
    }
}

}  // namespace transition_parser_tests
