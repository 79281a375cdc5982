#include "parser/candidates.hpp"

namespace arbora::graph {

void Compatible::fill(ArcSet& arcs) {
    arcs.start(s_.n);
    for (int d = 1; d <= s_.n; ++d) {
        const int given = s_.heads[d];
        const std::size_t begin = arcs.heads.size();
        each_uncrossed(d, [&](int h) {
            if (given >= 0 ? h == given : is_free(h, d)) arcs.heads.push_back(h);
        });
        if (arcs.heads.size() == begin) refuse_crossing(d);
        std::sort(arcs.heads.begin() + static_cast<std::ptrdiff_t>(begin), arcs.heads.end());
        arcs.end_word();
    }
}

void Compatible::find_tops() {
    tops_.assign(at(s_.n) + 1, -1);
    tops_[0] = 0;
    std::vector<int> seen_from(at(s_.n) + 1, 0), path;
    for (int d = 1; d <= s_.n; ++d) {
        int node = d;
        path.clear();
        for (; tops_[at(node)] < 0 && s_.heads[node] >= 0; node = s_.heads[node]) {
            if (seen_from[at(node)] == d) refuse_cycle(node);
            seen_from[at(node)] = d;
            path.push_back(node);
        }
        if (tops_[at(node)] < 0) tops_[at(node)] = node;
        for (const int below : path) tops_[at(below)] = tops_[at(node)];
    }
}

void Compatible::find_root() {
    for (int d = 1; d <= s_.n; ++d) {
        if (s_.heads[d] != 0) continue;
        if (root_ > 0 && roots_ == Roots::single)
            throw NoTreeError("words " + std::to_string(root_) + " and " + std::to_string(d) +
                              " are both given as roots, but the trees of this parser have one; unpin one of them");
        root_ = d;
    }
}

void Compatible::find_reaches() {
    lowest_.resize(at(s_.n) + 1);
    for (int node = 0; node <= s_.n; ++node) lowest_[at(node)] = node;
    highest_ = lowest_;
    for (int d = 1; d <= s_.n; ++d) {
        const int h = s_.heads[d];
        if (h < 0) continue;
        lowest_[at(std::max(h, d))] = std::min({lowest_[at(std::max(h, d))], h, d});
        highest_[at(std::min(h, d))] = std::max({highest_[at(std::min(h, d))], h, d});
    }
}

void Compatible::check_spans() const {
    for (int d = 1; d <= s_.n; ++d)
        for (int h = s_.heads[d], above = h; above > 0 && s_.heads[above] >= 0;) {
            above = s_.heads[above];
            if (above <= std::min(h, d) || above >= std::max(h, d)) continue;
            const std::string other = std::to_string(above);
            throw NoTreeError("the given heads put " + arc_text(h, d) + ", around word " + other + ", and word " + std::to_string(h) +
                              " below word " + other + kRefusal);
        }
}

const ArcSet* Candidates::find(const feature::Encoded& sentences, std::size_t s) {
    const auto sentence = sentences.sentence(s);
    const bool constrained = keep_heads_ && has_given_heads(sentence);
    if (constrained) {
        try {
            find_compatible(sentence, model_->trees, model_->roots, compatible_);
        } catch (const NoTreeError& error) {
            if (sentences.size() == 1) throw;
            throw NoTreeError("sentence " + std::to_string(s) + ": " + error.what());
        }
    }
    if (pruner_ == nullptr) return constrained ? &compatible_ : nullptr;
    prune(sentence, constrained ? &compatible_ : nullptr);
    return &kept_;
}

void Candidates::prune(const feature::Sentence& sentence, const ArcSet* among) {
    const bool filtered = pruner_->rule == PruningRule::max_marginal;
    if (filtered && among == nullptr && sentence.n <= pruner_->keep) {
        worker_.score(sentence, nullptr, pruner_->weights);
        return filter(worker_.arcs(), worker_.arc_scores().data());
    }
    if (pruner_->rule == PruningRule::probability && sentence.n <= kLongestWithSums)
        keep_probable(sentence, among);
    else
        worker_.prune(sentence, among, pruner_->weights, pruner_->keep, filtered ? kEverything : pruner_->within, kept_);
    if (among != nullptr) add_best_tree();
    if (!filtered) return;
    std::swap(kept_, looked_at_);
    select_scores(worker_, looked_at_, scores_);
    filter(looked_at_, scores_.data());
}

void Candidates::keep_probable(const feature::Sentence& sentence, const ArcSet* among) {
    worker_.score(sentence, among, pruner_->weights);
    const ArcSet& arcs = worker_.arcs();
    const auto nodes = static_cast<std::size_t>(arcs.n) + 1;
    probabilities_.resize(nodes * nodes);
    marginals(dense_problem(arcs, worker_.arc_scores().data(), Trees::nonprojective), arena_, {probabilities_.data()});
    const auto probability = [&](int head, int dep) { return probabilities_[static_cast<std::size_t>(head) * nodes + static_cast<std::size_t>(dep)]; };
    const double share = std::exp(-pruner_->within);
    kept_.start(arcs.n);
    for (int d = 1; d <= arcs.n; ++d) {
        const auto heads = arcs.heads_of(d);
        best_.assign(heads.begin(), heads.end());
        const auto most = std::min(best_.size(), std::max(static_cast<std::size_t>(pruner_->keep), kMostProbable / nodes));
        std::partial_sort(best_.begin(), best_.begin() + static_cast<std::ptrdiff_t>(most), best_.end(), [&](int a, int b) {
            return probability(a, d) != probability(b, d) ? probability(a, d) > probability(b, d) : a < b;
        });
        const double enough = std::max(share * probability(best_[0], d), probability(best_[most - 1], d));
        // Adding the previous word as head ensures that a tree is left.
        for (const int h : heads)
            if (h == d - 1 || probability(h, d) >= enough) kept_.heads.push_back(h);
        kept_.end_word();
    }
}

void Candidates::add_best_tree() {
    heads_.assign(static_cast<std::size_t>(compatible_.n) + 1, -1);
    const float* scores = worker_.arc_scores().data();
    if (model_->trees == Trees::projective) {
        sides_.build(compatible_);
        if (!best_tree_.find({&compatible_, &sides_, model_->roots, scores}, heads_.data()))
            throw NoTreeError("no projective tree has all given heads; unpin some");
    } else {
        argmax(dense_problem(compatible_, scores, model_->trees), arena_, heads_.data());
    }
    kept_.add(heads_.data());
}

}  // namespace arbora::graph
