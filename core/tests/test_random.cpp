// Streams that are the same on every machine, and random walks with a limit.
#include <map>

#include "trees/arborescence/random_walk.hpp"
#include "brute_force.hpp"
#include "check.hpp"
#include "problems.hpp"
#include "base/generator.hpp"

namespace random_tests {

using namespace arbora;

TEST(generator_streams_are_fixed_numbers) {
    struct Golden {
        std::uint64_t seed, stream, first, second, third;
    };
    // Computed independently of this code, from the definitions of the two generators.
    constexpr Golden kGolden[] = {
        {0, 0, 0x58f24f57e97e3f07, 0x5f9a9d6f9a653406, 0x6534ee33d1fd29d7},
        {0, 1, 0xabd48182d8df0915, 0x090039a4f65dc78f, 0x0579676552bac0f9},
        {42, 7, 0x90df65144a22338b, 0x42092a417594a94e, 0x8499c382e6b8d07b},
        {~0ULL, 0, 0xb4b9b3de17c5a2e8, 0xb0ab3f68e465772a, 0x88bf1614a925e713},
    };
    for (const Golden& golden : kGolden) {
        Generator random(golden.seed, golden.stream);
        CHECK(random.next() == golden.first);
        CHECK(random.next() == golden.second);
        CHECK(random.next() == golden.third);
    }
    Generator random(0, 0);
    CHECK(random.uniform() == 0.34744735618868894);
    CHECK(random.uniform() == 0.37345298742947786);
}

TEST(generator_is_uniform_below_one) {
    Generator random(5, 0);
    int bins[16] = {};
    for (int i = 0; i < 160000; ++i) {
        const double x = random.uniform();
        CHECK(x >= 0.0 && x < 1.0);
        ++bins[static_cast<int>(x * 16)];
    }
    for (const int count : bins) CHECK(std::abs(count - 10000) < 600);
}

namespace {

// A Square copy as the queries make it.
const double* square_copy(const problems::Owned& owned, Square square, Arena& arena) {
    return checked_scores(owned.problem(Trees::nonprojective, Roots::multi), square, arena);
}

}  // namespace

TEST(random_walk_draws_in_proportion) {
    problems::Random seed(20);
    for (const auto kind : {problems::Kind::normal, problems::Kind::masked}) {
        const problems::Owned owned(4, {}, kind, seed);
        const brute::Forest forest(owned.problem(Trees::nonprojective, Roots::multi));
        if (forest.empty()) continue;
        Arena arena;
        const Square square(4);
        RandomWalk walk(square_copy(owned, square, arena), square, arena);
        Generator random(1, 0);
        std::vector<int> counts(forest.trees.size());
        Heads heads(5);
        int finished = 0;
        for (int i = 0; i < 20000; ++i) {
            if (!walk.draw(random, heads.data())) continue;
            ++finished;
            const std::size_t which = forest.find(heads);
            CHECK(which < counts.size());
            if (which < counts.size()) ++counts[which];
        }
        CHECK(finished > 19000);
        for (std::size_t i = 0; i < counts.size(); ++i) {
            const double expected = finished * static_cast<double>(forest.probability(i));
            CHECK(std::abs(counts[i] - expected) <= 6.0 * std::sqrt(expected) + 6.0);
        }
    }
}

TEST(random_walk_gives_up_on_circles) {
    problems::Random seed(21);
    for (const double above : {30.0, 1000.0}) {
        problems::Owned owned(6, {}, problems::Kind::normal, seed);
        owned.arcs[owned.at(1, 2)] = owned.arcs[owned.at(2, 1)] = above;
        Arena arena;
        const Square square(6);
        RandomWalk walk(square_copy(owned, square, arena), square, arena);
        Generator random(2, 0);
        Heads heads(7);
        CHECK(!walk.draw(random, heads.data()));
        CHECK(!walk.draw(random, heads.data()));
    }
}

TEST(random_walk_gives_up_where_there_is_no_tree) {
    problems::Random seed(22);
    problems::Owned headless(3, {}, problems::Kind::normal, seed), rootless = headless;
    for (int h = 0; h <= 3; ++h) headless.arcs[headless.at(h, 2)] = -problems::kInf;
    for (int d = 1; d <= 3; ++d) rootless.arcs[rootless.at(0, d)] = -problems::kInf;
    for (const auto* owned : {&headless, &rootless}) {
        Arena arena;
        const Square square(3);
        RandomWalk walk(square_copy(*owned, square, arena), square, arena);
        Generator random(3, 0);
        Heads heads(4);
        CHECK(!walk.draw(random, heads.data()));
    }
}

}  // namespace random_tests
