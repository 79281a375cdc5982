// Sparse arc sets, their charts against every tree, and hill climbing against a naive version.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "brute_force.hpp"
#include "check.hpp"
#include "parser/arc_set.hpp"
#include "trees/sparse/chart.hpp"
#include "trees/hill_climbing.hpp"
#include "trees/queries.hpp"
#include "sentences.hpp"

namespace graph_tests {

using namespace arbora;
using namespace arbora::graph;
using problems::kRoots;
using problems::kTrees;
using problems::Random;
using sentences::below;

namespace {

constexpr double kNo = -problems::kInf;

const std::vector<Heads>& trees_of(int n, Trees trees, Roots roots) {
    static std::map<std::tuple<int, Trees, Roots>, std::vector<Heads>> known;
    auto [place, is_new] = known.try_emplace({n, trees, roots});
    if (is_new) place->second = brute::all_trees(n, trees, roots);
    return place->second;
}

// Multiples of 1/64, so that sums of scores are never rounded; few different ones for ties.
double score_of(Random& random, bool ties) { return ties ? below(random, 3) - 1.0 : (below(random, 4001) - 2000) / 64.0; }

// A random problem over the arcs of a set: dense scores for the oracle, and the same by number for the charts.
struct Question {
    int n;
    ArcSet arcs;
    Sides sides;
    GrandParts parts;
    std::vector<double> dense_arcs, dense_siblings, dense_grandparents;
    std::vector<float> arc_scores, sibling_scores, grand_scores;

    std::size_t at(int h, int d) const { return static_cast<std::size_t>(h) * (static_cast<std::size_t>(n) + 1) + static_cast<std::size_t>(d); }
    std::size_t at(int a, int b, int c) const { return at(a, b) * (static_cast<std::size_t>(n) + 1) + static_cast<std::size_t>(c); }

    Question(ArcSet given, Random& random, bool ties) : n(given.n), arcs(std::move(given)) {
        const auto nodes = static_cast<std::size_t>(n) + 1;
        dense_arcs.assign(nodes * nodes, kNo);
        dense_siblings.assign(nodes * nodes * nodes, kNo);
        dense_grandparents.assign(nodes * nodes * nodes, kNo);
        sides.build(arcs);
        parts.build(arcs);
        arc_scores.resize(arcs.heads.size());
        sibling_scores.assign(sides.parts(), 12345.0F);
        grand_scores.assign(parts.size(), 12345.0F);
        for (int d = 1; d <= n; ++d)
            for (int a = arcs.first[d]; a < arcs.first[d + 1]; ++a) {
                const int h = arcs.heads[a];
                dense_arcs[at(h, d)] = arc_scores[a] = static_cast<float>(score_of(random, ties));
                for (int b = arcs.first[h]; h > 0 && b < arcs.first[h + 1]; ++b)
                    dense_grandparents[at(arcs.heads[b], h, d)] = grand_scores[parts.part(a, b, arcs.first[h])] = static_cast<float>(score_of(random, ties));
            }
        for (const Side& side : sides.all())
            for (int b = 0; b < side.count; ++b)
                for (int a = -1; a < b; ++a)
                    dense_siblings[at(side.head, sides.dep(side, b), a < 0 ? side.head : sides.dep(side, a))] =
                        sibling_scores[sides.part(side, b, a)] = static_cast<float>(score_of(random, ties));
    }

    Problem problem(Trees trees, Roots roots, int order) const {
        return {trees, roots, n, dense_arcs.data(), order > 1 ? dense_siblings.data() : nullptr, order > 2 ? dense_grandparents.data() : nullptr};
    }

