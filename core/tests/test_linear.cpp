// Sparse vectors and lazy weights against dense arithmetic; quadratic programs against every choice of positive multipliers.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "check.hpp"
#include "base/errors.hpp"
#include "numeric/adagrad.hpp"
#include "numeric/qp.hpp"
#include "numeric/sparse.hpp"
#include "numeric/weights.hpp"
#include "base/generator.hpp"

namespace linear_tests {

using namespace arbora;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
using Dense = std::vector<double>;

std::vector<SparseEntry> random_entries(Generator& random, std::size_t count, std::uint32_t size) {
    std::vector<SparseEntry> entries(count);
    for (auto& [index, value] : entries) {
        index = static_cast<std::uint32_t>(random.uniform() * size);
        value = static_cast<float>(static_cast<int>(random.uniform() * 7) - 3);
    }
    return entries;
}

Dense dense(const SparseVector& x, std::size_t size) {
    Dense result(size);
    for (std::size_t i = 0; i < x.size(); ++i) result[x.indices[i]] = x.values[i];
    return result;
}

double dot(const Dense& a, const Dense& b) {
    double sum = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
}

template <class Body>
bool is_refused(Body body) {
    try {
        body();
    } catch (const InputError&) {
        return true;
    }
    return false;
}

}  // namespace

TEST(sparse_coalesce_sums_repeats_and_drops_zeros) {
    Generator random(1, 0);
    for (const std::size_t count : {0, 1, 5, 100, 1000, 20000}) {
        for (const std::uint32_t size : {1U, 40U, 3000U, 4000000000U}) {
            const auto entries = random_entries(random, count, size);
            std::vector<std::pair<std::uint32_t, double>> expected;
            auto sorted = entries;
            std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
            for (const auto& [index, value] : sorted) {
                if (expected.empty() || expected.back().first != index) expected.emplace_back(index, 0.0);
                expected.back().second += value;
            }
            std::erase_if(expected, [](const auto& entry) { return entry.second == 0.0; });
            const SparseVector made = coalesce(std::vector(entries));
            CHECK(made.size() == expected.size() && made.values.size() == expected.size());
            for (std::size_t i = 0; i < std::min(made.size(), expected.size()); ++i) {
                CHECK(made.indices[i] == expected[i].first);
                CHECK(made.values[i] == static_cast<float>(expected[i].second));
            }
        }
    }
    CHECK(is_refused([] { coalesce({{3, std::numeric_limits<float>::quiet_NaN()}}); }));
}

TEST(sparse_arithmetic_is_dense_arithmetic) {
    Generator random(2, 0);
    constexpr std::uint32_t kSize = 500;
    for (int trial = 0; trial < 200; ++trial) {
        const SparseVector a = coalesce(random_entries(random, static_cast<std::size_t>(random.uniform() * 400), kSize));
        const SparseVector b = coalesce(random_entries(random, static_cast<std::size_t>(random.uniform() * 8), kSize));
        const Dense da = dense(a, kSize), db = dense(b, kSize);
        CHECK(norm2(a) == dot(da, da));
        CHECK(dot(a, b) == dot(da, db));
        CHECK(dot(b, a) == dot(da, db));
        const SparseVector sum = add(a, b, -0.5);
        Dense expected = da;
        for (std::size_t i = 0; i < kSize; ++i) expected[i] -= 0.5 * db[i];
        CHECK(dense(sum, kSize) == expected);
        CHECK(std::is_sorted(sum.indices.begin(), sum.indices.end()));
        CHECK(std::count(sum.values.begin(), sum.values.end(), 0.0F) == 0);
        CHECK(add(a, a, -1.0).size() == 0);
    }
}

namespace {

// Weights and their average, computed directly in double.
struct Plain {
    Dense w, sum;
    double ticks = 0.0;

