// What the bindings of learners' questions share: one-dimensional arrays in and out, chosen examples, replies.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "base/errors.hpp"
#include "numeric/reply.hpp"
#include "numeric/weights.hpp"

namespace arbora {

template <class T>
using Line = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
nb::object copied(const std::vector<T>& values) {
    Output<T> output(values.size());
    std::copy(values.begin(), values.end(), output.data());
    return output.numpy({values.size()});
}

inline void check_size(std::size_t got, std::size_t expected, const char* name) {
    if (got != expected)
        throw InputError(std::string(name) + ": expected " + std::to_string(expected) + " weights, got " + std::to_string(got));
}

// InputError's cousin of Python, where a number names no sentence.
inline std::vector<std::int64_t> chosen_of(const Line<std::int64_t>& sentences, std::size_t size) {
    std::vector<std::int64_t> chosen(sentences.data(), sentences.data() + sentences.size());
    for (const auto s : chosen)
        if (s < 0 || static_cast<std::size_t>(s) >= size) throw nb::index_error("sentence out of range");
    return chosen;
}

inline nb::object tuple_of(const Reply& reply) { return nb::make_tuple(reply.loss, reply.margin, SparseVector(reply.difference)); }

// The reply of `ask`, which runs without Python's lock.
template <class Ask>
nb::object answer(Ask&& ask) {
    Reply reply;
    {
        const nb::gil_scoped_release release;
        reply = ask();
    }
    return tuple_of(reply);
}

// The same for several replies.
template <class Ask>
nb::object answers(Ask&& ask) {
    std::vector<Reply> replies;
    {
        const nb::gil_scoped_release release;
        replies = ask();
    }
    nb::list result;
    for (const auto& reply : replies) result.append(tuple_of(reply));
    return result;
}

// What learners ask of every search that answers for a sentence at a time.
template <class Questions>
void def_answers(nb::class_<Questions>& bound) {
    const auto check_sentence = [](const Questions& self, std::size_t sentence) {
        if (sentence >= self.size()) throw nb::index_error("sentence out of range");
    };
    bound.def("__len__", &Questions::size)
        .def_prop_ro("weight_count", &Questions::weight_count)
        .def("ask", [check_sentence](Questions& self, std::size_t sentence, const Weights& weights, bool cost_augmented) {
                check_sentence(self, sentence);
                return answer([&] { return self.ask(sentence, weights, cost_augmented); });
            }, nb::arg("sentence"), nb::arg("weights"), nb::arg("cost_augmented"),
            nb::sig("def ask(self, sentence: int, weights: Weights, cost_augmented: bool) -> tuple[float, float, SparseVector]"))
        .def("total", [](Questions& self, const Line<std::int64_t>& sentences, const Weights& weights, bool cost_augmented) {
                const auto chosen = chosen_of(sentences, self.size());
                return answer([&] { return self.total(chosen, weights, cost_augmented); });
            }, nb::arg("sentences"), nb::arg("weights"), nb::arg("cost_augmented"),
            nb::sig("def total(self, sentences: numpy.typing.NDArray[numpy.int64], weights: Weights, cost_augmented: bool) -> "
                    "tuple[float, float, SparseVector]"))
        .def("candidates", [check_sentence](Questions& self, std::size_t sentence, const Weights& weights, int k) {
                check_sentence(self, sentence);
                if (k < 1) throw InputError("k: expected at least 1, got " + std::to_string(k));
                return answers([&] { return self.candidates(sentence, weights, k); });
            }, nb::arg("sentence"), nb::arg("weights"), nb::arg("k"),
            nb::sig("def candidates(self, sentence: int, weights: Weights, k: int) -> list[tuple[float, float, SparseVector]]"));
}

}  // namespace arbora
