// core/sequence for Python: labels for the words of sentences, and a learner's queries about them.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "questions.hpp"
#include "text/sequence/questions.hpp"

namespace arbora {

namespace {

using namespace nb::literals;
using sequence::Batch;
using sequence::Model;
using sequence::Questions;

void make_model(Model* self, int bits, int labels, bool transitions) {
    if (bits < sequence::kSmallestTable || bits > sequence::kLargestTable)
        throw InputError("bits: expected " + std::to_string(sequence::kSmallestTable) + " to " + std::to_string(sequence::kLargestTable) + ", got " + std::to_string(bits));
    if (labels < 1 || labels > sequence::kMostLabels)
        throw InputError("labels: expected 1 to " + std::to_string(sequence::kMostLabels) + ", got " + std::to_string(labels));
    new (self) Model{bits, labels, transitions};
}

void bind_batch(nb::module_& m) {
    nb::class_<Batch>(m, "SequenceBatch", "Sentences as places of features in the weights; see arbora.problems.sequence.")
        .def("__len__", &Batch::size)
        .def_prop_ro("words", [](const Batch& self) { return self.words(); })
        .def_prop_ro("features", [](const Batch& self) { return self.features; })
        .def("places", [](const Batch& self) { return copied(self.places); },
             nb::sig("def places(self) -> numpy.typing.NDArray[numpy.uint32]"), "The features of all words in a row.")
        .def("set_labels", [](Batch& self, const Line<std::int32_t>& labels, const Line<std::int32_t>& gold) {
                const auto words = static_cast<std::size_t>(self.offsets.back());
                if (labels.size() != words || gold.size() != words) throw InputError("labels, gold: expected one per word");
                self.labels.assign(labels.data(), labels.data() + words);
                self.gold.assign(gold.data(), gold.data() + words);
            }, "labels"_a, "gold"_a, "The number of labels each word may have, and its gold label (-1: unknown).");
}

nb::object predict(const Model& self, const Batch& batch, const Line<float>& weights, int threads) {
    check_size(weights.size(), self.weight_count(), "weights");
    return copied(without_lock([&] { return sequence::predict(self, batch, weights.data(), threads); }));
}

void bind_model(nb::module_& m) {
    nb::class_<Model>(m, "SequenceModel", "A table of weights for labels of words and for pairs of adjacent labels.")
        .def("__init__", &make_model, "bits"_a, "labels"_a, "transitions"_a)
        .def_prop_ro("weight_count", &Model::weight_count)
        .def("predict", &predict, "batch"_a, "weights"_a, "threads"_a,
             nb::sig("def predict(self, batch: SequenceBatch, weights: numpy.typing.NDArray[numpy.float32], threads: int) -> "
                     "numpy.typing.NDArray[numpy.int32]"),
             "The best label of every word.");
}

void bind_questions(nb::module_& m) {
    nb::class_<Questions> bound(m, "SequenceQuestions", "A learner's queries about labelled sentences; see arbora.problems.sequence.");
    bound.def("__init__", [](Questions* self, const Model& model, const Batch& batch, int threads) { new (self) Questions(model, batch, threads); },
              "model"_a, "batch"_a, "threads"_a, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
        .def_prop_ro("is_annotated", &Questions::is_annotated);
    def_questions_with_sums(bound);
    def_gradient(bound, true);
}

}  // namespace

void bind_sequence(nb::module_& m) {
    bind_batch(m);
    bind_model(m);
    bind_questions(m);
}

}  // namespace arbora
