// Classes of sparse examples against dense arithmetic, and the closed Gram matrix against inner products.
#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "check.hpp"
#include "base/errors.hpp"
#include "numeric/sparse.hpp"
#include "multiclass/questions.hpp"
#include "base/generator.hpp"

namespace multiclass_tests {

using namespace arbora;
using multiclass::Examples;
using multiclass::Questions;

namespace {

constexpr std::size_t kWidth = 7, kClasses = 4, kCount = 12;

struct Toy {
    std::vector<std::vector<float>> rows;  // dense
    std::vector<std::int64_t> offsets{0}, columns;
    std::vector<float> values;
    std::vector<std::int32_t> right;
    std::vector<double> costs;
    SparseVector w;
    Weights weights{kWidth * kClasses};

    explicit Toy(std::uint64_t seed) {
        Generator random(seed, 0);
        for (std::size_t i = 0; i < kCount; ++i) {
            std::vector<float> row(kWidth);
            for (std::size_t f = kWidth; f-- > 0;) {  // not in order
                if (random.uniform() < 0.5) continue;
                row[f] = static_cast<float>(random.uniform() - 0.5);
                columns.push_back(static_cast<std::int64_t>(f));
                values.push_back(row[f]);
            }
            offsets.push_back(static_cast<std::int64_t>(columns.size()));
            rows.push_back(row);
            right.push_back(static_cast<std::int32_t>(random.uniform() * kClasses));
        }
        for (std::size_t a = 0; a < kClasses; ++a)
            for (std::size_t b = 0; b < kClasses; ++b) costs.push_back(a == b ? 0.0 : 0.5 + random.uniform());
        for (std::uint32_t place = 0; place < kWidth * kClasses; ++place) {
            w.indices.push_back(place);
            w.values.push_back(static_cast<float>(random.uniform() - 0.5));
        }
        weights.add(w, 1.0);
    }

    Examples examples(float bias = 0.0F) const { return {offsets, columns, values, kWidth, bias}; }

    double score(std::size_t i, std::size_t c) const {
        double sum = 0.0;
        for (std::size_t f = 0; f < kWidth; ++f) sum += double{rows[i][f]} * double{w.values[f * kClasses + c]};
        return sum;
    }

    double cost(std::size_t i, std::size_t c) const { return costs[static_cast<std::size_t>(right[i]) * kClasses + c]; }
};

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

TEST(multiclass_best_class_is_the_best) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
        const Toy toy(seed);
        const Examples examples = toy.examples();
        const Questions questions(examples, toy.right, toy.costs, 1);
        for (std::size_t i = 0; i < kCount; ++i) {
            for (const bool augmented : {false, true}) {
                std::size_t best = 0;
                const auto value = [&](std::size_t c) { return toy.score(i, c) + (augmented ? toy.cost(i, c) : 0.0); };
                for (std::size_t c = 1; c < kClasses; ++c)
                    if (value(c) > value(best)) best = c;
                const Reply reply = questions.ask(i, toy.weights, false, augmented);
                CHECK(reply.loss == toy.cost(i, best));
                CHECK_NEAR(reply.margin, toy.score(i, static_cast<std::size_t>(toy.right[i])) - toy.score(i, best), 1e-6);
            }
        }
    }
}

TEST(multiclass_gram_and_sums_are_those_of_differences) {
    const Toy toy(7);
    const Examples examples = toy.examples();
    const Questions questions(examples, toy.right, toy.costs, 1);
    for (std::size_t i = 0; i < kCount; ++i) {
        const auto listed = questions.candidates(i, toy.weights, kClasses);
        CHECK(listed.size() == kClasses);
        CHECK(std::is_sorted(listed.begin(), listed.end(), [](const Reply& a, const Reply& b) { return a.margin < b.margin; }));
        std::vector<Reply> wrong;
        std::copy_if(listed.begin(), listed.end(), std::back_inserter(wrong), [](const Reply& reply) { return reply.loss > 0.0; });
        const auto candidates = questions.wrong_candidates(i, toy.weights, kClasses);
        CHECK(candidates.best().difference == listed[0].difference);
        const auto gram = candidates.gram();
        const std::size_t m = wrong.size();
        CHECK(candidates.losses().size() == m && gram.size() == m * m);
        Weights shortly{kWidth * kClasses}, slowly{kWidth * kClasses};
        std::vector<double> multipliers(m);
        for (std::size_t j = 0; j < m; ++j) {
            CHECK(candidates.losses()[j] == wrong[j].loss && candidates.margins()[j] == wrong[j].margin);
            for (std::size_t k = 0; k < m; ++k) CHECK_NEAR(gram[j * m + k], dot(wrong[j].difference, wrong[k].difference), 1e-12);
            multipliers[j] = 0.3 * static_cast<double>(j) - 0.2;
            slowly.add(wrong[j].difference, multipliers[j]);
        }
        candidates.add_to(shortly, multipliers);
        const auto a = shortly.values(), b = slowly.values();
        for (std::size_t place = 0; place < a.size(); ++place) CHECK_NEAR(a[place], b[place], 1e-6);
        CHECK(is_refused([&] { candidates.add_to(shortly, std::vector<double>(m + 1)); }));
    }
}

