// Every query, of every family and order, against the list of all trees.
#include <map>
#include <set>

#include "brute_force.hpp"
#include "check.hpp"
#include "base/errors.hpp"
#include "trees/queries.hpp"
#include "problems.hpp"

namespace inference_tests {

using namespace arbora;
using brute::Forest;
using problems::Kind;
using problems::Order;
using problems::Owned;

namespace {

constexpr Order kOrders[] = {{}, {true, false, false}, {false, true, false}, {true, true, false}, {false, false, true}, {true, true, true}};

bool answers(const Problem& p, bool chart_only) {
    if (p.trees == Trees::nonprojective) return !p.second_order() && !p.third_order();
    return chart_only || !p.third_order();
}

template <class Error, class Call>
bool throws(Call call) {
    try {
        call();
    } catch (const Error&) {
        return true;
    } catch (const std::exception& other) {
        std::printf("another error: %s\n", other.what());
    }
    return false;
}

// The tolerance for a sum of n scores of this size.
double slack(const Owned& owned) { return 1e-10 + 1e-14 * owned.magnitude() * (owned.n + 1); }

bool close(long double a, long double b, double tolerance) { return std::abs(a - b) <= tolerance; }

void check_argmax(const Problem& p, const Forest& forest, double tolerance, Arena& arena) {
    Heads heads(p.n + 1, -7);
    problems::poison(arena);
    argmax(p, arena, heads.data());
    CHECK(heads[0] == -1 && brute::is_tree(heads, p.trees, p.roots));
    CHECK(close(brute::score(p, heads), forest.scores[0], tolerance));
    CHECK(in_family(heads, p.trees, p.roots));
    CHECK(close(tree_score(p, heads.data()), forest.scores[0], tolerance));
}

void check_kbest(const Problem& p, const Forest& forest, int k, double tolerance, Arena& arena) {
    problems::poison(arena);
    const auto trees = kbest(p, k, arena);
    CHECK(trees.size() == std::min(forest.trees.size(), static_cast<std::size_t>(k)));
    CHECK(std::set<Heads>(trees.begin(), trees.end()).size() == trees.size());
    for (std::size_t i = 0; i < std::min(trees.size(), forest.trees.size()); ++i) {
        CHECK(brute::is_tree(trees[i], p.trees, p.roots));
        CHECK(close(brute::score(p, trees[i]), forest.scores[i], tolerance));
    }
}

void check_array(const std::vector<double>& found, const std::vector<double>& expected, double tolerance) {
    for (std::size_t i = 0; i < found.size(); ++i) {
        CHECK(found[i] >= 0.0 && found[i] <= 1.0);
        CHECK(close(found[i], expected[i], tolerance));
    }
}

void check_marginals(const Problem& p, const Forest& forest, double tolerance, Arena& arena) {
    const std::size_t nodes = static_cast<std::size_t>(p.n) + 1;
    const auto size = [&](const double* scores, int axes) {
        return scores == nullptr ? 0 : static_cast<std::size_t>(std::lround(std::pow(nodes, axes)));
    };
    std::vector<double> arcs(size(p.arcs, 2), 7.0), siblings(size(p.siblings, 3), 7.0), grandparents(size(p.grandparents, 3), 7.0),
        grandsiblings(size(p.grandsiblings, 4), 7.0);
    problems::poison(arena);
    marginals(p, arena, {arcs.data(), siblings.data(), grandparents.data(), grandsiblings.data()});
    const auto arc = [&](const Heads& heads, int d) { return static_cast<std::ptrdiff_t>(heads[d] * nodes + d); };
    const auto grand = [&](const Heads& heads, int d) {
        const int h = heads[d];
        return h == 0 ? std::ptrdiff_t{-1} : static_cast<std::ptrdiff_t>((heads[h] * nodes + h) * nodes + d);
    };
    const auto with_sibling = [&](const Heads& heads, int d, std::ptrdiff_t place) {
        return place < 0 ? place : static_cast<std::ptrdiff_t>(place * nodes + brute::sibling(heads, d));
    };
    check_array(arcs, forest.marginals(arcs.size(), arc), tolerance);
    check_array(siblings,
                forest.marginals(siblings.size(), [&](const Heads& t, int d) { return with_sibling(t, d, arc(t, d)); }), tolerance);
    check_array(grandparents, forest.marginals(grandparents.size(), grand), tolerance);
    check_array(grandsiblings,
                forest.marginals(grandsiblings.size(), [&](const Heads& t, int d) { return with_sibling(t, d, grand(t, d)); }),
                tolerance);
}

// The derivative of P(arc) along a direction is its covariance with the direction's sum over the tree.
void check_along(const Problem& p, const Forest& forest, double tolerance, Arena& arena) {
    const std::size_t nodes = static_cast<std::size_t>(p.n) + 1;
    problems::Random random(8);
    std::vector<double> direction(nodes * nodes), found(nodes * nodes, 7.0);
    for (std::size_t i = 0; i < direction.size(); ++i) {
        direction[i] = p.arcs[i] > -1e300 ? problems::normal(random) : problems::kNan;  // NaN in ignored entries
    }
    problems::poison(arena);
    marginals_along(p, direction.data(), arena, found.data());
    std::vector<long double> sums(forest.trees.size(), 0.0L), expected(nodes * nodes, 0.0L);
    long double mean = 0.0L;
    for (std::size_t i = 0; i < sums.size(); ++i) {
        for (int d = 1; d <= p.n; ++d) sums[i] += direction[forest.trees[i][d] * nodes + d];
        mean += forest.probability(i) * sums[i];
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
        for (int d = 1; d <= p.n; ++d) expected[forest.trees[i][d] * nodes + d] += forest.probability(i) * (sums[i] - mean);
    }
    for (std::size_t i = 0; i < found.size(); ++i) CHECK(close(found[i], expected[i], 50.0 * tolerance));
}

void check_sample(const Problem& p, const Forest& forest, int count, Arena& arena) {
    Generator random(11, 3);
    std::vector<int> drawn(static_cast<std::size_t>(count) * p.nodes(), -7);
    problems::poison(arena);
    sample(p, count, random, arena, drawn.data());
    std::vector<int> counts(forest.trees.size());
    for (int i = 0; i < count; ++i) {
        const Heads heads(drawn.begin() + i * p.nodes(), drawn.begin() + (i + 1) * p.nodes());
        const std::size_t which = forest.find(heads);
        CHECK(which < counts.size());
        if (which < counts.size()) ++counts[which];
    }
    for (std::size_t i = 0; i < counts.size(); ++i) {
        const double expected = count * static_cast<double>(forest.probability(i));
        CHECK(std::abs(counts[i] - expected) <= 6.0 * std::sqrt(expected) + 6.0);
    }
}

void check_no_tree(const Problem& p, Arena& arena) {
    std::vector<int> heads(p.nodes());
    CHECK(throws<NoTreeError>([&] { argmax(p, arena, heads.data()); }));
    if (answers(p, true)) CHECK(throws<NoTreeError>([&] { log_partition(p, arena); }));
    if (!answers(p, false)) return;
    Generator random(0, 0);
    CHECK(throws<NoTreeError>([&] { kbest(p, 3, arena); }));
    CHECK(throws<NoTreeError>([&] { sample(p, 1, random, arena, heads.data()); }));
}

void check_exact(const Owned& owned, const Problem& p, Arena& arena) {
    const Forest forest(p);
    if (forest.empty()) return check_no_tree(p, arena);
    const double tolerance = slack(owned);
    check_argmax(p, forest, tolerance, arena);
    problems::poison(arena);
    CHECK(close(log_partition(p, arena), forest.log_partition, tolerance));
    check_marginals(p, forest, tolerance, arena);
    if (!p.second_order() && !p.third_order()) check_along(p, forest, tolerance, arena);
    if (!answers(p, false)) return;
    check_kbest(p, forest, 1, tolerance, arena);
    check_kbest(p, forest, 7, tolerance, arena);
    check_kbest(p, forest, 2000, tolerance, arena);
    check_sample(p, forest, 50, arena);
}

// Approximate: a tree of the family, not below the best projective one, that no single re-attachment improves.
void check_reattachment(const Owned& owned, Roots roots, Arena& arena) {
    const Problem p = owned.problem(Trees::nonprojective, roots);
    const Forest projective(owned.problem(Trees::projective, roots));
    if (Forest(p).empty()) return check_no_tree(p, arena);
    if (projective.empty()) return;
    Heads heads(p.nodes(), -7);
    argmax(p, arena, heads.data());
    const long double found = brute::score(p, heads);
    CHECK(brute::is_tree(heads, p.trees, p.roots) && found >= projective.scores[0] - slack(owned));
    for (int d = 1; d <= p.n; ++d) {
        for (int h = 0; h <= p.n; ++h) {
            Heads other = heads;
            other[d] = h;
            if (brute::is_tree(other, p.trees, p.roots)) CHECK(brute::score(p, other) <= found + slack(owned));
        }
    }
}

void check_all(const Owned& owned, Order order, Arena& arena) {
    const std::vector<double> before = owned.arcs;
    for (const Roots roots : problems::kRoots) {
        check_exact(owned, owned.problem(Trees::projective, roots), arena);
        if (order.grandparents || order.grandsiblings) continue;
        if (order.siblings) {
            check_reattachment(owned, roots, arena);
        } else {
            check_exact(owned, owned.problem(Trees::nonprojective, roots), arena);
        }
    }
    CHECK(std::memcmp(before.data(), owned.arcs.data(), before.size() * sizeof(double)) == 0);
}

}  // namespace

TEST(inference_agrees_with_the_list_of_all_trees) {
    problems::Random random(1);
    Arena arena;
    for (const Order order : kOrders) {
        for (int n = 1; n <= 5; ++n) {
            for (const Kind kind : {Kind::normal, Kind::ties, Kind::masked, Kind::wide, Kind::unequal}) {
                for (int repeat = 0; repeat < (n < 5 ? 10 : 2); ++repeat) check_all(Owned(n, order, kind, random), order, arena);
            }
        }
    }
}

TEST(inference_counts_trees_as_their_closed_forms) {
    Arena arena;
    for (int n = 1; n <= 60; ++n) {
        const std::vector<double> zeros(static_cast<std::size_t>(n + 1) * (n + 1), 0.0);
        const Problem single{Trees::nonprojective, Roots::single, n, zeros.data()};
        const Problem multi{Trees::nonprojective, Roots::multi, n, zeros.data()};
        CHECK_NEAR(log_partition(single, arena), (n - 1) * std::log(n), 1e-13);
        CHECK_NEAR(log_partition(multi, arena), (n - 1) * std::log(n + 1), 1e-13);
        // Projective trees of n words with one root: C(3n - 2, n - 1) / n; with several: C(3n, n) / (2n + 1).
        const Problem chart_single{Trees::projective, Roots::single, n, zeros.data()};
        const Problem chart_multi{Trees::projective, Roots::multi, n, zeros.data()};
        const auto log_choose = [](int a, int b) { return std::lgamma(a + 1.0) - std::lgamma(b + 1.0) - std::lgamma(a - b + 1.0); };
        CHECK_NEAR(log_partition(chart_single, arena), log_choose(3 * n - 2, n - 1) - std::log(n), 1e-13);
        CHECK_NEAR(log_partition(chart_multi, arena), log_choose(3 * n, n) - std::log(2 * n + 1), 1e-13);
    }
}

TEST(inference_samples_in_proportion) {
    problems::Random random(2);
    Arena arena;
    for (const Trees trees : problems::kTrees) {
        for (const Roots roots : problems::kRoots) {
            for (const Kind kind : {Kind::normal, Kind::masked}) {
                const Owned owned(4, {}, kind, random);
                const Problem p = owned.problem(trees, roots);
                const Forest forest(p);
                if (!forest.empty()) check_sample(p, forest, 20000, arena);
            }
        }
    }
    for (const Roots roots : problems::kRoots) {
        const Owned owned(4, {true, false, false}, Kind::normal, random);
        const Problem p = owned.problem(Trees::projective, roots);
        check_sample(p, Forest(p), 20000, arena);
    }
}

TEST(inference_of_nothing_and_of_one_word) {
    Arena arena;
    const std::vector<double> none(1, problems::kNan), word{problems::kNan, 2.5, problems::kNan, problems::kNan};
    for (const Trees trees : problems::kTrees) {
        for (const Roots roots : problems::kRoots) {
            const Problem empty{trees, roots, 0, none.data()}, one{trees, roots, 1, word.data()};
            int heads[2] = {7, 7};
            argmax(empty, arena, heads);
            CHECK(heads[0] == -1 && heads[1] == 7);
            CHECK(log_partition(empty, arena) == 0.0);
            CHECK(kbest(empty, 5, arena) == std::vector<Heads>{{-1}});
            argmax(one, arena, heads);
            CHECK(heads[0] == -1 && heads[1] == 0);
            CHECK_NEAR(log_partition(one, arena), 2.5, 1e-15);
            CHECK(kbest(one, 5, arena) == std::vector<Heads>({{-1, 0}}));
        }
    }
}

TEST(inference_refuses_what_is_no_number) {
    problems::Random random(3);
    Arena arena;
    for (const Order order : kOrders) {
        for (const Roots roots : problems::kRoots) {
            for (const double bad : {problems::kNan, problems::kInf, 2e300}) {
                Owned owned(5, order, Kind::normal, random);
                auto& array = order.grandsiblings ? owned.grandsiblings : order.grandparents ? owned.grandparents
                                                                      : order.siblings       ? owned.siblings
                                                                                             : owned.arcs;
                const bool siblings = order.siblings || order.grandsiblings;
                const std::size_t arc = order.grandparents || order.grandsiblings ? (0 * 6 + 1) * 6 + 3 : 1 * 6 + 3;
                array[siblings ? arc * 6 + 2 : arc] = bad;
                std::vector<int> heads(6);
                const Problem p = owned.problem(Trees::projective, roots);
                CHECK(throws<InputError>([&] { argmax(p, arena, heads.data()); }));
                CHECK(throws<InputError>([&] { log_partition(p, arena); }));
            }
        }
    }
}

TEST(inference_says_what_it_does_not_answer) {
    problems::Random random(4);
    Arena arena;
    Generator generator(0, 0);
    std::vector<int> heads(5);
    const Owned sibling(4, {true, false, false}, Kind::normal, random), grand(4, {false, true, false}, Kind::normal, random);
    for (const Roots roots : problems::kRoots) {
        const Problem p = sibling.problem(Trees::nonprojective, roots);
        CHECK(kbest(p, 2, arena).size() == 2);
        CHECK(throws<InputError>([&] { log_partition(p, arena); }));
        CHECK(throws<InputError>([&] { sample(p, 1, generator, arena, heads.data()); }));
        const Problem third = grand.problem(Trees::projective, roots);
        CHECK(throws<InputError>([&] { kbest(third, 2, arena); }));
        CHECK(throws<InputError>([&] { sample(third, 1, generator, arena, heads.data()); }));
        CHECK(throws<InputError>([&] { argmax(grand.problem(Trees::nonprojective, roots), arena, heads.data()); }));
    }
}

// Scores below the range forbid in every position.
TEST(inference_scores_below_the_range_forbid) {
    problems::Random random(5);
    Arena arena;
    for (const Order order : kOrders) {
        for (int n = 1; n <= 4; ++n) {
            for (int repeat = 0; repeat < 5; ++repeat) check_all(Owned(n, order, Kind::soft_masked, random), order, arena);
        }
    }
}

TEST(inference_log_partition_is_never_below_the_best) {
    problems::Random random(6);
    Arena arena;
    for (int n = 1; n <= 8; ++n) {
        for (int repeat = 0; repeat < 50; ++repeat) {
            const Owned owned(n, {}, repeat % 2 == 0 ? Kind::unequal : Kind::wide, random);
            for (const Trees trees : problems::kTrees) {
                for (const Roots roots : problems::kRoots) {
                    const Problem p = owned.problem(trees, roots);
                    Heads best(p.nodes());
                    argmax(p, arena, best.data());
                    CHECK(log_partition(p, arena) >= tree_score(p, best.data()));
                }
            }
        }
    }
}

TEST(inference_refuses_bad_scores_of_the_root_too) {
    problems::Random random(7);
    Arena arena;
    for (const double bad : {problems::kNan, problems::kInf}) {
        for (int n = 1; n <= 4; ++n) {
            Owned owned(n, {true, false, false}, Kind::normal, random);
            owned.siblings[owned.at(0, n) * (n + 1)] = bad;
            for (const Roots roots : problems::kRoots) {
                const Problem p = owned.problem(Trees::projective, roots);
                Heads heads(p.nodes(), 0);
                CHECK(throws<InputError>([&] { argmax(p, arena, heads.data()); }));
                CHECK(throws<InputError>([&] { kbest(p, 3, arena); }));
                CHECK(throws<InputError>([&] { log_partition(p, arena); }));
            }
        }
    }
}

}  // namespace inference_tests
