// Greedy and beam search against the list of all sequences of actions.
#include <map>

#include "check.hpp"
#include "search/beam.hpp"
#include "search/greedy.hpp"
#include "transition_cases.hpp"

namespace search_tests {

using namespace transition_cases;
using namespace arbora::search;

namespace {

struct Finished {
    double score;
    Heads heads, labels;
};

// All sequences of actions, one by one.
template <class System>
void list_all(const System& system, Space& space, int at, HashScorer& scorer, std::vector<Finished>& found) {
    const State state = space.state(at);
    const Moves moves = system.valid(space, state);
    if (moves == 0) {
        Finished tree{state.score, Heads(static_cast<std::size_t>(space.n()) + 1, -1), Heads(static_cast<std::size_t>(space.n()) + 1, -1)};
        read_tree(system, space, at, tree.heads.data(), tree.labels.data());
        found.push_back(tree);
        return;
    }
    each_move(moves, [&](Move move) {
        for (int label = makes_arc(move) ? 0 : -1; label < (makes_arc(move) ? kLabels : 0); ++label) {
            const Action action{move, static_cast<std::int16_t>(label)};
            scorer.look(space, state);
            const double score = action_score(system, space, state, scorer, action);
            list_all(system, space, step(system, space, at, action, score), scorer, found);
        }
    });
}

template <class System>
void check_beam(Roots roots) {
    System system;
    system.roots = roots;
    for (int n = 0; n <= 3; ++n) {
        for (std::uint64_t seed = 1; seed <= 4; ++seed) {
            HashScorer scorer(seed);
            Space space;
            const State start = system.start(space, n);
            std::vector<Finished> all;
            list_all(system, space, space.add(start), scorer, all);
            std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.score > b.score; });
            Space searched;
            Beam<System, HashScorer> beam(system, searched, scorer, 1'000'000, kLabels);
            const auto& found = beam.run(n);
            CHECK(found.size() == all.size());
            double before = 1e9;
            for (std::size_t i = 0; i < found.size() && i < all.size(); ++i) {
                const double score = searched.state(found[i]).score;
                CHECK_NEAR(score, all[i].score, 1e-9);
                CHECK(score <= before);
                before = score;
            }
        }
    }
}

template <class System>
void check_greedy() {
    System system;
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        HashScorer scorer(seed);
        const int n = static_cast<int>(seed % 9);
        Space space, searched;
        const int last = greedy(system, space, n, scorer);
        Heads heads(static_cast<std::size_t>(n) + 1, -1), labels = heads, others = heads, other_labels = heads;
        read_tree(system, space, last, heads.data(), labels.data());
        CHECK(brute::is_tree(heads, Trees::nonprojective, Roots::single));
        // A beam of one that sees one label is also greedy, but weighs the labels of moves; it still ends in a tree.
        Beam<System, HashScorer> beam(system, searched, scorer, 1, 1);
        const auto& found = beam.run(n);
        CHECK(found.size() == 1);
        read_tree(system, searched, found[0], others.data(), other_labels.data());
        CHECK(brute::is_tree(others, Trees::nonprojective, Roots::single));
    }
}

}  // namespace

TEST(search_wide_beams_list_all_sequences) {
    for (const Roots roots : {Roots::single, Roots::multi}) {
        check_beam<ArcEager>(roots);
        check_beam<ArcStandard>(roots);
    }
    check_beam<Swap>(Roots::single);
}

TEST(search_greedy_ends_in_trees) {
    check_greedy<ArcEager>();
    check_greedy<ArcStandard>();
    check_greedy<Swap>();
}

TEST(search_updates_stop_where_they_should) {
    ArcEager system;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        HashScorer scorer(seed);
        const Heads heads{-1, 2, 0, 2, 5, 3};
        const std::vector<std::int32_t> labels{-1, 0, 1, 0, 1, 0};
        const Gold gold(5, heads.data(), labels.data());
        const auto compare = [&](Update update, Space& space) {
            Beam<ArcEager, HashScorer> beam(system, space, scorer, 3, kLabels);
            return beam.compare(5, gold, update, NoCosts{});
        };
        const auto length = [](const Space& space, int state) {
            int count = 0;
            for (; space.state(state).previous >= 0; state = space.state(state).previous) ++count;
            return count;
        };
        Space early_space, largest_space, last_space;
        const auto early = compare(Update::early, early_space), largest = compare(Update::max_violation, largest_space),
                   last = compare(Update::standard, last_space);
        // Finished states wait for the others.
        const auto is_finished = [&](const Space& space, int state) { return system.valid(space, space.state(state)) == 0; };
        CHECK(length(early_space, early.right) == length(early_space, early.found) || is_finished(early_space, early.right));
        CHECK(length(largest_space, largest.right) == length(largest_space, largest.found) || is_finished(largest_space, largest.right));
        CHECK(system.valid(last_space, last_space.state(last.right)) == 0);
        CHECK(length(early_space, early.right) <= length(last_space, last.right));
        const auto violation = [](const Space& space, const auto& c) { return space.state(c.found).score - space.state(c.right).score; };
        CHECK(violation(early_space, early) >= 0.0);
        CHECK(violation(largest_space, largest) >= violation(early_space, early) - 1e-9);
        CHECK(violation(largest_space, largest) >= violation(last_space, last) - 1e-9);
    }
}

}  // namespace search_tests
