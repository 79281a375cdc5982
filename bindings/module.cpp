// The native module arbora._core: one bind_<folder>.cpp per folder, listed here.
#include <nanobind/nanobind.h>

#include <new>

#include "base/errors.hpp"

namespace nb = nanobind;

void bind_conll(nb::module_& m);

namespace arbora {
void bind_classes(nb::module_& m);
void bind_confidence(nb::module_& m);
void bind_cube(nb::module_& m);
void bind_graph(nb::module_& m);
void bind_inference(nb::module_& m);
void bind_interrupt(nb::module_& m);
void bind_linear(nb::module_& m);
void bind_multiclass(nb::module_& m);
void bind_neural(nb::module_& m);
void bind_sequence(nb::module_& m);
void bind_tag(nb::module_& m);
void bind_transition(nb::module_& m);
void bind_segment(nb::module_& m);
}

NB_MODULE(_core, m) {
    m.doc() = "Native core of Arbora.";
    // Do not report leaks: a treebank that a program still holds when Python exits is not our leak.
    nb::set_leak_warnings(false);
    // Map the core's exceptions to the classes of arbora.errors, which imports nothing of Arbora.
    nb::register_exception_translator([](const std::exception_ptr& error, void*) {
        const auto raise = [](const char* name, const char* what) {
            PyErr_SetString(nb::module_::import_("arbora.errors").attr(name).ptr(), what);
        };
        try {
            std::rethrow_exception(error);
        } catch (const arbora::NoTreeError& e) {
            raise("NoTreeError", e.what());
        } catch (const arbora::InputError& e) {
            raise("InputError", e.what());
        } catch (const std::bad_alloc&) {
            raise("OutOfMemoryError", "not enough memory; split long sentences, or use fewer threads or a smaller model");
        }
    });
    arbora::bind_interrupt(m);
    bind_conll(m);
    arbora::bind_inference(m);
    arbora::bind_graph(m);
    arbora::bind_classes(m);
    arbora::bind_confidence(m);
    arbora::bind_cube(m);
    arbora::bind_linear(m);
    arbora::bind_multiclass(m);
    arbora::bind_neural(m);
    arbora::bind_sequence(m);
    arbora::bind_tag(m);
    arbora::bind_transition(m);
    arbora::bind_segment(m);
}
