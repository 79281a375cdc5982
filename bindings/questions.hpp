// Shared by the bindings of learners' queries: one-dimensional arrays in and out, chosen examples, replies.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "base/errors.hpp"
#include "numeric/batch_loop.hpp"

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

inline std::vector<std::int64_t> chosen_of(const Line<std::int64_t>& examples, std::size_t size) {
    std::vector<std::int64_t> chosen(examples.data(), examples.data() + examples.size());
    for (const auto s : chosen)
        if (s < 0 || static_cast<std::size_t>(s) >= size) throw nb::index_error("example out of range");
    return chosen;
}

inline nb::object tuple_of(const Reply& reply) { return nb::make_tuple(reply.loss, reply.margin, SparseVector(reply.difference)); }

// Calls body() without the GIL.
template <class Body>
auto without_lock(Body&& body) {
    const nb::gil_scoped_release release;
    return body();
}

template <class Questions>
void check_example(const Questions& self, std::size_t example) {
    if (example >= self.size()) throw nb::index_error("example out of range");
}

#define ARBORA_REPLY "tuple[float, float, SparseVector]"
#define ARBORA_DOUBLES "numpy.typing.NDArray[numpy.float64]"
#define ARBORA_CHOSEN "examples: numpy.typing.NDArray[numpy.int64], weights: Weights, "

// Queries about one example and about several. Options are bool and are passed on unchanged.
template <class... Options, class Questions, class... Names>
void def_questions(nb::class_<Questions>& bound, const nb::sig& ask, const nb::sig& total, const Names&... names) {
    bound.def("__len__", &Questions::size)
        .def_prop_ro("weight_count", &Questions::weight_count)
        .def("ask", [](Questions& self, std::size_t example, const Weights& weights, Options... options) {
                check_example(self, example);
                return tuple_of(without_lock([&] { return self.ask(example, weights, options...); }));
            }, nb::arg("example"), nb::arg("weights"), names..., ask)
        .def("total", [](Questions& self, const Line<std::int64_t>& examples, const Weights& weights, Options... options) {
                const auto chosen = chosen_of(examples, self.size());
                return tuple_of(without_lock([&] { return self.total(chosen, weights, options...); }));
            }, nb::arg("examples"), nb::arg("weights"), names..., total);
}

template <class Questions>
nb::class_<Questions>& def_questions(nb::class_<Questions>& bound) {
    def_questions<bool>(bound, nb::sig("def ask(self, example: int, weights: Weights, cost_augmented: bool) -> " ARBORA_REPLY),
                        nb::sig("def total(self, " ARBORA_CHOSEN "cost_augmented: bool) -> " ARBORA_REPLY), nb::arg("cost_augmented"));
    return bound;
}

// With sums: about all predictions instead of the best.
template <class Questions>
nb::class_<Questions>& def_questions_with_sums(nb::class_<Questions>& bound) {
    def_questions<bool, bool>(bound, nb::sig("def ask(self, example: int, weights: Weights, sums: bool, cost_augmented: bool) -> " ARBORA_REPLY),
                              nb::sig("def total(self, " ARBORA_CHOSEN "sums: bool, cost_augmented: bool) -> " ARBORA_REPLY), nb::arg("sums"),
                              nb::arg("cost_augmented"));
    return bound;
}

template <class Questions>
nb::class_<Questions>& def_candidates(nb::class_<Questions>& bound) {
    return bound.def("candidates", [](Questions& self, std::size_t example, const Weights& weights, int k) {
            check_example(self, example);
            if (k < 1) throw InputError("k: expected at least 1, got " + std::to_string(k));
            nb::list result;
            for (const Reply& reply : without_lock([&] { return self.candidates(example, weights, k); })) result.append(tuple_of(reply));
            return result;
        }, nb::arg("example"), nb::arg("weights"), nb::arg("k"),
        nb::sig("def candidates(self, example: int, weights: Weights, k: int) -> list[" ARBORA_REPLY "]"));
}

// The gradient of a loss that sums over all predictions; `options` come before cost_augmented.
template <class Questions, class... Options>
nb::class_<Questions>& def_gradient(nb::class_<Questions>& bound, Options... options) {
    return bound.def("gradient", [options...](Questions& self, const Line<std::int64_t>& examples, const Weights& weights, bool cost_augmented) {
            const auto chosen = chosen_of(examples, self.size());
            Output<double> gradient(self.weight_count());
            const double loss = without_lock([&] {
                std::fill_n(gradient.data(), self.weight_count(), 0.0);
                return self.gradient(chosen, weights, gradient.data(), options..., cost_augmented);
            });
            return nb::make_tuple(loss, gradient.numpy({self.weight_count()}));
        }, nb::arg("examples"), nb::arg("weights"), nb::arg("cost_augmented"),
        nb::sig("def gradient(self, " ARBORA_CHOSEN "cost_augmented: bool) -> tuple[float, " ARBORA_DOUBLES "]"));
}

}  // namespace arbora
