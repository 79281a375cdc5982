// Edit scripts, case and shape of words, lexicons.
#include <string>
#include <vector>

#include "check.hpp"
#include "refuses.hpp"
#include "conll/reader.hpp"
#include "base/errors.hpp"
#include "text/tag/lexicon.hpp"
#include "text/tag/script.hpp"
#include "text/tag/words.hpp"
#include "base/text.hpp"

namespace tag_tests {

using namespace arbora;

namespace {

conll::Columns columns_of(const std::vector<std::pair<std::string, std::string>>& words) {
    std::string text;
    for (std::size_t i = 0; i < words.size(); ++i)
        text += std::to_string(i + 1) + "\t" + words[i].first + "\t_\t" + words[i].second + "\t_\t_\t_\t_\t_\t_\n";
    conll::Reader reader({});
    reader.parse(text + "\n", true);
    return reader.take();
}

}  // namespace

TEST(scripts_give_back_their_lemmas) {
    const std::vector<std::pair<std::string, std::string>> pairs = {
        {"cities", "city"}, {"went", "go"}, {"LONDON", "London"}, {"The", "the"}, {"better", "good"}, {"is", "be"}, {"Ærø", "Ærø"},
        {"größte", "groß"}, {"ΛΌΓΟΙ", "λόγος"}, {"n't", "not"}, {"USA", "USA"}, {"gegangen", "gehen"}, {"привет", "Привет"}, {"日本", "日本"}, {"a", "aa"}};
    for (const auto& [form, lemma] : pairs) {
        const auto found = tag::Script(tag::edit_script(form, lemma)).apply(form);
        CHECK(found.has_value() && *found == lemma);
    }
    CHECK(tag::Script(tag::edit_script("cities", "city")).apply("Bodies") == "body");
    CHECK(!tag::Script("l\t0\t\t3\ty").apply("ab").has_value());
    CHECK(!tag::Script("l\t0\t\t2\t").apply("ab").has_value());
}

TEST(scripts_that_are_none_are_refused) {
    for (const char* text : {"", "l", "x\t0\t\t0\t", "l\t-1\t\t0\t", "l\t0\t\t99999\t", "l\t0\t\t", "=\t", "l\t0\t\t1\ta\tb", "=\ta\tb"})
        CHECK(refuses([&] { (void)(tag::Script{text}); }));
}

TEST(letters_change_their_case) {
    CHECK(text::lowered("ÀÉ ЖЯ ΑΩ Ő日") == "àé жя αω ő日");
    CHECK(text::raised("àé жя αω ő日ß") == "ÀÉ ЖЯ ΑΩ Ő日ß");
    CHECK(text::shape("Mc-D2") == "Xx-Xd");
    CHECK(text::short_shape("McDonald22") == "XxXxd");
    CHECK(text::characters("日本x") == 3);
}

TEST(a_lexicon_leaves_a_word_s_own_occurrence_out) {
    const auto columns = columns_of({{"Run", "NOUN"}, {"run", "VERB"}, {"run", "VERB"}, {"once", "ADV"}});
    const tag::Lexicon lexicon(columns, {"NOUN", "VERB", "ADV"});
    const auto run = tag::lexicon_key("RUN"), once = tag::lexicon_key("once");
    CHECK(lexicon.keys().size() == 2);
    CHECK(lexicon.find(once) != tag::kUnknownClass);
    CHECK(lexicon.find_without(once, 2) == tag::kUnknownClass);
    CHECK(lexicon.find_without(run, 0) != lexicon.find(run));
    CHECK(lexicon.find(tag::lexicon_key("never")) == tag::kUnknownClass);
    const tag::Lexicon read(lexicon.keys(), lexicon.classes());
    CHECK(read.find(run) == lexicon.find(run));
    CHECK(refuses([&] { (void)(read.find_without(run, 0)); }));
    CHECK(refuses([&] { (void)(tag::Lexicon({2, 1}, {0, 0})); }));
    CHECK(refuses([&] { (void)(tag::Lexicon({1, 2}, {0})); }));
}

TEST(features_are_places_in_the_table) {
    const auto columns = columns_of({{"A", "DET"}, {"dog", "NOUN"}, {"barks", "VERB"}});
    const tag::Lexicon lexicon(columns, {"DET", "NOUN", "VERB"});
    const auto clusters = feature::Clusters::of({"dog"}, {5});
    for (const char* set : {"upos-v1", "upos-v2", "morph-v1", "morph-v2", "lemma-v1"}) {
        const auto batch = tag::encode(columns, tag::set_of(set), lexicon, &clusters, nullptr, 12);
        CHECK(batch.places.size() == 3 * static_cast<std::size_t>(batch.features));
        for (const auto place : batch.places) CHECK(place < 4096);
    }
    CHECK(refuses([&] { (void)(tag::encode(columns, tag::Set::upos_v1, lexicon, nullptr, nullptr, 5)); }));
    CHECK(refuses([&] { (void)(tag::set_of("upos-v0")); }));
    for (const char* set : {"upos-v2", "morph-v2"}) CHECK(refuses([&] { (void)(tag::encode(columns, tag::set_of(set), lexicon, nullptr, nullptr, 12)); }));
}

TEST(features_of_clusters_come_after_those_of_words) {
    const auto columns = columns_of({{"A", "DET"}, {"dog", "NOUN"}, {"cat", "NOUN"}, {"barks", "VERB"}});
    const tag::Lexicon lexicon(columns, {"DET", "NOUN", "VERB"});
    // 0b1101 for two words, another for one, none for the last.
    const auto clusters = feature::Clusters::of({"a", "dog", "cat"}, {2, 13, 13}), others = feature::Clusters::of({"a", "dog", "cat"}, {2, 13, 12});
    const std::pair<const char*, const char*> versions[] = {{"upos-v1", "upos-v2"}, {"morph-v1", "morph-v2"}};
    for (const auto& [first, second] : versions) {
        const auto old = tag::encode(columns, tag::set_of(first), lexicon, nullptr, nullptr, 20);
        const auto batch = tag::encode(columns, tag::set_of(second), lexicon, &clusters, nullptr, 20);
        const auto other = tag::encode(columns, tag::set_of(second), lexicon, &others, nullptr, 20);
        const auto words = static_cast<std::size_t>(old.features), all = static_cast<std::size_t>(batch.features);
        CHECK(all > words);
        for (std::size_t w = 0; w < 4; ++w)
            for (std::size_t t = 0; t < words; ++t) CHECK(batch.places[w * all + t] == old.places[w * words + t]);
        // The first of them is about the word's own cluster.
        CHECK(batch.places[all + words] == batch.places[2 * all + words]);
        CHECK(other.places[all + words] == batch.places[all + words]);
        CHECK(other.places[2 * all + words] != batch.places[2 * all + words]);
        CHECK(batch.places[words] != batch.places[all + words]);
    }
}

TEST(a_place_of_a_cluster_never_changes) {
    const auto columns = columns_of({{"dog", "NOUN"}});
    const tag::Lexicon lexicon(columns, {"NOUN"});
    const auto clusters = feature::Clusters::of({"dog"}, {13});
    const auto old = tag::encode(columns, tag::Set::upos_v1, lexicon, nullptr, nullptr, 20);
    const auto batch = tag::encode(columns, tag::Set::upos_v2, lexicon, &clusters, nullptr, 20);
    const auto number = static_cast<std::uint64_t>(old.features);
    const auto value = static_cast<std::uint32_t>(feature::mix(((0x74616700ULL + 21) << 32) + 13 * 2654435761ULL));
    const auto factor = static_cast<std::uint32_t>(feature::mix(number * 4 + 1)) | 1U;
    CHECK(batch.places[number] == (static_cast<std::uint32_t>(feature::mix(number + 1)) + value * factor) * 0x9e3779b1U >> 12);
}

}  // namespace tag_tests
