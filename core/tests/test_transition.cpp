// Transition systems: the trees they reach, that they never get stuck, and the moves of their oracles.
#include <set>

#include "check.hpp"
#include "transition_cases.hpp"

namespace transition_tests {

using namespace transition_cases;
using arbora::search::step;
using problems::Random;

namespace {

// The tree that results from a system's oracle.
template <class System>
Heads by_oracle(const System& system, const Heads& heads) {
    const int n = static_cast<int>(heads.size()) - 1;
    const std::vector<std::int32_t> labels(heads.size(), 0);
    const Gold gold(n, heads.data(), labels.data());
    const auto plan = system.plan(n, gold);
    Space space;
    const State start = system.start(space, n);
    int at = space.add(start);
    for (;;) {
        const State state = space.state(at);
        const Moves moves = system.valid(space, state);
        if (moves == 0) break;
        const Move move = system.oracle(space, state, gold, plan);
        CHECK(has(moves, move));
        if (!has(moves, move)) return {};
        at = step(system, space, at, {move, static_cast<std::int16_t>(makes_arc(move) ? 0 : -1)}, 0.0);
    }
    Heads found(heads.size(), -1), found_labels(heads.size(), -1);
    read_tree(system, space, at, found.data(), found_labels.data());
    return found;
}

template <class System>
void check_reaches(Trees trees) {
    for (const Roots roots : {Roots::single, Roots::multi}) {
        System system;
        system.roots = roots;
        for (int n = 1; n <= 5; ++n) {
            int reached = 0, all = 0;
            for (const Heads& heads : brute::all_trees(n, trees, roots)) {
                reached += by_oracle(system, heads) == heads;
                ++all;
            }
            CHECK(reached == all);
        }
    }
}

// Random moves: the number of steps, and whether they ended in a required tree.
template <class System>
void check_never_stuck(Trees trees, bool is_linear) {
    Random random(7);
    for (const Roots roots : {Roots::single, Roots::multi}) {
        System system;
        system.roots = roots;
        std::set<Heads> seen;
        for (int round = 0; round < 3000; ++round) {
            const int n = round % 7;
            Space space;
            const State start = system.start(space, n);
            int at = space.add(start), steps = 0;
            for (;; ++steps) {
                const Moves moves = system.valid(space, space.state(at));
                if (moves == 0) break;
                std::vector<Move> possible;
                arbora::search::each_move(moves, [&](Move move) { possible.push_back(move); });
                const Move move = possible[random() % possible.size()];
                at = step(system, space, at, {move, static_cast<std::int16_t>(makes_arc(move) ? 1 : -1)}, 0.0);
            }
            CHECK(steps <= (is_linear ? 4 * n : 2 * n + 2 * n * n));
            Heads heads(static_cast<std::size_t>(n) + 1, -1), labels = heads;
            read_tree(system, space, at, heads.data(), labels.data());
            CHECK(is_asked_for(heads, trees, roots));
            CHECK(std::count(labels.begin(), labels.end(), 1) == n);
            if (n == 3) seen.insert(heads);
        }
        CHECK(seen.size() == brute::all_trees(3, trees, roots).size());
    }
}

constexpr char kLetters[] = {'S', 'D', 'L', 'R'};

// Walks through all states of a sentence, and compares each move's cost with the trees that can be reached before and after it.
void check_costs(const ArcEager& system, Space& space, int at, const PlainEager& plain, const Heads& heads, const Gold& gold) {
    const State state = space.state(at);
    const Moves moves = system.valid(space, state);
    std::string letters;
    const int before = plain.least_loss(heads);
    int cheapest = 100;
    arbora::search::each_move(moves, [&](Move move) {
        const char letter = kLetters[static_cast<std::size_t>(move)];
        letters += letter;
        const PlainEager after = plain.after(letter);
        const int cost = system.cost(space, state, move, gold);
        cheapest = std::min(cheapest, cost);
        CHECK(cost == after.least_loss(heads) - before);
        check_costs(system, space, step(system, space, at, {move, -1}, 0.0), after, heads, gold);
    });
    std::string expected = plain.moves();
    std::sort(letters.begin(), letters.end());
    std::sort(expected.begin(), expected.end());
    CHECK(letters == expected);
    CHECK(moves == 0 || cheapest == 0);
}

}  // namespace

TEST(transition_oracles_reach_every_tree) {
    check_reaches<ArcEager>(Trees::projective);
    check_reaches<ArcStandard>(Trees::projective);
    check_reaches<Swap>(Trees::nonprojective);
}

TEST(transition_random_moves_end_in_trees) {
    check_never_stuck<ArcEager>(Trees::projective, true);
    check_never_stuck<ArcStandard>(Trees::projective, true);
    check_never_stuck<Swap>(Trees::nonprojective, false);
}

TEST(transition_dynamic_costs_are_exact) {
    ArcEager system;
    system.roots = Roots::multi;
    for (int n = 1; n <= 4; ++n) {
        for (const Heads& heads : brute::all_trees(n, Trees::projective, Roots::multi)) {
            const Gold gold(n, heads.data(), nullptr);
            Space space;
            const State start = system.start(space, n);
            check_costs(system, space, space.add(start), PlainEager(n), heads, gold);
        }
    }
}

// With a single root, there is always a move without cost, and such moves lead to the gold tree.
TEST(transition_single_root_always_has_a_free_move) {
    Random random(3);
    ArcEager system;
    for (int n = 1; n <= 5; ++n) {
        for (const Heads& heads : brute::all_trees(n, Trees::projective, Roots::single)) {
            const Gold gold(n, heads.data(), nullptr);
            for (const bool strays : {false, true}) {
                Space space;
                const State start = system.start(space, n);
                int at = space.add(start);
                for (;;) {
                    const State state = space.state(at);
                    const Moves moves = system.valid(space, state);
                    if (moves == 0) break;
                    std::vector<Move> all, free;
                    arbora::search::each_move(moves, [&](Move move) {
                        all.push_back(move);
                        if (system.cost(space, state, move, gold) == 0) free.push_back(move);
                    });
                    CHECK(!free.empty());
                    const auto& from = strays && random() % 3 == 0 ? all : free;
                    if (from.empty()) break;
                    at = step(system, space, at, {from[random() % from.size()], -1}, 0.0);
                }
                Heads found(heads.size(), -1), labels = found;
                read_tree(system, space, at, found.data(), labels.data());
                CHECK(strays || found == heads);
                CHECK(is_asked_for(found, Trees::projective, Roots::single));
            }
        }
    }
}

}  // namespace transition_tests
