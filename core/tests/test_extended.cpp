// Extended-range numbers over the whole range, against long double logarithms.
#include <cmath>

#include "check.hpp"
#include "numeric/extended.hpp"

namespace extended_tests {

using namespace arbora;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kScores[] = {-1e12, -1e9, -1e6, -12345.678, -800.0, -708.4, -1.0, -1e-9, 0.0, 1e-300, 1e-9, 0.3, 1.0, 709.8, 1e3, 54321.9, 1e6, 1e9, 1e12};

bool in_order(Extended x) {
    return x.is_zero() ? x.exponent == kZeroExponent : x.mantissa >= 1.0 && x.mantissa < 2.0 && x.exponent == std::nearbyint(x.exponent);
}

long double log_sum(double a, double b) {
    const long double top = std::max(a, b), rest = std::min(a, b);
    return top + std::log1p(std::exp(rest - top));
}

}  // namespace

TEST(extended_exp_and_log_are_inverse) {
    for (const double score : kScores) {
        const Extended x = extended_exp(score);
        CHECK(in_order(x));
        CHECK_NEAR(log(x), score, 3e-16);
    }
    CHECK(extended_exp(0.0).mantissa == 1.0 && extended_exp(0.0).exponent == 0.0);
    CHECK(extended_exp(-kInf).is_zero() && log(Extended{}) == -kInf);
}

TEST(extended_exp_keeps_its_digits_at_large_scores) {
    // The ratio of two numbers near e^(10^6) is as exact as that of two near 1.
    for (const double base : {-1e6, -1024.0, 0.0, 1024.0, 1e6}) {
        for (const double step : {0.0, -0.0625, -0.5, -1.0, -3.75, -36.5, -512.0}) {
            const double found = ratio(extended_exp(base + step), extended_exp(base));
            const double expected = std::exp(step);
            CHECK(std::abs(found - expected) <= 1e-15 * expected);
        }
    }
}

TEST(extended_exp_clamps_what_has_no_fraction_left) {
    CHECK_NEAR(log(extended_exp(1e300)), kScoreLimit, 1e-15);
    CHECK_NEAR(log(extended_exp(-1e300)), -kScoreLimit, 1e-15);
    CHECK(!extended_exp(-1e300).is_zero());
}

TEST(extended_products_and_quotients_add_and_subtract_logs) {
    for (const double a : kScores) {
        for (const double b : kScores) {
            const Extended x = extended_exp(a), y = extended_exp(b);
            CHECK(in_order(x * y) && in_order(x / y));
            const double scale = 1.0 + std::abs(a) + std::abs(b);
            CHECK(std::abs(log(x * y) - (a + b)) <= 1e-15 * scale);
            CHECK(std::abs(log(x / y) - (a - b)) <= 1e-15 * scale);
        }
        CHECK((extended_exp(a) * Extended{}).is_zero() && (Extended{} * extended_exp(a)).is_zero());
        CHECK((Extended{} / extended_exp(a)).is_zero());
        const Extended same = extended_exp(a) / extended_exp(a);
        CHECK(same.mantissa == 1.0 && same.exponent == 0.0);
    }
}

TEST(extended_sums_are_log_sums) {
    for (const double a : kScores) {
        for (const double b : kScores) {
            const Extended x = extended_exp(a), y = extended_exp(b), sum = x + y, turned = y + x;
            CHECK(in_order(sum) && sum.mantissa == turned.mantissa && sum.exponent == turned.exponent);
            CHECK_NEAR(log(sum), static_cast<double>(log_sum(a, b)), 1e-15);
        }
        const Extended x = extended_exp(a), with_zero = x + Extended{}, zero_with = Extended{} + x;
        CHECK(with_zero.mantissa == x.mantissa && zero_with.exponent == x.exponent);
    }
    CHECK((Extended{} + Extended{}).is_zero());
}

TEST(extended_long_products_neither_overflow_nor_vanish) {
    Extended up = kOne, down = kOne;
    for (int i = 0; i < 1000; ++i) {
        up = up * extended_exp(1e6);
        down = down * extended_exp(-1e6);
    }
    CHECK_NEAR(log(up), 1e9, 1e-15);
    CHECK_NEAR(log(down), -1e9, 1e-15);
    CHECK_NEAR(log(up * down), 0.0, 1e-6);
    CHECK(ratio(down, up) == 0.0 && ratio(up, up) == 1.0);
}

TEST(extended_ratios_are_plain_numbers) {
    CHECK(ratio(Extended{}, kOne) == 0.0);
    CHECK_NEAR(ratio(extended_exp(-700.0), kOne), std::exp(-700.0), 1e-15);
    CHECK(ratio(extended_exp(-1e6), extended_exp(1e6)) == 0.0);
    // Rounding may put a above b.
    CHECK_NEAR(ratio(extended_exp(1.0), kOne), std::exp(1.0), 1e-15);
    CHECK_NEAR(ratio(extended_exp(1e6 + 1.0), extended_exp(1e6)), std::exp(1.0), 1e-15);
}

TEST(extended_powers_of_two) {
    for (int i = 0; i <= 1000; ++i) CHECK(power_of_two(-i) == std::ldexp(1.0, -i));
    CHECK(power_of_two(-1001.0) == 0.0 && power_of_two(kZeroExponent) == 0.0);
    for (const double x : {1.0, 1.5, 2.0, 0x1p-1022, 0x1.fffffffffffffp1023, 3.7e-200}) {
        const Extended y = normalized(x, 0.0);
        CHECK(in_order(y) && std::ldexp(y.mantissa, static_cast<int>(y.exponent)) == x);
    }
    CHECK(normalized(0.0, 5.0).is_zero());
}

}  // namespace extended_tests
