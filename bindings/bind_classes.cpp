// core/classes for Python: word classes.
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "arrays.hpp"
#include "text/exchange.hpp"

#define ARBORA_INTS "numpy.typing.NDArray[numpy.int32]"

namespace arbora {

namespace {

using namespace nb::literals;
using Words = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

nb::object exchanged(const Words& text, const Words& start, std::size_t classes, std::size_t rounds) {
    classes::Exchanged found;
    {
        const nb::gil_scoped_release release;
        found = classes::exchange({text.data(), text.size()}, {start.data(), start.data() + start.size()}, classes, rounds);
    }
    Output<std::int32_t> output(found.classes.size());
    std::copy(found.classes.begin(), found.classes.end(), output.data());
    return nb::make_tuple(output.numpy({found.classes.size()}), found.values, found.moved);
}

}  // namespace

void bind_classes(nb::module_& m) {
    m.def("exchange_classes", &exchanged, "text"_a, "start"_a, "classes"_a, "rounds"_a,
          nb::sig("def exchange_classes(text: " ARBORA_INTS ", start: " ARBORA_INTS
                  ", classes: int, rounds: int) -> tuple[" ARBORA_INTS ", list[float], list[int]]"),
          "Classes of words by the exchange algorithm: of each word, the value before and after each round, and how many words moved in it.");
}

}  // namespace arbora
