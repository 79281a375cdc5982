// Sparse vectors, lazily scaled and averaged weights, and small quadratic programs, for arbora.learners.
#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "base/errors.hpp"
#include "numeric/adagrad.hpp"
#include "numeric/logistic_updates.hpp"
#include "numeric/qp.hpp"
#include "numeric/sparse.hpp"
#include "numeric/weights.hpp"

#define ARBORA_FLOATS "numpy.typing.NDArray[numpy.float32]"
#define ARBORA_DOUBLES "numpy.typing.NDArray[numpy.float64]"

namespace arbora {

namespace {

template <class T>
using Line = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using View = nb::ndarray<const T, nb::numpy, nb::ndim<1>>;

// Lists or arrays of any integer and number type, as arrays of the core.
template <class T>
Line<T> line_of(const nb::object& given, const char* what, const char* kinds, const char* type) {
    nb::object array = nb::module_::import_("numpy").attr("asarray")(given);
    const bool empty = nb::cast<std::size_t>(array.attr("size")) == 0;
    const auto kind = nb::cast<std::string>(array.attr("dtype").attr("kind"));
    if (nb::cast<int>(array.attr("ndim")) != 1 || (!empty && std::string(kinds).find(kind) == std::string::npos)) {
        throw InputError(std::string("SparseVector: ") + what + " must be one line of " + type + ", got an array of type " +
                         nb::cast<std::string>(array.attr("dtype").attr("name")) + " and shape " +
                         nb::cast<std::string>(array.attr("shape").attr("__repr__")()));
    }
    return nb::cast<Line<T>>(array.attr("astype")(sizeof(T) == 8 ? "int64" : "float32", nb::arg("order") = "C"));
}

SparseVector sparse_vector(const nb::object& given_indices, const nb::object& given_values) {
    const auto indices = line_of<std::int64_t>(given_indices, "indices", "iu", "whole numbers");
    const auto values = line_of<float>(given_values, "values", "iuf", "numbers");
    if (indices.shape(0) != values.shape(0)) {
        throw InputError("SparseVector: as many values as indices are expected, got " + std::to_string(values.shape(0)) + " for " +
                         std::to_string(indices.shape(0)));
    }
    std::vector<SparseEntry> entries(indices.shape(0));
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const std::int64_t index = indices.data()[i];
        if (index < 0 || index > std::numeric_limits<std::uint32_t>::max()) {
            throw InputError("SparseVector: an index must be from 0 to 2^32 - 1, got " + std::to_string(index));
        }
        entries[i] = {static_cast<std::uint32_t>(index), values.data()[i]};
    }
    const nb::gil_scoped_release release;
    return coalesce(std::move(entries));
}

// Arrays that view memory of a core object, which numpy then keeps alive.
template <class T>
View<T> view(const std::vector<T>& values, nb::handle owner) {
    return View<T>(values.data(), {values.size()}, owner);
}

template <class Values>
nb::object copied(const Values& values) {
    Output<std::remove_const_t<typename Values::value_type>> output(values.size());
    std::copy(values.begin(), values.end(), output.data());
    return output.numpy({values.size()});
}

nb::dict state_of(const Weights& weights) {
    const WeightsState& state = weights.state();
    nb::dict result;
    result["v"] = copied(state.v);
    result["u"] = copied(state.u);
    result["scale"] = state.scale;
    result["carried"] = state.carried;
    result["ticks"] = state.ticks;
    result["norm2"] = state.norm2;
    result["norm2_error"] = state.norm2_error;
    return result;
}

template <class T>
T field(const nb::dict& state, const char* name, const char* owner = "Weights.from_state") {
    if (!state.contains(name)) throw InputError(std::string(owner) + ": the state has no entry '" + name + "'");
    try {
        return nb::cast<T>(state[name]);
    } catch (const nb::cast_error&) {
        throw InputError(std::string(owner) + ": the entry '" + name + "' has the wrong type");
    }
}

Weights from_state(const nb::dict& state) {
    const auto v = field<Line<float>>(state, "v");
    const auto u = field<Line<double>>(state, "u");
    WeightsState made;
    made.v.assign(v.data(), v.data() + v.shape(0));
    made.u.assign(u.data(), u.data() + u.shape(0));
    made.scale = field<double>(state, "scale");
    made.carried = field<double>(state, "carried");
    made.ticks = field<double>(state, "ticks");
    made.norm2 = field<double>(state, "norm2");
    made.norm2_error = field<double>(state, "norm2_error");
    return Weights(std::move(made));
}

nb::dict adagrad_state_of(const Adagrad& steps) {
    nb::dict result;
    result["squares"] = copied(steps.state().squares);
    result["paid"] = copied(steps.state().paid);
    result["steps"] = steps.state().steps;
    return result;
}

AdagradState adagrad_state(const nb::dict& state) {
    constexpr const char* kOwner = "Adagrad.from_state";
    const auto squares = field<Line<float>>(state, "squares", kOwner);
    const auto paid = field<Line<std::uint32_t>>(state, "paid", kOwner);
    AdagradState made;
    made.squares.assign(squares.data(), squares.data() + squares.shape(0));
    made.paid.assign(paid.data(), paid.data() + paid.shape(0));
    made.steps = field<std::uint32_t>(state, "steps", kOwner);
    return made;
}

std::span<const double> all_of(const Input& array) { return {array.data(), array.size()}; }

nb::tuple solve(const Input& gram, const Input& linear, double cap, const std::optional<Input>& start) {
    QpResult result;
    {
        const nb::gil_scoped_release release;
        result = solve_qp(all_of(gram), all_of(linear), cap, start ? all_of(*start) : std::span<const double>());
    }
    return nb::make_tuple(copied(result.multipliers), result.objective, result.violation, result.converged);
}

Gain gain_of(const std::string& name) {
    if (name == "likelihood") return Gain::kLikelihood;
    if (name == "expected_cost") return Gain::kExpectedCost;
    throw InputError("gain: expected likelihood or expected_cost, got '" + name + "'");
}

Prior prior_of(const std::string& name) {
    if (name == "gauss") return Prior::kGauss;
    if (name == "laplace") return Prior::kLaplace;
    throw InputError("prior: expected gauss or laplace, got '" + name + "'");
}

nb::object logistic_multipliers(const Input& gram, const Input& margins, const Input& costs, const Input& scales, const std::string& gain,
                                const std::string& prior, double tolerance) {
    const LogisticUpdate update{all_of(gram), all_of(margins), all_of(costs), all_of(scales), gain_of(gain), prior_of(prior)};
    LogisticResult result;
    {
        const nb::gil_scoped_release release;
        result = maximize(update, {.tolerance = tolerance});
    }
    return copied(result.multipliers);
}

nb::tuple gain_and_gradient(const Input& gram, const Input& margins, const Input& costs, const Input& multipliers, const std::string& gain) {
    const std::vector<double> unused(margins.size(), 1.0);
    const LogisticUpdate update{all_of(gram), all_of(margins), all_of(costs), unused, gain_of(gain)};
    std::vector<double> gradient(margins.size());
    const double value = logistic_gain(update, all_of(multipliers), gradient);
    return nb::make_tuple(value, copied(gradient));
}

nb::object nearest_multipliers(const Input& gram, const Input& bounds, double cap) {
    return solve(gram, bounds, cap, std::nullopt)[0];
}

void bind_sparse_vector(nb::module_& m) {
    nb::class_<SparseVector>(m, "SparseVector", "Ascending distinct indices with nonzero values.")
        .def("__init__",
             [](SparseVector* self, const nb::object& indices, const nb::object& values) {
                 new (self) SparseVector(sparse_vector(indices, values));
             },
             nb::arg("indices"), nb::arg("values"),
             nb::sig("def __init__(self, indices: numpy.typing.ArrayLike, values: numpy.typing.ArrayLike) -> None"),
             "Of entries in any order; values of the same index are summed.")
        .def("__len__", &SparseVector::size)
        .def_prop_ro("indices", [](nb::handle self) { return view(nb::cast<const SparseVector&>(self).indices, self); })
        .def_prop_ro("values", [](nb::handle self) { return view(nb::cast<const SparseVector&>(self).values, self); })
        .def_prop_ro("norm2", [](const SparseVector& self) { return norm2(self); }, "The sum of squares.")
        .def("dot", [](const SparseVector& self, const SparseVector& other) { return dot(self, other); }, nb::arg("other"))
        .def("plus", [](const SparseVector& self, const SparseVector& other, double factor) { return add(self, other, factor); },
             nb::arg("other"), nb::arg("factor") = 1.0, "self + factor * other")
        .def("__add__", [](const SparseVector& a, const SparseVector& b) { return add(a, b); }, nb::is_operator())
        .def("__eq__", [](const SparseVector& a, const SparseVector& b) { return a == b; }, nb::is_operator(),
             nb::sig("def __eq__(self, other: object, /) -> bool"));
}

void bind_weights(nb::module_& m) {
    nb::class_<Weights>(m, "Weights", "w = scale * v with a running average; every operation costs what it touches.")
        .def(nb::init<std::size_t, bool>(), nb::arg("size"), nb::arg("averaged") = true)
        .def("__len__", &Weights::size)
        .def_prop_ro("size", &Weights::size)
        .def_prop_ro("averaged", &Weights::averaged)
        .def_prop_ro("scale", &Weights::scale)
        .def_prop_ro("ticks", &Weights::ticks)
        .def("add", &Weights::add, nb::arg("x"), nb::arg("step"), "w += step * x")
        .def("multiply", &Weights::multiply, nb::arg("factor"), "w *= factor")
        .def("tick", &Weights::tick, nb::arg("count") = 1.0, "Add the present w to the average.")
        .def("dot", &Weights::dot, nb::arg("x"), "<w, x>")
        .def("norm2", &Weights::norm2, "|w|^2")
        .def("values", [](const Weights& self) { return copied(self.values()); },
             nb::sig("def values(self) -> " ARBORA_FLOATS), "w, a copy.")
        .def("average", [](const Weights& self) { return copied(self.average()); },
             nb::sig("def average(self) -> " ARBORA_FLOATS), "The mean of w over all ticks.")
        .def("state", &state_of, nb::sig("def state(self) -> dict[str, typing.Any]"),
             "All there is to know, for `from_state`; the copy goes on to the same bits.")
        .def_static("from_state", &from_state, nb::arg("state"),
                    nb::sig("def from_state(state: dict[str, typing.Any]) -> Weights"));
}

void bind_adagrad(nb::module_& m) {
    nb::class_<Adagrad>(m, "Adagrad", "Steps with an adaptive size per weight, and an L2 penalty that is applied when a weight changes.")
        .def(nb::init<std::size_t, double, double, double>(), nb::arg("size"), nb::arg("rate"), nb::arg("penalty"), nb::arg("floor"))
        .def("step", &Adagrad::step, nb::arg("w"), nb::arg("ascent"), nb::arg("factor"),
             "One step on w against the gradient -factor * ascent.")
        .def("settle", &Adagrad::settle, nb::arg("w"), "Apply the penalty of all steps so far to every weight.")
        .def("state", &adagrad_state_of, nb::sig("def state(self) -> dict[str, typing.Any]"), "For `from_state`.")
        .def_static("from_state",
                    [](const nb::dict& state, double rate, double penalty, double floor) {
                        return Adagrad(adagrad_state(state), rate, penalty, floor);
                    },
                    nb::arg("state"), nb::arg("rate"), nb::arg("penalty"), nb::arg("floor"),
                    nb::sig("def from_state(state: dict[str, typing.Any], rate: float, penalty: float, floor: float) -> Adagrad"));
}

}  // namespace

