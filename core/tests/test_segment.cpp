// The segmenter: characters, paragraphs, rules for multiword tokens, training on a small text, and invariants for any text.
#include <cmath>
#include <string>
#include <vector>

#include "check.hpp"
#include "conll/columns.hpp"
#include "base/errors.hpp"
#include "base/generator.hpp"
#include "text/segment/trainer.hpp"

namespace segment_tests {

namespace {

using namespace arbora;
using namespace arbora::segment;

Codes codes(std::u32string_view text) { return {text.begin(), text.end()}; }

Symbols paragraph(std::string_view text) {
    Symbols symbols;
    Place place;
    read_paragraph(text, place, symbols);
    return symbols;
}

template <class Body>
bool throws(Body body) {
    try {
        body();
    } catch (const InputError&) {
        return true;
    }
    return false;
}

// "Ann isn't here. Bob calls!" and the like, with gold tokens.
GoldText toy(std::uint64_t seed, int sentences) {
    GoldText gold;
    Generator random(seed, 0);
    const auto pick = [&](const std::vector<std::string>& from) { return from[random.next() % from.size()]; };
    const auto add = [&](const std::string& form, bool space, std::vector<Codes> words = {}) {
        gold.starts.push_back(static_cast<std::int64_t>(gold.text.size()));
        gold.text += form;
        gold.ends.push_back(static_cast<std::int64_t>(gold.text.size()));
        gold.last.push_back(0);
        gold.words.push_back(std::move(words));
        if (space) gold.text += ' ';
    };
    for (int s = 0; s < sentences; ++s) {
        add(pick({"Ann", "Bob", "Mr.", "It"}), true);
        if (random.next() % 2 == 0) {
            const bool is = random.next() % 2 == 0;
            add(is ? "isn't" : "can't", true, {codes(is ? U"is" : U"ca"), codes(U"n't")});
        } else {
            add(pick({"sees", "calls"}), true);
        }
        add(pick({"dogs", "cats", "3.5"}), false);
        add(pick({".", "!", "?"}), random.next() % 8 != 0);
        gold.last.back() = 1;
    }
    return gold;
}

Segmenter trained() {
    TrainerOptions options;
    options.bits = 12;
    Trainer trainer({toy(1, 300)}, options);
    for (int epoch = 0; epoch < 4; ++epoch) trainer.epoch();
    return Segmenter(trainer.model());
}

std::vector<std::string> forms(const Segmented& found) {
    std::vector<std::string> result;
    for (const std::int32_t id : found.columns.ids[0]) result.emplace_back(found.columns.tables[0][static_cast<std::size_t>(id)]);
    return result;
}

std::string written(const conll::Columns& columns) {
    std::string out;
    for (std::size_t s = 0; s < columns.sentence_count(); ++s) conll::append_sentence(columns, s, out);
    return out;
}

}  // namespace

TEST(segment_characters) {
    const Characters& characters = Characters::shared();
    CHECK(characters.kind('a') == CharacterClass::lower);
    CHECK(characters.kind(0xC9) == CharacterClass::upper);
    CHECK(characters.kind(0x4E00) == CharacterClass::ideograph);
    CHECK(characters.kind(0x0301) == CharacterClass::mark);
    CHECK(characters.kind(0xA0) == CharacterClass::space);
    CHECK(characters.kind(0) == CharacterClass::control);
    CHECK(characters.kind(0x10FFFF) == CharacterClass::other);
    CHECK(characters.kind(0xFFFFFFFF) == CharacterClass::other);
    CHECK(characters.lower(0xC9) == 0xE9 && characters.upper(0xE9) == 0xC9);
    CHECK(characters.lower(0x100) == 0x101 && characters.lower(0x101) == 0x101 && characters.upper(0x101) == 0x100);
    CHECK(characters.lower(0x10400) == 0x10428 && characters.upper(0x10428) == 0x10400);
    CHECK(characters.lower('1') == '1' && characters.upper(0xDF) == 0xDF);
}

TEST(segment_paragraphs) {
    const std::string_view text = "\xEF\xBB\xBF a\t b\r\nc\n \r\n\n d";
    Symbols symbols;
    Place place;
    read_paragraph(text, place, symbols);
    CHECK(symbols.last() - symbols.first() == 5);
    CHECK(symbols.codes[symbols.first() + 1] == ' ' && symbols.codes[symbols.first() + 3] == '\n');
    CHECK(symbols.offsets[symbols.first()] == 2 && symbols.bytes[symbols.first()] == 4);
    read_paragraph(text, place, symbols);
    CHECK(symbols.last() - symbols.first() == 1 && symbols.codes[symbols.first()] == 'd');
    read_paragraph(text, place, symbols);
    CHECK(symbols.empty());
    // A flag is two symbols that stay together; three are a flag and a half.
    const Symbols flags = paragraph("\xF0\x9F\x87\xA9\xF0\x9F\x87\xB0\xF0\x9F\x87\xA9");
    CHECK(flags.glued(flags.first() + 1) && !flags.glued(flags.first() + 2));
}

TEST(segment_rules) {
    const auto rule = find_rule(codes(U"don't"), {codes(U"do"), codes(U"n't")}, true);
    CHECK(rule && rule->cuts == std::vector<std::uint32_t>{3} && rule->pieces[0] == Piece{});
    const auto words = split_token(*rule, codes(U"CAN'T"));
    CHECK(words && (*words)[0].form == codes(U"CA") && (*words)[1].form == codes(U"N'T") && (*words)[1].verbatim);
    CHECK(!split_token(*rule, codes(U"n't")));  // nothing would be left
    const auto pelo = find_rule(codes(U"Pelo"), {codes(U"Por"), codes(U"o")}, true);
    CHECK(pelo && (*split_token(*pelo, codes(U"pelo")))[0].form == codes(U"por"));
    CHECK((*split_token(*pelo, codes(U"PELO")))[0].form == codes(U"POR"));
    const auto au = find_rule(codes(U"au"), {codes(U"à"), codes(U"le")}, true);
    CHECK(au && (*split_token(*au, codes(U"Au")))[0].form == codes(U"À"));
    CHECK(!find_rule(codes(U"a"), {codes(U"a")}, true));
    CHECK(!find_rule(codes(U"a"), {codes(U"a"), codes(U"")}, true));
    CHECK(throws([] { require_valid({true, {1}, {Piece{}}}); }));
    CHECK(throws([] { require_valid({false, {2, 1}, {Piece{}, Piece{}, Piece{}}}); }));
    CHECK(throws([] { require_valid({true, {1}, {Piece{0, {'\n'}}, Piece{}}}); }));
}

TEST(segment_learns) {
    const Segmenter segmenter = trained();
    const Segmented found = segmenter.segment("Mr. isn't cats! Ann calls 3.5?", {});
    CHECK((forms(found) == std::vector<std::string>{"Mr.", "is", "n't", "cats", "!", "Ann", "calls", "3.5", "?"}));
    CHECK(found.columns.sentence_count() == 2);
    CHECK(found.starts[2] == 6 && found.ends[2] == 9);
    const std::string text = written(segmenter.segment("It can't dogs.", {}).columns);
    CHECK(text.find("2-3\tcan't\t_\t_\t_\t_\t_\t_\t_\t_\n2\tca\t") != std::string::npos);
    CHECK(text.starts_with("# newpar\n# sent_id = 1\n# text = It can't dogs.\n1\tIt\t_"));
}

TEST(segment_same_seed_same_model) {
    CHECK(trained().model().token_weights == trained().model().token_weights);
    CHECK(trained().model().candidates == trained().model().candidates);
}

TEST(segment_any_text) {
    const Segmenter segmenter = trained();
    const std::vector<std::string> parts = {"a",  "B",  " ", "\n", ".",  "'",  "n't", "\xC3\xA9", "\xCC\x81", "\xE2\x80\x8D", "\xF0\x9F\x91\x8D",
                                            "\xF0\x9F\x87\xA9", "\t", "1",  "!", "\"", "(",  "\xE4\xB8\x80", std::string(1, '\0'), "Mr."};
    Generator random(7, 0);
    for (int round = 0; round < 400; ++round) {
        std::string text;
        const std::size_t length = random.next() % 40;
        for (std::size_t i = 0; i < length; ++i) text += parts[random.next() % parts.size()];
        Options options;
        options.longest_sentence = 1 + static_cast<std::int64_t>(random.next() % 9);
        options.lines = random.next() % 2 == 0;
        const Segmented found = segmenter.segment(text, options);
        CHECK(found.starts.size() == found.columns.word_count() && found.ends.size() == found.starts.size());
        CHECK(found.sentence_starts.size() == found.columns.sentence_count());
        for (std::size_t w = 0; w < found.starts.size(); ++w) CHECK(found.starts[w] < found.ends[w]);
        for (std::size_t w = 1; w < found.starts.size(); ++w) CHECK(found.starts[w - 1] <= found.starts[w]);
    }
    CHECK(throws([&] { segmenter.segment("a\xFF", {}); }));
}

TEST(segment_models_are_checked) {
    const Model good = trained().model();
    const auto bad = [&](auto change) {
        return throws([&] {
            Model model = good;
            change(model);
            Segmenter segmenter(std::move(model));
        });
    };
    CHECK(!bad([](Model&) {}));
    CHECK(bad([](Model& model) { model.bits = 40; }));
    CHECK(bad([](Model& model) { model.token_weights.pop_back(); }));
    CHECK(bad([](Model& model) { model.sentence_weights[0] = NAN; }));
    CHECK(bad([](Model& model) { model.token_answers[0] = 3; }));
    CHECK(bad([](Model& model) { model.rules.clear(); }));
    CHECK(bad([](Model& model) { std::swap(model.candidates.front(), model.candidates.back()); }));
}

TEST(segment_gold_is_checked) {
    GoldText gold = toy(1, 3);
    gold.starts.pop_back();
    CHECK(throws([&] { Trainer({gold}, {}); }));
    gold = toy(1, 3);
    gold.starts[1] += 1;  // a character without a token
    CHECK(throws([&] { Trainer({gold}, {}); }));
    gold = toy(1, 3);
    gold.text[0] = '\xFF';
    CHECK(throws([&] { Trainer({gold}, {}); }));
}

}  // namespace segment_tests
