// A loop over independent indices on several threads. Results do not depend on the number of threads: each index is computed alone.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace arbora {

// body(worker, index) for all indices below count; workers are numbered from 0. Where bodies throw, the exception of the lowest
// index that ran is rethrown once all threads have stopped.
template <class Body>
void parallel_for(std::size_t count, int threads, Body body) {
    if (threads <= 1 || count <= 1) {
        for (std::size_t i = 0; i < count; ++i) body(0, i);
        return;
    }
    std::atomic<std::size_t> next{0};
    std::atomic<bool> stop{false};
    std::mutex mutex;
    std::exception_ptr error;
    std::size_t error_index = count;
    const auto work = [&](int worker) {
        for (std::size_t i; !stop && (i = next++) < count;) {
            try {
                body(worker, i);
            } catch (...) {
                const std::lock_guard lock(mutex);
                stop = true;
                if (i < error_index) {
                    error_index = i;
                    error = std::current_exception();
                }
            }
        }
    };
    std::vector<std::thread> pool;
    const int extra = static_cast<int>(count < static_cast<std::size_t>(threads) ? count : threads) - 1;
    for (int worker = 1; worker <= extra; ++worker) pool.emplace_back(work, worker);
    work(0);
    for (auto& thread : pool) thread.join();
    if (error) std::rethrow_exception(error);
}

}  // namespace arbora
