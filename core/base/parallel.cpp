#include "base/parallel.hpp"

#include <thread>
#include <vector>

namespace arbora {

void SharedLoop::fail(std::size_t index) {
    const std::lock_guard lock(mutex_);
    if (error_ && index > error_index_) return;
    error_index_ = index;
    error_ = std::current_exception();
    is_over_ = true;
}

// The first interruption has the reason; later ones come from the flag.
void SharedLoop::interrupt() {
    const std::lock_guard lock(mutex_);
    if (!interruption_) interruption_ = std::current_exception();
    is_over_ = is_interrupted_ = true;
}

void SharedLoop::run(int extra, const std::function<void(int)>& work) {
    std::vector<std::thread> pool;
    running_ = extra;
    for (int worker = 1; worker <= extra; ++worker) {
        pool.emplace_back([this, worker, &work] {
            {
                const FollowStopFlag follow(is_interrupted_);
                work(worker);
            }
            const std::lock_guard lock(mutex_);
            --running_;
            ended_.notify_one();
        });
    }
    work(0);
    wait();
    for (auto& thread : pool) thread.join();
    if (interruption_) std::rethrow_exception(interruption_);
    if (error_) std::rethrow_exception(error_);
}

// Wait until the other threads have ended; this thread keeps checking for a reason to stop.
void SharedLoop::wait() {
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, kPollInterval, [this] { return running_ == 0; })) {
        if (is_interrupted_) continue;
        lock.unlock();
        try {
            check_stop_now();
        } catch (const Interrupted&) {
            interrupt();
        }
        lock.lock();
    }
}

}  // namespace arbora
