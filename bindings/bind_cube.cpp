// core/cube for Python: models of higher order, their trees, and a learner's queries.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "arrays.hpp"
#include "search/cube/batch.hpp"
#include "graph.hpp"

namespace arbora {

namespace {

using namespace nb::literals;
using cube::Model;
using cube::Questions;
using feature::Encoded;
using hypergraph::Update;

Update update_of(const std::string& name) {
    if (name == "standard") return Update::standard;
    if (name == "skip") return Update::skip;
    if (name == "s-max") return Update::s_max;
    if (name == "p-max") return Update::p_max;
    throw InputError("update: expected standard, skip, s-max or p-max, got " + name);
}

void make_model(Model* self, const graph::Model& parts, const TemplateList& chains, const TemplateList& lineages, const TemplateList& closings,
                int beam, int most_labels, double labels_within) {
    if (beam < 1 || most_labels < 1) throw InputError("beam, most_labels: expected at least 1, got " + std::to_string(std::min(beam, most_labels)));
    Model model(parts, feature::Contexts({atoms_of<feature::ContextAtom>(chains), atoms_of<feature::ContextAtom>(lineages), atoms_of<feature::ContextAtom>(closings)}));
    model.beam = beam;
    model.most_labels = most_labels;
    model.labels_within = labels_within;
    new (self) Model(std::move(model));
}

// Checked weights and pruner of a parser.
struct Given {
    cube::WeightView weights;
    graph::Pruner pruner;
    bool pruned = false;

    Given(const Model& model, const Line<float>& tree, const Floats& labels, const Floats& label_filter, const graph::Model* pruner_model,
          const Floats& pruner_weights, const PruningSettings& pruning) {
        check_size(tree.size(), model.graph.tree_size, "tree");
        if (model.graph.labels > 0) check_size(labels ? labels->size() : 0, model.graph.label_size, "labels");
        if (label_filter) check_size(label_filter->size(), model.graph.label_size, "label_filter");
        weights = {{tree.data(), labels ? labels->data() : nullptr, 1.0}, label_filter ? label_filter->data() : nullptr};
        pruned = pruner_model != nullptr && pruner_weights;
        if (pruned) pruner = pruner_of(*pruner_model, *pruner_weights, pruning);
    }
    const graph::Pruner* chosen() const { return pruned ? &pruner : nullptr; }
};

nb::object parse_batch(const Model& self, const Encoded& sentences, const Line<float>& tree, const Floats& labels, const Floats& label_filter,
                       const graph::Model* pruner_model, const Floats& pruner_weights, const PruningSettings& pruning, bool keep_heads, int threads) {
    const Given given(self, tree, labels, label_filter, pruner_model, pruner_weights, pruning);
    return tuple_of(without_lock([&] { return cube::parse(sentences, self, given.weights, given.chosen(), threads, keep_heads); }));
}

nb::object kbest_batch(const Model& self, const Encoded& sentences, const Line<float>& tree, const Floats& labels, const Floats& label_filter,
                       const graph::Model* pruner_model, const Floats& pruner_weights, const PruningSettings& pruning, int k, bool keep_heads, int threads) {
    const Given given(self, tree, labels, label_filter, pruner_model, pruner_weights, pruning);
    if (k < 1) throw InputError("k: expected at least 1, got " + std::to_string(k));
    return tuple_of(without_lock([&] { return cube::kbest(sentences, self, given.weights, given.chosen(), k, threads, keep_heads); }));
}

void bind_model(nb::module_& m) {
    nb::class_<Model>(m, "CubeModel", "A graph model with contexts of higher order, searched by cube pruning; see arbora.scorers.cube.")
        .def("__init__", &make_model, nb::kw_only(), "parts"_a, "chains"_a, "lineages"_a, "closings"_a, "beam"_a, "most_labels"_a, "labels_within"_a)
        .def("parse", &parse_batch, "sentences"_a, "tree"_a, "labels"_a.none(), "label_filter"_a.none(), "pruner"_a.none(), "pruner_weights"_a.none(), "pruning"_a,
             "keep_heads"_a, "threads"_a,
             nb::sig("def parse(self, sentences: Encoded, tree: numpy.typing.NDArray[numpy.float32], "
                     "labels: numpy.typing.NDArray[numpy.float32] | None, label_filter: numpy.typing.NDArray[numpy.float32] | None, pruner: GraphModel | None, "
                     "pruner_weights: numpy.typing.NDArray[numpy.float32] | None, pruning: Pruning, keep_heads: bool, threads: int) "
                     "-> tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.int32]]"))
        .def("kbest", &kbest_batch, "sentences"_a, "tree"_a, "labels"_a.none(), "label_filter"_a.none(), "pruner"_a.none(), "pruner_weights"_a.none(), "pruning"_a,
             "k"_a, "keep_heads"_a, "threads"_a,
             nb::sig("def kbest(self, sentences: Encoded, tree: numpy.typing.NDArray[numpy.float32], "
                     "labels: numpy.typing.NDArray[numpy.float32] | None, label_filter: numpy.typing.NDArray[numpy.float32] | None, pruner: GraphModel | None, "
                     "pruner_weights: numpy.typing.NDArray[numpy.float32] | None, pruning: Pruning, k: int, keep_heads: bool, threads: int) "
                     "-> tuple[numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.int32], "
                     "numpy.typing.NDArray[numpy.int32]]"));
}

void bind_questions(nb::module_& m) {
    nb::class_<Questions> bound(m, "CubeQuestions", "A learner's queries about a treebank; see arbora.problems.cube.");
    bound.def("__init__", [](Questions* self, const Model& model, const Encoded& sentences, const KeptArcs* arcs, const Floats& label_filter, const std::string& update,
                            int threads, const std::tuple<double, double>& cost) {
                if (label_filter) check_size(label_filter->size(), model.graph.label_size, "label_filter");
                new (self) Questions(model, sentences, arcs == nullptr ? nullptr : &arcs->sets, update_of(update),
                                     label_filter ? label_filter->data() : nullptr, threads, cost_of(cost));
            }, "model"_a, "sentences"_a, "arcs"_a.none(), "label_filter"_a.none().noconvert(), "update"_a, "threads"_a, "cost"_a, nb::keep_alive<1, 2>(),
            nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>(),
            nb::sig("def __init__(self, model: CubeModel, sentences: Encoded, arcs: KeptArcs | None, "
                    "label_filter: numpy.typing.NDArray[numpy.float32] | None, update: str, threads: int, cost: tuple[float, float]) -> None"));
    def_questions(bound);
    def_candidates(bound).def("take_tally", [](Questions& self) {
                const cube::Tally tally = self.take_tally();
                return nb::make_tuple(tally.asked, tally.non_violations);
            }, nb::sig("def take_tally(self) -> tuple[int, int]"));
}

}  // namespace

void bind_cube(nb::module_& m) {
    bind_model(m);
    bind_questions(m);
}

}  // namespace arbora
