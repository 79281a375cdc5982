// core/conll for Python: ConllReader (bytes in) and ConllColumns (read-only arrays out, without a copy).
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conll/reader.hpp"
#include "conll/tree_shape.hpp"
#include "base/errors.hpp"
#include "base/interrupt.hpp"
#include "strings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace arbora::conll;
using arbora::bindings::to_list;
using arbora::bindings::to_str;

template <typename Value>
using View = nb::ndarray<nb::numpy, const Value, nb::ndim<1>>;
template <typename Value>
using Input = nb::ndarray<const Value, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// A read-only array over memory of a ConllColumns, which it keeps alive.
template <typename Value>
View<Value> view(const std::vector<Value>& values, nb::handle owner) {
    return View<Value>(values.data(), {values.size()}, owner);
}

// A read-only array that owns its memory.
template <typename Value>
View<Value> give(std::vector<Value>&& values) {
    auto owned = std::make_unique<std::vector<Value>>(std::move(values));
    nb::capsule owner(owned.get(), [](void* pointer) noexcept { delete static_cast<std::vector<Value>*>(pointer); });
    const auto* kept = owned.release();
    return View<Value>(kept->data(), {kept->size()}, owner);
}

std::size_t checked_column(int column) {
    if (column < 0 || column >= text_column_count) throw nb::index_error("column: expected 0 to 7");
    return static_cast<std::size_t>(column);
}

// The UTF-8 text of a Python str, which owns it. Throws InputError if it has none.
std::string_view utf8(nb::handle text) {
    if (!PyUnicode_Check(text.ptr())) throw nb::type_error("expected texts of type str");
    Py_ssize_t size = 0;
    const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (data != nullptr) return {data, static_cast<std::size_t>(size)};
    PyErr_Clear();
    throw arbora::InputError("text: expected valid Unicode text, got lone surrogates");
}

// One column: a list of texts, or ids with the distinct texts that they number, or None for "_" throughout.
void fill_column(nb::handle given, std::size_t words, StringTable& table, std::vector<std::int32_t>& ids) {
    if (given.is_none()) {
        ids.assign(words, 0);
    } else if (nb::isinstance<nb::tuple>(given)) {
        const auto [numbers, names] = nb::cast<std::pair<Input<std::int32_t>, nb::list>>(given);
        std::vector<std::int32_t> places(names.size(), -1);
        for (std::size_t w = 0; w < numbers.size(); ++w) {
            const auto id = static_cast<std::size_t>(numbers.data()[w]);
            if (id >= places.size()) throw arbora::InputError("ids: expected numbers of the distinct texts");
            if (places[id] < 0) places[id] = table.intern(utf8(names[id]));
            ids.push_back(places[id]);
        }
    } else {
        for (nb::handle text : nb::cast<nb::list>(given)) ids.push_back(table.intern(utf8(text)));
    }
}

void read_arrays(Reader& self, const nb::list& texts, const Input<std::int32_t>& heads, const Input<std::int64_t>& offsets,
                 const nb::list& other_lines) {
    Columns given;
    if (texts.size() != given.tables.size()) throw arbora::InputError("texts: expected eight columns");
    for (std::size_t c = 0; c < given.tables.size(); ++c) fill_column(texts[c], heads.size(), given.tables[c], given.ids[c]);
    given.heads.assign(heads.data(), heads.data() + heads.size());
    given.sentence_offsets.assign(offsets.data(), offsets.data() + offsets.size());
    for (nb::handle lines : other_lines) {
        for (nb::handle line : lines) given.add_extra(ExtraKind::comment, 0, utf8(line));
        given.extra_offsets.push_back(static_cast<std::int64_t>(given.extra_kinds.size()));
    }
    nb::gil_scoped_release release;
    self.read_arrays(std::move(given));
}

