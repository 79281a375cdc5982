// Sums over non-projective trees on scores for which a determinant fails, against the list of all trees for short sentences, and
// against elimination in long double logarithms for long ones.
#include "trees/arborescence/matrix_tree.hpp"
#include "brute_force.hpp"
#include "check.hpp"
#include "trees/queries.hpp"
#include "numeric/kernels/kernels.hpp"
#include "problems.hpp"

namespace matrix_tree_tests {

using namespace arbora;
using problems::Kind;
using problems::Owned;

namespace {

constexpr long double kNothing = brute::kNothing;

long double log_add(long double a, long double b) {
    if (a < b) std::swap(a, b);
    return b == kNothing ? a : a + std::log1p(std::exp(b - a));
}

// log Z of multi-root trees: words are removed one by one, and each leaves its arcs to its neighbours.
long double reference_multi(const Owned& owned) {
    const int n = owned.n;
    std::vector<long double> weights(owned.arcs.begin(), owned.arcs.end());
    long double log_z = 0.0L;
    for (int k = n; k >= 1; --k) {
        long double pivot = kNothing;
        for (int h = 0; h < k; ++h) pivot = log_add(pivot, weights[owned.at(h, k)]);
        if (pivot == kNothing) return kNothing;
        log_z += pivot;
        for (int h = 0; h < k; ++h) {
            for (int d = 1; d < k; ++d) {
                if (h == d) continue;
                auto& weight = weights[owned.at(h, d)];
                weight = log_add(weight, weights[owned.at(h, k)] + weights[owned.at(k, d)] - pivot);
            }
        }
    }
    return log_z;
}

long double reference(const Owned& owned, Roots roots) {
    if (roots == Roots::multi) return reference_multi(owned);
    long double log_z = kNothing;
    for (int root = 1; root <= owned.n; ++root) {
        Owned one = owned;
        for (int d = 1; d <= owned.n; ++d) {
            if (d != root) one.arcs[one.at(0, d)] = -problems::kInf;
        }
        log_z = log_add(log_z, reference_multi(one));
    }
    return log_z;
}

// Allows only h as the head of d.
Owned required(Owned owned, int h, int d) {
    for (int other = 0; other <= owned.n; ++other) {
        if (other != h && other != d) owned.arcs[owned.at(other, d)] = -problems::kInf;
    }
    return owned;
}

std::vector<double> found_marginals(const Problem& p, Arena& arena) {
    std::vector<double> result(static_cast<std::size_t>(p.nodes() * p.nodes()), 7.0);
    marginals(p, arena, {result.data(), nullptr, nullptr, nullptr});
    for (int d = 1; d <= p.n; ++d) {
        double sum = 0.0;
        for (int h = 0; h <= p.n; ++h) {
            const double x = result[h * p.nodes() + d];
            CHECK(x >= 0.0 && x <= 1.0);
            sum += x;
        }
        CHECK(std::abs(sum - 1.0) <= 1e-9);
    }
    return result;
}

void check_sums(const Owned& owned, Roots roots) {
    Arena arena;
    const Problem p = owned.problem(Trees::nonprojective, roots);
    const long double expected = reference(owned, roots);
    const double tolerance = 1e-10 + 1e-15 * owned.magnitude() * owned.n;
    CHECK(std::abs(log_partition(p, arena) - expected) <= tolerance);
    const auto probabilities = found_marginals(p, arena);
    // One word's whole column: each head by the sum when it is required.
    const int d = 1 + owned.n / 2;
    for (int h = 0; h <= owned.n; ++h) {
        // The reference for a single root is O(n^4): for long sentences, test one head only.
        if (h == d || (roots == Roots::single && owned.n > 20 && h != 1)) continue;
        const long double share = std::exp(reference(required(owned, h, d), roots) - expected);
        CHECK(std::abs(probabilities[owned.at(h, d)] - share) <= 1e-9);
    }
}

Owned random_case(int n, double scale, std::uint64_t seed) {
    problems::Random random(seed);
    Owned owned(n, {}, Kind::normal, random);
    for (double& x : owned.arcs) x *= scale;
    return owned;
}

}  // namespace

TEST(matrix_tree_reference_agrees_with_the_list) {
    problems::Random random(30);
    for (int n = 1; n <= 5; ++n) {
        for (const Kind kind : {Kind::normal, Kind::masked, Kind::wide}) {
            const Owned owned(n, {}, kind, random);
            for (const Roots roots : problems::kRoots) {
                const brute::Forest forest(owned.problem(Trees::nonprojective, roots));
                const long double found = reference(owned, roots);
                CHECK(forest.empty() ? found == kNothing : std::abs(found - forest.log_partition) < 1e-9);
            }
        }
    }
}

TEST(matrix_tree_with_two_words_far_above_the_root) {
    for (const int n : {2, 3, 5, 13}) {
        for (const double above : {30.0, 300.0, 1000.0, 1e6}) {
            Owned owned = random_case(n, 1.0, 31);
            owned.arcs[owned.at(1, 2)] = owned.arcs[owned.at(2, 1)] = above;
            for (const Roots roots : problems::kRoots) check_sums(owned, roots);
            Owned last = random_case(n, 1.0, 32);
            last.arcs[last.at(n - 1, n)] = last.arcs[last.at(n, n - 1)] = above;
            for (const Roots roots : problems::kRoots) check_sums(last, roots);
        }
    }
}

TEST(matrix_tree_with_a_shifted_word) {
    for (const int n : {1, 2, 5, 17}) {
        for (const double shift : {-800.0, 800.0, -1e6}) {
            for (const int word : {1, (n + 1) / 2, n}) {
                Owned owned = random_case(n, 1.0, 33);
                for (int h = 0; h <= n; ++h) owned.arcs[owned.at(h, word)] += shift;
                for (const Roots roots : problems::kRoots) check_sums(owned, roots);
            }
        }
    }
}

TEST(matrix_tree_where_masks_force_the_root) {
    // Word `top` may attach to the root only, and its left neighbours form a chain below it; the rest is free.
    for (const int n : {2, 4, 11}) {
        for (int top = 1; top <= n; ++top) {
            Owned owned = random_case(n, 3.0, 34);
            for (int h = 1; h <= n; ++h) owned.arcs[owned.at(h, top)] = -problems::kInf;
            for (int d = 1; d < top; ++d) {
                for (int h = 0; h <= n; ++h) {
                    if (h != d + 1) owned.arcs[owned.at(h, d)] = -problems::kInf;
                }
            }
            for (const Roots roots : problems::kRoots) check_sums(owned, roots);
        }
    }
}

TEST(matrix_tree_where_masks_leave_one_tree) {
    const int n = 30;
    Owned owned = random_case(n, 1e3, 35);
    long double score = 0.0L;
    for (int d = 1; d <= n; ++d) {
        const int head = d == 7 ? 0 : d < 7 ? d + 1 : (d * 5) % d;
        for (int h = 0; h <= n; ++h) {
            if (h != head) owned.arcs[owned.at(h, d)] = -problems::kInf;
        }
    }
    for (int d = 1; d <= n; ++d) score += owned.arcs[owned.at(d == 7 ? 0 : d < 7 ? d + 1 : (d * 5) % d, d)];
    Arena arena;
    const Problem multi = owned.problem(Trees::nonprojective, Roots::multi);
    CHECK(std::abs(log_partition(multi, arena) - score) < 1e-9);
    for (const double x : found_marginals(multi, arena)) CHECK(x == 0.0 || std::abs(x - 1.0) < 1e-12);
}

TEST(matrix_tree_on_long_sentences_of_wide_scores) {
    for (const double scale : {1.0, 1e4}) {
        for (const Roots roots : problems::kRoots) check_sums(random_case(35, scale, 36), roots);
    }
}

TEST(matrix_tree_plain_and_extended_paths_agree) {
    for (const double scale : {1.0, 10.0, 100.0, 1e4}) {
        for (const Roots roots : problems::kRoots) {
            const Owned owned = random_case(60, scale, 37);
            const Problem p = owned.problem(Trees::nonprojective, roots);
            Arena arena;
            const Square square(60);
            const double* scores = checked_scores(p, square, arena);
            const MatrixTree sums(scores, square, roots, arena);
            auto wide = ExtendedElimination::take(arena, square, roots);
            kernels().exponentiate(scores, wide.weights, square.size());
            CHECK(sums.any_tree() && kernels().eliminate_extended(wide));
            Extended product = kOne;
            for (int k = 1; k <= 60; ++k) product = product * wide.pivots.at(k);
            CHECK_NEAR(sums.log_partition(), log(product), 1e-13);
        }
    }
}

}  // namespace matrix_tree_tests
