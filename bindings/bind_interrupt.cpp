// core/base/interrupt for Python: signals reach native code, and all of it can be stopped.
#include <nanobind/nanobind.h>

#include <atomic>
#include <cfenv>
#include <optional>

#include "base/interrupt.hpp"
#include "base/stop_flag.hpp"

namespace arbora {

namespace {

namespace nb = nanobind;

// Raised by a signal handler.
struct SignalRaised : Interrupted {
    nb::python_error error;
};

// The thread that runs Python's signal handlers.
std::atomic<unsigned long> main_thread;

void find_main_thread() {
    main_thread = nb::cast<unsigned long>(nb::module_::import_("threading").attr("main_thread")().attr("ident"));
}

// Python code expects the floating-point environment that it started with, but the core, for example, flushes denormals.
class DefaultFloats {
public:
    DefaultFloats() {
        std::fegetenv(&before_);
        std::fesetenv(FE_DFL_ENV);
    }
    ~DefaultFloats() { std::fesetenv(&before_); }
    DefaultFloats(const DefaultFloats&) = delete;

private:
    std::fenv_t before_;
};

void run_signal_handlers() {
    if (PyThread_get_thread_ident() != main_thread) return;
    const DefaultFloats floats;
    const nb::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) throw SignalRaised();
}

// The native calls of one `with` block, which another thread can stop.
struct StopFlag {
    std::atomic<bool> is_set{false};
    std::optional<FollowCallFlag> block;
};

void translate(const std::exception_ptr& error, void*) {
    try {
        std::rethrow_exception(error);
    } catch (SignalRaised& raised) {
        raised.error.restore();
    } catch (const Interrupted& stopped) {
        PyErr_SetString(nb::module_::import_("arbora.errors").attr("StoppedError").ptr(), stopped.what());
    }
}

}  // namespace

void bind_interrupt(nb::module_& m) {
    nb::register_exception_translator(translate);
    find_main_thread();
    const nb::module_ os = nb::module_::import_("os");
    if (nb::hasattr(os, "register_at_fork")) os.attr("register_at_fork")(nb::arg("after_in_child") = nb::cpp_function(find_main_thread));
    set_stop_hook(run_signal_handlers);
    m.def("stop_native", &request_stop, nb::arg("stop"),
          "Stop all long native calls of this process, present and future, until it is revoked; they raise StoppedError.");
    nb::class_<StopFlag>(m, "StopFlag", "Within `with flag:`, `flag.stop()` from another thread stops long native calls; they raise StoppedError.")
        .def(nb::init<>())
        .def("stop", [](StopFlag& flag) { flag.is_set = true; }, "Stop all running and later calls in the block.")
        .def_prop_ro("is_set", [](const StopFlag& flag) { return flag.is_set.load(); }, "Whether `stop` was called.")
        .def(
            "__enter__",
            [](StopFlag& flag) -> StopFlag& {
                flag.block.emplace(flag.is_set);
                return flag;
            },
            nb::rv_policy::reference)
        .def(
            "__exit__", [](StopFlag& flag, nb::args) { flag.block.reset(); }, nb::sig("def __exit__(self, *error: object) -> None"));
}

}  // namespace arbora
