// core/text/segment for Python: SegmenterModel (applies a model) and SegmenterTrainer (trains one).
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/errors.hpp"
#include "text/segment/segmenter.hpp"
#include "text/segment/trainer.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace arbora {

namespace {

using namespace segment;

template <typename Value>
using Given = nb::ndarray<const Value, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// (from the end?, cuts, pieces: (characters off, text on))
using PlainRule = std::tuple<bool, std::vector<std::uint32_t>, std::vector<std::pair<std::uint32_t, std::vector<std::uint32_t>>>>;

template <typename Value>
std::vector<Value> taken(const Given<Value>& values) {
    return {values.data(), values.data() + values.size()};
}

template <typename Value>
nb::object array(std::vector<Value> values) {
    auto owned = std::make_unique<std::vector<Value>>(std::move(values));
    const auto size = owned->size();
    auto* data = owned->data();
    const nb::capsule owner(owned.release(), [](void* p) noexcept { delete static_cast<std::vector<Value>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, Value, nb::ndim<1>>(data, {size}, owner));
}

Model make_model(int bits, const Given<float>& token, const Given<float>& sentence, const Given<float>& multiword, const Given<std::uint8_t>& token_answers,
                 const Given<std::uint8_t>& gap_answers, const Given<std::uint8_t>& sentence_answers, const std::vector<PlainRule>& rules,
                 const Given<std::uint64_t>& keys, const Given<std::uint16_t>& key_rules) {
    Model model{bits, taken(token), taken(sentence), taken(multiword), taken(token_answers), taken(gap_answers), taken(sentence_answers), {}, {}};
    for (const auto& [from_end, cuts, pieces] : rules) {
        Rule rule{from_end, cuts, {}};
        for (const auto& [removed, added] : pieces) rule.pieces.push_back({removed, added});
        model.rules.push_back(std::move(rule));
    }
    if (keys.size() != key_rules.size()) throw InputError("candidates: expected a rule for each key");
    for (std::size_t i = 0; i < keys.size(); ++i) model.candidates.push_back({keys.data()[i], key_rules.data()[i]});
    return model;
}

nb::dict parts(const Model& model) {
    nb::dict result;
    result["bits"] = model.bits;
    result["token"] = array(model.token_weights);
    result["sentence"] = array(model.sentence_weights);
    result["multiword"] = array(model.multiword_weights);
    result["token_answers"] = array(model.token_answers);
    result["gap_answers"] = array(model.gap_answers);
    result["sentence_answers"] = array(model.sentence_answers);
    std::vector<PlainRule> rules;
    for (const Rule& rule : model.rules) {
        std::vector<std::pair<std::uint32_t, std::vector<std::uint32_t>>> pieces;
        for (const Piece& piece : rule.pieces) pieces.emplace_back(piece.removed, piece.added);
        rules.emplace_back(rule.from_end, rule.cuts, std::move(pieces));
    }
    result["rules"] = rules;
    std::vector<std::uint64_t> keys;
    std::vector<std::uint16_t> key_rules;
    for (const Candidate& candidate : model.candidates) keys.push_back(candidate.key), key_rules.push_back(candidate.rule);
    result["keys"] = array(std::move(keys));
    result["key_rules"] = array(std::move(key_rules));
    return result;
}

void bind_applying(nb::module_& m) {
    nb::class_<Segmented>(m, "SegmentedText", "Words and their offsets; see arbora.pipeline.segmenter.")
        .def("take_columns", [](Segmented& self) { return std::move(self.columns); })
        .def("take_starts", [](Segmented& self) { return array(std::move(self.starts)); }, nb::sig("def take_starts(self) -> numpy.typing.NDArray[numpy.int64]"))
        .def("take_ends", [](Segmented& self) { return array(std::move(self.ends)); }, nb::sig("def take_ends(self) -> numpy.typing.NDArray[numpy.int64]"))
        .def("take_sentence_starts", [](Segmented& self) { return array(std::move(self.sentence_starts)); },
             nb::sig("def take_sentence_starts(self) -> numpy.typing.NDArray[numpy.int64]"))
        .def("take_sentence_ends", [](Segmented& self) { return array(std::move(self.sentence_ends)); },
             nb::sig("def take_sentence_ends(self) -> numpy.typing.NDArray[numpy.int64]"));
    nb::class_<Segmenter>(m, "SegmenterModel", "Finds sentences, tokens and words; see arbora.pipeline.segmenter.")
        .def("__init__", [](Segmenter* self, int bits, const Given<float>& token, const Given<float>& sentence, const Given<float>& multiword,
                            const Given<std::uint8_t>& token_answers, const Given<std::uint8_t>& gap_answers, const Given<std::uint8_t>& sentence_answers,
                            const std::vector<PlainRule>& rules, const Given<std::uint64_t>& keys, const Given<std::uint16_t>& key_rules) {
                new (self) Segmenter(make_model(bits, token, sentence, multiword, token_answers, gap_answers, sentence_answers, rules, keys, key_rules));
            }, nb::kw_only(), "bits"_a, "token"_a, "sentence"_a, "multiword"_a, "token_answers"_a, "gap_answers"_a, "sentence_answers"_a,
            "rules"_a, "keys"_a, "key_rules"_a,
            nb::sig("def __init__(self, *, bits: int, token: numpy.typing.NDArray[numpy.float32], sentence: numpy.typing.NDArray[numpy.float32], "
                    "multiword: numpy.typing.NDArray[numpy.float32], token_answers: numpy.typing.NDArray[numpy.uint8], "
                    "gap_answers: numpy.typing.NDArray[numpy.uint8], sentence_answers: numpy.typing.NDArray[numpy.uint8], "
                    "rules: collections.abc.Sequence[tuple[bool, collections.abc.Sequence[int], collections.abc.Sequence[tuple[int, collections.abc.Sequence[int]]]]], "
                    "keys: numpy.typing.NDArray[numpy.uint64], key_rules: numpy.typing.NDArray[numpy.uint16]) -> None"))
        .def("parts", [](const Segmenter& self) { return parts(self.model()); }, nb::sig("def parts(self) -> dict[str, typing.Any]"))
        .def("segment", [](const Segmenter& self, nb::bytes text, std::int64_t longest_sentence, bool lines, std::int64_t first_number, bool continues, const std::string& document) {
                const std::string_view bytes(text.c_str(), text.size());
                nb::gil_scoped_release release;
                return self.segment(bytes, {longest_sentence, lines, first_number, continues, document});
            }, "text"_a, nb::kw_only(), "longest_sentence"_a, "lines"_a, "first_number"_a, "continues"_a, "document"_a);
}

std::vector<GoldText> gold_texts(const nb::list& texts) {
    std::vector<GoldText> result;
    for (const nb::handle item : texts) {
        const auto [text, starts, ends, last, words] =
            nb::cast<std::tuple<nb::bytes, Given<std::int64_t>, Given<std::int64_t>, Given<std::uint8_t>, nb::dict>>(item);
        GoldText gold{std::string(text.c_str(), text.size()), taken(starts), taken(ends), taken(last), {}};
        gold.words.resize(words.size() > 0 ? gold.starts.size() : 0);
        for (const auto& [token, forms] : words) {
            const auto place = nb::cast<std::size_t>(token);
            if (place >= gold.words.size()) throw InputError("words: expected numbers of tokens");
            gold.words[place] = nb::cast<std::vector<Codes>>(forms);
        }
        result.push_back(std::move(gold));
    }
    return result;
}

}  // namespace

void bind_segment(nb::module_& m) {
    m.attr("SEGMENTER_CHARACTERS") = kCharacterVersion;
    m.attr("SEGMENTER_FEATURES") = kFeatureVersion;
    bind_applying(m);
    nb::class_<Trainer>(m, "SegmenterTrainer", "Trains a SegmenterModel on texts; see arbora.pipeline.segmenter.")
        .def("__init__", [](Trainer* self, const nb::list& texts, int bits, double rate, double shortcut, std::int64_t least_seen, double least_precision,
                            std::uint64_t seed) {
                new (self) Trainer(gold_texts(texts), {bits, rate, shortcut, least_seen, least_precision, seed});
            }, "texts"_a, nb::kw_only(), "bits"_a, "rate"_a, "shortcut"_a, "least_seen"_a, "least_precision"_a, "seed"_a,
            nb::sig("def __init__(self, texts: list[tuple[bytes, numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int64], "
                    "numpy.typing.NDArray[numpy.uint8], dict[int, list[list[int]]]]], *, bits: int, rate: float, shortcut: float, least_seen: int, "
                    "least_precision: float, seed: int) -> None"))
        .def("epoch", &Trainer::epoch, nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("token_examples", &Trainer::token_examples)
        .def_prop_ro("sentence_examples", &Trainer::sentence_examples)
        .def("parts", [](const Trainer& self) { return parts(self.model()); }, nb::sig("def parts(self) -> dict[str, typing.Any]"));
}

}  // namespace arbora
