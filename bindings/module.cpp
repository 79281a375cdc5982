// The native module arbora._core: one bind_<folder>.cpp each, listed here.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

void bind_conll(nb::module_& m);

NB_MODULE(_core, m) {
    m.doc() = "Native core of Arbora.";
    bind_conll(m);
}
