// A bump allocator that keeps its memory between sentences: one per worker, reset before each use.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <vector>

#include "base/large_pages.hpp"

namespace arbora {

class Arena {
public:
    Arena() = default;
    Arena(Arena&&) noexcept = default;
    Arena& operator=(Arena&&) noexcept = default;

    // Everything handed out before becomes free; call once per sentence.
    void reset() {
        // One block is enough once the largest sentence has been seen.
        if (blocks_.size() > 1) {
            const std::size_t total = reserved();
            blocks_.clear();
            add_block(total);
        }
        used_ = 0;
    }

    // `count` objects, 64-byte aligned, holding whatever was there before.
    template <class T>
    T* take(std::size_t count) {
        const std::size_t bytes = (count * sizeof(T) + 63) / 64 * 64;
        if (blocks_.empty() || used_ + bytes > blocks_.back().size) {
            add_block(bytes > kSmallestBlock ? bytes : kSmallestBlock);
            used_ = 0;
        }
        T* result = reinterpret_cast<T*>(blocks_.back().memory.get() + used_);
        used_ += bytes;
        return result;
    }

    std::size_t reserved() const {
        std::size_t total = 0;
        for (const auto& block : blocks_) total += block.size;
        return total;
    }

private:
    static constexpr std::size_t kSmallestBlock = 1 << 16;

    struct Free {
        void operator()(std::byte* p) const { std::free(p); }
    };
    struct Block {
        std::unique_ptr<std::byte, Free> memory;
        std::size_t size;
    };

    void add_block(std::size_t bytes) {
        auto* memory = static_cast<std::byte*>(allocate_large(bytes));
        blocks_.push_back({std::unique_ptr<std::byte, Free>(memory), bytes});
    }

    std::vector<Block> blocks_;
    std::size_t used_ = 0;
};

}  // namespace arbora
