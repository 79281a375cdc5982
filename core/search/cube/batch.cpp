#include "search/cube/batch.hpp"

namespace arbora::cube {

graph::Parsed parse(const feature::Encoded& sentences, const Model& model, const WeightView& weights, const graph::Pruner* pruner,
                    int threads, bool keep_heads) {
    return graph::parse_each(sentences, workers_of(model, pruner, threads, keep_heads), [&](Pruned& worker, std::size_t s, int* heads, int* labels) {
        const auto sentence = sentences.sentence(s);
        const graph::ArcSet* arcs = worker.candidates.find(sentences, s);
        if (sentence.n > 0) worker.parser.parse(sentence, arcs, weights, heads, labels);
    });
}

std::vector<std::vector<Ranked>> kbest(const feature::Encoded& sentences, const Model& model, const WeightView& weights,
                                       const graph::Pruner* pruner, int k, int threads, bool keep_heads) {
    std::vector<std::vector<Ranked>> trees(sentences.size());
    auto workers = workers_of(model, pruner, threads, keep_heads);
    parallel_for(sentences.size(), threads, [&](int w, std::size_t s) {
        Pruned& worker = workers[static_cast<std::size_t>(w)];
        trees[s] = worker.parser.kbest(sentences.sentence(s), worker.candidates.find(sentences, s), weights, k);
    });
    return trees;
}

Tally Questions::take_tally() {
    Tally sum;
    for (CountingWorker& worker : workers_) {
        sum.asked += worker.tally.asked;
        sum.non_violations += worker.tally.non_violations;
        worker.tally = {};
    }
    return sum;
}

}  // namespace arbora::cube