    explicit Plain(std::size_t size) : w(size), sum(size) {}
    void add(const SparseVector& x, double step) {
        for (std::size_t i = 0; i < x.size(); ++i) w[x.indices[i]] += step * x.values[i];
    }
    void multiply(double factor) {
        for (auto& value : w) value *= factor;
    }
    void tick(double count) {
        for (std::size_t i = 0; i < w.size(); ++i) sum[i] += count * w[i];
        ticks += count;
    }
};

void check_equal(const Weights& lazy, const Plain& plain, double tolerance) {
    const auto values = lazy.values(), average = lazy.average();
    double largest = 0.0;
    for (const double value : plain.w) largest = std::max(largest, std::abs(value));
    for (std::size_t i = 0; i < plain.w.size(); ++i) {
        CHECK(std::abs(values[i] - plain.w[i]) <= tolerance * (largest + 1e-30));
        CHECK_NEAR(average[i], plain.ticks > 0 ? plain.sum[i] / plain.ticks : plain.w[i], tolerance);
    }
    CHECK(std::abs(lazy.norm2() - dot(plain.w, plain.w)) <= tolerance * (dot(plain.w, plain.w) + 1e-30));
}

}  // namespace

TEST(weights_are_what_dense_arithmetic_gives) {
    Generator random(3, 0);
    constexpr std::uint32_t kSize = 60;
    for (int trial = 0; trial < 20; ++trial) {
        Weights lazy(kSize);
        Plain plain(kSize);
        check_equal(lazy, plain, 0.0);
        for (int step = 0; step < 200; ++step) {
            const SparseVector x = coalesce(random_entries(random, 10, kSize));
            const double kind = random.uniform(), by = random.uniform();
            CHECK(std::abs(lazy.dot(x) - dot(plain.w, dense(x, kSize))) < 1e-4 * (1.0 + std::sqrt(dot(plain.w, plain.w))));
            if (kind < 0.6) lazy.add(x, by), plain.add(x, by);
            if (kind > 0.4 && kind < 0.8) lazy.multiply(by), plain.multiply(by);
            if (kind > 0.99) lazy.multiply(0.0), plain.multiply(0.0);
            if (kind > 0.5) lazy.tick(1.0 + step % 3), plain.tick(1.0 + step % 3);
        }
        check_equal(lazy, plain, 2e-5);
    }
}

// Step 1/(λt), shrinking by 1 - 1/t, and a projection on the ball: thousands of rescalings, and many additions in between.
TEST(weights_average_pegasos_steps) {
    Generator random(4, 0);
    constexpr std::uint32_t kSize = 200;
    constexpr double kLambda = 0.01;
    Weights lazy(kSize);
    Plain plain(kSize);
    for (int t = 1; t <= 20000; ++t) {
        const SparseVector x = coalesce(random_entries(random, 5, kSize));
        lazy.multiply(1.0 - 1.0 / t), plain.multiply(1.0 - 1.0 / t);
        lazy.add(x, 1.0 / (kLambda * t)), plain.add(x, 1.0 / (kLambda * t));
        const double norm = std::sqrt(dot(plain.w, plain.w)), radius = 1.0 / std::sqrt(kLambda);
        CHECK_NEAR(lazy.norm2(), norm * norm, 1e-4);
        if (norm > radius) lazy.multiply(radius / norm), plain.multiply(radius / norm);
        lazy.tick(), plain.tick(1.0);
    }
    check_equal(lazy, plain, 1e-4);
}

TEST(weights_survive_a_scale_that_vanishes) {
    Generator random(5, 0);
    constexpr std::uint32_t kSize = 30;
    Weights lazy(kSize);
    Plain plain(kSize);
    for (int step = 0; step < 300; ++step) {
        const SparseVector x = coalesce(random_entries(random, 6, kSize));
        lazy.add(x, 1.0), plain.add(x, 1.0);
        lazy.tick(), plain.tick(1.0);
        const double factor = step % 40 == 39 ? 1e6 : 0.3;
        lazy.multiply(factor), plain.multiply(factor);
        CHECK(lazy.scale() >= 1e-9 && lazy.scale() <= 1e9);
    }
    check_equal(lazy, plain, 1e-4);
}

