// core/multiclass for Python: classes for sparse examples, and a learner's queries about them.
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "multiclass/examples.hpp"
#include "multiclass/questions.hpp"
#include "base/parallel.hpp"
#include "questions.hpp"

namespace arbora {

namespace {

using namespace nb::literals;
using multiclass::Candidates;
using multiclass::Examples;
using multiclass::Questions;

template <class T>
std::span<const T> all_of(const Line<T>& line) {
    return {line.data(), line.size()};
}

nb::object scores_of(const Examples& self, const Line<float>& weights, std::size_t classes, int threads) {
    check_size(weights.size(), self.width() * classes, "weights");
    Output<double> scores(self.size() * classes);
    without_lock([&] {
        parallel_for(self.size(), threads, [&](int, std::size_t i) { multiclass::score(self.row(i), weights.data(), 1.0, {scores.data() + i * classes, classes}); });
    });
    return scores.numpy({self.size(), classes});
}

void bind_examples(nb::module_& m) {
    nb::class_<Examples>(m, "MulticlassExamples", "Rows of sparse features; see arbora.problems.multiclass.")
        .def("__init__",
             [](Examples* self, const Line<std::int64_t>& offsets, const Line<std::int64_t>& columns, const Line<float>& values,
                std::size_t width, float bias) { new (self) Examples(all_of(offsets), all_of(columns), all_of(values), width, bias); },
             "offsets"_a, "columns"_a, "values"_a, "width"_a, "bias"_a,
             nb::sig("def __init__(self, offsets: numpy.typing.NDArray[numpy.int64], columns: numpy.typing.NDArray[numpy.int64], values: "
                     "numpy.typing.NDArray[numpy.float32], width: int, bias: float) -> None"))
        .def("__len__", &Examples::size)
        .def_prop_ro("width", &Examples::width, "The number of columns, including the bias.")
        .def("scores", &scores_of, "weights"_a, "classes"_a, "threads"_a,
             nb::sig("def scores(self, weights: numpy.typing.NDArray[numpy.float32], classes: int, threads: int) -> " ARBORA_DOUBLES),
             "Of every class for every row, (rows, classes); weights[column * classes + class].");
}

void bind_candidates(nb::module_& m) {
    nb::class_<Candidates>(m, "MulticlassCandidates", "Wrong classes of one example; see arbora.interfaces.Candidates.")
        .def("best", [](const Candidates& self) { return tuple_of(self.best()); }, nb::sig("def best(self) -> " ARBORA_REPLY))
        .def("losses", [](const Candidates& self) { return copied(self.losses()); }, nb::sig("def losses(self) -> " ARBORA_DOUBLES))
        .def("margins", [](const Candidates& self) { return copied(self.margins()); }, nb::sig("def margins(self) -> " ARBORA_DOUBLES))
        .def("gram", [](const Candidates& self) {
                const std::size_t m = self.losses().size();
                const auto gram = self.gram();
                Output<double> output(gram.size());
                std::copy(gram.begin(), gram.end(), output.data());
                return output.numpy({m, m});
            }, nb::sig("def gram(self) -> " ARBORA_DOUBLES))
        .def("add_to", [](const Candidates& self, Weights& w, const Line<double>& multipliers) { self.add_to(w, all_of(multipliers)); },
             "w"_a, "multipliers"_a, nb::sig("def add_to(self, w: Weights, multipliers: " ARBORA_DOUBLES ") -> None"));
}

void bind_questions(nb::module_& m) {
    nb::class_<Questions> bound(m, "MulticlassQuestions", "A learner's queries about classes of examples; see arbora.problems.multiclass.");
    bound.def("__init__",
              [](Questions* self, const Examples& examples, const Line<std::int32_t>& right, const Input& costs, int threads) {
                  new (self) Questions(examples, {right.data(), right.data() + right.size()}, {costs.data(), costs.data() + costs.size()}, threads);
              },
              "examples"_a, "right"_a, "costs"_a, "threads"_a, nb::keep_alive<1, 2>(),
              nb::sig("def __init__(self, examples: MulticlassExamples, right: numpy.typing.NDArray[numpy.int32], costs: " ARBORA_DOUBLES
                      ", threads: int) -> None"))
        .def("wrong_candidates", [](const Questions& self, std::size_t example, const Weights& weights, std::size_t k) {
                check_example(self, example);
                return self.wrong_candidates(example, weights, k);
            }, "example"_a, "weights"_a, "k"_a, nb::keep_alive<0, 1>());
    def_questions_with_sums(bound);
    def_gradient(def_candidates(bound), true);
}

nb::tuple expanded(const Line<std::int64_t>& offsets, const Line<std::int64_t>& columns, const Line<float>& values, int bits) {
    const auto made = without_lock([&] { return multiclass::quadratic_expansion(all_of(offsets), all_of(columns), all_of(values), bits); });
    return nb::make_tuple(copied(made.offsets), copied(made.columns), copied(made.values));
}

}  // namespace

void bind_multiclass(nb::module_& m) {
    bind_examples(m);
    bind_candidates(m);
    bind_questions(m);
    m.def("quadratic_expansion", &expanded, "offsets"_a, "columns"_a, "values"_a, "bits"_a,
          nb::sig("def quadratic_expansion(offsets: numpy.typing.NDArray[numpy.int64], columns: numpy.typing.NDArray[numpy.int64], values: "
                  "numpy.typing.NDArray[numpy.float32], bits: int) -> tuple[numpy.typing.NDArray[numpy.int64], "
                  "numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.float32]]"),
          "Features and pairs of features, hashed to 2^bits columns: offsets, columns, values.");
}

}  // namespace arbora