    // By a chart: order 1 arcs, 2 siblings too, 3 grandparents too.
    bool answer(BestTree& chart, Roots roots, int order, int* heads) const {
        const float *siblings = order > 1 ? sibling_scores.data() : nullptr, *grand = order > 2 ? grand_scores.data() : nullptr;
        return chart.find({&arcs, &sides, roots, arc_scores.data(), siblings, &parts, grand}, heads);
    }
};

ArcSet make_set(int n, const std::set<std::pair<int, int>>& arcs) {
    ArcSet set{n, {0, 0}, {}};
    for (int d = 1; d <= n; ++d) {
        for (int h = 0; h <= n; ++h)
            if (arcs.contains({h, d})) set.heads.push_back(h);
        set.first.push_back(set.size());
    }
    return set;
}

ArcSet random_set(int n, double share, Random& random) {
    std::set<std::pair<int, int>> arcs;
    for (int h = 0; h <= n; ++h)
        for (int d = 1; d <= n; ++d)
            if (h != d && problems::uniform(random) < share) arcs.insert({h, d});
    return make_set(n, arcs);
}

ArcSet set_of_tree(const Heads& heads) {
    std::set<std::pair<int, int>> arcs;
    for (std::size_t d = 1; d < heads.size(); ++d) arcs.insert({heads[d], static_cast<int>(d)});
    return make_set(static_cast<int>(heads.size()) - 1, arcs);
}

// The best score of all trees of a family; the trees that no arc set excludes.
struct Judged {
    long double best = brute::kNothing;
    int trees = 0;

    Judged(const Problem& p) {
        for (const Heads& heads : trees_of(p.n, p.trees, p.roots)) {
            const long double value = brute::score(p, heads);
            if (value == brute::kNothing) continue;
            ++trees;
            best = std::max(best, value);
        }
    }
};

// The arcs of the best tree are those with a flow of one.
template <Order order>
Heads tree_of_flow(const Question& q, Roots roots) {
    Chart<MaxSemiring, order> chart;
    CHECK(chart.inside({&q.arcs, &q.sides, roots, q.arc_scores.data(), q.sibling_scores.data(), &q.parts, q.grand_scores.data()}) != kNever);
    chart.flow_from_total();
    Heads heads(static_cast<std::size_t>(q.n) + 1, -1);
    for (int d = 1; d <= q.n; ++d)
        for (int a = q.arcs.first[d]; a < q.arcs.first[d + 1]; ++a) {
            const double flow = chart.arc_flow()[static_cast<std::size_t>(a)];
            CHECK(flow == 0.0 || flow == 1.0);
            if (flow == 1.0) heads[static_cast<std::size_t>(d)] = q.arcs.heads[static_cast<std::size_t>(a)];
        }
    return heads;
}

struct Charts {
    BestTree best;