TEST(weights_go_on_from_their_state_to_the_bit) {
    Generator random(6, 0);
    constexpr std::uint32_t kSize = 50;
    Weights first(kSize);
    const auto advance = [&](Weights& weights, std::uint64_t stream) {
        Generator steps(7, stream);
        for (int i = 0; i < 50; ++i) {
            weights.multiply(0.9);
            weights.add(coalesce(random_entries(steps, 8, kSize)), steps.uniform());
            weights.tick();
        }
    };
    advance(first, 0);
    Weights second{WeightsState(first.state())};
    advance(first, 1);
    advance(second, 1);
    CHECK(first.values() == second.values());
    CHECK(first.average() == second.average());
    CHECK(first.norm2() == second.norm2());
    CHECK(first.scale() == second.scale());
}

TEST(adagrad_steps_are_what_they_say) {
    constexpr std::uint32_t kSize = 30;
    constexpr double kRate = 0.3, kPenalty = 0.02, kFloor = 0.5;
    Generator random(8, 0);
    Weights w(kSize);
    Adagrad steps(kSize, kRate, kPenalty, kFloor);
    Dense plain(kSize), squares(kSize), paid(kSize);
    for (int t = 1; t <= 200; ++t) {
        const SparseVector ascent = coalesce(random_entries(random, 5, kSize));
        steps.step(w, ascent, 0.25);
        for (std::size_t i = 0; i < ascent.size(); ++i) {
            const auto j = ascent.indices[i];
            const double g = -0.25 * ascent.values[i];
            squares[j] += g * g;
            const double height = kFloor + std::sqrt(squares[j]);
            plain[j] = (height * plain[j] - kRate * g) / (height + kRate * kPenalty * (t - paid[j]));
            paid[j] = t;
        }
        if (t == 100) {
            Adagrad again(AdagradState(steps.state()), kRate, kPenalty, kFloor);
            Weights first{WeightsState(w.state())}, second{WeightsState(w.state())};
            steps.settle(first), again.settle(second);
            CHECK(first.values() == second.values());
            steps = Adagrad(AdagradState(steps.state()), kRate, kPenalty, kFloor);
            w = std::move(first);
            for (std::size_t j = 0; j < kSize; ++j) {
                const double height = kFloor + std::sqrt(squares[j]);
                plain[j] *= height / (height + kRate * kPenalty * (t - paid[j]));
                paid[j] = t;
            }
        }
    }
    for (std::size_t j = 0; j < kSize; ++j) CHECK_NEAR(w.values()[j], plain[j], 1e-5);
}

TEST(adagrad_refuses_what_cannot_be) {
    CHECK(is_refused([] { Adagrad(3, 0.0, 0.1, 1.0); }));
    CHECK(is_refused([] { Adagrad(3, 1.0, -0.1, 1.0); }));
    CHECK(is_refused([] { Adagrad(3, 1.0, 0.1, 0.0); }));
    CHECK(is_refused([] { Adagrad(AdagradState{{1.0F}, {}, 0}, 1.0, 0.1, 1.0); }));
    Adagrad steps(3, 1.0, 0.0, 1.0);
    Weights few(2), right(3);
    CHECK(is_refused([&] { steps.step(few, {}, 1.0); }));
    CHECK(is_refused([&] { steps.settle(few); }));
    CHECK(is_refused([&] { steps.step(right, coalesce({{3, 1.0F}}), 1.0); }));
}

TEST(weights_refuse_what_cannot_be) {
    Weights weights(3, false);
    CHECK(is_refused([&] { weights.add(coalesce({{3, 1.0F}}), 1.0); }));
    CHECK(is_refused([&] { static_cast<void>(weights.dot(coalesce({{3, 1.0F}}))); }));
    CHECK(is_refused([&] { weights.add(coalesce({{1, 1.0F}}), kInf); }));
    CHECK(is_refused([&] { weights.multiply(std::nan("")); }));
    CHECK(is_refused([&] { weights.tick(-1.0); }));
    CHECK(is_refused([&] { static_cast<void>(weights.average()); }));
    CHECK(is_refused([&] { Weights(WeightsState{{1.0F}, {1.0, 2.0}, 1.0, 0.0, 0.0, 1.0, 0.0}); }));
    CHECK(weights.values() == std::vector<float>(3, 0.0F));
}

