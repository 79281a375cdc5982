// Memory: large pages if the system has them, and a bump allocator that keeps its memory between sentences.
#pragma once

#if defined(_WIN32)
#include <malloc.h>
#elif __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

namespace arbora {

// At least `bytes`, 64-byte aligned, to be freed by free_large. From 2 MB on it uses large pages, which save address lookups.
inline void* allocate_large(std::size_t bytes) {
    constexpr std::size_t kLargePage = std::size_t{2} << 20;
    const std::size_t page = bytes >= kLargePage ? kLargePage : 64;
    const std::size_t size = (bytes + page - 1) / page * page;
#if defined(_WIN32)  // has no std::aligned_alloc
    void* memory = _aligned_malloc(size == 0 ? page : size, page);
#else
    void* memory = std::aligned_alloc(page, size == 0 ? page : size);
#endif
    if (memory == nullptr) throw std::bad_alloc();
#if defined(MADV_HUGEPAGE)
    if (page == kLargePage) madvise(memory, size, MADV_HUGEPAGE);
#endif
    return memory;
}

inline void free_large(void* memory) noexcept {
#if defined(_WIN32)
    _aligned_free(memory);
#else
    std::free(memory);
#endif
}

template <class T>
struct LargePageAllocator {
    using value_type = T;
    LargePageAllocator() = default;
    template <class Other>
    LargePageAllocator(const LargePageAllocator<Other>&) {}
    T* allocate(std::size_t count) { return static_cast<T*>(allocate_large(count * sizeof(T))); }
    void deallocate(T* memory, std::size_t) { free_large(memory); }
    bool operator==(const LargePageAllocator&) const = default;
};

template <class T>
using LargeVector = std::vector<T, LargePageAllocator<T>>;

// The same, but new numbers are uninitialized: for arrays that are filled at once.
template <class T>
struct UnsetAllocator : LargePageAllocator<T> {
    UnsetAllocator() = default;
    template <class Other>
    UnsetAllocator(const UnsetAllocator<Other>&) {}
    template <class U>
    struct rebind {
        using other = UnsetAllocator<U>;
    };
    template <class U>
    void construct(U* place) noexcept {
        ::new (static_cast<void*>(place)) U;
    }
    template <class U, class... Arguments>
    void construct(U* place, Arguments&&... arguments) {
        ::new (static_cast<void*>(place)) U(static_cast<Arguments&&>(arguments)...);
    }
};

template <class T>
using UnsetVector = std::vector<T, UnsetAllocator<T>>;

// One per worker, reset before each use.
class Arena {
public:
    Arena() = default;
    Arena(Arena&&) noexcept = default;
    Arena& operator=(Arena&&) noexcept = default;

    // Frees everything allocated before; call once per sentence.
    void reset() {
        // One block suffices after the largest sentence.
        if (blocks_.size() > 1) {
            const std::size_t total = reserved();
            blocks_.clear();
            add_block(total);
        }
        used_ = 0;
    }

    // `count` uninitialized objects, 64-byte aligned.
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
        void operator()(std::byte* p) const { free_large(p); }
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
