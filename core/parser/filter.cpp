#include "parser/filter.hpp"

namespace arbora::graph {

bool Filter::run(const ArcSet& arcs, const float* arc_scores, Roots roots, double alpha) {
    arcs_ = &arcs;
    alpha_ = alpha;
    sides_.build(arcs);
    if (!marginals_.run(arcs, sides_, arc_scores, roots)) return false;
    double sum = 0.0;
    reachable_ = 0;
    for (const float value : marginals_.values()) {
        if (value == kNever) continue;
        sum += double{value};
        ++reachable_;
    }
    const double best = marginals_.best(), mean = reachable_ == 0 ? best : sum / static_cast<double>(reachable_);
    threshold_ = alpha * best + (1.0 - alpha) * mean;
    return true;
}

void Filter::keep(double within, ArcSet& kept) const {
    const double enough = std::min(threshold_, double{marginals_.best()} - within);
    kept.start(arcs_->n);
    for (int d = 1; d <= kept.n; ++d) {
        for (int a = arcs_->first[d]; a < arcs_->first[d + 1]; ++a) {
            // The best tree is listed separately: its arcs' max-marginals are sums in another order, and rounding may put them
            // below its score.
            const int h = arcs_->heads[a];
            if (double{marginals_.values()[a]} >= enough || marginals_.best_tree()[d] == h) kept.heads.push_back(h);
        }
        kept.end_word();
    }
}

Answer FilterQuestions::answer(FilterWorker& own, std::size_t s, const Weights& weights, bool cost_augmented) {
    const auto sentence = TreebankQuestions::sentence(s);
    const WeightView seen = view(*model_, Task::tree, weights.data(), weights.scale());
    const ArcSet* arcs = nullptr;
    const float* scores = nullptr;
    if (sentence.n <= among_) {
        own.worker.score(sentence, nullptr, seen);
        arcs = &own.worker.arcs();
        scores = own.worker.arc_scores().data();
    } else {
        own.worker.prune(sentence, nullptr, seen, among_, std::numeric_limits<double>::infinity(), own.arcs);
        own.arcs.add(sentence.heads);
        select_scores(own.worker, own.arcs, own.scores);
        arcs = &own.arcs;
        scores = own.scores.data();
    }
    own.filter.run(*arcs, scores, model_->roots, alpha_);  // holds the gold tree
    double gold = 0.0;
    for (int d = 1; d <= sentence.n; ++d) gold += double{scores[arcs->find(sentence.heads[d], d)]};
    Answer answer;
    if (gold - own.filter.threshold() > (cost_augmented ? sentence.n : 0)) return answer;
    own.filter.slopes(own.slopes);
    arcs->each([&](int h, int d, int a) {
        const auto count = static_cast<float>((h == sentence.heads[d] ? 1.0 : 0.0) - own.slopes[a]);
        if (count != 0.0F) own.worker.add_arc(h, d, count, answer.difference);
    });
    if (!answer.difference.empty()) answer.loss = sentence.n;  // otherwise no weights separate the gold tree from others
    return answer;
}

}  // namespace arbora::graph
