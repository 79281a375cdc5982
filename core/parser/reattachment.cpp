#include "parser/reattachment.hpp"

namespace arbora::graph {

double Reattachment::score(int d, int h) {
    if (h == heads_[d]) return e_.tree_score(heads_.data());
    if (single_ && d == root_) return with_root_below(h);
    if (h == d || is_below(heads_.data(), h, d)) return kMinusInfinity;
    if (single_ && h == 0) return with_new_root(d);
    return with({{d, h}});
}

double Reattachment::with_new_root(int d) {
    double best = kMinusInfinity;
    for (const int h : arcs_.heads_of(root_))
        if (h > 0 && is_below(heads_.data(), h, d)) best = std::max(best, with({{d, 0}, {root_, h}}));
    return best;
}

std::vector<double> reattachment_probabilities(Expectations& expectations, Roots roots, const int* heads) {
    const ArcSet& arcs = expectations.arcs();
    Reattachment trees(expectations, roots, heads);
    std::vector<double> result(arcs.heads.size());
    for (int d = 1; d <= arcs.n; ++d) {
        double largest = kMinusInfinity, sum = 0.0;
        for (int a = arcs.first[d]; a < arcs.first[d + 1]; ++a) largest = std::max(largest, result[a] = trees.score(d, arcs.heads[a]));
        for (int a = arcs.first[d]; a < arcs.first[d + 1]; ++a) sum += result[a] = std::exp(result[a] - largest);
        for (int a = arcs.first[d]; a < arcs.first[d + 1]; ++a) result[a] /= sum;
    }
    return result;
}

}  // namespace arbora::graph
