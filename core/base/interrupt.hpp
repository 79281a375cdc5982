// How long computations are stopped: by Ctrl-C, or because the process ends.
//
// Loops that may run long call check_stop(), which throws Interrupted once the computation is to stop. A thread that entered the core
// from outside looks for a reason itself: request_stop(), and every kPollInterval the hook, which in the Python module runs Python's
// signal handlers. Threads that parallel_for started only read a flag, which the thread that called parallel_for sets.
//
// A check costs a few instructions. Where to put one: where the loop may take more than some milliseconds between two checks. An object
// whose call was interrupted can be used again, unless its header says otherwise.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>

namespace arbora {

// The computation was told to stop. A hook may throw a derived class that says why.
struct Interrupted : std::exception {
    const char* what() const noexcept override;
};

inline constexpr std::chrono::milliseconds kPollInterval{50};

// Throws Interrupted if the computation is to stop. `work` says how much was done since the last check, in steps of about a nanosecond:
// the clock is only read after enough of it. O(1). Kernels include this header, so nothing here is inlined into them.
void check_stop(std::size_t work = 4096);
// The same, whatever work was done.
void check_stop_now();

// Throws to stop the computations of the thread that calls it; null: no hook. interval: the least time between two calls in a thread.
using StopHook = void (*)();
void set_stop_hook(StopHook hook, std::chrono::nanoseconds interval = kPollInterval);

// Stops all computations of the process, and those that begin later, until it is taken back. Short ones may still end.
void request_stop(bool stop);

// While it lives, the checks of this thread read a flag and nothing else.
class FollowStopFlag {
public:
    explicit FollowStopFlag(const std::atomic<bool>& flag);
    ~FollowStopFlag();
    FollowStopFlag(const FollowStopFlag&) = delete;

private:
    const std::atomic<bool>* before_;
};

}  // namespace arbora
