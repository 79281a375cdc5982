// The hash against fixed values, sentences as ids, and features against a slow computation from the definition.
#include <algorithm>
#include <string>
#include <vector>

#include "check.hpp"
#include "base/errors.hpp"
#include "features/encoded.hpp"
#include "features/extractor.hpp"
#include "features/hash.hpp"
#include "sentences.hpp"

namespace feature_tests {

using namespace arbora;
using namespace arbora::feature;
using problems::Random;

namespace {

// The error from compiling a set with one template of a kind; empty if there is none.
std::string complaint(std::vector<Template> TemplateSpec::* kind, const Template& atoms) {
    TemplateSpec spec;
    (spec.*kind).push_back(atoms);
    try {
        Templates{spec};
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

const int kOwnFields[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13};  // all but the guide's label

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

std::vector<std::uint32_t> sorted(std::vector<std::uint32_t> places) {
    std::sort(places.begin(), places.end());
    return places;
}

// Compares a part's score and features with those from the definition.
struct Judge {
    const std::vector<float>& weights;

    template <class VisitAll>
    void operator()(float score, VisitAll visit_all, const slow::Places& expected) const {
        std::vector<std::uint32_t> found;
        visit_all([&](std::uint32_t place) { found.push_back(place); });
        CHECK(sorted(found) == sorted(expected));
        double sum = 0.0;
        for (const std::uint32_t place : expected) sum += weights[place];
        CHECK_NEAR(score, sum, 1e-5);
    }
};

}  // namespace

// Saved models depend on these values: if this fails, give the hash a new version; do not change the test.
TEST(feature_hash_never_changes) {
    CHECK(kHashVersion == 1);
    CHECK(mix(0) == 0);
    CHECK(mix(1) == 0xe8bc15092a6ed3b9ULL);
    CHECK(mix(std::uint64_t{1} << 40) == 0x2c9576c4d2663feaULL);
    CHECK(mix(~std::uint64_t{0}) == 0xf9a127ca7e9117d2ULL);
    CHECK(hash_text("", 1) == 0xc31abafe38b52013ULL);
    CHECK(hash_text("the", 1) == 0x32d7416ed78e6562ULL);
    CHECK(hash_text("the", 2) == 0x9021a47b7e4d72c7ULL);
    CHECK(hash_text("eightchr", 1) == 0x006cf65c617beadfULL);
    CHECK(hash_text("eightchrs", 9) == 0x460c1ac44257869bULL);
    CHECK(hash_text("déjà vu 漢字 🌳", 3) == 0xb40e3060a41a05e6ULL);
    CHECK(hash_text(std::string_view("a\0", 2), 1) != hash_text("a", 1));
    CHECK(absent_row()[0] == 0x457a42d1U);
}

TEST(feature_places_never_change) {
    using enum Role;
    const Templates templates(TemplateSpec{{{{head, 0, Field::tag}, {dep, -1, Field::form}}, {{dep, 0, Field::tag}}},
                                           {{{sibling, 0, Field::tag}}},
                                           {{{grandparent, 0, Field::tag}, {dep, 0, Field::tag}}},
                                           {}});
    const slow::Sentence sentence{{{"the", "the", "DET", "D", "_"}, {"dog", "dog", "NOUN", "N", "_"}}, {"DET", "NOUN"}};
    const auto batch = sentences::encoded(sentence, {{-1, 2, 0}, {-1, 2, 4}});
    const std::vector<float> weights(1 << 16);
    Extractor extractor(templates);
    extractor.load(batch.sentence(0), {weights.data(), (1 << 16) - 1}, true, true);
    std::vector<std::uint32_t> places;
    const auto keep = [&](std::uint32_t place) { places.push_back(place); };
    extractor.visit_arc(2, 1, keep);
    extractor.visit_sibling(2, 1, 2, keep);
    extractor.visit_grandparent(0, 2, 1, keep);
    const std::vector<std::uint32_t> expected = {632, 633, 41442, 41443, 8055, 25738};
    CHECK(places == expected);
}

TEST(feature_values_of_words) {
    Random random(3);
    for (int round = 0; round < 50; ++round) {
        const int n = sentences::below(random, 6) + 1;
        const auto sentence = sentences::random_sentence(random, n, round < 25 ? 3 : 70);
        const auto tree = sentences::random_tree(random, n, false);
        std::vector<int> labels(static_cast<std::size_t>(n) + 1);
        for (auto& label : labels) label = sentences::below(random, 6) - 1;
        const auto batch = sentences::encoded(sentence, {tree, labels});
        CHECK(batch.size() == 1);
        const auto encoded = batch.sentence(0);
        CHECK(encoded.n == n);
        for (int node = 0; node <= n; ++node) {
            CHECK(encoded.tags[node] == sentence.tag_number(node));
            for (int offset = -2; offset <= 2; ++offset)
                for (const int f : kOwnFields)
                    CHECK(encoded.row(node, offset)[static_cast<std::size_t>(f)] == sentence.value(node, offset, static_cast<Field>(f)));
            if (node == 0) continue;
            CHECK(encoded.heads[node] == tree[static_cast<std::size_t>(node)]);
            CHECK(encoded.labels[node] == labels[static_cast<std::size_t>(node)]);
        }
        for (const int f : kOwnFields)
            CHECK(encoded.row(-1, 0)[static_cast<std::size_t>(f)] == sentence.value(slow::kNoNode, 0, static_cast<Field>(f)));
    }
}

TEST(feature_sentences_of_a_batch_stay_apart) {
    Random random(4);
    std::string text;
    std::vector<slow::Sentence> all;
    for (int s = 0; s < 7; ++s) {
        all.push_back(sentences::random_sentence(random, 1 + sentences::below(random, 4), 3));
        const auto n = all.back().words.size();
        text += sentences::conllu(all.back(), {std::vector<int>(n + 1, 0), std::vector<int>(n + 1, 0)});
    }
    Encoded batch(sentences::columns(text), Names(all[0].tags, sentences::kLabels));
    CHECK(batch.size() == 7);
    for (std::size_t s = 0; s < all.size(); ++s)
        for (int node = 0; node <= all[s].n(); ++node)
            for (int offset = -2; offset <= 2; ++offset)
                CHECK(batch.sentence(s).row(node, offset)[0] == all[s].value(node, offset, Field::form));
    std::vector<std::int32_t> heads;
    for (const auto& sentence : all)
        for (int d = 1; d <= sentence.n(); ++d) heads.push_back(d % 3 == 0 ? -1 : d - 1);
    batch.set_heads(heads.data());
    std::size_t w = 0;
    for (std::size_t s = 0; s < all.size(); ++s)
        for (int d = 1; d <= all[s].n(); ++d) CHECK(batch.sentence(s).heads[d] == heads[w++]);
    const Encoded none(sentences::columns(""), Names({}, {}));
    CHECK(none.size() == 0);
    CHECK(none.words() == 0);
}

TEST(feature_ignored_columns_are_as_good_as_empty) {
    const std::string full = "1\tDogs\tdog\tNOUN\tNNS\tNumber=Plur\t0\troot\t_\t_\n\n";
    const std::pair<std::string, std::string> cases[] = {{"lemma", "1\tDogs\t_\tNOUN\tNNS\tNumber=Plur\t0\troot\t_\t_\n\n"},
                                                         {"upos", "1\tDogs\tdog\t_\tNNS\tNumber=Plur\t0\troot\t_\t_\n\n"},
                                                         {"xpos", "1\tDogs\tdog\tNOUN\t_\tNumber=Plur\t0\troot\t_\t_\n\n"},
                                                         {"feats", "1\tDogs\tdog\tNOUN\tNNS\t_\t0\troot\t_\t_\n\n"}};
    const std::vector<std::string> tags = {"NOUN", "_"}, labels = {"root"};
    for (const auto& [column, emptied] : cases) {
        const Encoded one(sentences::columns(full), Names(tags, labels, {column})), other(sentences::columns(emptied), Names(tags, labels)),
            whole(sentences::columns(full), Names(tags, labels));
        CHECK(one.sentence(0).rows[1] == other.sentence(0).rows[1]);
        CHECK(one.sentence(0).tags[1] == other.sentence(0).tags[1]);
        CHECK(one.sentence(0).rows[1] != whole.sentence(0).rows[1]);
    }
    std::string said;
    try {
        Names(tags, labels, {"form"});
    } catch (const InputError& error) {
        said = error.what();
    }
    CHECK(has(said, "got 'form'"));
}

TEST(feature_templates_that_do_not_fit_are_refused) {
    using enum Role;
    constexpr Role kEvery[] = {head, dep, sibling, between, grandparent, left_child, right_child};
    const std::pair<std::vector<Template> TemplateSpec::*, std::vector<Role>> kinds[] = {
        {&TemplateSpec::arcs, {head, dep, between}},
        {&TemplateSpec::siblings, {head, dep, sibling}},
        {&TemplateSpec::grandparents, {head, dep, grandparent}},
        {&TemplateSpec::labels, {head, dep, sibling, grandparent, left_child, right_child}},
    };
    for (const auto& [kind, roles] : kinds) {
        for (const Role role : kEvery) {
            const bool fits = std::find(roles.begin(), roles.end(), role) != roles.end();
            CHECK(has(complaint(kind, {{dep, 0, Field::tag}, {role, 0, Field::tag}}), "role") == !fits);
        }
        CHECK(has(complaint(kind, {}), "at least one atom"));
        for (const int offset : {-3, 3, 1000000}) CHECK(has(complaint(kind, {{dep, offset, Field::form}}), "within 2 words, got "));
        for (const int offset : {-2, 2}) CHECK(complaint(kind, {{dep, offset, Field::form}}).empty());
    }
    CHECK(has(complaint(&TemplateSpec::arcs, {{between, 0, Field::form}}), "only the tag"));
    CHECK(has(complaint(&TemplateSpec::arcs, {{between, 1, Field::tag}}), "only the tag"));
    CHECK(has(complaint(&TemplateSpec::arcs, {{between, 0, Field::tag}, {between, 0, Field::tag}}), "between"));
}

TEST(feature_scores_are_those_of_the_definition) {
    Random random(5);
    for (int round = 0; round < 12; ++round) {
        const auto spec = sentences::random_spec(random);
        const Templates templates(spec);
        const std::uint32_t size = 1U << (10 + round % 3);
        const auto weights = sentences::random_weights(random, size);
        const Judge judge{weights};
        Extractor extractor(templates);
        // One extractor for long and short sentences: no state may remain from the previous one.
        for (const int n : {14, 3, 1, 6}) {
            const auto s = sentences::random_sentence(random, n, round < 8 ? 5 : 70);
            const auto nodes = static_cast<std::size_t>(n) + 1;
            const auto batch = sentences::encoded(s, {std::vector<int>(nodes, 0), std::vector<int>(nodes, 0)});
            extractor.load(batch.sentence(0), {weights.data(), size - 1}, true, true);
            for (int h = 0; h <= n; ++h)
                for (int d = 1; d <= n; ++d) {
                    if (h == d) continue;
                    judge(extractor.arc(h, d), [&](auto visit) { extractor.visit_arc(h, d, visit); }, slow::arc_places(s, spec.arcs, h, d, size));
                    if (n > 6) continue;
                    for (int inner = std::min(h, d); inner <= std::max(h, d); ++inner)
                        if (inner != d)
                            judge(extractor.sibling(h, d, inner), [&](auto visit) { extractor.visit_sibling(h, d, inner, visit); },
                                  slow::sibling_places(s, spec.siblings, h, d, inner, size));
                    for (int g = 0; g <= n; ++g)
                        if (h > 0 && g != h && g != d)
                            judge(extractor.grandparent(g, h, d), [&](auto visit) { extractor.visit_grandparent(g, h, d, visit); },
                                  slow::grandparent_places(s, spec.grandparents, g, h, d, size));
                }
        }
    }
}

TEST(feature_distances_and_tags_between_of_long_sentences) {
    using enum Role;
    Random random(6);
    TemplateSpec spec;
    spec.arcs = {{{between, 0, Field::tag}, {head, 0, Field::tag}}, {{between, 0, Field::tag}}, {{head, 0, Field::fine}}, {{dep, 0, Field::fine}, {head, 0, Field::fine}}};
    const Templates templates(spec);
    const auto weights = sentences::random_weights(random, 1 << 14);
    const Judge judge{weights};
    Extractor extractor(templates);
    for (const int n : {340, 64, 63}) {
        const auto s = sentences::random_sentence(random, n, 70);
        const auto nodes = static_cast<std::size_t>(n) + 1;
        const auto batch = sentences::encoded(s, {std::vector<int>(nodes, 0), std::vector<int>(nodes, 0)});
        extractor.load(batch.sentence(0), {weights.data(), (1 << 14) - 1}, false, false);
        for (int round = 0; round < 150; ++round) {
            const int h = round == 0 ? 0 : sentences::below(random, n + 1), d = round < 2 ? n : 1 + sentences::below(random, n);
            if (h != d) judge(extractor.arc(h, d), [&](auto visit) { extractor.visit_arc(h, d, visit); }, slow::arc_places(s, spec.arcs, h, d, 1 << 14));
        }
    }
}

}  // namespace feature_tests
