// Memory of the encoder, kept between batches: fresh pages cost more than filling them.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "neural/layers.hpp"

namespace arbora::neural {

// What one thread needs for groups of sentences.
struct Workspace {
    UnsetVector<float> here, below, inner;
    Lstm::Workspace lstm;

    std::size_t bytes() const { return (here.capacity() + below.capacity() + inner.capacity()) * sizeof(float); }
};

// Arrays that many batches need: memory goes back here when the last owner is gone. Made by std::make_shared.
class ArrayPool : public std::enable_shared_from_this<ArrayPool> {
public:
    using Array = UnsetVector<float>;

    std::shared_ptr<Array> take(std::size_t size) {
        std::unique_ptr<Array> taken = kept();
        taken->clear();  // nothing is to be copied
        taken->resize(size);
        return {taken.release(), [pool = shared_from_this()](Array* array) { pool->give_back(std::unique_ptr<Array>(array)); }};
    }

private:
    static constexpr std::size_t kKeep = 6;  // states have three; those of the last batch are in use when the next one's are made

    std::unique_ptr<Array> kept() {
        const std::lock_guard lock(mutex_);
        if (kept_.empty()) return std::make_unique<Array>();
        auto taken = std::move(kept_.back());
        kept_.pop_back();
        return taken;
    }

    void give_back(std::unique_ptr<Array> array) {
        constexpr std::size_t kLargest = std::size_t{32} << 20;  // bytes; a giant's memory is not worth keeping
        const std::lock_guard lock(mutex_);
        if (kept_.size() < kKeep && array->capacity() * sizeof(float) <= kLargest) kept_.push_back(std::move(array));
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
