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
    for (const char* set : {"upos-v1", "morph-v1", "lemma-v1"}) {
        const auto batch = tag::encode(columns, tag::set_of(set), lexicon, nullptr, 12);
        CHECK(batch.places.size() == 3 * static_cast<std::size_t>(batch.features));
        for (const auto place : batch.places) CHECK(place < 4096);
    }
    CHECK(refuses([&] { (void)(tag::encode(columns, tag::Set::upos_v1, lexicon, nullptr, 5)); }));
    CHECK(refuses([&] { (void)(tag::set_of("upos-v0")); }));
}

}  // namespace tag_tests
