// What the bindings of graph parsers share.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "errors/errors.hpp"
#include "graph/batch.hpp"

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

inline graph::Pruner pruner_of(const graph::Model& model, const Line<float>& weights, int keep, double within) {
    check_size(weights.size(), graph::weight_count(model, graph::Task::tree), "pruner");
    if (model.siblings) throw InputError("pruner: expected a first-order model");
    if (keep < 1) throw InputError("keep: expected at least 1 head per word, got " + std::to_string(keep));
    return {&model, {weights.data(), nullptr, 1.0}, keep, within};
}

}  // namespace arbora