void bind_columns(nb::module_& m) {
    const auto property = [](auto member) {
        return [member](nb::handle self) { return view(nb::cast<const Columns&>(self).*member, self); };
    };
    nb::class_<Columns>(m, "ConllColumns", "Sentences as flat arrays; see arbora.data.columns.")
        .def("ids", [](nb::handle self, int column) {
                return view(nb::cast<const Columns&>(self).ids[checked_column(column)], self);
            }, "column"_a)
        .def("strings", [](const Columns& self, int column) { return to_list(self.tables[checked_column(column)]); },
             "column"_a, nb::sig("def strings(self, column: int) -> list[str]"))
        .def_prop_ro("heads", property(&Columns::heads))
        .def_prop_ro("lines", property(&Columns::lines))
        .def_prop_ro("sentence_offsets", property(&Columns::sentence_offsets))
        .def_prop_ro("extra_offsets", property(&Columns::extra_offsets))
        .def_prop_ro("sentence_lines", property(&Columns::sentence_lines))
        .def_prop_ro("blank_lines", property(&Columns::blank_lines))
        .def_prop_ro("carriage_returns", property(&Columns::carriage_returns))
        .def_prop_ro("extra_kinds", property(&Columns::extra_kinds))
        .def_prop_ro("extra_positions", property(&Columns::extra_positions))
        .def_ro("byte_order_mark", &Columns::byte_order_mark)
        .def_ro("final_newline", &Columns::final_newline)
        .def_ro("leading_blank_lines", &Columns::leading_blank_lines)
        .def("extra_texts", [](const Columns& self) {
            nb::typed<nb::list, nb::str> texts = nb::cast<nb::typed<nb::list, nb::str>>(nb::list());
            for (std::size_t i = 0; i < self.extra_kinds.size(); ++i) texts.append(to_str(self.extra(i)));
            return texts;
        })
        .def("with_column", [](const Columns& self, int column, const Input<std::int32_t>& ids, const std::vector<std::string>& names) {
                if (ids.size() != self.word_count()) throw arbora::InputError("ids: expected one per word");
                const auto place = checked_column(column);
                nb::gil_scoped_release release;
                return with_column(self, place, ids.data(), names);
            }, "column"_a, "ids"_a, "names"_a,
            nb::sig("def with_column(self, column: int, ids: numpy.typing.NDArray[numpy.int32], names: collections.abc.Sequence[str]) -> ConllColumns"),
            "A copy with other texts in one column.")
        .def("select", [](const Columns& self, const Input<std::int64_t>& sentences) {
                const std::span chosen(sentences.data(), sentences.size());
                for (const auto s : chosen)
                    if (s < 0 || static_cast<std::size_t>(s) >= self.sentence_count()) throw nb::index_error("sentence out of range");
                nb::gil_scoped_release release;
                return select(self, chosen);
            }, "sentences"_a, nb::sig("def select(self, sentences: numpy.typing.NDArray[numpy.int64]) -> ConllColumns"), "A copy of some sentences.")
        .def("to_bytes", [](const Columns& self) {
            std::string out;
            {
                nb::gil_scoped_release release;
                for (std::size_t s = 0; s < self.sentence_count(); ++s) {
                    arbora::check_stop();
                    append_sentence(self, s, out);
                }
            }
            return nb::bytes(out.data(), out.size());
        })
        .def("with_trees", [](const Columns& self, const Input<std::int32_t>& heads, const Input<std::int32_t>& labels,
                              const std::vector<std::string>& names) {
                if (heads.size() != self.word_count() || labels.size() != self.word_count())
                    throw arbora::InputError("heads, labels: expected one per word");
                nb::gil_scoped_release release;
                return with_trees(self, {heads.data(), heads.size()}, labels.data(), names);
            }, "heads"_a, "labels"_a, "names"_a,
            nb::sig("def with_trees(self, heads: numpy.typing.NDArray[numpy.int32], labels: numpy.typing.NDArray[numpy.int32], "
                    "names: collections.abc.Sequence[str]) -> ConllColumns"),
            "A copy with other trees.")
        .def_static("concat", [](const std::vector<const Columns*>& parts) {
                for (const auto* part : parts)
                    if (part == nullptr) throw nb::type_error("expected ConllColumns, got None");
                nb::gil_scoped_release release;
                return concat(parts);
            }, "parts"_a, nb::sig("def concat(parts: collections.abc.Sequence[ConllColumns]) -> ConllColumns"),
            "All sentences of several, in order.");
}

void bind_reader(nb::module_& m) {
    nb::class_<Reader>(m, "ConllReader", "Reads CoNLL-U or CoNLL-X in pieces; see arbora.data.treebank.")
        .def("__init__", [](Reader* self, bool conllx, bool single_root, bool lenient) {
                new (self) Reader({conllx ? Format::conllx : Format::conllu,
                                   single_root ? Roots::single : Roots::multi, lenient});
            }, nb::kw_only(), "conllx"_a, "single_root"_a, "lenient"_a)
        .def("parse", [](Reader& self, nb::bytes text, bool last) {
                const std::string_view bytes(text.c_str(), text.size());
                nb::gil_scoped_release release;
                return self.parse(bytes, last);
            }, "text"_a, "last"_a)
        .def("read_arrays", &read_arrays, "texts"_a, "heads"_a, "offsets"_a, "other_lines"_a,
             nb::sig("def read_arrays(self, texts: list[list[str] | tuple[numpy.typing.NDArray[numpy.int32], list[str]] | None], "
                     "heads: numpy.typing.NDArray[numpy.int32], offsets: numpy.typing.NDArray[numpy.int64], "
                     "other_lines: list[typing.Any]) -> None"))
        .def("take", &Reader::take)
        .def("take_problems", [](Reader& self) {
            nb::list problems;
            for (const auto& problem : self.take_problems())
                problems.append(nb::make_tuple(problem.line, to_str(problem.what), to_str(problem.expected),
                                               to_str(problem.got)));
            return problems;
        }, nb::sig("def take_problems(self) -> list[tuple[int, str, str, str]]"))
        .def_prop_ro("failed", &Reader::failed)
        .def_prop_ro("skipped", &Reader::skipped);
}

}  // namespace

void bind_conll(nb::module_& m) {
    bind_columns(m);
    bind_reader(m);
    m.def("measure_trees", [](const Input<std::int32_t>& heads, const Input<std::int64_t>& offsets) {
            TreeShapes shapes;
            {
                nb::gil_scoped_release release;
                shapes = measure_trees({heads.data(), heads.size()}, {offsets.data(), offsets.size()});
            }
            return nb::make_tuple(give(std::move(shapes.nonprojective)), give(std::move(shapes.depths)),
                                  give(std::move(shapes.roots)));
        }, "heads"_a, "offsets"_a,
        nb::sig("def measure_trees(heads: numpy.typing.NDArray[numpy.int32], "
                "offsets: numpy.typing.NDArray[numpy.int64]) -> tuple[numpy.typing.NDArray[numpy.uint8], numpy.typing.NDArray[numpy.int32], "
                "numpy.typing.NDArray[numpy.int32]]"),
        "Per word: is its arc non-projective; per sentence: depth and number of roots (-1: no tree).");
}
