// Interruption: checks, hooks, loops on several threads, and long charts, which stop within a few rows and can be used again.
#include <atomic>
#include <limits>
#include <thread>
#include <vector>

#include "base/parallel.hpp"
#include "base/stop_flag.hpp"
#include "check.hpp"
#include "interrupts.hpp"
#include "problems.hpp"
#include "trees/labels.hpp"
#include "trees/queries.hpp"

namespace interrupt_tests {

using namespace arbora;
using interrupts::Hooked;
using interrupts::Reason;
using problems::Kind;
using problems::Owned;
using problems::Random;

namespace {

template <class Error, class Run>
bool throws(Run run) {
    try {
        run();
    } catch (const Error&) {
        return true;
    }
    return false;
}

[[noreturn]] void work_forever() {
    for (;;) check_stop();
}

struct StopRequest {
    StopRequest() { request_stop(true); }
    ~StopRequest() { request_stop(false); }
};

}  // namespace

TEST(check_stop_throws_while_a_stop_is_requested) {
    check_stop_now();
    {
        const StopRequest request;
        CHECK(throws<Interrupted>(check_stop_now));
        CHECK(throws<Interrupted>(work_forever));
        CHECK(throws<Interrupted>([] { parallel_for(4, 2, [](int, std::size_t) { work_forever(); }); }));
        // Checks are not too far apart for any kind of work.
        int checks = 0;
        CHECK(throws<Interrupted>([&] {
            for (;; ++checks) check_stop(1 << 12);
        }));
        CHECK(checks <= 16);
    }
    check_stop_now();
}

TEST(a_flag_stops_the_calls_of_its_own_thread_only) {
    std::atomic<bool> flag{true}, other{false};
    {
        const FollowCallFlag call(flag);
        CHECK(throws<Interrupted>(check_stop_now));
        CHECK(throws<Interrupted>([] { parallel_for(4, 2, [](int, std::size_t) { work_forever(); }); }));
        bool is_stopped = true;
        std::thread([&] { is_stopped = throws<Interrupted>(check_stop_now); }).join();
        CHECK(!is_stopped);
        {
            const FollowCallFlag inner(other);
            check_stop_now();
        }
        CHECK(throws<Interrupted>(check_stop_now));
    }
    check_stop_now();
}

TEST(hooks_are_called_once_in_an_interval) {
    interrupts::calls = interrupts::stop_at = 0;
    set_stop_hook(interrupts::hook, std::chrono::hours(1));
    for (int i = 0; i < 100; ++i) check_stop_now();
    set_stop_hook(nullptr);
    CHECK(interrupts::calls == 1);
}

TEST(hooks_stop_bodies_on_all_threads) {
    for (const int threads : {1, 2, 4}) {
        const Hooked hooked(3);
        std::atomic<int> begun{0}, ended{0};
        struct Count {
            std::atomic<int>& ended;
            ~Count() { ++ended; }
        };
        CHECK(throws<Reason>([&] {
            parallel_for(100, threads, [&](int, std::size_t) {
                ++begun;
                const Count count{ended};
                work_forever();
            });
        }));
        CHECK(begun == ended && begun <= threads);  // so all threads have ended
    }
}

TEST(the_calling_thread_listens_while_it_waits) {
    const auto caller = std::this_thread::get_id();
    std::atomic<bool> is_begun{false};
    const Hooked hooked(3);
    CHECK(throws<Reason>([&] {
        parallel_for(2, 2, [&](int, std::size_t) {
            if (std::this_thread::get_id() != caller) {
                is_begun = true;
                work_forever();
            }
            while (!is_begun) std::this_thread::yield();
        });
    }));
}

TEST(interruptions_go_before_other_exceptions) {
    for (const int threads : {2, 3}) {
        const Hooked hooked(5);
        std::atomic<bool> is_begun{false};
        CHECK(throws<Reason>([&] {
            parallel_for(100, threads, [&](int worker, std::size_t) {
                if (worker == 0) {
                    is_begun = true;
                    work_forever();
                }
                while (!is_begun) std::this_thread::yield();
                throw std::runtime_error("another");
            });
        }));
    }
}

TEST(interruptions_reach_nested_loops) {
    const Hooked hooked(20);
    CHECK(throws<Reason>([] {
        parallel_for(3, 3, [](int, std::size_t) { parallel_for(2, 2, [](int, std::size_t) { work_forever(); }); });
    }));
}

TEST(long_charts_stop_within_a_few_rows) {
    Random random(41);
    Arena arena;
    const int n = 180;
    for (const Kind kind : {Kind::normal, Kind::wide}) {
        const Owned owned(n, {}, kind, random);
        for (const Trees trees : problems::kTrees) {
            const Problem problem = owned.problem(trees, Roots::single);
            interrupts::check_stops("log_partition", 2, [&] { return log_partition(problem, arena); });
            interrupts::check_stops("marginals", 4, [&] {
                std::vector<double> out(static_cast<std::size_t>(problem.nodes()) * problem.nodes());
                marginals(problem, arena, {out.data()});
                return out;
            });
            interrupts::check_stops("argmax", trees == Trees::projective ? 2 : 0, [&] {
                std::vector<int> heads(problem.nodes());
                argmax(problem, arena, heads.data());
                return heads;
            });
            interrupts::check_stops("kbest", 4, [&] { return kbest(problem, 40, arena); });
            interrupts::check_stops("sample", 4, [&] {
                std::vector<int> heads(40 * problem.nodes());
                Generator generator(1, 2);
                sample(problem, 40, generator, arena, heads.data());
                return heads;
            });
            if (kind == Kind::wide) continue;  // slow under sanitizers
            const Owned direction(n, {}, Kind::normal, random);
            interrupts::check_stops("marginals_along", 6, [&] {
                std::vector<double> out(static_cast<std::size_t>(problem.nodes()) * problem.nodes());
                marginals_along(problem, direction.arcs.data(), arena, out.data());
                return out;
            });
        }
    }
}

TEST(charts_of_higher_order_stop_within_a_few_rows) {
    Random random(42);
    Arena arena;
    const auto check_all = [&](const Owned& owned, int least) {
        const Problem problem = owned.problem(Trees::projective, Roots::single);
        interrupts::check_stops("argmax", least, [&] {
            std::vector<int> heads(problem.nodes());
            argmax(problem, arena, heads.data());
            return heads;
        });
        interrupts::check_stops("marginals", 2 * least, [&] {
            std::vector<double> arcs(problem.nodes() * problem.nodes()), siblings(owned.siblings.size()), grand(owned.grandparents.size());
            marginals(problem, arena, {arcs.data(), siblings.data(), grand.data(), nullptr});
            return arcs;
        });
    };
    check_all(Owned(120, {.siblings = true}, Kind::normal, random), 3);
    check_all(Owned(40, {.siblings = true, .grandparents = true}, Kind::normal, random), 5);
    const Owned owned(60, {.siblings = true}, Kind::normal, random);
    const Problem crossing = owned.problem(Trees::nonprojective, Roots::single);
    interrupts::check_stops("hill climbing", 3, [&] {
        std::vector<int> heads(crossing.nodes());
        argmax(crossing, arena, heads.data());
        return heads;
    });
}

TEST(sums_over_labels_can_be_stopped) {
    const int n = 60, count = 40;
    std::vector<double> scores((n + 1) * (n + 1) * count, 0.5), out((n + 1) * (n + 1));
    interrupts::check_stops("log_sum_over_labels", 5, [&] {
        log_sum_over_labels({n, count, scores.data()}, out.data());
        return out;
    });
}

}  // namespace interrupt_tests
