// core/transition for Python: models, their trees, and a learner's queries.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "graph.hpp"
#include "search/transition/batch.hpp"

namespace arbora {

namespace {

using namespace nb::literals;
using feature::Encoded;
using transition::Model;
using transition::Questions;

transition::System system_of(const std::string& name, bool single_root) {
    const Roots roots = single_root ? Roots::single : Roots::multi;
    if (name == "arc-eager") return transition::ArcEager{roots};
    if (name == "arc-standard") return transition::ArcStandard{{roots}};
    if (name == "swap") return transition::Swap{{roots}};
    throw InputError("system: expected arc-eager, arc-standard or swap, got " + name);
}

search::Update update_of(const std::string& name) {
    if (name == "early") return search::Update::early;
    if (name == "max-violation") return search::Update::max_violation;
    if (name == "standard") return search::Update::standard;
    throw InputError("update: expected early, max-violation or standard, got " + name);
}

void make_model(Model* self, const std::string& system, bool single_root, const TemplateList& moves, const TemplateList& labels, int label_count,
                const Line<std::uint8_t>& seen, int move_bits, int label_bits, int beam, int most_labels) {
    if (beam < 1 || most_labels < 1) throw InputError("beam, most_labels: expected at least 1, got " + std::to_string(std::min(beam, most_labels)));
    Model model(system_of(system, single_root), {transition::Kind::moves, atoms_of<transition::Atom>(moves)},
                {transition::Kind::labels, atoms_of<transition::Atom>(labels)});
    model.move_size = table_size(move_bits, "move_bits");
    model.label_size = table_size(label_bits, "label_bits");
    const int most = std::min(transition::kMostLabels, static_cast<int>(model.label_size / 2));
    if (label_count < 0 || label_count > most) throw InputError("label_count: expected 0 to " + std::to_string(most) + ", got " + std::to_string(label_count));
    const std::size_t flags = std::size_t{feature::kTags} * feature::kTags * static_cast<std::size_t>(label_count);
    if (seen.size() != flags) throw InputError("seen: expected " + std::to_string(flags) + " flags, got " + std::to_string(seen.size()));
    model.labels = label_count;
    if (label_count > 0) model.label_sets = graph::LabelSets(std::vector<std::uint8_t>(seen.data(), seen.data() + seen.size()), label_count);
    model.beam = beam;
    model.most_labels = most_labels;
    new (self) Model(std::move(model));
}

graph::WeightView view_of(const Model& model, const Line<float>& moves, const Floats& labels) {
    check_size(moves.size(), model.move_size, "moves");
    if (model.labels > 0) check_size(labels ? labels->size() : 0, model.label_size, "labels");
    return {moves.data(), labels ? labels->data() : nullptr, 1.0};
}

void bind_model(nb::module_& m) {
    nb::class_<Model>(m, "TransitionModel", "A transition system with its features; see arbora.scorers.transition.")
        .def("__init__", &make_model, nb::kw_only(), "system"_a, "single_root"_a, "moves"_a, "labels"_a, "label_count"_a, "seen"_a, "move_bits"_a, "label_bits"_a,
             "beam"_a, "most_labels"_a,
             nb::sig("def __init__(self, *, system: str, single_root: bool, moves: Sequence[Sequence[tuple[int, int, int]]], "
                     "labels: Sequence[Sequence[tuple[int, int, int]]], label_count: int, seen: numpy.typing.NDArray[numpy.uint8], "
                     "move_bits: int, label_bits: int, beam: int, most_labels: int) -> None"))
        .def_prop_ro("weight_count", &Model::weight_count)
        .def("parse", [](const Model& self, const Encoded& sentences, const Line<float>& moves, const Floats& labels, bool keep_heads, int threads) {
                const graph::WeightView weights = view_of(self, moves, labels);
                return tuple_of(without_lock([&] { return transition::parse(sentences, self, weights, threads, keep_heads); }));
            }, "sentences"_a, "moves"_a, "labels"_a.none(), "keep_heads"_a, "threads"_a,
            nb::sig("def parse(self, sentences: Encoded, moves: numpy.typing.NDArray[numpy.float32], "
                    "labels: numpy.typing.NDArray[numpy.float32] | None, keep_heads: bool, threads: int) "
                    "-> tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.int32]]"))
        .def("kbest", [](const Model& self, const Encoded& sentences, const Line<float>& moves, const Floats& labels, int k, bool keep_heads, int threads) {
                const graph::WeightView weights = view_of(self, moves, labels);
                if (k < 1) throw InputError("k: expected at least 1, got " + std::to_string(k));
                return tuple_of(without_lock([&] { return transition::kbest(sentences, self, weights, k, threads, keep_heads); }));
            }, "sentences"_a, "moves"_a, "labels"_a.none(), "k"_a, "keep_heads"_a, "threads"_a,
            nb::sig("def kbest(self, sentences: Encoded, moves: numpy.typing.NDArray[numpy.float32], "
                    "labels: numpy.typing.NDArray[numpy.float32] | None, k: int, keep_heads: bool, threads: int) "
                    "-> tuple[numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.int32], "
                    "numpy.typing.NDArray[numpy.int32]]"));
}

void bind_questions(nb::module_& m) {
    nb::class_<Questions> bound(m, "TransitionQuestions", "A learner's queries about a treebank; see arbora.problems.transition.");
    bound.def("__init__", [](Questions* self, const Model& model, const Encoded& sentences, const std::string& update, bool explores, int threads,
                            const std::tuple<double, double>& cost) {
                new (self) Questions(model, sentences, {update_of(update), explores, cost_of(cost)}, threads);
            }, "model"_a, "sentences"_a, "update"_a, "explores"_a, "threads"_a, "cost"_a, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>());
    def_questions(bound);
    def_candidates(bound).def("instances", [](Questions& self) {
                const auto found = without_lock([&] { return self.instances(); });
                return nb::make_tuple(copied(found.features), copied(found.moves), copied(found.labels));
            },
            nb::sig("def instances(self) -> tuple[numpy.typing.NDArray[numpy.uint32], numpy.typing.NDArray[numpy.int8], "
                    "numpy.typing.NDArray[numpy.int32]]"));
}

}  // namespace

void bind_transition(nb::module_& m) {
    bind_model(m);
    bind_questions(m);
}

}  // namespace arbora
