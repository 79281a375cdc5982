// core/tag for Python: lexicons, clusters and features of words, and edit scripts.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "conll/columns.hpp"
#include "features/clusters.hpp"
#include "questions.hpp"
#include "text/tag/lexicon.hpp"
#include "text/tag/script.hpp"
#include "text/tag/words.hpp"
#include "base/text.hpp"

namespace arbora {

namespace {

using namespace nb::literals;
using feature::Clusters;
using tag::Lexicon;

template <class T>
std::vector<T> vector_of(const Line<T>& given) {
    return {given.data(), given.data() + given.size()};
}

void bind_lexicon(nb::module_& m) {
    nb::class_<Lexicon>(m, "TagLexicon", "The words of a treebank and the tags they had; see arbora.pipeline.tagger.")
        .def("__init__", [](Lexicon* self, const conll::Columns& columns, const std::vector<std::string>& tags) { new (self) Lexicon(columns, tags); },
             "columns"_a, "tags"_a)
        .def_static("from_arrays", [](const Line<std::uint32_t>& keys, const Line<std::uint32_t>& classes) {
                return Lexicon(vector_of(keys), vector_of(classes));
            }, "keys"_a, "classes"_a,
            nb::sig("def from_arrays(keys: numpy.typing.NDArray[numpy.uint32], classes: numpy.typing.NDArray[numpy.uint32]) -> TagLexicon"))
        .def("keys", [](const Lexicon& self) { return copied(self.keys()); }, nb::sig("def keys(self) -> numpy.typing.NDArray[numpy.uint32]"))
        .def("classes", [](const Lexicon& self) { return copied(self.classes()); }, nb::sig("def classes(self) -> numpy.typing.NDArray[numpy.uint32]"))
        .def("__len__", [](const Lexicon& self) { return self.keys().size(); });
}

void bind_clusters(nb::module_& m) {
    nb::class_<Clusters>(m, "Clusters", "Clusters of words in a binary tree; see arbora.data.clusters.")
        .def_static("of", [](const std::vector<std::string>& words, const Line<std::uint16_t>& codes) { return Clusters::of(words, vector_of(codes)); },
                    "words"_a, "codes"_a, nb::sig("def of(words: collections.abc.Sequence[str], codes: numpy.typing.NDArray[numpy.uint16]) -> Clusters"))
        .def_static("from_arrays", [](const Line<std::uint32_t>& keys, const Line<std::uint16_t>& codes) {
                return Clusters(vector_of(keys), vector_of(codes));
            }, "keys"_a, "codes"_a,
            nb::sig("def from_arrays(keys: numpy.typing.NDArray[numpy.uint32], codes: numpy.typing.NDArray[numpy.uint16]) -> Clusters"))
        .def("find", [](const Clusters& self, const std::string& form) { return self.find(form); }, "form"_a, "The code of a word; 0: it has no cluster.")
        .def("keys", [](const Clusters& self) { return copied(self.keys()); }, nb::sig("def keys(self) -> numpy.typing.NDArray[numpy.uint32]"))
        .def("codes", [](const Clusters& self) { return copied(self.codes()); }, nb::sig("def codes(self) -> numpy.typing.NDArray[numpy.uint16]"))
        .def("__len__", [](const Clusters& self) { return self.keys().size(); });
}

sequence::Batch encode(const conll::Columns& columns, const std::string& set, const Lexicon& lexicon, int bits,
                       const std::optional<Line<std::int32_t>>& own_tags, const Clusters* clusters) {
    if (own_tags && own_tags->size() != columns.word_count()) throw InputError("own_tags: expected one per word");
    const auto which = tag::set_of(set);
    const nb::gil_scoped_release release;
    return tag::encode(columns, which, lexicon, clusters, own_tags ? own_tags->data() : nullptr, bits);
}

// Process each pair of word and script once: most recur.
conll::Columns apply_scripts(const conll::Columns& columns, const std::vector<std::string>& scripts, const Line<std::int32_t>& chosen) {
    constexpr std::size_t form_column = 0, lemma_column = 1;
    if (chosen.size() != columns.word_count()) throw InputError("chosen: expected one script per word");
    const std::vector<tag::Script> checked(scripts.begin(), scripts.end());
    const nb::gil_scoped_release release;
    conll::Columns result = columns;
    conll::StringTable lemmas;
    std::unordered_map<std::uint64_t, std::int32_t> known;
    for (std::size_t w = 0; w < columns.word_count(); ++w) {
        const std::int32_t script = chosen.data()[w], form = columns.ids[form_column][w];
        if (script < 0 || static_cast<std::size_t>(script) >= checked.size())
            throw InputError("chosen: expected numbers of scripts, got " + std::to_string(script));
        const auto [found, is_new] = known.try_emplace(static_cast<std::uint64_t>(script) << 32 | static_cast<std::uint32_t>(form), 0);
        if (is_new) {
            const auto text = columns.tables[form_column][static_cast<std::size_t>(form)];
            found->second = lemmas.intern(checked[static_cast<std::size_t>(script)].apply(text).value_or(text::lowered(text)));
        }
        result.ids[lemma_column][w] = found->second;
    }
    result.tables[lemma_column] = std::move(lemmas);
    return result;
}

}  // namespace

void bind_tag(nb::module_& m) {
    bind_lexicon(m);
    bind_clusters(m);
    m.def("tag_features", &encode, "columns"_a, "set"_a, "lexicon"_a, "bits"_a, "own_tags"_a.none(), "clusters"_a.none() = nb::none(),
          nb::sig("def tag_features(columns: ConllColumns, set: str, lexicon: TagLexicon, bits: int, "
                  "own_tags: numpy.typing.NDArray[numpy.int32] | None, clusters: Clusters | None = None) -> SequenceBatch"),
          "The features of all words, as a tagger or lemmatizer sees them.");
    m.def("edit_script", [](const std::string& form, const std::string& lemma) { return tag::edit_script(form, lemma); }, "form"_a, "lemma"_a,
          "How the word becomes its lemma.");
    m.def("check_script", [](const std::string& text) { tag::Script{text}; }, "text"_a, "Raises InputError for a text that is not an edit script.");
    m.def("apply_scripts", &apply_scripts, "columns"_a, "scripts"_a, "chosen"_a,
          nb::sig("def apply_scripts(columns: ConllColumns, scripts: collections.abc.Sequence[str], "
                  "chosen: numpy.typing.NDArray[numpy.int32]) -> ConllColumns"),
          "The same sentences with lemmas made by scripts; the word in lower case if its script does not apply.");
}

}  // namespace arbora