namespace {

struct Program {
    std::size_t k;
    Dense gram, linear;
};

// Planes in `dimension` dimensions: fewer than k of them make G singular.
Program random_program(Generator& random, std::size_t k, std::size_t dimension) {
    Program program{k, Dense(k * k), Dense(k)};
    std::vector<Dense> planes(k, Dense(dimension));
    for (auto& plane : planes) {
        for (auto& value : plane) value = static_cast<int>(random.uniform() * 7) - 3;
    }
    for (std::size_t i = 0; i < k; ++i) {
        program.linear[i] = 4.0 * random.uniform() - 0.5;
        for (std::size_t j = 0; j < k; ++j) program.gram[i * k + j] = dot(planes[i], planes[j]);
    }
    return program;
}

double objective(const Program& program, const Dense& alpha) {
    double value = 0.0;
    for (std::size_t i = 0; i < program.k; ++i) {
        value += program.linear[i] * alpha[i];
        for (std::size_t j = 0; j < program.k; ++j) value -= 0.5 * alpha[i] * program.gram[i * program.k + j] * alpha[j];
    }
    return value;
}

// Solves a small linear system by elimination with pivoting; empty if it is singular.
Dense eliminate(std::vector<Dense> rows) {
    const std::size_t m = rows.size();
    for (std::size_t c = 0; c < m; ++c) {
        std::size_t pivot = c;
        for (std::size_t r = c; r < m; ++r) {
            if (std::abs(rows[r][c]) > std::abs(rows[pivot][c])) pivot = r;
        }
        if (std::abs(rows[pivot][c]) < 1e-9) return {};
        std::swap(rows[c], rows[pivot]);
        for (std::size_t r = 0; r < m; ++r) {
            if (r == c) continue;
            const double factor = rows[r][c] / rows[c][c];
            for (std::size_t i = c; i <= m; ++i) rows[r][i] -= factor * rows[c][i];
        }
    }
    Dense x(m);
    for (std::size_t i = 0; i < m; ++i) x[i] = rows[i][m] / rows[i][i];
    return x;
}

// The stationary point with exactly these multipliers positive and, if `tight`, their sum at the cap.
Dense stationary(const Program& program, unsigned chosen, bool tight, double cap) {
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < program.k; ++i) {
        if (chosen >> i & 1U) members.push_back(i);
    }
    const std::size_t m = members.size();
    std::vector<Dense> rows(m + tight, Dense(m + tight + 1));
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < m; ++j) rows[i][j] = program.gram[members[i] * program.k + members[j]];
        if (tight) rows[i][m] = rows[m][i] = 1.0;
        rows[i].back() = program.linear[members[i]];
    }
    if (tight) rows[m].back() = cap;
    const Dense x = eliminate(std::move(rows));
    if (x.empty() && m > 0) return {};
    Dense alpha(program.k);
    for (std::size_t i = 0; i < m; ++i) alpha[members[i]] = x[i];
    return alpha;
}

// The best over all sets of positive multipliers. Some best point has a set whose system is not singular.
double brute_force(const Program& program, double cap) {
    double best = 0.0;
    for (unsigned chosen = 1; chosen < 1U << program.k; ++chosen) {
        for (const bool tight : {false, true}) {
            if (tight && cap == kInf) continue;
            const Dense alpha = stationary(program, chosen, tight, cap);
            double mass = 0.0;
            for (const double a : alpha) mass += a;
            if (alpha.empty() || *std::min_element(alpha.begin(), alpha.end()) < -1e-12 || mass > cap * (1.0 + 1e-12)) continue;
            best = std::max(best, objective(program, alpha));
        }
    }
    return best;
}

void check_solution(const Program& program, const QpResult& result, double cap) {
    double mass = 0.0;
    for (const double a : result.multipliers) {
        CHECK(a >= 0.0);
        mass += a;
    }
    CHECK(mass <= cap * (1.0 + 1e-12));
    CHECK_NEAR(result.objective, objective(program, result.multipliers), 1e-11);
    // Lagrange: with the price of mass, no gradient exceeds it, and those of positive multipliers equal it.
    double price = 0.0, scale = 1.0;
    Dense gradient = program.linear;
    for (std::size_t i = 0; i < program.k; ++i) {
        for (std::size_t j = 0; j < program.k; ++j) gradient[i] -= program.gram[i * program.k + j] * result.multipliers[j];
        price = std::max(price, gradient[i]);
        scale = std::max(scale, program.gram[i * program.k + i] * mass);
    }
    if (mass < cap * (1.0 - 1e-12)) CHECK(price <= 1e-11 * scale);
    for (std::size_t i = 0; i < program.k; ++i) {
        if (result.multipliers[i] > 0.0) CHECK(gradient[i] >= price - 1e-11 * scale);
    }
}

}  // namespace

