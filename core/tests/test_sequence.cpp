// Labels of words: the best labelling and sums over all, against the list of all labellings; gradients against finite differences.
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "check.hpp"
#include "refuses.hpp"
#include "base/errors.hpp"
#include "text/sequence/questions.hpp"

namespace sequence_tests {

using namespace arbora;
using namespace arbora::sequence;

namespace {

struct Case {
    Model model;
    Batch batch;
    std::vector<float> weights;
};

// Sentences of 0 to 4 words, three labels at most, a few features each.
Case make_case(std::mt19937& random, bool transitions) {
    Case made{{8, 3, transitions}, {}, {}};
    made.batch.features = 3;
    for (const int n : {1, 4, 0, 3}) {
        for (int w = 0; w < n; ++w) {
            for (int f = 0; f < 3; ++f) made.batch.places.push_back(random() % 256);
            made.batch.labels.push_back(transitions ? 3 : 1 + static_cast<int>(random() % 3));
            made.batch.gold.push_back(static_cast<int>(random() % static_cast<unsigned>(made.batch.labels.back())));
        }
        made.batch.offsets.push_back(static_cast<std::int64_t>(made.batch.labels.size()));
    }
    std::normal_distribution<float> normal;
    for (std::size_t i = 0; i < made.model.weight_count(); ++i) made.weights.push_back(normal(random));
    return made;
}

double score_of(const Case& made, const Sentence& sentence, const std::vector<int>& labels, bool cost) {
    double score = 0.0;
    for (int w = 0; w < sentence.n; ++w) {
        for (int f = 0; f < sentence.features; ++f) score += static_cast<double>(made.weights[sentence.features_of(w)[f] + static_cast<std::uint32_t>(labels[static_cast<std::size_t>(w)])]);
        if (made.model.transitions) score += static_cast<double>(made.weights[made.model.transition(w == 0 ? -1 : labels[static_cast<std::size_t>(w) - 1], labels[static_cast<std::size_t>(w)])]);
        if (cost && labels[static_cast<std::size_t>(w)] != sentence.gold[w]) score += 1.0;
    }
    return score;
}

template <class Visit>
void each_labelling(const Sentence& sentence, Visit visit) {
    std::vector<int> labels(static_cast<std::size_t>(sentence.n), 0);
    for (;;) {
        visit(labels);
        int w = sentence.n - 1;
        while (w >= 0 && labels[static_cast<std::size_t>(w)] == sentence.labels[w] - 1) labels[static_cast<std::size_t>(w--)] = 0;
        if (w < 0) return;
        ++labels[static_cast<std::size_t>(w)];
    }
}

Weights weights_of(const Case& made) {
    WeightsState state;
    state.v.assign(made.weights.begin(), made.weights.end());
    for (const float w : made.weights) state.norm2 += static_cast<double>(w) * static_cast<double>(w);
    return Weights(std::move(state));
}

}  // namespace

TEST(sequence_best_and_sum_match_all_labellings) {
    std::mt19937 random(7);
    for (int round = 0; round < 60; ++round) {
        const Case made = make_case(random, round % 2 == 0);
        for (std::size_t s = 0; s < made.batch.size(); ++s) {
            const Sentence sentence = made.batch.sentence(s);
            for (const bool cost : {false, true}) {
                double best = -1e300, sum = 0.0;
                std::vector<double> marginals(static_cast<std::size_t>(sentence.n) * 3, 0.0);
                each_labelling(sentence, [&](const std::vector<int>& labels) {
                    const double score = score_of(made, sentence, labels, cost);
                    best = std::max(best, score);
                    sum += std::exp(score);
                    for (int w = 0; w < sentence.n; ++w) marginals[static_cast<std::size_t>(w * 3 + labels[static_cast<std::size_t>(w)])] += std::exp(score);
                });
                Chain chain(made.model);
                chain.score(sentence, made.weights.data(), 1.0, cost);
                const auto found = chain.best();
                CHECK(std::abs(score_of(made, sentence, {found.begin(), found.end()}, cost) - best) < 1e-5);
                CHECK(std::abs(chain.sum() - std::log(sum)) < 1e-5);
                for (int w = 0; w < sentence.n; ++w)
                    for (int label = 0; label < sentence.labels[w]; ++label)
                        CHECK(std::abs(chain.probability(w, label) - marginals[static_cast<std::size_t>(w * 3 + label)] / sum) < 1e-5);
            }
        }
    }
}

// The highest score of all labellings, by the recurrence over all pairs of labels.
double best_score(const Case& made, const Sentence& sentence, bool cost) {
    const auto count = static_cast<std::size_t>(made.model.labels);
    std::vector<double> reached(count, 0.0);
    for (int w = 0; w < sentence.n; ++w) {
        std::vector<double> now(count, -1e300);
        for (std::size_t label = 0; label < count; ++label) {
            for (std::size_t before = 0; before < count; ++before)
                now[label] = std::max(now[label], reached[before] + static_cast<double>(made.weights[made.model.transition(w == 0 ? -1 : static_cast<int>(before), static_cast<int>(label))]));
            for (int f = 0; f < sentence.features; ++f) now[label] += static_cast<double>(made.weights[sentence.features_of(w)[f] + label]);
            if (cost && static_cast<int>(label) != sentence.gold[w]) now[label] += 1.0;
        }
        reached = now;
    }
    return *std::max_element(reached.begin(), reached.end());
}

TEST(sequence_best_of_many_labels_matches_all_pairs) {
    std::mt19937 random(12);
    std::normal_distribution<float> normal;
    for (int round = 0; round < 40; ++round) {
        Case made{{8, kManyLabels + 20, true}, {}, {}};
        made.batch.features = 4;
        const auto labels = static_cast<unsigned>(made.model.labels);
        for (const int n : {1, 2, 7}) {
            for (int w = 0; w < n; ++w) {
                for (int f = 0; f < made.batch.features; ++f) made.batch.places.push_back(random() % 256);
                made.batch.labels.push_back(made.model.labels);
                made.batch.gold.push_back(static_cast<int>(random() % labels));
            }
            made.batch.offsets.push_back(static_cast<std::int64_t>(made.batch.labels.size()));
        }
        const float spread = std::pow(10.0F, static_cast<float>(round % 4) - 3.0F);  // of transitions: from few labels kept to all
        for (std::size_t i = 0; i < made.model.weight_count(); ++i) made.weights.push_back(i < made.model.rows() ? normal(random) : spread * normal(random));
        if (round % 5 == 0) std::fill(made.weights.begin(), made.weights.end(), 0.0F);
        for (std::size_t s = 0; s < made.batch.size(); ++s) {
            const Sentence sentence = made.batch.sentence(s);
            for (const bool cost : {false, true}) {
                Chain chain(made.model);
                chain.score(sentence, made.weights.data(), 1.0, cost);
                const auto found = chain.best();
                CHECK(std::abs(score_of(made, sentence, {found.begin(), found.end()}, cost) - best_score(made, sentence, cost)) < 1e-5);
                if (round % 5 == 0 && !cost) CHECK(std::all_of(found.begin(), found.end(), [](int label) { return label == 0; }));  // ties: lowest first
            }
        }
    }
}

TEST(sequence_differences_are_those_of_features) {
    std::mt19937 random(8);
    for (int round = 0; round < 20; ++round) {
        Case made = make_case(random, round % 2 == 0);
        const Weights weights = weights_of(made);
        Questions questions(made.model, made.batch, 2);
        for (std::size_t s = 0; s < made.batch.size(); ++s) {
            const Sentence sentence = made.batch.sentence(s);
            const Reply reply = questions.ask(s, weights, false, true);
            double best = -1e300;
            each_labelling(sentence, [&](const std::vector<int>& labels) { best = std::max(best, score_of(made, sentence, labels, true)); });
            const double gold = score_of(made, sentence, {sentence.gold, sentence.gold + sentence.n}, false);
            // Score plus cost of the result: gold's score minus the margin, plus the loss.
            CHECK(std::abs(gold - reply.margin + reply.loss - best) < 1e-4);
        }
    }
}

TEST(sequence_gradients_match_differences) {
    std::mt19937 random(9);
    for (int round = 0; round < 6; ++round) {
        Case made = make_case(random, round % 2 == 0);
        if (round >= 4) made.batch.gold[0] = made.batch.gold[3] = -1;  // not known: summed over
        const std::vector<std::int64_t> all{0, 1, 2, 3};
        std::vector<double> gradient(made.model.weight_count(), 0.0);
        Questions questions(made.model, made.batch, 2);
        questions.gradient(all, weights_of(made), gradient.data(), true, false);
        const Reply reply = questions.total(all, weights_of(made), true, false);
        for (std::size_t i = 0; i < reply.difference.size(); ++i)
            CHECK(std::abs(gradient[reply.difference.indices[i]] + static_cast<double>(reply.difference.values[i])) < 1e-4);
        for (std::size_t i = 0; i < gradient.size(); i += 5) {
            const float before = made.weights[i], step = 0.01F;
            std::vector<double> unused(gradient.size());
            made.weights[i] = before + step;
            const double up = questions.gradient(all, weights_of(made), unused.data(), true, false);
            made.weights[i] = before - step;
            const double down = questions.gradient(all, weights_of(made), unused.data(), true, false);
            made.weights[i] = before;
            CHECK(std::abs((up - down) / (2.0 * static_cast<double>(step)) - gradient[i]) < 2e-3);
        }
    }
}

TEST(sequence_refuses_what_does_not_fit) {
    std::mt19937 random(10);
    Case made = make_case(random, false);
    made.batch.labels[0] = 4;
    CHECK(refuses([&] { (void)(Questions(made.model, made.batch, 1)); }));
    made = make_case(random, true);
    made.batch.places[0] = 256;
    CHECK(refuses([&] { (void)(predict(made.model, made.batch, made.weights.data(), 1)); }));
}

}  // namespace sequence_tests
