// Trees of a guide, and the features about them against a slow computation from the definition.
#include <algorithm>
#include <string>
#include <vector>

#include "check.hpp"
#include "base/errors.hpp"
#include "features/encoded.hpp"
#include "features/extractor.hpp"
#include "parser/labeler.hpp"
#include "parser/model.hpp"
#include "sentences.hpp"

namespace guide_tests {

using namespace arbora;
using namespace arbora::feature;
using problems::Random;
using sentences::below;

namespace {

const std::vector<std::string> kGuideLabels = {"subject", "object", "", "fünf", "a label that is longer than eight"};

// A sentence with a guide's random tree and labels, some of which are none.
slow::Sentence guided_sentence(Random& random, int n) {
    auto sentence = sentences::random_sentence(random, n, 5);
    sentence.guide_heads = sentences::random_tree(random, n, false);
    sentence.guide_labels.assign(1, "");
    for (int w = 1; w <= n; ++w) sentence.guide_labels.push_back(kGuideLabels[static_cast<std::size_t>(below(random, static_cast<int>(kGuideLabels.size())))]);
    return sentence;
}

// Numbers of the labels, and -1 for none.
std::vector<std::int32_t> label_numbers(const slow::Sentence& sentence) {
    std::vector<std::int32_t> numbers;
    for (std::size_t w = 1; w < sentence.guide_labels.size(); ++w) {
        const auto& label = sentence.guide_labels[w];
        numbers.push_back(label.empty() ? -1 : static_cast<std::int32_t>(std::find(kGuideLabels.begin(), kGuideLabels.end(), label) - kGuideLabels.begin()));
    }
    return numbers;
}

Encoded plain(const slow::Sentence& sentence) {
    const auto nodes = sentence.words.size() + 1;
    return sentences::encoded(sentence, {std::vector<int>(nodes, 0), std::vector<int>(nodes, 0)});
}

Encoded guided(const slow::Sentence& sentence) {
    Encoded batch = plain(sentence);
    const std::vector<std::int32_t> heads(sentence.guide_heads.begin() + 1, sentence.guide_heads.end());
    batch.set_guide(heads.data(), label_numbers(sentence).data(), kGuideLabels);
    return batch;
}

// Like random_templates, with the guide's label in some atoms.
std::vector<Template> guide_templates(Random& random, int count, const std::vector<Role>& roles) {
    auto templates = sentences::random_templates(random, count, roles);
    for (Template& atoms : templates)
        for (Atom& atom : atoms)
            if (below(random, 3) == 0) atom.field = Field::guide;
    return templates;
}

std::string complaint(const auto& act) {
    try {
        act();
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

std::vector<std::uint32_t> sorted(std::vector<std::uint32_t> places) {
    std::sort(places.begin(), places.end());
    return places;
}

}  // namespace

TEST(guide_values_of_words) {
    Random random(31);
    for (int round = 0; round < 20; ++round) {
        const auto sentence = guided_sentence(random, 1 + below(random, 6));
        const auto batch = guided(sentence);
        CHECK(batch.has_guide());
        const auto encoded = batch.sentence(0);
        for (int node = 0; node <= sentence.n(); ++node) {
            CHECK(encoded.guide_heads[node] == sentence.guide_heads[static_cast<std::size_t>(node)]);
            for (int offset = -2; offset <= 2; ++offset)
                CHECK(encoded.row(node, offset)[static_cast<std::size_t>(Field::guide)] == sentence.value(node, offset, Field::guide));
        }
    }
}

TEST(guide_values_never_change) {
    const slow::Sentence sentence{{{"the", "the", "DET", "D", "_"}, {"dog", "dog", "NOUN", "N", "_"}}, {"DET", "NOUN"}, {-1, 2, 0}, {"", "subject", ""}};
    const auto batch = guided(sentence);
    const auto encoded = batch.sentence(0);
    const auto place = static_cast<std::size_t>(Field::guide);
    CHECK(encoded.rows[1][place] == static_cast<std::uint32_t>(hash_text("subject", 10)));
    CHECK(agreement(encoded, 2, 1) == Agreement::same);
    CHECK(agreement(encoded, 1, 2) == Agreement::turned);
    CHECK(agreement(encoded, 0, 1) == Agreement::above);
    TemplateSpec spec;
    spec.guides = {{{Role::dep, 0, Field::guide}, {Role::head, 0, Field::tag}}, {{Role::guide_head, 0, Field::form}}};
    const Templates templates(spec);
    const std::vector<float> weights(1 << 16);
    Extractor extractor(templates);
    extractor.load(encoded, {weights.data(), (1 << 16) - 1}, false, false);
    std::vector<std::uint32_t> places;
    extractor.visit_arc(2, 1, [&](std::uint32_t found) { places.push_back(found); });
    CHECK(sorted(places) == sorted(slow::guide_places(sentence, spec.guides, 2, 1, 1 << 16)));
    const std::vector<std::uint32_t> expected = {22460, 22461, 31550, 31551};
    CHECK(sorted(places) == expected);
}

TEST(guide_scores_are_those_of_the_definition) {
    Random random(32);
    for (int round = 0; round < 12; ++round) {
        auto spec = sentences::random_spec(random);
        spec.guides = guide_templates(random, 7, {Role::head, Role::dep, Role::guide_head});
        const Templates templates(spec);
        const std::uint32_t size = 1U << (10 + round % 3);
        const auto weights = sentences::random_weights(random, size);
        Extractor extractor(templates);
        for (const int n : {14, 3, 1, 6}) {
            const auto s = guided_sentence(random, n);
            const auto batch = guided(s);
            extractor.load(batch.sentence(0), {weights.data(), size - 1}, false, false);
            for (int h = 0; h <= n; ++h)
                for (int d = 1; d <= n; ++d) {
                    if (h == d) continue;
                    auto expected = slow::arc_places(s, spec.arcs, h, d, size);
                    const auto more = slow::guide_places(s, spec.guides, h, d, size);
                    expected.insert(expected.end(), more.begin(), more.end());
                    std::vector<std::uint32_t> found;
                    extractor.visit_arc(h, d, [&](std::uint32_t place) { found.push_back(place); });
                    CHECK(sorted(found) == sorted(expected));
                    double sum = 0.0;
                    for (const std::uint32_t place : expected) sum += weights[place];
                    CHECK_NEAR(extractor.arc(h, d), sum, 1e-5);
                }
        }
    }
}

TEST(guide_rows_of_labels_are_those_of_the_definition) {
    using enum Role;
    Random random(33);
    for (int round = 0; round < 20; ++round) {
        auto spec = sentences::random_spec(random);
        spec.guide_labels = guide_templates(random, 4, {head, dep, guide_head});
        for (const auto& atoms : guide_templates(random, 4, {dep, sibling, grandparent, left_child, right_child, guide_head})) spec.guide_labels.push_back(atoms);
        graph::Model model{Templates(spec)};
        model.labels = 5;
        model.label_size = 1 << 12;
        const int n = 1 + below(random, 7);
        const auto s = guided_sentence(random, n);
        const auto heads = sentences::random_tree(random, n, false);
        const auto batch = guided(s);
        graph::Labeler labeler(model);
        labeler.load(batch.sentence(0), nullptr);
        std::vector<graph::Surroundings> around;
        graph::find_surroundings(heads.data(), n, around);
        for (int d = 1; d <= n; ++d)
            for (const bool whole_tree : {false, true}) {
                const auto nodes = slow::around(heads, d);
                auto expected = slow::label_rows(s, spec.labels, nodes, whole_tree, model.label_size, model.labels);
                const auto more = slow::guide_label_rows(s, spec.guide_labels, nodes, whole_tree, model.label_size, model.labels);
                expected.insert(expected.end(), more.begin(), more.end());
                std::vector<std::uint32_t> rows;
                labeler.find_rows(d, around[static_cast<std::size_t>(d)], whole_tree, rows);
                CHECK(rows == expected);
            }
    }
}

TEST(guide_features_need_a_guide) {
    Random random(34);
    const auto sentence = guided_sentence(random, 3);
    const auto batch = plain(sentence);
    CHECK(!batch.has_guide());
    CHECK(batch.sentence(0).guide_heads == nullptr);
    for (const auto kind : {&TemplateSpec::guides, &TemplateSpec::guide_labels}) {
        TemplateSpec spec;
        (spec.*kind) = {{{Role::dep, 0, Field::guide}}};
        const Templates templates(spec);
        Extractor extractor(templates);
        const std::vector<float> weights(1 << 10);
        CHECK(has(complaint([&] { extractor.load(batch.sentence(0), {weights.data(), (1 << 10) - 1}, false, false); }), "trees of a guide"));
        graph::Model model{templates};
        graph::Labeler labeler(model);
        CHECK(has(complaint([&] { labeler.load(batch.sentence(0), weights.data()); }), "trees of a guide"));
    }
}

TEST(guide_atoms_stand_only_in_templates_about_guides) {
    using enum Role;
    for (const auto kind : {&TemplateSpec::arcs, &TemplateSpec::siblings, &TemplateSpec::grandparents, &TemplateSpec::labels})
        for (const Atom& atom : {Atom{dep, 0, Field::guide}, Atom{guide_head, 0, Field::tag}}) {
            TemplateSpec spec;
            (spec.*kind) = {{{head, 0, Field::tag}, atom}};
            CHECK(!complaint([&] { Templates{spec}; }).empty());
        }
    for (const auto kind : {&TemplateSpec::guides, &TemplateSpec::guide_labels}) {
        TemplateSpec spec;
        (spec.*kind) = {{{between, 0, Field::tag}}};
        CHECK(has(complaint([&] { Templates{spec}; }), "role"));
        (spec.*kind) = {{}};
        CHECK(has(complaint([&] { Templates{spec}; }), "at least one atom"));
    }
}

TEST(guide_trees_are_checked) {
    Random random(35);
    const auto sentence = guided_sentence(random, 3);
    const std::vector<std::int32_t> good = {2, 0, 2}, labels = {0, -1, 4};
    for (const std::int32_t head : {-2, -1, 1, 4, 1000000}) {
        Encoded batch = plain(sentence);
        auto heads = good;
        heads[0] = head;
        CHECK(has(complaint([&] { batch.set_guide(heads.data(), labels.data(), kGuideLabels); }), "word 1: expected a head of 0 to 3"));
        CHECK(!batch.has_guide());
    }
    for (const std::int32_t label : {-2, 5, 1000000}) {
        Encoded batch = plain(sentence);
        auto others = labels;
        others[2] = label;
        CHECK(has(complaint([&] { batch.set_guide(good.data(), others.data(), kGuideLabels); }), "expected a label of -1 to 4"));
        CHECK(!batch.has_guide());
    }
}

}  // namespace guide_tests
