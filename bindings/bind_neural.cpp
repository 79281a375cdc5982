// core/neural for Python: the forward pass of a neural parser's network.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "neural/lstm_training.hpp"
#include "neural/network.hpp"
#include "base/errors.hpp"
#include "questions.hpp"

namespace arbora {

namespace {

using namespace nb::literals;
using neural::Network;
using neural::States;
using Floats = nb::ndarray<const float, nb::c_contig, nb::device::cpu>;
using Bytes = nb::ndarray<const std::int8_t, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<const std::int8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Mask = std::optional<Line<std::uint8_t>>;
using Numbers = Line<std::int32_t>;

template <class T>
std::span<const T> span_of(const Line<T>& line) {
    return {line.data(), line.size()};
}

template <class T>
std::span<const T> span_of(const std::optional<Line<T>>& line) {
    return line ? span_of(*line) : std::span<const T>();
}

// Views of the caller's arrays, which this object keeps alive.
struct GivenTensors {
    neural::Tensors views;
    std::vector<Floats> floats;
    std::vector<Bytes> bytes;

    explicit GivenTensors(const nb::dict& given) {
        for (const auto& [name, value] : given) {
            const auto text = nb::cast<std::string>(name);
            neural::Tensor tensor;
            if (Bytes array; nb::try_cast(value, array, false)) {
                tensor.bytes = array.data();
                tensor.shape = shape_of(array);
                bytes.push_back(std::move(array));
            } else {
                auto array_of_floats = nb::cast<Floats>(value);
                tensor.data = array_of_floats.data();
                tensor.shape = shape_of(array_of_floats);
                floats.push_back(std::move(array_of_floats));
            }
            views.emplace(text, std::move(tensor));
        }
    }

private:
    template <class Array>
    static neural::Shape shape_of(const Array& array) {
        neural::Shape shape;
        for (std::size_t i = 0; i < array.ndim(); ++i) shape.push_back(array.shape(i));
        return shape;
    }
};

void make(Network* self, const nb::dict& tensors, const Rows& vectors, const Line<float>& scales, const std::vector<std::string>& outputs,
          bool quantized) {
    const GivenTensors given(tensors);
    neural::VectorTable table{{vectors.data(), vectors.data() + vectors.size()}, {scales.data(), scales.data() + scales.size()}, vectors.shape(1)};
    new (self) Network(given.views, std::move(table), outputs, quantized);
}

States encode(const Network& self, const Numbers& lengths, const Numbers& types, const Numbers& words, const Numbers& vectors,
              const Numbers& characters, const Line<std::int64_t>& ends, const std::vector<Numbers>& tags, int threads) {
    neural::Input input{span_of(lengths), span_of(types), {span_of(words), span_of(vectors), span_of(characters), span_of(ends)}, {}};
    for (const auto& column : tags) input.tags.push_back(span_of(column));
    return without_lock([&] { return self.encode(input, threads); });
}

States given_states(const Network& self, const Numbers& lengths, const nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>& rows) {
    if (rows.shape(1) != self.state_size()) reject("rows: expected ", self.state_size(), " numbers per word, got ", rows.shape(1));
    return without_lock([&] { return self.given(span_of(lengths), {rows.data(), rows.size()}); });
}

// One array per sentence, (n+1, ...) with `Axes` axes.
template <std::size_t Axes, class Fill>
nb::list score_arrays(const States& states, Fill fill) {
    std::vector<Output<double>> outputs;
    std::vector<double*> places;
    outputs.reserve(states.sentences());
    for (std::size_t s = 0; s < states.sentences(); ++s) {
        const std::size_t nodes = states.nodes(s);
        outputs.emplace_back(Axes == 2 ? nodes * nodes : nodes * nodes * nodes);
        places.push_back(outputs.back().data());
    }
    without_lock([&] { fill(places); });
    nb::list result;
    for (std::size_t s = 0; s < states.sentences(); ++s) {
        const std::size_t nodes = states.nodes(s);
        result.append(Axes == 2 ? outputs[s].numpy({nodes, nodes}) : outputs[s].numpy({nodes, nodes, nodes}));
    }
    return result;
}

nb::list arcs(const Network& self, const States& states, int threads) {
    return score_arrays<2>(states, [&](std::span<double* const> out) { self.arcs(states, threads, out); });
}

nb::list siblings(const Network& self, const States& states, int threads) {
    if (!self.has_siblings()) throw InputError("siblings: this network has none");
    return score_arrays<3>(states, [&](std::span<double* const> out) { self.siblings(states, threads, out); });
}

nb::object labels(const Network& self, const States& states, const Numbers& heads, int threads) {
    Output<float> out(heads.size() * self.label_count());
    without_lock([&] { self.labels(states, span_of(heads), threads, out.data()); });
    return out.numpy({heads.size(), self.label_count()});
}

nb::object labels_of(const Network& self, const States& states, std::size_t sentence, const Numbers& heads) {
    Output<float> out(heads.size() * self.label_count());
    without_lock([&] { self.labels_of(states, sentence, span_of(heads), out.data()); });
    return out.numpy({heads.size(), self.label_count()});
}

nb::object outputs(const Network& self, const States& states, std::size_t which, int threads) {
    if (which >= self.output_count()) throw InputError("which: expected a number below " + std::to_string(self.output_count()) + ", got " + std::to_string(which));
    Output<float> out(states.words() * self.output_size(which));
    without_lock([&] { self.outputs(states, which, threads, out.data()); });
    return out.numpy({states.words(), self.output_size(which)});
}

// One whole number for each word.
template <class Fill>
nb::object numbers(const States& states, Fill fill) {
    Output<std::int32_t> out(states.words());
    without_lock([&] { fill(out.data()); });
    return out.numpy({states.words()});
}

nb::object trees(const Network& self, const States& states, bool projective, bool single_root, const std::optional<Numbers>& given, int threads) {
    if (given && given->size() != states.words())
        throw InputError("given: expected " + std::to_string(states.words()) + " heads, got " + std::to_string(given->size()));
    const Trees family = projective ? Trees::projective : Trees::nonprojective;
    const Roots roots = single_root ? Roots::single : Roots::multi;
    return numbers(states, [&](std::int32_t* out) { self.trees(states, family, roots, span_of(given), threads, out); });
}

nb::object best_labels(const Network& self, const States& states, const Numbers& heads, int threads, const Mask& root, const Mask& other) {
    return numbers(states, [&](std::int32_t* out) { self.best_labels(states, span_of(heads), {span_of(root), span_of(other)}, threads, out); });
}

nb::object best_outputs(const Network& self, const States& states, int threads) {
    Output<std::int32_t> out(self.output_count() * states.words());
    without_lock([&] { self.best_outputs(states, threads, out.data()); });
    return out.numpy({self.output_count(), states.words()});
}

// Arrays of an LSTM in training, with checked shapes.
using Table = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using WritableTable = nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class Array>
void require_shape(const char* name, const Array& array, std::size_t rows, std::size_t columns) {
    if (array.shape(0) != rows || array.shape(1) != columns) reject(name, ": expected ", rows, " x ", columns, ", got ", array.shape(0), " x ", array.shape(1));
}

// The tokens of all sequences.
std::size_t checked_tokens(const Numbers& counts) {
    std::size_t tokens = 0;
    for (std::size_t t = 0; t < counts.size(); ++t) {
        const std::int32_t count = counts.data()[t], most = t == 0 ? count : counts.data()[t - 1];
        if (count < 1 || count > most) reject("counts: expected non-increasing numbers of at least 1, got ", count, " at ", t);
        tokens += static_cast<std::size_t>(count);
    }
    return tokens;
}

std::size_t checked_size(const Table& recurrent) {
    const std::size_t size = recurrent.shape(1);
    if (size == 0 || size % 4 != 0) reject("recurrent: expected a multiple of 4 columns, got ", size);
    require_shape("recurrent", recurrent, 4 * size, size);
    return size;
}

nb::tuple lstm_forward(const WritableTable& gates, const Table& recurrent, const Numbers& counts, bool is_backward) {
    const std::size_t tokens = checked_tokens(counts), size = checked_size(recurrent);
    require_shape("gates", gates, tokens, 4 * size);
    Output<float> cells(tokens * size), shown(tokens * size), states(tokens * size);
    const neural::LstmArrays arrays{size, recurrent.data(), gates.data(), cells.data(), shown.data(), states.data()};
    without_lock([&] { neural::lstm_forward({span_of(counts), is_backward}, arrays); });
    return nb::make_tuple(cells.numpy({tokens, size}), shown.numpy({tokens, size}), states.numpy({tokens, size}));
}

nb::tuple lstm_backward(const Table& given, const WritableTable& gates, const WritableTable& cells, const WritableTable& shown,
                        const WritableTable& states, const Table& recurrent, const Numbers& counts, bool is_backward) {
    const std::size_t tokens = checked_tokens(counts), size = checked_size(recurrent);
    require_shape("gates", gates, tokens, 4 * size);
    require_shape("given", given, tokens, size);
    for (const auto& [name, array] : {std::pair{"cells", &cells}, {"shown", &shown}, {"states", &states}}) require_shape(name, *array, tokens, size);
    Output<float> slopes(tokens * 4 * size), before(tokens * size);
    const neural::LstmArrays arrays{size, recurrent.data(), gates.data(), cells.data(), shown.data(), states.data()};
    without_lock([&] { neural::lstm_backward({span_of(counts), is_backward}, arrays, given.data(), slopes.data(), before.data()); });
    return nb::make_tuple(slopes.numpy({tokens, 4 * size}), before.numpy({tokens, size}));
}

#define ARBORA_ARRAY(type) "numpy.typing.NDArray[numpy." type "]"
#define ARBORA_INTS ARBORA_ARRAY("int32")
#define ARBORA_FLOATS ARBORA_ARRAY("float32")
#define ARBORA_ANSWER(name, arguments, result) nb::sig("def " name "(self, states: NetworkStates, " arguments ") -> " result)

void def_scores(nb::class_<Network>& bound) {
    bound
        .def("arcs", &arcs, "states"_a, "threads"_a, "The scores of arcs of each sentence, (n+1, n+1).",
             ARBORA_ANSWER("arcs", "threads: int", "list[" ARBORA_ARRAY("float64") "]"))
        .def("siblings", &siblings, "states"_a, "threads"_a, "The scores of siblings of each sentence, (n+1, n+1, n+1): head, dep, sibling.",
             ARBORA_ANSWER("siblings", "threads: int", "list[" ARBORA_ARRAY("float64") "]"))
        .def("labels_of", &labels_of, "states"_a, "sentence"_a, "heads"_a, "The scores of labels of the arcs of one sentence, (words, labels).",
             ARBORA_ANSWER("labels_of", "sentence: int, heads: " ARBORA_INTS, ARBORA_ARRAY("float32")))
        .def("labels", &labels, "states"_a, "heads"_a, "threads"_a, "The scores of labels of each word's arc, (words, labels).",
             ARBORA_ANSWER("labels", "heads: " ARBORA_INTS ", threads: int", ARBORA_ARRAY("float32")))
        .def("outputs", &outputs, "states"_a, "which"_a, "threads"_a, "The scores of one column of tags of each word, (words, tags).",
             ARBORA_ANSWER("outputs", "which: int, threads: int", ARBORA_ARRAY("float32")));
}

void def_answers(nb::class_<Network>& bound) {
    bound
        .def("trees", &trees, "states"_a, "projective"_a, "single_root"_a, "given"_a.none(), "threads"_a,
             "The heads of the best trees by their arcs, (words,). given: heads that words must have, -1 for any.",
             ARBORA_ANSWER("trees", "projective: bool, single_root: bool, given: " ARBORA_INTS " | None, threads: int", ARBORA_INTS))
        .def("best_labels", &best_labels, "states"_a, "heads"_a, "threads"_a, "root_labels"_a = nb::none(), "other_labels"_a = nb::none(),
             "The best label of each word's arc, (words,). The masks say which labels arcs from the root and other arcs may have.",
             ARBORA_ANSWER("best_labels", "heads: " ARBORA_INTS ", threads: int, root_labels: " ARBORA_ARRAY("uint8") " | None = None, "
                           "other_labels: " ARBORA_ARRAY("uint8") " | None = None", ARBORA_INTS))
        .def("best_outputs", &best_outputs, "states"_a, "threads"_a, "The best tag of each word in each column, (columns, words).",
             ARBORA_ANSWER("best_outputs", "threads: int", ARBORA_INTS));
}

}  // namespace

void bind_neural(nb::module_& m) {
    nb::class_<States>(m, "NetworkStates", "States of the words of some sentences, from a network's LSTM or another encoder.")
        .def("__len__", &States::sentences);
    nb::class_<Network> bound(m, "Network", "The forward pass of a neural parser: from words to scores of arcs, labels and tags, or to the best of them.");
    bound
        .def("__init__", &make, "tensors"_a, "vectors"_a, "scales"_a, "outputs"_a, "quantized"_a = false,
             "Tensors are float32, or int8 with float32 NAME.scales, one for each row. quantized: multiply in int8.",
             nb::sig("def __init__(self, tensors: dict[str, " ARBORA_ARRAY("float32") " | " ARBORA_ARRAY("int8") "], vectors: " ARBORA_ARRAY("int8") ", scales: " ARBORA_ARRAY("float32")
                     ", outputs: list[str], quantized: bool = False) -> None"))
        .def_prop_ro("parameters", &Network::parameters, "The number of weights.")
        .def_prop_ro("label_count", &Network::label_count)
        .def_prop_ro("has_siblings", &Network::has_siblings)
        .def("encode", &encode, "lengths"_a, "types"_a, "words"_a, "vectors"_a, "characters"_a, "ends"_a, "tags"_a, "threads"_a,
             nb::sig("def encode(self, lengths: " ARBORA_INTS ", types: " ARBORA_INTS ", words: " ARBORA_INTS ", vectors: " ARBORA_INTS
                     ", characters: " ARBORA_INTS ", ends: " ARBORA_ARRAY("int64") ", tags: list[" ARBORA_INTS "], threads: int) -> NetworkStates"))
        .def("given", &given_states, "lengths"_a, "rows"_a, "States from another encoder: rows holds those of all words, (words, size).",
             nb::sig("def given(self, lengths: " ARBORA_INTS ", rows: " ARBORA_ARRAY("float32") ") -> NetworkStates"));
    def_scores(bound);
    def_answers(bound);
    m.def("lstm_forward", &lstm_forward, "gates"_a, "recurrent"_a, "counts"_a, "is_backward"_a,
          "The cells, their tanh, and the states of one direction of an LSTM layer, (tokens, size) each; gates become their activations.",
          nb::sig("def lstm_forward(gates: " ARBORA_FLOATS ", recurrent: " ARBORA_FLOATS ", counts: " ARBORA_INTS
                  ", is_backward: bool) -> tuple[" ARBORA_FLOATS ", " ARBORA_FLOATS ", " ARBORA_FLOATS "]"));
    m.def("lstm_backward", &lstm_backward, "given"_a, "gates"_a, "cells"_a, "shown"_a, "states"_a, "recurrent"_a, "counts"_a, "is_backward"_a,
          "The gradient of the gates, (tokens, 4 · size), by that of the states, `given`; and the state before each token.",
          nb::sig("def lstm_backward(given: " ARBORA_FLOATS ", gates: " ARBORA_FLOATS ", cells: " ARBORA_FLOATS ", shown: " ARBORA_FLOATS
                  ", states: " ARBORA_FLOATS ", recurrent: " ARBORA_FLOATS ", counts: " ARBORA_INTS
                  ", is_backward: bool) -> tuple[" ARBORA_FLOATS ", " ARBORA_FLOATS "]"));
}

}  // namespace arbora
