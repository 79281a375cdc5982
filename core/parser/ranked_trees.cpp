#include "parser/ranked_trees.hpp"

namespace arbora::graph {

std::vector<Heads> RankedTrees::best(Expectations& expectations, int k) {
    if (!model_->siblings) {
        expectations.arcs().spread(expectations.arc_scores(), kMinusInfinity, dense_);
        return kbest({model_->trees, model_->roots, expectations.arcs().n, dense_.data()}, k, arena_);
    }
    if (model_->trees == Trees::nonprojective)
        throw InputError("no exact k best trees for second-order non-projective parsers; use projective trees or order=1");
    expectations_ = &expectations;
    scores_.assign(expectations.arc_scores().begin(), expectations.arc_scores().end());
    return split(k);
}

bool RankedTrees::solve(const Heads& prefix, Set& set) {
    const ArcSet& arcs = expectations_->arcs();
    const Worker& worker = expectations_->worker();
    allowed_ = scores_;
    for (int d = 1; d < set.from; ++d)
        for (int a = arcs.first[d]; a < arcs.first[d + 1]; ++a)
            if (arcs.heads[a] != prefix[d]) allowed_[a] = kNever;
    bool left = set.from > arcs.n;
    for (int a = arcs.first[set.from]; set.from <= arcs.n && a < arcs.first[set.from + 1]; ++a) {
        if (std::find(set.forbidden.begin(), set.forbidden.end(), arcs.heads[a]) != set.forbidden.end()) allowed_[a] = kNever;
        else left = true;
    }
    if (!left) return false;
    set.heads.assign(static_cast<std::size_t>(arcs.n) + 1, -1);
    const float* grand = model_->grandparents ? worker.grand_scores().data() : nullptr;
    const SparseProblem<float> problem{&arcs, &worker.sides(), model_->roots, allowed_.data(), worker.sibling_scores().data(), &worker.grand_parts(), grand};
    if (!best_tree_.find(problem, set.heads.data())) return false;
    for (int d = 1; d <= arcs.n; ++d)
        if (allowed_[arcs.find(set.heads[d], d)] == kNever) return false;
    set.score = expectations_->tree_score(set.heads.data());
    return true;
}

std::vector<Heads> RankedTrees::split(int k) {
    const int n = expectations_->arcs().n;
    std::vector<Set> open(1);
    if (!solve({}, open.front())) throw NoTreeError("no projective tree exists among the kept arcs");
    std::vector<Heads> trees;
    while (!open.empty()) {
        const auto next = std::max_element(open.begin(), open.end(), [](const Set& a, const Set& b) { return a.score < b.score; });
        const Set best = std::move(*next);
        open.erase(next);
        trees.push_back(best.heads);
        if (static_cast<int>(trees.size()) == k) break;
        for (int d = best.from; d <= n; ++d) {
            Set part;
            part.from = d;
            if (d == best.from) part.forbidden = best.forbidden;
            part.forbidden.push_back(best.heads[d]);
            if (solve(best.heads, part)) open.push_back(std::move(part));
        }
    }
    return trees;
}

}  // namespace arbora::graph
