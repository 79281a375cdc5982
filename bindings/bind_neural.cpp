// core/neural for Python: the forward pass of a neural parser's network.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "neural/network.hpp"
#include "questions.hpp"

namespace arbora {

namespace {

using namespace nb::literals;
using neural::Network;
using neural::States;
using Given = nb::ndarray<const float, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<const std::int8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
std::span<const T> span_of(const Line<T>& line) {
    return {line.data(), line.size()};
}

neural::Tensors tensors_of(const nb::dict& given, std::vector<Given>& kept) {
    neural::Tensors tensors;
    for (const auto& [name, value] : given) {
        const auto array = nb::cast<Given>(value);
        neural::Tensor tensor{{}, array.data()};
        for (std::size_t i = 0; i < array.ndim(); ++i) tensor.shape.push_back(array.shape(i));
        tensors.emplace(nb::cast<std::string>(name), std::move(tensor));
        kept.push_back(array);
    }
    return tensors;
}

States encode(const Network& self, const Line<std::int32_t>& lengths, const Line<std::int32_t>& types, const Line<std::int32_t>& words,
              const Line<std::int32_t>& vectors, const Line<std::int32_t>& characters, const Line<std::int64_t>& ends,
              const std::vector<Line<std::int32_t>>& tags, int threads) {
    neural::Input input{span_of(lengths), span_of(types), span_of(words), span_of(vectors), span_of(characters), span_of(ends), {}};
    for (const auto& column : tags) input.tags.push_back(span_of(column));
    const nb::gil_scoped_release release;
    return self.encode(input, threads);
}

nb::list arcs(const Network& self, const States& states, int threads) {
    std::vector<Output<double>> outputs;
    outputs.reserve(states.sentences());
    for (std::size_t s = 0; s < states.sentences(); ++s) outputs.emplace_back(states.nodes(s) * states.nodes(s));
    {
        const nb::gil_scoped_release release;
        self.arcs(states, threads, [&](std::size_t s) { return outputs[s].data(); });
    }
    nb::list result;
    for (std::size_t s = 0; s < states.sentences(); ++s) result.append(outputs[s].numpy({states.nodes(s), states.nodes(s)}));
    return result;
}

}  // namespace

void bind_neural(nb::module_& m) {
    nb::class_<States>(m, "NetworkStates", "What a network's LSTM says of the words of some sentences.")
        .def("__len__", &States::sentences);
    nb::class_<Network>(m, "Network", "The forward pass of a neural parser; words in, scores of arcs, labels and tags out.")
        .def("__init__", [](Network* self, const nb::dict& tensors, const Rows& vectors, const Line<float>& scales, const std::vector<std::string>& outputs) {
                std::vector<Given> kept;
                const auto views = tensors_of(tensors, kept);
                neural::VectorTable table{{vectors.data(), vectors.data() + vectors.size()}, {scales.data(), scales.data() + scales.size()}, vectors.shape(1)};
                new (self) Network(views, std::move(table), outputs);
            }, "tensors"_a, "vectors"_a, "scales"_a, "outputs"_a,
            nb::sig("def __init__(self, tensors: dict[str, numpy.typing.NDArray[numpy.float32]], vectors: numpy.typing.NDArray[numpy.int8], "
                    "scales: numpy.typing.NDArray[numpy.float32], outputs: list[str]) -> None"))
        .def_prop_ro("parameters", &Network::parameters, "The number of weights.")
        .def_prop_ro("label_count", &Network::label_count)
        .def("encode", &encode, "lengths"_a, "types"_a, "words"_a, "vectors"_a, "characters"_a, "ends"_a, "tags"_a, "threads"_a,
             nb::sig("def encode(self, lengths: numpy.typing.NDArray[numpy.int32], types: numpy.typing.NDArray[numpy.int32], "
                     "words: numpy.typing.NDArray[numpy.int32], vectors: numpy.typing.NDArray[numpy.int32], "
                     "characters: numpy.typing.NDArray[numpy.int32], ends: numpy.typing.NDArray[numpy.int64], "
                     "tags: list[numpy.typing.NDArray[numpy.int32]], threads: int) -> NetworkStates"))
        .def("arcs", &arcs, "states"_a, "threads"_a, "The scores of arcs of each sentence, (n+1, n+1).",
             nb::sig("def arcs(self, states: NetworkStates, threads: int) -> list[numpy.typing.NDArray[numpy.float64]]"))
        .def("labels", [](const Network& self, const States& states, const Line<std::int32_t>& heads, int threads) {
                Output<float> out(heads.size() * self.label_count());
                {
                    const nb::gil_scoped_release release;
                    self.labels(states, span_of(heads), threads, out.data());
                }
                return out.numpy({heads.size(), self.label_count()});
            }, "states"_a, "heads"_a, "threads"_a, "The scores of labels of each word's arc, (words, labels).",
            nb::sig("def labels(self, states: NetworkStates, heads: numpy.typing.NDArray[numpy.int32], threads: int) -> numpy.typing.NDArray[numpy.float32]"))
        .def("outputs", [](const Network& self, const States& states, std::size_t which, int threads) {
                const std::size_t words = states.first.back() - states.sentences(), count = self.output_size(which);
                Output<float> out(words * count);
                {
                    const nb::gil_scoped_release release;
                    self.outputs(states, which, threads, out.data());
                }
                return out.numpy({words, count});
            }, "states"_a, "which"_a, "threads"_a, "The scores of one column of tags of each word, (words, tags).",
            nb::sig("def outputs(self, states: NetworkStates, which: int, threads: int) -> numpy.typing.NDArray[numpy.float32]"));
}

}  // namespace arbora
