// core/conll for Python: ConllReader (bytes in) and ConllColumns (read-only arrays out, without a copy).
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
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

nb::bytes bytes_with_trees(const Columns& self, const Input<std::int32_t>& heads, const Input<std::int32_t>& labels,
                           const std::vector<std::string>& names) {
    if (heads.size() != self.word_count() || labels.size() != self.word_count())
        throw arbora::InputError("heads, labels: expected one per word");
    for (std::size_t w = 0; w < labels.size(); ++w)
        if (labels.data()[w] >= static_cast<std::int32_t>(names.size())) throw arbora::InputError("labels: expected numbers of names");
    std::string out;
    {
        nb::gil_scoped_release release;
        const NewTrees trees{heads.data(), labels.data(), &names};
        for (std::size_t s = 0; s < self.sentence_count(); ++s) append_sentence(self, s, trees, out);
    }
    return nb::bytes(out.data(), out.size());
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
                const std::vector<std::int64_t> chosen(sentences.data(), sentences.data() + sentences.size());
                for (const auto s : chosen)
                    if (s < 0 || static_cast<std::size_t>(s) >= self.sentence_count()) throw nb::index_error("sentence out of range");
                nb::gil_scoped_release release;
                return select(self, chosen);
            }, "sentences"_a, nb::sig("def select(self, sentences: numpy.typing.NDArray[numpy.int64]) -> ConllColumns"), "A copy of some sentences.")
        .def("to_bytes", [](const Columns& self) {
            std::string out;
            {
                nb::gil_scoped_release release;
                for (std::size_t s = 0; s < self.sentence_count(); ++s) append_sentence(self, s, out);
            }
            return nb::bytes(out.data(), out.size());
        })
        .def("to_bytes_with", &bytes_with_trees, "heads"_a, "labels"_a, "names"_a,
             nb::sig("def to_bytes_with(self, heads: numpy.typing.NDArray[numpy.int32], labels: numpy.typing.NDArray[numpy.int32], "
                     "names: collections.abc.Sequence[str]) -> bytes"));
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