    // Returns the number of trees.
    int check(const Question& q) {
        int most = 0;
        for (const Roots roots : kRoots)
            for (const int order : {1, 2, 3}) {
                const Problem p = q.problem(Trees::projective, roots, order);
                const Judged judged(p);
                Heads heads(static_cast<std::size_t>(q.n) + 1, -7), again = heads;
                const bool found = q.answer(best, roots, order, heads.data());
                CHECK(found == (judged.trees > 0));
                most = std::max(most, judged.trees);
                if (!found) continue;
                CHECK(heads[0] == -1);
                CHECK(brute::is_tree(heads, Trees::projective, roots));
                CHECK(brute::score(p, heads) == judged.best);
                BestTree fresh;
                CHECK(q.answer(fresh, roots, order, again.data()));
                CHECK(heads == again);  // whatever the chart held before
                CHECK(heads == (order == 1   ? tree_of_flow<Order::arcs>(q, roots)
                                : order == 2 ? tree_of_flow<Order::siblings>(q, roots)
                                             : tree_of_flow<Order::grandparents>(q, roots)));
            }
        return most;
    }
};

}  // namespace

TEST(graph_parts_have_numbers_of_their_own) {
    Random random(1);
    for (int n = 1; n <= 8; ++n)
        for (const double share : {0.0, 0.3, 1.0}) {
            const ArcSet set = random_set(n, share, random);
            Sides sides;
            sides.build(set);
            GrandParts parts;
            parts.build(set);
            std::vector<int> sibling_uses(sides.parts()), grand_uses(parts.size()), arc_uses(set.heads.size());
            for (int h = 0; h <= n; ++h)
                for (const Side* side : {&sides.right(h), &sides.left(h)}) {
                    CHECK(side->head == h);
                    for (int b = 0; b < side->count; ++b) {
                        const int d = sides.dep(*side, b);
                        CHECK((d > h) == (side == &sides.right(h)));
                        CHECK(&sides.of(h, d) == side);
                        CHECK(set.find(h, d) == sides.arc(*side, b));
                        CHECK(sides.position(*side, d) == b);
                        CHECK(b == 0 || std::abs(d - h) > std::abs(sides.dep(*side, b - 1) - h));
                        ++arc_uses[static_cast<std::size_t>(sides.arc(*side, b))];
                        for (int a = -1; a < b; ++a) ++sibling_uses[sides.part(*side, b, a)];
                    }
                }
            for (int d = 1; d <= n; ++d)
                for (int h = 0; h <= n; ++h) {
                    const int a = set.find(h, d);
                    CHECK((a >= 0) == (std::ranges::count(set.heads_of(d), h) == 1));
                    if (a < 0 && h != d) CHECK(sides.position(sides.of(h, d), d) == -1);
                    for (int b = set.first[h]; a >= 0 && h > 0 && b < set.first[h + 1]; ++b) ++grand_uses[parts.part(a, b, set.first[h])];
                }
            const auto once = [](const std::vector<int>& uses) { return std::ranges::count(uses, 1) == std::ssize(uses); };
            CHECK(once(arc_uses));
            CHECK(once(sibling_uses));
            CHECK(once(grand_uses));
        }
    ArcSet every;
    for (const int n : {3, 1, 0, 5}) {
        every.set_all(n);
        CHECK(every.n == n);
        CHECK(every.size() == n * n);
        for (int d = 1; d <= n; ++d)
            for (int h = 0; h <= n; ++h) CHECK((every.find(h, d) >= 0) == (h != d));
    }
}

TEST(graph_charts_find_the_best_tree) {
    Random random(2);
    Charts charts;
    int none = 0, some = 0;
    for (int round = 0; round < 260; ++round) {
        const int n = round % 40 == 0 ? 6 : 1 + below(random, 5);
        const double share = std::vector<double>{0.3, 0.5, 0.7, 1.0}[static_cast<std::size_t>(below(random, 4))];
        const Question q(random_set(n, share, random), random, round % 3 == 0);
        ++(charts.check(q) == 0 ? none : some);
    }
    CHECK(none > 20);
    CHECK(some > 100);
}

TEST(graph_charts_find_the_only_tree) {
    Random random(3);
    Charts charts;
    for (int round = 0; round < 60; ++round) {
        const auto& trees = trees_of(1 + below(random, 6), Trees::projective, Roots::multi);
        const Heads& heads = trees[static_cast<std::size_t>(below(random, static_cast<int>(trees.size())))];
        CHECK(charts.check(Question(set_of_tree(heads), random, false)) == 1);
    }
}

TEST(graph_charts_say_that_there_is_no_tree) {
    Random random(4);
    Charts charts;
    CHECK(charts.check(Question(make_set(1, {}), random, false)) == 0);
    CHECK(charts.check(Question(make_set(2, {{0, 1}}), random, false)) == 0);                          // a word without a head
    CHECK(charts.check(Question(make_set(2, {{1, 2}, {2, 1}}), random, false)) == 0);                  // a cycle
    CHECK(charts.check(Question(make_set(4, {{0, 2}, {2, 4}, {3, 1}, {4, 3}}), random, false)) == 0);  // crossing arcs only
    CHECK(charts.check(Question(make_set(2, {{0, 1}, {0, 2}}), random, false)) == 1);                  // only with several roots
}

TEST(graph_charts_of_no_words) {
    BestTree best;
    Random random(5);
    ArcSet none;
    none.set_all(0);
    const Question q(none, random, false);
    for (const Roots roots : kRoots)
        for (const int order : {1, 2, 3}) {
            int head = 3;
            CHECK(q.answer(best, roots, order, &head));
            CHECK(head == -1);
        }
}

TEST(graph_charts_over_all_arcs_agree_with_the_inference_library) {
    Random random(6);
    Charts charts;
    Arena arena;
    for (const auto& [n, orders] : {std::pair{23, 3}, {9, 3}, {40, 2}, {31, 2}, {150, 1}, {8, 3}, {7, 3}}) {
        ArcSet every;
        every.set_all(n);
        for (const Roots roots : kRoots)
            for (int order = 1; order <= orders; ++order) {
                if (orders == 1 && roots == Roots::multi) continue;
                const Question q(orders == 1 ? random_set(n, 0.5, random) : every, random, false);
                const Problem p = q.problem(Trees::projective, roots, order);
                Heads dense(static_cast<std::size_t>(n) + 1), sparse = dense;
                argmax(p, arena, dense.data());
                CHECK(q.answer(charts.best, roots, order, sparse.data()));
                CHECK(in_family(sparse, Trees::projective, roots));
                CHECK(tree_score(p, sparse.data()) == tree_score(p, dense.data()));
            }
    }
}

namespace {

struct DenseParts {
    const Problem& p;
    bool with_grandparents;

