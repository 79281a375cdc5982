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

void check_task(const Model& model, Task task) {
    if (task != Task::tree && model.labels == 0) throw InputError("task: expected tree for a model without labels, got labels to learn");
}

Questions::Questions(const Model& model, const feature::Encoded& sentences, Task task, const std::vector<ArcSet>* arcs, int threads,
                     const Cost& cost)
    : TreebankQuestions(sentences, arcs, make_workers(threads, [&] { return Worker(model, cost); })), model_(&model), task_(task) {
    check_task(model, task);
    check_gold(sentences, {.arcs = arcs, .labels = task == Task::tree ? 0 : model.labels});
}

Answer Questions::answer(Worker& worker, std::size_t s, const Weights& weights, bool cost_augmented) {
    const WeightView seen = view(*model_, task_, weights.data(), weights.scale());
    return std::move(worker.answers(sentence(s), arcs_of(s), seen, task_, cost_augmented, 1).front());
}

std::vector<Answer> Questions::candidate_answers(Worker& worker, std::size_t s, const Weights& weights, int k) {
    return worker.answers(sentence(s), arcs_of(s), view(*model_, task_, weights.data(), weights.scale()), task_, false, k);
}

}  // namespace arbora::graph
