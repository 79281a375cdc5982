// A graph parser over many sentences: pruning, parsing, and a learner's questions, on several threads.
// Each sentence is computed alone and its result has its own place, so nothing depends on the number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "features/encoded.hpp"
#include "parser/candidates.hpp"
#include "numeric/reply.hpp"
#include "numeric/weights.hpp"

namespace arbora::graph {

// InputError unless the arcs are those of these sentences, by their numbers of words.
void check_lengths(const feature::Encoded& sentences, const std::vector<ArcSet>& arcs);

std::vector<ArcSet> prune(const feature::Encoded& sentences, const Pruner& pruner, int threads);

// Adds the arcs of the gold trees that are missing; returns how many were.
std::int64_t restore_gold(const feature::Encoded& sentences, std::vector<ArcSet>& arcs);

struct Parsed {
    std::vector<std::int32_t> heads, labels;  // one per word, all sentences in a row; labels -1 where there are none
};
// pruner: null for all arcs. keep_heads: heads that the sentences have are kept; see candidates.hpp.
Parsed parse(const feature::Encoded& sentences, const Model& model, const WeightView& weights, bool staged, const Pruner* pruner,
             int threads, bool keep_heads = false);

// What a learner asks. Holds no copy of what it is made from.
class Questions {
public:
    // arcs: null for all arcs, else one set per sentence, gold arcs included. Throws InputError where gold is missing.
    Questions(const Model& model, const feature::Encoded& sentences, Task task, const std::vector<ArcSet>* arcs, int threads,
              double label_cost = 1.0);
    Questions(const Questions&) = delete;

    using Reply = arbora::Reply;
    Reply ask(std::size_t sentence, const Weights& weights, bool cost_augmented);
    std::vector<Reply> candidates(std::size_t sentence, const Weights& weights, int k);
    // The sum over sentences; differences are whole numbers, so sums are exact in any order.
    Reply total(const std::vector<std::int64_t>& sentences, const Weights& weights, bool cost_augmented);

    std::size_t size() const { return sentences_->size(); }
    std::size_t weight_count() const { return graph::weight_count(*model_, task_); }

private:
    std::vector<Answer> answers(int worker, std::size_t sentence, const Weights& weights, bool cost_augmented, int k);
    void check_gold() const;
    void check(const Weights& weights) const;

    const Model* model_;
    const feature::Encoded* sentences_;
    Task task_;
    const std::vector<ArcSet>* arcs_;
    std::vector<Worker> workers_;
};

}  // namespace arbora::graph
