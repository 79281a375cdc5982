// A flag that stops the computations of one thread, because their results are no longer needed. See interrupt.hpp.
#pragma once

#include <atomic>

namespace arbora {

// While this object lives, setting the flag stops the computations that this thread, a thread from outside, begins. The flag must
// outlive it.
class FollowCallFlag {
public:
    explicit FollowCallFlag(const std::atomic<bool>& flag);
    ~FollowCallFlag();
    FollowCallFlag(const FollowCallFlag&) = delete;

private:
    const std::atomic<bool>* before_;
};

}  // namespace arbora
