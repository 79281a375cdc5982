// Sums in plain doubles: they equal those in extended range, and are used exactly when scores are in range.
#include <array>

#include "chart_cases.hpp"
#include "trees/queries.hpp"

namespace plain_sums_tests {

using namespace kernel_cases;

namespace {

constexpr double kInf = problems::kInf;
constexpr double kAgreement = 1e-10;
constexpr Order kSiblings{true, false, false};

struct Both {
    Numbers plain, extended;  // log Z, then marginals; plain is empty where it is not offered
};

template <class Charts>
void put_total(Numbers& out, const std::optional<Charts>& charts) {
    if (charts) put(out, charts->total());
}

void append(Numbers& out, const Numbers& more) { out.insert(out.end(), more.begin(), more.end()); }

Both second_order(const Kernels& k, const Case& c) {
    Both both;
    put_total(both.plain, sibling_charts<PlainPlane>(k, c));
    put_total(both.extended, sibling_charts<LogPlane>(k, c));
    append(both.plain, sibling_marginals<PlainPlane>(k, c));
    append(both.extended, sibling_marginals<LogPlane>(k, c));
    return both;
}

Both first_order(const Kernels& k, const Case& c) {
    Both both;
    put_total(both.plain, arc_charts<PlainPlane>(k, c));
    put_total(both.extended, arc_charts<LogPlane>(k, c));
    append(both.plain, arc_marginals<PlainPlane>(k, c));
    append(both.extended, arc_marginals<LogPlane>(k, c));
    append(both.plain, arc_slopes<PlainPlane>(k, c));
    append(both.extended, arc_slopes<LogPlane>(k, c));
    return both;
}

using Ask = Both (*)(const Kernels&, const Case&);

// Runs every table and both conventions for roots; `offered(roots)` says what is expected, where anything is.
void agree_everywhere(const Owned& owned, Ask ask, std::optional<bool> offered) {
    Arena arena;
    for (const Roots roots : problems::kRoots) {
        const Case c{owned, roots, arena};
        arena.reset();
        ask(kernels(), c);  // so that there is memory to poison
        for (const char* name : {"baseline", "avx2", "avx512"}) {
            const Kernels* table = kernels_named(name);
            if (table == nullptr) continue;
            problems::poison(arena);
            const Both both = ask(*table, c);
            if (offered) CHECK(both.plain.empty() != *offered);
            if (!both.plain.empty()) CHECK(agree(both.plain, both.extended, kAgreement));
        }
    }
}

Owned constant(int n, double arcs, double siblings) {
    problems::Random random(1);
    Owned owned(n, kSiblings, Kind::normal, random);
    for (double& x : owned.arcs) x = x == x ? arcs : x;
    for (double& x : owned.siblings) x = x == x ? siblings : x;
    return owned;
}

// Every word but the first prefers the first by `gap`: spans without it are smaller by that factor for each of their words.
Owned flat(int n, double gap) {
    Owned owned = constant(n, 0.0, 0.0);
    for (int d = 2; d <= n; ++d) owned.arcs[owned.at(1, d)] += gap;
    return owned;
}

}  // namespace

TEST(plain_sums_agree_where_they_fit) {
    problems::Random random(21);
    for (const int n : kLengths) {
        for (const Kind kind : {Kind::normal, Kind::ties, Kind::masked, Kind::soft_masked}) {
            if (!is_asked(n, kind)) continue;
            const Owned owned(n, kSiblings, kind, random);
            agree_everywhere(owned, second_order, true);
            agree_everywhere(owned, first_order, true);
        }
        for (const Kind kind : {Kind::wide, Kind::unequal}) {
            if (n > 20) continue;
            const Owned owned(n, kSiblings, kind, random);
            agree_everywhere(owned, second_order, std::nullopt);
            agree_everywhere(owned, first_order, std::nullopt);
        }
    }
}

TEST(plain_sums_know_the_bounds_of_weights) {
    struct {
        double score;
        bool fits;
    } const cases[] = {{75.9, true}, {76.1, false}, {-75.9, true}, {-76.1, false}, {-1000.0, false}, {-1e300, false}, {-1.1e300, true}, {-kInf, true}};
    for (const auto& [score, fits] : cases) {
        for (const int n : {3, 4, 9, 17}) {
            // The nearest dependent, one in the middle, and the row of the last arc to the left.
            for (const auto& [head, dep, next] : {std::array{1, 2, 1}, std::array{1, n, 2}, std::array{n, 1, n - 1}, std::array{n, 1, n}}) {
                Owned owned = constant(n, 0.0, 0.0);
                owned.siblings[owned.at(head, dep) * (n + 1) + next] = score;
                agree_everywhere(owned, second_order, fits);
            }
            // An arc of that score is the best of its word where it is large, and far from the best where it is small.
            for (const auto& [head, dep] : {std::array{1, n}, std::array{n, 1}, std::array{0, 2}}) {
                Owned owned = constant(n, 0.0, 0.0);
                owned.arcs[owned.at(head, dep)] = score;
                const bool forbids = score < -kLargestScore;
                agree_everywhere(owned, second_order, forbids || std::abs(score) < 72.0);
            }
        }
    }
}

TEST(plain_sums_know_the_bounds_of_values) {
    for (const int n : {12, 20, 24}) agree_everywhere(flat(n, 10.0), second_order, true);
    for (const int n : {40, 60}) agree_everywhere(flat(n, 10.0), second_order, false);
    agree_everywhere(constant(5, 0.0, 40.0), second_order, true);
    agree_everywhere(constant(20, 0.0, 40.0), second_order, false);
    agree_everywhere(constant(5, 0.0, -40.0), second_order, true);
    agree_everywhere(constant(20, 0.0, -40.0), second_order, false);
    // A word's arcs all together may be anything.
    agree_everywhere(constant(20, 1e6, 0.0), second_order, true);
    agree_everywhere(constant(20, -1e9, 0.0), second_order, true);
    agree_everywhere(constant(20, 1e30, 0.0), second_order, false);
}

TEST(plain_sums_leave_what_is_no_number_to_others) {
    for (const double bad : {problems::kNan, kInf, 1.1e300}) {
        for (const auto& [head, dep, next] : {std::array{1, 2, 1}, std::array{2, 9, 5}, std::array{9, 2, 5}, std::array{0, 9, 0}}) {
            Owned owned = constant(9, 0.0, 0.0);
            owned.siblings[owned.at(head, dep) * 10 + next] = bad;
            Arena arena;
            const Case c{owned, Roots::single, arena};
            CHECK(!sibling_charts<PlainPlane>(kernels(), c));
        }
    }
}

// Queries give the same result on both sides of the bounds.
TEST(plain_sums_and_extended_ones_meet) {
    problems::Random random(22);
    for (const int n : {2, 5, 8, 17, 33}) {
        const Owned fits(n, kSiblings, Kind::normal, random);
        Owned forbids = fits, tiny = fits;
        const std::size_t place = fits.at(1, n) * (n + 1) + (n > 2 ? 2 : 1);
        forbids.siblings[place] = -kInf;
        tiny.siblings[place] = -1000.0;  // as good as forbidden, but not for plain doubles
        for (const Roots roots : problems::kRoots) {
            Arena arena;
            const auto answer = [&](const Owned& owned) {
                const Problem p = owned.problem(Trees::projective, roots);
                Numbers arcs(owned.arcs.size()), siblings(owned.siblings.size()), out{log_partition(p, arena)};
                marginals(p, arena, {arcs.data(), siblings.data(), nullptr, nullptr});
                append(out, arcs);
                append(out, siblings);
                return out;
            };
            CHECK(agree(answer(forbids), answer(tiny), 1e-12));
        }
    }
}

}  // namespace plain_sums_tests