TEST(multiclass_gradient_is_the_slope_of_the_loss) {
    const Toy toy(9);
    const Examples examples = toy.examples();
    const Questions questions(examples, toy.right, toy.costs, 2);
    std::vector<std::int64_t> all(kCount);
    for (std::size_t i = 0; i < kCount; ++i) all[i] = static_cast<std::int64_t>(i);
    for (const bool augmented : {false, true}) {
        std::vector<double> gradient(kWidth * kClasses), unused(kWidth * kClasses);
        questions.gradient(all, toy.weights, gradient.data(), true, augmented);
        for (std::uint32_t place = 0; place < gradient.size(); ++place) {
            Weights up = toy.weights, down = toy.weights;
            up.add({{place}, {1.0F}}, 0.01);
            down.add({{place}, {1.0F}}, -0.01);
            const double rise = questions.gradient(all, up, unused.data(), true, augmented) - questions.gradient(all, down, unused.data(), true, augmented);
            CHECK_NEAR(gradient[place], rise / 0.02, 1e-3);
        }
        const Reply total = questions.total(all, toy.weights, true, augmented);
        for (std::size_t e = 0; e < total.difference.size(); ++e)
            CHECK_NEAR(-gradient[total.difference.indices[e]], total.difference.values[e], 1e-5);
    }
}

TEST(multiclass_bias_is_one_feature_more) {
    const Toy toy(3);
    const Examples examples = toy.examples(2.0F);
    CHECK(examples.width() == kWidth + 1);
    for (std::size_t i = 0; i < kCount; ++i) {
        CHECK(examples.row(i).columns.back() == kWidth);
        CHECK(examples.row(i).values.back() == 2.0F);
    }
}

TEST(multiclass_refuses_what_does_not_fit) {
    Toy toy(1);
    const Examples examples = toy.examples();
    CHECK(is_refused([&] { Questions(examples, {0, 1}, toy.costs, 1); }));
    CHECK(is_refused([&] { Questions(examples, toy.right, std::vector<double>(5), 1); }));
    CHECK(is_refused([&] { Questions(examples, std::vector<std::int32_t>(kCount, 4), toy.costs, 1); }));
    CHECK(is_refused([&] { Questions(examples, toy.right, std::vector<double>(16, 1.0), 1); }));
    toy.columns[0] = kWidth;
    CHECK(is_refused([&] { toy.examples(); }));
    toy.offsets.pop_back();
    CHECK(is_refused([&] { toy.examples(); }));
}

TEST(multiclass_expansion_has_every_pair_once) {
    const std::vector<std::int64_t> offsets{0, 4, 4, 5}, columns{8, 3, 5, 3, 1};
    const std::vector<float> values{2.0F, 3.0F, 5.0F, 7.0F, 11.0F};
    const auto made = multiclass::quadratic_expansion(offsets, columns, values, 24);
    // Four features, and all pairs but that of the repeated column with itself.
    CHECK((made.offsets == std::vector<std::int64_t>{0, 9, 9, 10}));
    CHECK(std::multiset<float>(made.values.begin(), made.values.end()) ==
          (std::multiset<float>{2.0F, 6.0F, 10.0F, 14.0F, 3.0F, 15.0F, 5.0F, 35.0F, 7.0F, 11.0F}));
    CHECK(std::all_of(made.columns.begin(), made.columns.end(), [](std::int64_t c) { return c >= 0 && c < 1 << 24; }));
    CHECK(is_refused([&] { multiclass::quadratic_expansion(offsets, columns, values, 3); }));
}

}  // namespace multiclass_tests
