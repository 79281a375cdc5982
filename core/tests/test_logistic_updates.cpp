// Logistic updates: gradients against finite differences, optima against a search in ever smaller steps, scores at the limits of
// doubles.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "check.hpp"
#include "base/errors.hpp"
#include "numeric/logistic_updates.hpp"
#include "base/generator.hpp"

namespace logistic_updates_tests {

using namespace arbora;

namespace {

using Dense = std::vector<double>;

struct Case {
    Dense gram, margins, costs, scales;

    Case(std::uint64_t seed, std::size_t m, double spread = 4.0) : gram(m * m), margins(m), costs(m), scales(m) {
        Generator random(seed, 0);
        constexpr std::size_t kFeatures = 5;
        Dense differences(m * kFeatures);
        for (auto& each : differences) each = 2.0 * random.uniform() - 1.0;
        for (std::size_t j = 0; j < m; ++j) {
            for (std::size_t k = 0; k < m; ++k)
                for (std::size_t f = 0; f < kFeatures; ++f) gram[j * m + k] += differences[j * kFeatures + f] * differences[k * kFeatures + f];
            margins[j] = spread * (random.uniform() - 0.5);
            costs[j] = 0.5 + random.uniform();
            scales[j] = 0.1 + random.uniform();
        }
    }

    LogisticUpdate update(Gain gain, Prior prior) const { return {gram, margins, costs, scales, gain, prior}; }
};

double objective(const LogisticUpdate& update, const Dense& alpha) {
    double value = logistic_gain(update, alpha, {});
    for (std::size_t j = 0; j < alpha.size(); ++j)
        value -= update.scales[j] * (update.prior == Prior::kGauss ? alpha[j] * alpha[j] : std::abs(alpha[j]));
    return value;
}

// Uphill from `alpha`, one multiplier at a time, in shrinking steps: slow and simple.
double climbed(const LogisticUpdate& update, Dense alpha) {
    double best = objective(update, alpha);
    for (double step = 1.0; step > 1e-7;) {
        bool risen = false;
        for (auto& each : alpha) {
            for (const double change : {step, -step}) {
                each += change;
                const double value = objective(update, alpha);
                if (value > best) best = value, risen = true;
                else each -= change;
            }
        }
        if (!risen) step *= 0.5;
    }
    return best;
}

template <class Body>
void for_all(Body body) {
    for (const Gain gain : {Gain::kLikelihood, Gain::kExpectedCost})
        for (const Prior prior : {Prior::kGauss, Prior::kLaplace}) body(gain, prior);
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

TEST(logistic_gradients_are_slopes) {
    Generator random(7, 0);
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        const Case made(seed, 1 + seed % 5);
        for (const Gain gain : {Gain::kLikelihood, Gain::kExpectedCost}) {
            const LogisticUpdate update = made.update(gain, Prior::kGauss);
            Dense alpha(update.size()), gradient(update.size());
            for (auto& each : alpha) each = random.uniform() - 0.5;
            logistic_gain(update, alpha, gradient);
            for (std::size_t j = 0; j < alpha.size(); ++j) {
                Dense up = alpha, down = alpha;
                up[j] += 1e-6, down[j] -= 1e-6;
                CHECK_NEAR(gradient[j], (logistic_gain(update, up, {}) - logistic_gain(update, down, {})) / 2e-6, 1e-7);
            }
        }
    }
}

TEST(logistic_optimum_is_where_climbing_ends) {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        const Case made(seed, 1 + seed % 5);
        for_all([&](Gain gain, Prior prior) {
            const LogisticUpdate update = made.update(gain, prior);
            const LogisticResult found = maximize(update, {.tolerance = 1e-10});
            CHECK(found.converged);
            CHECK_NEAR(found.objective, objective(update, found.multipliers), 1e-12);
            CHECK(found.objective >= objective(update, Dense(update.size())));
            // Nothing near the result is better; from zero, the concave gain leads to the same place.
            CHECK(climbed(update, found.multipliers) <= found.objective + 1e-9);
            if (gain == Gain::kLikelihood && prior == Prior::kGauss) CHECK_NEAR(climbed(update, Dense(update.size())), found.objective, 1e-6);
        });
    }
}

TEST(logistic_scores_may_be_extreme) {
    for (const double score : {1e3, -1e3, 1e300, -1e300, 0.0}) {
        Case made(3, 4);
        std::fill(made.margins.begin(), made.margins.end(), score);
        made.margins[1] = -score;
        for_all([&](Gain gain, Prior prior) {
            const LogisticResult found = maximize(made.update(gain, prior));
            CHECK(std::isfinite(found.objective));
            CHECK(std::all_of(found.multipliers.begin(), found.multipliers.end(), [](double each) { return std::isfinite(each); }));
        });
    }
}

TEST(logistic_update_of_nothing_and_of_what_does_not_differ) {
    for_all([&](Gain gain, Prior prior) {
        CHECK(maximize(Case(1, 0).update(gain, prior)).multipliers.empty());
        Case alike(1, 3);
        std::fill(alike.gram.begin(), alike.gram.end(), 0.0);
        const LogisticResult found = maximize(alike.update(gain, prior));
        CHECK(found.converged && found.steps == 0 && found.multipliers == Dense(3));
    });
}

TEST(logistic_update_refuses_what_is_no_number) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const auto spoil : {+[](Case& c, double x) { c.gram[0] = x; }, +[](Case& c, double x) { c.margins[0] = x; },
                             +[](Case& c, double x) { c.costs[0] = x; }, +[](Case& c, double x) { c.scales[0] = x; }}) {
        Case made(2, 3);
        spoil(made, nan);
        CHECK(is_refused([&] { maximize(made.update(Gain::kLikelihood, Prior::kGauss)); }));
    }
    Case short_of_one(2, 3);
    short_of_one.scales.pop_back();
    CHECK(is_refused([&] { maximize(short_of_one.update(Gain::kLikelihood, Prior::kGauss)); }));
    const Case made(2, 3);
    Dense two(2);
    CHECK(is_refused([&] { logistic_gain(made.update(Gain::kLikelihood, Prior::kGauss), two, {}); }));
}

}  // namespace logistic_updates_tests
