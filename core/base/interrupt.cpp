#include "base/interrupt.hpp"

#include "base/stop_flag.hpp"

namespace arbora {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kWorkBetweenPolls = std::size_t{1} << 16;

struct ThreadState {
    const std::atomic<bool>* flag = nullptr;  // of the loop that this thread works for
    const std::atomic<bool>* call = nullptr;  // of the call from outside the core
    std::size_t left = 0;                     // work until the next poll
    Clock::rep next_hook = 0;                 // when the hook may be called again
};
constinit thread_local ThreadState state;

constinit std::atomic<bool> stop_requested{false};
constinit std::atomic<StopHook> stop_hook{nullptr};
constinit std::atomic<Clock::rep> hook_interval{0};

[[gnu::noinline]] void poll() {
    state.left = kWorkBetweenPolls;
    if (stop_requested.load(std::memory_order_relaxed)) throw Interrupted();
    if (state.call != nullptr && state.call->load(std::memory_order_relaxed)) throw Interrupted();
    const StopHook hook = stop_hook.load(std::memory_order_acquire);
    if (hook == nullptr) return;
    const auto now = Clock::now().time_since_epoch().count();
    if (now < state.next_hook) return;
    state.next_hook = now + hook_interval.load(std::memory_order_relaxed);
    hook();
}

}  // namespace

const char* Interrupted::what() const noexcept { return "the computation was stopped"; }

void check_stop(std::size_t work) {
    ThreadState& own = state;
    if (own.flag != nullptr) {
        if (own.flag->load(std::memory_order_relaxed)) throw Interrupted();
    } else if (work < own.left) {
        own.left -= work;
    } else {
        poll();
    }
}

void check_stop_now() { check_stop(kWorkBetweenPolls); }

void set_stop_hook(StopHook hook, std::chrono::nanoseconds interval) {
    hook_interval = std::chrono::duration_cast<Clock::duration>(interval).count();
    stop_hook.store(hook, std::memory_order_release);
    state.next_hook = 0;
}

void request_stop(bool stop) { stop_requested = stop; }

FollowCallFlag::FollowCallFlag(const std::atomic<bool>& flag) : before_(state.call) { state.call = &flag; }
FollowCallFlag::~FollowCallFlag() { state.call = before_; }

FollowStopFlag::FollowStopFlag(const std::atomic<bool>& flag) : before_(state.flag) { state.flag = &flag; }
FollowStopFlag::~FollowStopFlag() { state.flag = before_; }

}  // namespace arbora
