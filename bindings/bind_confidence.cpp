// core/parser/confidence for Python: probabilities of heads, labels and trees.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph.hpp"
#include "parser/confidence.hpp"

namespace arbora {

namespace {

using namespace nb::literals;
using feature::Encoded;
using graph::Asked;
using graph::Confidence;
using graph::Decode;
using graph::Model;
using graph::Pruner;

// A parser's weights and the objects that use them; Python keeps all of them alive.
struct Judged {
    const Model* model = nullptr;
    Line<float> tree;
    std::optional<Line<float>> labels;
    bool staged = true;
    std::optional<Line<float>> pruner_weights;
    Pruner pruner;

    graph::WeightView weights() const { return {tree.data(), labels ? labels->data() : nullptr, 1.0}; }
    const Pruner* used_pruner() const { return pruner.model == nullptr ? nullptr : &pruner; }
};

Decode decode_of(const std::string& name) {
    if (name == "argmax") return Decode::argmax;
    if (name == "minimum-risk") return Decode::minimum_risk;
    if (name == "given") return Decode::given;
    throw InputError("decode: expected argmax, minimum-risk or given, got " + name);
}

void make_judged(Judged* self, const Model& model, Line<float> tree, std::optional<Line<float>> labels, bool staged, const Model* pruner,
                 std::optional<Line<float>> pruner_weights, const PruningSettings& pruning) {
    check_size(tree.size(), model.tree_size, "tree");
    if (labels) check_size(labels->size(), model.label_size, "labels");
    Pruner used;
    if (pruner != nullptr && pruner_weights) used = pruner_of(*pruner, *pruner_weights, pruning);
    new (self) Judged{&model, std::move(tree), std::move(labels), staged, std::move(pruner_weights), used};
}

template <class T>
void bind_array(nb::class_<Confidence>& result, const char* name, std::vector<T> Confidence::* member, const char* sig) {
    result.def_prop_ro(name, [member](const Confidence& self) { return copied(self.*member); }, nb::sig(sig));
}

void bind_result(nb::module_& m) {
    nb::class_<Confidence> result(m, "GraphConfidence", "Results of GraphJudge, all sentences in a row; see core/parser/confidence.hpp.");
#define ARBORA_ARRAY(name, dtype) bind_array(result, #name, &Confidence::name, "def " #name "(self) -> numpy.typing.NDArray[numpy." dtype "]")
    ARBORA_ARRAY(counts, "int64");
    ARBORA_ARRAY(entropies, "float64");
    ARBORA_ARRAY(log_probabilities, "float64");
    ARBORA_ARRAY(scores, "float64");
    ARBORA_ARRAY(heads, "int32");
    ARBORA_ARRAY(labels, "int32");
    ARBORA_ARRAY(head_probabilities, "float64");
    ARBORA_ARRAY(label_probabilities, "float64");
    ARBORA_ARRAY(head_entropies, "float64");
    ARBORA_ARRAY(known_head_probabilities, "float64");
    ARBORA_ARRAY(known_label_probabilities, "float64");
    ARBORA_ARRAY(arc_table, "float64");
    ARBORA_ARRAY(label_table, "float64");
#undef ARBORA_ARRAY
}

}  // namespace

void bind_confidence(nb::module_& m) {
    bind_result(m);
    nb::class_<Judged>(m, "GraphJudge", "Confidence of a graph parser; see arbora.parsing.parsed.")
        .def("__init__", &make_judged, "model"_a, "tree"_a, "labels"_a.none(), "staged"_a, "pruner"_a.none(), "pruner_weights"_a.none(), "pruning"_a,
             nb::keep_alive<1, 2>(), nb::keep_alive<1, 6>(),
             nb::sig("def __init__(self, model: GraphModel, tree: numpy.typing.NDArray[numpy.float32], "
                     "labels: numpy.typing.NDArray[numpy.float32] | None, staged: bool, pruner: GraphModel | None, "
                     "pruner_weights: numpy.typing.NDArray[numpy.float32] | None, pruning: Pruning) -> None"))
        .def("judge", [](const Judged& self, const Encoded& sentences, const std::string& decode, int k, double tree_temperature,
                         double risk_temperature, double label_temperature, double missed, bool arc_table, bool label_table, bool keep_heads, int threads) {
                const Asked asked{decode_of(decode), k,           tree_temperature, risk_temperature, label_temperature,
                                  missed,            self.staged, arc_table,        label_table,      keep_heads};
                const nb::gil_scoped_release release;
                return graph::judge(sentences, *self.model, self.weights(), asked, self.used_pruner(), threads);
            }, "sentences"_a, nb::kw_only(), "decode"_a, "k"_a, "tree_temperature"_a, "risk_temperature"_a, "label_temperature"_a, "missed"_a, "arc_table"_a,
            "label_table"_a, "keep_heads"_a, "threads"_a, "decode: argmax, minimum-risk or given; k > 0: the k most probable trees instead.")
        .def("scores", [](const Judged& self, const Encoded& sentences, std::size_t sentence, double tree_temperature, double label_temperature) {
                if (sentence >= sentences.size()) throw nb::index_error("sentence out of range");
                const Asked asked{.tree_temperature = tree_temperature, .label_temperature = label_temperature, .staged = self.staged};
                const auto found = graph::tempered_scores(sentences, sentence, *self.model, self.weights(), asked, self.used_pruner());
                const auto nodes = static_cast<std::size_t>(sentences.sentence(sentence).n) + 1;
                Output<double> output(found.size());
                std::copy(found.begin(), found.end(), output.data());
                return output.numpy({nodes, nodes});
            }, "sentences"_a, "sentence"_a, nb::kw_only(), "tree_temperature"_a, "label_temperature"_a,
            nb::sig("def scores(self, sentences: Encoded, sentence: int, *, tree_temperature: float, label_temperature: float) -> "
                    "numpy.typing.NDArray[numpy.float64]"));
}

}  // namespace arbora
