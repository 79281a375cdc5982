// What parsers tell learners: one sentence's answer, and the sum of several, made once for all that are asked.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "numeric/reply.hpp"
#include "numeric/weights.hpp"
#include "base/parallel.hpp"

namespace arbora::graph {

// What a learner is told about one sentence: difference = f(gold) - f(predicted), loss = cost of the predicted.
struct Answer {
    double loss = 0.0;
    std::vector<SparseEntry> difference;  // with repeats
};

// One of the best trees of a sentence.
struct Ranked {
    std::vector<int> heads, labels;  // [n+1]
    double score = 0.0;
};

inline Reply reply_of(Answer&& answer, const Weights& weights) {
    Reply reply{answer.loss, 0.0, coalesce(std::move(answer.difference))};
    reply.margin = weights.dot(reply.difference);
    return reply;
}

// The sum of answer(worker, sentence) over sentences. In pieces, so that no more entries lie about than a piece has, and in their
// order, so that nothing depends on the number of threads.
template <class Ask>
Reply total_of(const std::vector<std::int64_t>& sentences, const Weights& weights, int threads, Ask&& answer, std::size_t piece = 256) {
    Reply sum;
    for (std::size_t begin = 0; begin < sentences.size(); begin += piece) {
        std::vector<Answer> found(std::min(piece, sentences.size() - begin));
        parallel_for(found.size(), threads, [&](int worker, std::size_t i) { found[i] = answer(worker, static_cast<std::size_t>(sentences[begin + i])); });
        std::vector<SparseEntry> entries;
        for (const Answer& each : found) {
            sum.loss += each.loss;
            entries.insert(entries.end(), each.difference.begin(), each.difference.end());
        }
        sum.difference = add(sum.difference, coalesce(std::move(entries)));
    }
    sum.margin = weights.dot(sum.difference);
    return sum;
}

}  // namespace arbora::graph