    int n() const { return p.n; }
    Roots roots() const { return p.roots; }
    double arc(int h, int d) const { return p.arc(h, d); }
    double sibling(int h, int d, int inner) const { return p.siblings[(h * p.nodes() + d) * p.nodes() + inner]; }
    bool grandparents() const { return with_grandparents; }
    double grandparent(int g, int h, int d) const { return p.grandparents[(g * p.nodes() + h) * p.nodes() + d]; }
    template <class Visit>
    void each_head(int d, Visit visit) const {
        for (int h = 0; h <= p.n; ++h)
            if (h != d && p.arc(h, d) != kNo) visit(h);
    }
};

// All trees that differ by one re-attachment, each scored from scratch; repeats with the best while it improves.
Heads climb_naively(const Problem& p, Heads heads) {
    while (true) {
        Heads best = heads;
        for (int d = 1; d <= p.n; ++d) {
            for (int h = 0; h <= p.n; ++h) {
                Heads other = heads;
                other[static_cast<std::size_t>(d)] = h;
                if (h == d || !brute::is_tree(other, Trees::nonprojective, p.roots)) continue;
                if (brute::score(p, other) > brute::score(p, best)) best = other;
            }
        }
        if (best == heads) return heads;
        heads = best;
    }
}

}  // namespace

TEST(graph_hill_climbing_is_the_naive_search) {
    Random random(7);
    int moved = 0;
    for (int round = 0; round < 300; ++round) {
        const int n = 1 + below(random, 8);
        const Roots roots = kRoots[round % 2];
        // The arcs of some tree to start from, and others.
        const Heads start = sentences::random_tree(random, n, roots == Roots::single);
        std::set<std::pair<int, int>> arcs;
        for (int d = 1; d <= n; ++d) {
            arcs.insert({start[static_cast<std::size_t>(d)], d});
            for (int h = 0; h <= n; ++h)
                if (h != d && (round % 4 < 2 || below(random, 2) == 0)) arcs.insert({h, d});
        }
        const Question q(make_set(n, arcs), random, round % 5 == 0);
        const int order = 2 + round % 3 / 2;
        const Problem p = q.problem(Trees::nonprojective, roots, order);
        Heads heads = start;
        climb(DenseParts{p, order == 3}, heads.data());
        CHECK(brute::is_tree(heads, Trees::nonprojective, roots));
        CHECK(brute::score(p, heads) >= brute::score(p, start));
        CHECK(heads == climb_naively(p, start));
        moved += heads != start;
    }
    CHECK(moved > 150);
}

namespace {

// Sums over all trees of a problem, tree by tree: log Z, and the probability of each part.
struct Expected {
    long double log_partition = brute::kNothing;
    std::map<std::pair<int, int>, long double> arcs;
    std::map<std::tuple<int, int, int>, long double> siblings, grandparents;

