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
    UnsetVector<float> type_rows;  // one thread's serve all
    UnsetVector<float> here, below, inner;
    Lstm::Workspace lstm;

    std::size_t bytes() const { return (type_rows.capacity() + here.capacity() + below.capacity() + inner.capacity()) * sizeof(float); }
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