TEST(qp_finds_what_brute_force_over_active_sets_finds) {
    Generator random(8, 0);
    for (int trial = 0; trial < 400; ++trial) {
        const std::size_t k = 1 + trial % 7, dimension = trial % 3 == 0 ? 2 : 9;
        const Program program = random_program(random, k, dimension);
        for (const double cap : {0.01, 0.3, 2.0, 50.0}) {
            const QpResult result = solve_qp(program.gram, program.linear, cap);
            CHECK(result.converged);
            check_solution(program, result, cap);
            CHECK_NEAR(result.objective, brute_force(program, cap), 1e-9);
            Dense start(k, cap / static_cast<double>(k));
            CHECK_NEAR(solve_qp(program.gram, program.linear, cap, start).objective, result.objective, 1e-10);
        }
        if (dimension > k) {
            const QpResult result = solve_qp(program.gram, program.linear, kInf);
            CHECK(result.converged);
            check_solution(program, result, kInf);
            CHECK_NEAR(result.objective, brute_force(program, kInf), 1e-9);
        }
    }
}

TEST(qp_is_precise_where_planes_are_nearly_parallel) {
    Generator random(9, 0);
    for (const std::size_t k : {20, 60}) {
        Program program{k, Dense(k * k), Dense(k)};
        std::vector<Dense> planes(k, Dense(100));
        Dense common(100);
        for (auto& value : common) value = random.uniform();
        for (std::size_t i = 0; i < k; ++i) {
            for (std::size_t j = 0; j < 100; ++j) planes[i][j] = 100.0 * common[j] + random.uniform();
            program.linear[i] = 5.0 + 0.1 * random.uniform();
        }
        for (std::size_t i = 0; i < k * k; ++i) program.gram[i] = dot(planes[i / k], planes[i % k]);
        for (const double cap : {1e-6, 1e-3, 1.0}) {
            const QpResult result = solve_qp(program.gram, program.linear, cap);
            CHECK(result.converged);
            check_solution(program, result, cap);
        }
    }
}

TEST(qp_one_constraint_is_the_passive_aggressive_step) {
    const Dense gram{8.0}, linear{2.0}, negative{-2.0};
    CHECK(solve_qp(gram, linear, kInf).multipliers[0] == 0.25);
    CHECK(solve_qp(gram, linear, 0.1).multipliers[0] == 0.1);
    CHECK(solve_qp(gram, negative, 0.1).multipliers[0] == 0.0);
    CHECK(solve_qp({}, {}, 1.0).converged);
}

TEST(qp_contradictions_end) {
    // <Δ, d> >= 1 and <Δ, -d> >= 1 cannot both hold; a zero plane cannot be satisfied either.
    const Dense gram{2.0, -2.0, 0.0, -2.0, 2.0, 0.0, 0.0, 0.0, 0.0}, linear{1.0, 1.0, 1.0};
    const QpResult free = solve_qp(gram, linear, kInf);
    CHECK(!free.converged);
    CHECK(free.multipliers[2] == 0.0);
    CHECK(std::abs(free.multipliers[0] - free.multipliers[1]) <= 1.0);
    const QpResult capped = solve_qp(gram, linear, 3.0);
    CHECK(capped.converged);
    CHECK_NEAR(capped.objective, 3.0, 1e-12);
    CHECK(is_refused([&] { solve_qp(gram, Dense{1.0}, 1.0); }));
    CHECK(is_refused([&] { solve_qp(Dense{1.0}, Dense{1.0}, 0.0); }));
    CHECK(is_refused([&] { solve_qp(Dense{kInf}, Dense{1.0}, 1.0); }));
    CHECK(is_refused([&] { solve_qp(Dense{1.0}, Dense{1.0}, 1.0, Dense{-1.0}); }));
}

}  // namespace linear_tests