    explicit Expected(const Problem& p) {
        const auto& trees = trees_of(p.n, p.trees, p.roots);
        long double best = brute::kNothing, sum = 0;
        for (const Heads& heads : trees) best = std::max(best, brute::score(p, heads));
        if (best == brute::kNothing) return;
        for (const Heads& heads : trees) sum += std::exp(brute::score(p, heads) - best);
        log_partition = best + std::log(sum);
        for (const Heads& heads : trees) add(heads, std::exp(brute::score(p, heads) - log_partition));
    }

    void add(const Heads& heads, long double probability) {
        for (int d = 1; d < static_cast<int>(heads.size()); ++d) {
            const int h = heads[d], step = d > h ? -1 : 1;
            int inner = d + step;
            while (inner != h && heads[inner] != h) inner += step;
            arcs[{h, d}] += probability;
            siblings[{h, d, inner}] += probability;
            if (h > 0) grandparents[{heads[h], h, d}] += probability;
        }
    }
};

template <class Map, class Key>
long double at(const Map& map, const Key& key) {
    const auto found = map.find(key);
    return found == map.end() ? 0.0L : found->second;
}

void check_sums(const Question& q, Roots roots, bool with_grandparents, SumChart& sums) {
    const Expected expected(q.problem(Trees::projective, roots, with_grandparents ? 3 : 2));
    const std::vector<double> arc_scores(q.arc_scores.begin(), q.arc_scores.end());
    const double found = sums.inside({&q.arcs, &q.sides, roots, arc_scores.data(), q.sibling_scores.data(), &q.parts,
                                      with_grandparents ? q.grand_scores.data() : nullptr});
    if (expected.log_partition == brute::kNothing) {
        CHECK(found == kNo);
        return;
    }
    const auto near = [](double value, long double wanted) { return std::abs(value - wanted) < 1e-11L * (1 + std::abs(wanted)); };
    CHECK(near(found, expected.log_partition));
    sums.flow_from_total();
    for (int d = 1; d <= q.n; ++d)
        for (int a = q.arcs.first[d]; a < q.arcs.first[d + 1]; ++a) {
            const int h = q.arcs.heads[a];
            CHECK(near(sums.arc_flow()[a], at(expected.arcs, std::pair{h, d})));
            for (int b = q.arcs.first[h]; with_grandparents && h > 0 && b < q.arcs.first[h + 1]; ++b)
                CHECK(near(sums.grand_flow()[q.parts.part(a, b, q.arcs.first[h])], at(expected.grandparents, std::tuple{q.arcs.heads[b], h, d})));
        }
    for (const Side& side : q.sides.all())
        for (int b = 0; b < side.count; ++b)
            for (int a = -1; a < b; ++a) {
                const std::tuple key{side.head, q.sides.dep(side, b), a < 0 ? side.head : q.sides.dep(side, a)};
                CHECK(near(sums.sibling_flow()[q.sides.part(side, b, a)], at(expected.siblings, key)));
            }
}

}  // namespace

TEST(graph_sums_over_sparse_trees_equal_those_of_listing_them) {
    Random random(31);
    SumChart sums;
    for (int n = 0; n <= 5; ++n)
        for (const double share : {0.3, 0.6, 1.0})
            for (int repeat = 0; repeat < 12; ++repeat) {
                const Question q(random_set(n, share, random), random, repeat % 3 == 0);
                for (const Roots roots : kRoots)
                    for (const bool with_grandparents : {false, true}) check_sums(q, roots, with_grandparents, sums);
            }
}

}  // namespace graph_tests
