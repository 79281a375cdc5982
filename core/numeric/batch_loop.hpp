// The one loop over examples for every learner's queries: a worker per thread answers, and answers are summed in the order of the
// examples. Results do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/errors.hpp"
#include "base/parallel.hpp"
#include "numeric/sparse.hpp"
#include "numeric/weights.hpp"

namespace arbora {

// For one example: the cost of the prediction, and f(gold) - f(prediction) with repeats.
struct Answer {
    double loss = 0.0;
    std::vector<SparseEntry> difference;
};

// For one example or several, as learners read it.
struct Reply {
    double loss = 0.0;
    double margin = 0.0;  // <w, difference>
    SparseVector difference;
};

inline Reply reply_of(Answer&& answer, const Weights& weights) {
    Reply reply{answer.loss, 0.0, coalesce(std::move(answer.difference))};
    reply.margin = weights.dot(reply.difference);
    return reply;
}

inline void check_weights(const Weights& weights, std::size_t expected) {
    if (weights.size() != expected) reject("weights: expected ", expected, ", got ", weights.size());
}

// make() once per thread.
template <class Make>
auto make_workers(int threads, Make&& make) {
    std::vector<decltype(make())> workers;
    for (int i = 0; i < usable_threads(threads); ++i) workers.push_back(make());
    return workers;
}

// compute(worker, example) for a batch of examples at a time, so that few results are in memory; then take(results, first place).
template <class Result, class Compute, class Take>
void each_piece(std::span<const std::int64_t> examples, int threads, std::size_t piece, Compute&& compute, Take&& take) {
    for (std::size_t begin = 0; begin < examples.size();) {
        std::vector<Result> results(std::min(piece, examples.size() - begin));
        parallel_for(results.size(), threads, [&](int worker, std::size_t i) {
            results[i] = compute(static_cast<std::size_t>(worker), static_cast<std::size_t>(examples[begin + i]));
        });
        take(results, begin);
        begin += results.size();
    }
}

// A learner's queries. Self has size(), weight_count() and answer(worker, example, weights, options...); the options, such as
// cost_augmented, come from the caller. For candidates() it also has candidate_answers(worker, example, weights, k).
template <class Self, class Worker>
class BatchQuestions {
public:
    static constexpr std::size_t kPiece = 256;  // sums are rounded to float32 after so many examples

    explicit BatchQuestions(std::vector<Worker>&& workers) : workers_(std::move(workers)) {}
    BatchQuestions(const BatchQuestions&) = delete;

    template <class... Options>
    Reply ask(std::size_t example, const Weights& weights, Options... options) {
        check_weights(weights, self().weight_count());
        return reply_of(self().answer(workers_[0], example, weights, options...), weights);
    }

    std::vector<Reply> candidates(std::size_t example, const Weights& weights, int k) {
        check_weights(weights, self().weight_count());
        std::vector<Reply> replies;
        for (Answer& answer : self().candidate_answers(workers_[0], example, weights, k)) replies.push_back(reply_of(std::move(answer), weights));
        return replies;
    }

    // The sum of `ask` over examples.
    template <class... Options>
    Reply total(const std::vector<std::int64_t>& examples, const Weights& weights, Options... options) {
        Reply sum;
        each_answers(examples, weights, Self::kPiece, [&](std::vector<Answer>& answers) {
            std::vector<SparseEntry> entries;
            for (const Answer& answer : answers) {
                sum.loss += answer.loss;
                entries.insert(entries.end(), answer.difference.begin(), answer.difference.end());
            }
            sum.difference = add(sum.difference, coalesce(std::move(entries)));
        }, options...);
        sum.margin = weights.dot(sum.difference);
        return sum;
    }

    // Subtracts the sum of differences from `gradient` [weight_count]; returns the sum of losses.
    template <class... Options>
    double gradient(const std::vector<std::int64_t>& examples, const Weights& weights, double* gradient, Options... options) {
        double loss = 0.0;
        // Each thread adds the entries in its part of the table.
        const std::size_t share = (self().weight_count() + workers_.size() - 1) / workers_.size();
        each_answers(examples, weights, std::size_t{128}, [&](std::vector<Answer>& answers) {
            for (const Answer& answer : answers) loss += answer.loss;
            parallel_for(workers_.size(), threads(), [&](int, std::size_t part) {
                const std::size_t from = part * share, to = from + share;
                for (const Answer& answer : answers)
                    for (const auto& [place, value] : answer.difference)
                        if (place >= from && place < to) gradient[place] -= double{value};
            });
        }, options...);
        return loss;
    }

protected:
    int threads() const { return static_cast<int>(workers_.size()); }

    std::vector<Worker> workers_;

private:
    Self& self() { return static_cast<Self&>(*this); }

    template <class Take, class... Options>
    void each_answers(const std::vector<std::int64_t>& examples, const Weights& weights, std::size_t piece, Take&& take, Options... options) {
        check_weights(weights, self().weight_count());
        each_piece<Answer>(examples, threads(), piece,
                           [&](std::size_t worker, std::size_t example) { return self().answer(workers_[worker], example, weights, options...); },
                           [&](std::vector<Answer>& answers, std::size_t) { take(answers); });
    }
};

}  // namespace arbora