void bind_linear(nb::module_& m) {
    bind_sparse_vector(m);
    bind_weights(m);
    bind_adagrad(m);
    m.def("in_memory", [](const Line<float>& weights) { return copied(std::span(weights.data(), weights.size())); }, nb::arg("weights"),
          nb::sig("def in_memory(weights: " ARBORA_FLOATS ") -> " ARBORA_FLOATS),
          "A copy that is quick to read at random places: aligned, and in large pages where the system has them.");
    m.def("nearest_multipliers", &nearest_multipliers, nb::arg("gram"), nb::arg("bounds"),
          nb::arg("cap") = std::numeric_limits<double>::infinity(),
          nb::sig("def nearest_multipliers(gram: " ARBORA_DOUBLES ", bounds: " ARBORA_DOUBLES ", cap: float = ...) -> " ARBORA_DOUBLES),
          "The multipliers of the least change with <change, d_i> >= bounds[i], where gram[i, j] = <d_i, d_j>; their sum at most cap.");
    m.def("solve_qp", &solve, nb::arg("gram"), nb::arg("linear"), nb::arg("cap"), nb::arg("start") = nb::none(),
          nb::sig("def solve_qp(gram: " ARBORA_DOUBLES ", linear: " ARBORA_DOUBLES ", cap: float, start: " ARBORA_DOUBLES
                  " | None = None) -> tuple[" ARBORA_DOUBLES ", float, float, bool]"),
          "Maximize <linear, a> - a'Ga/2 over a >= 0 with sum at most cap: (a, objective, violation, converged).");
    m.def("logistic_multipliers", &logistic_multipliers, nb::arg("gram"), nb::arg("margins"), nb::arg("costs"), nb::arg("scales"),
          nb::arg("gain"), nb::arg("prior"), nb::arg("tolerance") = LogisticOptions().tolerance,
          nb::sig("def logistic_multipliers(gram: " ARBORA_DOUBLES ", margins: " ARBORA_DOUBLES ", costs: " ARBORA_DOUBLES
                  ", scales: " ARBORA_DOUBLES ", gain: str, prior: str, tolerance: float = ...) -> " ARBORA_DOUBLES),
          "The multipliers a of a change sum a_j d_j that is best by gain (likelihood or expected_cost) less prior (gauss or laplace).");
    m.def("logistic_gain", &gain_and_gradient, nb::arg("gram"), nb::arg("margins"), nb::arg("costs"), nb::arg("multipliers"), nb::arg("gain"),
          nb::sig("def logistic_gain(gram: " ARBORA_DOUBLES ", margins: " ARBORA_DOUBLES ", costs: " ARBORA_DOUBLES
                  ", multipliers: " ARBORA_DOUBLES ", gain: str) -> tuple[float, " ARBORA_DOUBLES "]"),
          "What `logistic_multipliers` maximizes, without the prior, and its gradient.");
}

}  // namespace arbora
