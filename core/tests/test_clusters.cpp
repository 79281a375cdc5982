// Word clusters: lookups, prefixes of their codes, and damaged tables.
#include <string>
#include <vector>

#include "check.hpp"
#include "refuses.hpp"
#include "features/clusters.hpp"
#include "features/contexts.hpp"
#include "search/transition/templates.hpp"
#include "sentences.hpp"

namespace cluster_tests {

using namespace arbora;
using namespace arbora::feature;

TEST(clusters_are_those_of_the_form_or_of_small_letters) {
    const auto clusters = Clusters::of({"may", "May", "straße", "x"}, {4, 5, 6, 7});
    CHECK(clusters.find("may") == 4);
    CHECK(clusters.find("May") == 5);
    CHECK(clusters.find("MAY") == 4);
    CHECK(clusters.find("Straße") == 6);
    CHECK(clusters.find("X") == 7);
    CHECK(clusters.find("y") == 0);
    CHECK(clusters.find("") == 0);
    CHECK(Clusters::of({}, {}).find("x") == 0);
    const Clusters read(clusters.keys(), clusters.codes());
    for (const char* word : {"may", "May", "STRASSE", "x", "y"}) CHECK(read.find(word) == clusters.find(word));
}

TEST(the_first_of_two_clusters_of_a_word_counts) {
    const auto clusters = Clusters::of({"a", "b", "a"}, {4, 5, 6});
    CHECK(clusters.keys().size() == 2);
    CHECK(clusters.find("a") == 4);
}

TEST(prefixes_are_those_of_the_bits_as_text) {
    for (std::uint32_t code = 1; code < (1U << 16); code += 7) {
        std::string path;
        for (std::uint32_t rest = code; rest > 1; rest /= 2) path.insert(path.begin(), rest % 2 ? '1' : '0');
        for (const int bits : {0, 1, 4, 6, 8, 15})
            CHECK(cluster_prefix(static_cast<ClusterCode>(code), bits) == std::stoul("1" + path.substr(0, static_cast<std::size_t>(bits)), nullptr, 2));
    }
    CHECK(cluster_prefix(0, 4) == 0);
}

TEST(damaged_clusters_are_refused) {
    CHECK(refuses([] { (void)Clusters({1, 2}, {1}); }));
    CHECK(refuses([] { (void)Clusters({2, 1}, {1, 1}); }));
    CHECK(refuses([] { (void)Clusters({1, 1}, {1, 1}); }));
    CHECK(refuses([] { (void)Clusters({1, 2}, {1, 0}); }));
    CHECK(refuses([] { (void)Clusters::of({"a"}, {}); }));
}

// Saved models depend on these values.
TEST(cluster_keys_and_values_never_change) {
    CHECK(Clusters::of({"the"}, {1}).keys()[0] == static_cast<std::uint32_t>(slow::hash("the", 0x636c7573)));
    const slow::Sentence sentence{{{"the", "the", "DET", "D", "_"}}, {"DET"}, {}, {}, {{"the", "1011"}}};
    const auto batch = sentences::encoded(sentence, {{-1, 0}, {-1, 0}});
    const auto row = batch.sentence(0).row(1, 0);
    CHECK(row[10] == static_cast<std::uint32_t>(slow::mix((10ULL << 32) + 27 * 2654435761ULL)));
    CHECK(row[11] == static_cast<std::uint32_t>(slow::mix((11ULL << 32) + 27 * 2654435761ULL)));
}

TEST(features_of_clusters_need_some) {
    const slow::Sentence sentence{{{"the", "the", "DET", "D", "_"}}, {"DET"}};
    const auto text = sentences::conllu(sentence, {{-1, 0}, {-1, 0}});
    const Encoded without(sentences::columns(text), Names(sentence.tags, sentences::kLabels));
    const std::vector<float> weights(1 << 10);
    const Table table{weights.data(), (1 << 10) - 1};
    for (const Field field : {Field::cluster, Field::cluster4, Field::cluster6, Field::cluster8, Field::tag}) {
        TemplateSpec spec;
        spec.arcs = {{{Role::dep, 0, field}}};
        const Templates templates(spec);
        CHECK(templates.need_clusters == (field != Field::tag));
        Extractor extractor(templates);
        CHECK(refuses([&] { extractor.load(without.sentence(0), table, false, false); }) == templates.need_clusters);
        const ContextTemplates contexts(ContextKind::chain, {{{0, 0, static_cast<int>(field)}}});
        ContextExtractor of_contexts(contexts);
        CHECK(refuses([&] { of_contexts.load(without.sentence(0), table); }) == templates.need_clusters);
        CHECK(transition::Templates(transition::Kind::moves, {{{0, 0, static_cast<int>(field)}}}).need_clusters() == templates.need_clusters);
    }
}

}  // namespace cluster_tests
