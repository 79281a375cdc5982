// Memory in large pages where the system has them: tables that are read at random places, and charts that are walked in long
// steps, then cost no address look-ups. A hint: nothing depends on it.
#pragma once

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

namespace arbora {

// At least `bytes`, 64-byte aligned, to be given back by std::free; in large pages from 2 MB on.
inline void* allocate_large(std::size_t bytes) {
    constexpr std::size_t kLargePage = std::size_t{2} << 20;
    const std::size_t page = bytes >= kLargePage ? kLargePage : 64;
    const std::size_t size = (bytes + page - 1) / page * page;
    void* memory = std::aligned_alloc(page, size == 0 ? page : size);
    if (memory == nullptr) throw std::bad_alloc();
#if defined(MADV_HUGEPAGE)
    if (page == kLargePage) madvise(memory, size, MADV_HUGEPAGE);
#endif
    return memory;
}

template <class T>
struct LargePageAllocator {
    using value_type = T;
    LargePageAllocator() = default;
    template <class Other>
    LargePageAllocator(const LargePageAllocator<Other>&) {}
    T* allocate(std::size_t count) { return static_cast<T*>(allocate_large(count * sizeof(T))); }
    void deallocate(T* memory, std::size_t) { std::free(memory); }
    bool operator==(const LargePageAllocator&) const = default;
};

template <class T>
using LargeVector = std::vector<T, LargePageAllocator<T>>;

}  // namespace arbora
