// A loop over independent indices on several threads. Results do not depend on the number of threads: each index is computed alone.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>

#include "base/interrupt.hpp"

namespace arbora {

// So many threads, but not many more than the processor runs at once: each needs memory.
int usable_threads(int threads);

// The shared state of the threads of one loop: how it ends.
class SharedLoop {
public:
    // Whether no further index may start.
    bool is_over() const { return is_over_; }
    // Within a handler: the exception of an index.
    void fail(std::size_t index);
    // Within a handler: stops the bodies of all threads at their next check.
    void interrupt();

    // Runs work(0) on this thread and work(1), ..., work(extra) on others, or on fewer where the system starts no more. Returns when
    // all have ended; throws the exception that stopped the loop.
    void run(int extra, const std::function<void(int)>& work);

private:
    void wait();

    std::atomic<bool> is_over_{false}, is_interrupted_{false};
    std::mutex mutex_;
    std::condition_variable ended_;
    int running_ = 0;  // other threads
    std::exception_ptr error_, interruption_;
    std::size_t error_index_ = 0;
};

// Calls body(worker, index) for all indices below count; workers are numbered from 0. If bodies throw, the exception of the lowest
// index that ran is rethrown after all threads have stopped. Checks for interruption between indices; an interruption takes
// precedence over other exceptions.
template <class Body>
void parallel_for(std::size_t count, int threads, Body body) {
    threads = usable_threads(threads);
    if (threads <= 1 || count <= 1) {
        for (std::size_t i = 0; i < count; ++i) {
            check_stop();
            body(0, i);
        }
        return;
    }
    std::atomic<std::size_t> next{0};
    SharedLoop loop;
    const auto work = [&](int worker) {
        for (std::size_t i; !loop.is_over() && (i = next++) < count;) {
            try {
                check_stop();
                body(worker, i);
            } catch (const Interrupted&) {
                loop.interrupt();
            } catch (...) {
                loop.fail(i);
            }
        }
    };
    loop.run(static_cast<int>(count < static_cast<std::size_t>(threads) ? count : threads) - 1, work);
}

}  // namespace arbora
