#include "base/parallel.hpp"

#include <algorithm>
#include <thread>
#include <vector>

namespace arbora {

int usable_threads(int threads) {
    const int most = static_cast<int>(std::max(16u, 4 * std::thread::hardware_concurrency()));
    return std::clamp(threads, 1, most);
}

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
    pool.reserve(static_cast<std::size_t>(extra));
    for (int worker = 1; worker <= extra; ++worker) {
        const auto body = [this, worker, &work] {
            {
                const FollowStopFlag follow(is_interrupted_);
                work(worker);
            }
            const std::lock_guard lock(mutex_);
            --running_;
            ended_.notify_one();
        };
        const auto add = [this](int count) {
            const std::lock_guard lock(mutex_);
            running_ += count;
        };
        add(1);
        try {
            pool.emplace_back(body);
        } catch (const std::exception&) {  // std::system_error, std::bad_alloc: the system has no more
            add(-1);
            break;
        }
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
