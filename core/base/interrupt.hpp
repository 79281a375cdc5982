// Interruption: how computations stop, on Ctrl-C or because the process ends.
//
// Loops that may run long call check_stop(), which throws Interrupted to stop the computation. A thread that entered the core from
// outside checks two sources: request_stop(), and, every kPollInterval, the hook, which in the Python module runs Python's signal
// handlers. Threads started by parallel_for only read a flag, which the thread that called parallel_for sets.
//
// A check costs a few instructions. Put one in every loop that may take more than some milliseconds between checks. An object can
// be used again after an interrupted call, unless its header says otherwise.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>

namespace arbora {

// The computation must stop. A hook may throw a derived class with the reason.
struct Interrupted : std::exception {
    const char* what() const noexcept override;
};

inline constexpr std::chrono::milliseconds kPollInterval{50};

// Throws Interrupted if the computation must stop. `work` is the amount of work since the last check, in steps of about a
// nanosecond: the clock is read only after enough of it. O(1). Kernels include this header, so nothing here is inlined into them.
void check_stop(std::size_t work = 4096);
// The same, without regard to the amount of work.
void check_stop_now();

// A function that throws to stop the computations of its thread; null: no hook. interval: the minimum time between two calls in a
// thread.
using StopHook = void (*)();
void set_stop_hook(StopHook hook, std::chrono::nanoseconds interval = kPollInterval);

// Stops all current and future computations of the process until it is revoked. Short ones may still finish.
void request_stop(bool stop);

// While this object lives, the checks of its thread only read a flag.
class FollowStopFlag {
public:
    explicit FollowStopFlag(const std::atomic<bool>& flag);
    ~FollowStopFlag();
    FollowStopFlag(const FollowStopFlag&) = delete;

private:
    const std::atomic<bool>* before_;
};

}  // namespace arbora
