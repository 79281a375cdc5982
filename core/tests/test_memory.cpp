#include <cstdint>
#include <cstring>

#include "check.hpp"
#include "base/memory.hpp"

namespace memory_tests {

using arbora::Arena;

TEST(arena_blocks_are_aligned_and_apart) {
    Arena arena;
    std::vector<std::pair<unsigned char*, std::size_t>> taken;
    for (const std::size_t size : {1u, 63u, 64u, 65u, 1000u, 70000u, 3u, 200000u, 1u}) {
        auto* memory = arena.take<unsigned char>(size);
        CHECK(reinterpret_cast<std::uintptr_t>(memory) % 64 == 0);
        std::memset(memory, static_cast<int>(taken.size()), size);
        taken.emplace_back(memory, size);
    }
    for (std::size_t i = 0; i < taken.size(); ++i) {
        for (std::size_t j = 0; j < taken[i].second; ++j) CHECK(taken[i].first[j] == i);
    }
    CHECK(arena.reserved() >= 270000);
}

TEST(arena_becomes_one_block_and_stays) {
    Arena arena;
    const auto use = [&] {
        arena.reset();
        double* first = arena.take<double>(5000);
        double* second = arena.take<double>(20000);
        std::memset(first, 1, 5000 * sizeof(double));
        std::memset(second, 1, 20000 * sizeof(double));
        return first;
    };
    use();
    const double* first = use();
    const std::size_t reserved = arena.reserved();
    for (int i = 0; i < 5; ++i) CHECK(use() == first);
    CHECK(arena.reserved() == reserved);
}

TEST(arena_gives_nothing_for_nothing) {
    Arena arena;
    arena.reset();
    CHECK(arena.reserved() == 0);
    arena.take<int>(0);
    auto* one = arena.take<int>(1);
    *one = 5;
    arena.take<int>(0);
    CHECK(*one == 5);
}

}  // namespace memory_tests
