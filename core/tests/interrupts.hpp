// Computations that tests stop at one check after the other.
#pragma once

#include <chrono>

#include "base/interrupt.hpp"
#include "check.hpp"

namespace interrupts {

// The exception that the hook of these tests throws.
struct Reason : arbora::Interrupted {};

inline int calls = 0, stop_at = 0;  // of the hook; stop_at 0: never

inline void hook() {
    if (++calls == stop_at) throw Reason();
}

// While it lives, the hook is called after enough work, regardless of time.
struct Hooked {
    explicit Hooked(int at) {
        calls = 0;
        stop_at = at;
        arbora::set_stop_hook(hook, std::chrono::nanoseconds(0));
        arbora::check_stop_now();  // the count begins with the next check
        calls = 0;
    }
    ~Hooked() { arbora::set_stop_hook(nullptr); }
    Hooked(const Hooked&) = delete;
};

// Stops run() at the first check, the last and some between them; nothing is computed after that. A complete run on the same
// objects then gives the same result as before. `least`: the minimum number of checks.
template <class Run>
void check_stops(const char* what, int least, Run run) {
    const auto expected = run();
    int count = 0;
    {
        const Hooked hooked(0);
        run();
        count = calls;
    }
    if (count < least) check::fail(__FILE__, __LINE__, std::string(what) + ": expected more checks than " + std::to_string(count));
    const int step = count / 5 + 1;
    for (int at = 1; at <= count; at = at < count && at + step > count ? count : at + step) {
        bool is_stopped = false;
        try {
            const Hooked hooked(at);
            run();
        } catch (const Reason&) {
            is_stopped = true;
        }
        if (!is_stopped || calls != at) check::fail(__FILE__, __LINE__, std::string(what) + ": not stopped at check " + std::to_string(at));
        if (!(run() == expected)) check::fail(__FILE__, __LINE__, std::string(what) + ": another result after check " + std::to_string(at));
    }
}

}  // namespace interrupts
