// The exchange algorithm against counts from scratch.
#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "check.hpp"
#include "text/exchange.hpp"
#include "base/generator.hpp"
#include "refuses.hpp"

namespace classes_tests {

using namespace arbora;
using classes::kBoundary;

namespace {

std::vector<std::int32_t> random_text(std::uint64_t seed, std::size_t length, std::size_t words) {
    Generator random(seed, 0);
    std::vector<std::int32_t> text;
    for (std::size_t i = 0; i < length; ++i) {
        const double u = random.uniform();
        text.push_back(random.uniform() < 0.1 ? kBoundary : static_cast<std::int32_t>(u * u * static_cast<double>(words)));
    }
    return text;
}

// The value of F by its definition.
double value_of(const std::vector<std::int32_t>& text, const std::vector<std::int32_t>& classes) {
    std::vector<std::vector<int>> sentences(1);
    for (const std::int32_t word : text) {
        if (word == kBoundary) sentences.emplace_back();
        else sentences.back().push_back(classes[static_cast<std::size_t>(word)]);
    }
    std::map<std::pair<int, int>, int> pairs;
    std::map<int, int> totals;
    for (const auto& sentence : sentences) {
        if (sentence.empty()) continue;
        int last = -1;
        for (const int c : sentence) {
            ++pairs[{last, c}];
            ++totals[c];
            last = c;
        }
        ++pairs[{last, -1}];
        ++totals[-1];
    }
    const auto f = [](int n) { return n * std::log(n); };
    double sum = 0.0;
    for (const auto& [pair, n] : pairs) sum += f(n);
    for (const auto& [c, n] : totals) sum -= 2 * f(n);
    return sum;
}

}  // namespace

TEST(exchange_values_are_those_of_the_text) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const std::size_t words = 3 + seed % 15, count = 1 + seed % 5;
        const auto text = random_text(seed, 40 * (seed % 7), words);
        std::vector<std::int32_t> start(words);
        for (std::size_t w = 0; w < words; ++w) start[w] = static_cast<std::int32_t>(w % count);
        const double first = value_of(text, start);
        const auto found = classes::exchange(text, start, count, 20);
        CHECK(found.values.size() == found.moved.size() + 1);
        CHECK(check::near(found.values.front(), first, 1e-9));
        CHECK(check::near(found.values.back(), value_of(text, found.classes), 1e-9));
        for (std::size_t r = 1; r < found.values.size(); ++r) CHECK(found.values[r] >= found.values[r - 1] - 1e-9);
    }
}

TEST(exchange_ends_where_no_single_move_helps) {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        const std::size_t words = 8, count = 3;
        const auto text = random_text(seed, 200, words);
        const auto found = classes::exchange(text, std::vector<std::int32_t>(words), count, 100);
        CHECK(found.moved.back() == 0);
        for (std::size_t w = 0; w < words; ++w)
            for (std::int32_t c = 0; c < static_cast<std::int32_t>(count); ++c) {
                auto other = found.classes;
                other[w] = c;
                CHECK(value_of(text, other) <= found.values.back() + 1e-6);
            }
    }
}

TEST(exchange_refuses_numbers_out_of_range) {
    CHECK(refuses([] { classes::exchange(std::vector<std::int32_t>{0, 2}, {0, 0}, 2, 1); }));
    CHECK(refuses([] { classes::exchange(std::vector<std::int32_t>{0}, {2}, 2, 1); }));
    CHECK(refuses([] { classes::exchange(std::vector<std::int32_t>{}, {}, 0, 1); }));
    CHECK(classes::exchange(std::vector<std::int32_t>{}, {}, 2, 3).classes.empty());
}

}  // namespace classes_tests
