#include "search/transition/batch.hpp"

namespace arbora::transition {

std::vector<std::vector<graph::Ranked>> kbest(const feature::Encoded& sentences, const Model& model, const graph::WeightView& weights,
                                              int k, int threads, bool keep_heads) {
    std::vector<std::vector<graph::Ranked>> trees(sentences.size());
    auto workers = workers_of(model, threads);
    parallel_for(sentences.size(), threads, [&](int worker, std::size_t s) {
        trees[s] = workers[static_cast<std::size_t>(worker)].kbest(sentences.sentence(s), weights, keep_heads, k);
    });
    return trees;
}

}  // namespace arbora::transition
