// The encoder's memory, kept between batches: fresh pages cost more than filling them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "neural/layers.hpp"

namespace arbora::neural {

// One thread's memory for groups of sentences.
struct Workspace {
    UnsetVector<float> here, below, inner;
    Lstm::Workspace lstm;

    std::size_t bytes() const { return (here.capacity() + below.capacity() + inner.capacity()) * sizeof(float); }
};

// Arrays that later batches reuse: an array returns when its last owner is gone. Made by std::make_shared.
class ArrayPool : public std::enable_shared_from_this<ArrayPool> {
public:
    using Array = UnsetVector<float>;

    std::shared_ptr<Array> take(std::size_t size) {
        std::unique_ptr<Array> taken = kept(size);
        taken->clear();  // nothing is to be copied
        if (taken->capacity() < size) *taken = Array();  // gives its memory back first
        taken->resize(size);
        return {taken.release(), [pool = shared_from_this()](Array* array) { pool->give_back(std::unique_ptr<Array>(array)); }};
    }

private:
    static constexpr std::size_t kKeep = 2;  // the arrays of one batch

    // The smallest array with room enough, else the largest.
    std::unique_ptr<Array> kept(std::size_t size) {
        const std::lock_guard lock(mutex_);
        if (kept_.empty()) return std::make_unique<Array>();
        const auto is_better = [size](const auto& a, const auto& b) {
            const std::size_t one = a->capacity(), other = b->capacity();
            return one >= size && other >= size ? one < other : one > other;
        };
        const auto best = std::min_element(kept_.begin(), kept_.end(), is_better);
        auto taken = std::move(*best);
        kept_.erase(best);
        return taken;
    }

    void give_back(std::unique_ptr<Array> array) {
        constexpr std::size_t kLargest = std::size_t{32} << 20;  // bytes; a giant's memory is not worth keeping
        const std::lock_guard lock(mutex_);
        if (array->capacity() * sizeof(float) > kLargest) return;
        if (kept_.size() == kKeep) kept_.erase(kept_.begin());  // unused for longest
        kept_.push_back(std::move(array));
    }

    std::mutex mutex_;
    std::vector<std::unique_ptr<Array>> kept_;
};

class Workspaces {
public:
    std::unique_ptr<Workspace> take() {
        const std::lock_guard lock(mutex_);
        if (kept_.empty()) return std::make_unique<Workspace>();
        auto taken = std::move(kept_.back());
        kept_.pop_back();
        bytes_ -= taken->bytes();
        return taken;
    }

    void give_back(std::unique_ptr<Workspace> workspace) {
        const std::lock_guard lock(mutex_);
        if (bytes_ + workspace->bytes() > kKeep) return;
        bytes_ += workspace->bytes();
        kept_.push_back(std::move(workspace));
    }

private:
    static constexpr std::size_t kKeep = std::size_t{64} << 20;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Workspace>> kept_;
    std::size_t bytes_ = 0;
};

}  // namespace arbora::neural
