#include <atomic>
#include <stdexcept>
#include <string>

#include "check.hpp"
#include "base/parallel.hpp"

namespace parallel_tests {

using arbora::parallel_for;

TEST(parallel_for_visits_each_index_once) {
    for (const int threads : {-1, 0, 1, 2, 3, 16}) {
        for (const std::size_t count : {0u, 1u, 2u, 7u, 1000u}) {
            std::vector<std::atomic<int>> visits(count);
            std::atomic<bool> numbered{true};
            parallel_for(count, threads, [&](int worker, std::size_t i) {
                ++visits[i];
                if (worker < 0 || worker >= std::max(1, threads)) numbered = false;
            });
            for (const auto& visit : visits) CHECK(visit == 1);
            CHECK(numbered);
        }
    }
}

TEST(parallel_for_gives_each_worker_its_own_number) {
    std::vector<std::atomic<int>> busy(4);
    std::atomic<bool> shared{false};
    parallel_for(2000, 4, [&](int worker, std::size_t) {
        if (busy[worker]++ != 0) shared = true;
        --busy[worker];
    });
    CHECK(!shared);
}

TEST(parallel_for_rethrows_the_lowest_index) {
    for (const int threads : {1, 2, 4}) {
        std::atomic<int> ran{0};
        std::string message;
        try {
            parallel_for(100, threads, [&](int, std::size_t i) {
                ++ran;
                throw std::runtime_error(std::to_string(i));
            });
        } catch (const std::runtime_error& error) {
            message = error.what();
        }
        // Index 0 is always handed out first, so it runs, and throws, whatever else does.
        CHECK(message == "0");
        CHECK(ran >= 1 && ran <= threads);
    }
}

TEST(parallel_for_stops_after_an_exception) {
    for (const int threads : {1, 3}) {
        std::atomic<int> ran{0};
        bool caught = false;
        try {
            parallel_for(1000000, threads, [&](int, std::size_t i) {
                ++ran;
                if (i == 10) throw std::invalid_argument("ten");
            });
        } catch (const std::invalid_argument&) {
            caught = true;
        }
        CHECK(caught && ran >= 11 && ran < 1000000);
    }
}

}  // namespace parallel_tests
