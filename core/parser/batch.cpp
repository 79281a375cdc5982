#include "parser/batch.hpp"

namespace arbora::graph {

std::vector<ArcSet> prune(const feature::Encoded& sentences, const Pruner& pruner, int threads) {
    std::vector<ArcSet> kept(sentences.size());
    auto workers = make_workers(threads, [&] { return Candidates(*pruner.model, &pruner, false); });
    parallel_for(sentences.size(), threads, [&](int worker, std::size_t s) { kept[s] = *workers[worker].find(sentences, s); });
    return kept;
}

std::int64_t restore_gold(const feature::Encoded& sentences, std::vector<ArcSet>& arcs) {
    std::int64_t missing = 0;
    check_lengths(sentences, arcs);
    for (std::size_t s = 0; s < sentences.size(); ++s) missing += arcs[s].add(sentences.sentence(s).heads);
    return missing;
}

Parsed parse(const feature::Encoded& sentences, const Model& model, const WeightView& weights, bool staged, const Pruner* pruner,
             int threads, bool keep_heads) {
    return parse_each(sentences, make_workers(threads, [&] { return PrunedWorker<Worker>{Worker(model), Candidates(model, pruner, keep_heads)}; }),
                      [&](PrunedWorker<Worker>& worker, std::size_t s, int* heads, int* labels) {
                          worker.parser.parse(sentences.sentence(s), worker.candidates.find(sentences, s), weights, staged, heads, labels);
                      });
}

std::vector<double> Likelihood::arc_scores(std::size_t s, const Weights& weights) {
    require_arcs("arc_scores");
    check_weights(weights, weight_count());
    workers_[0].held = 0;  // nothing, if loading is interrupted
    workers_[0].sums.load(sentence(s), arcs_of(s), view(*model_, task_, weights.data(), weights.scale()), false);
    workers_[0].held = s + 1;
    return workers_[0].sums.arc_scores();
}

std::vector<double> Likelihood::gold_arcs(std::size_t s) {
    require_arcs("gold_arcs");
    const ArcSet& set = holding(s).arcs();
    std::vector<double> gold(set.heads.size(), 0.0);
    for (int d = 1; d <= sentence(s).n; ++d) {
        const int head = sentence(s).heads[d];
        if (head < 0) throw InputError("sentence " + std::to_string(s) + ", word " + std::to_string(d) + ": expected a head, got none");
        gold[set.find(head, d)] = 1.0;
    }
    return gold;
}

Expectations& Likelihood::holding(std::size_t s) {
    LikelihoodWorker& worker = workers_[0];
    if (worker.held != s + 1) {
        if (zeros_.empty()) zeros_.assign(weight_count(), 0.0F);
        worker.held = 0;
        worker.sums.load(sentence(s), arcs_of(s), {zeros_.data(), nullptr, 1.0}, false);
        worker.held = s + 1;
    }
    return worker.sums;
}

}  // namespace arbora::graph
