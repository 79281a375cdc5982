#include "trees/sparse/sparse_sum.hpp"

#include <algorithm>
#include <cmath>

#include "numeric/planes.hpp"

namespace arbora::graph {

namespace {

// log(exp(a) + exp(b))
double log_add(double a, double b) {
    if (a < b) std::swap(a, b);
    return b == kMinusInfinity ? a : a + std::log1p(std::exp(b - a));
}

// A sum of exponentials whose terms come one by one twice: first all to find the largest, then all to be added.
double log_sum(const double* first, const double* second, int count) {
    double largest = kMinusInfinity;
    for (int i = 0; i < count; ++i) largest = std::max(largest, first[i] + second[i]);
    if (largest == kMinusInfinity) return kMinusInfinity;
    double sum = 0.0;
    for (int i = 0; i < count; ++i) sum += std::exp(first[i] + second[i] - largest);
    return largest + std::log(sum);
}

// What term x gives to z = log sum, whose probability is p.
double share(double p, double x, double z) { return x == kMinusInfinity ? 0.0 : p * std::exp(x - z); }

}  // namespace

double SparseSum::log_partition(const ArcSet& arcs, const Sides& sides, const GrandParts& parts, const double* arc_scores,
                                const float* siblings, const float* grand, Roots roots) {
    arcs_ = &arcs;
    sides_ = &sides;
    parts_ = &parts;
    arc_scores_ = arc_scores;
    siblings_ = siblings;
    grand_ = grand;
    roots_ = roots;
    n_ = arcs.n;
    total_ = 0.0;
    if (n_ == 0) return total_;
    prepare();
    for (int i = n_; i >= 1; --i) {
        right_of(i);
        left_to(i);
    }
    if (roots == Roots::multi) {
        right_of(0);
        return total_ = right(root_arc_)[n_];
    }
    total_ = kMinusInfinity;
    const Side& side = sides_->right(0);
    for (int k = 0; k < side.count; ++k) {
        const int arc = sides_->arc(side, k);
        total_ = log_add(total_, arc_scores_[arc] + left(arc)[1] + right(arc)[n_] + siblings_[sides_->part(side, k, -1)]);
    }
    return total_;
}

void SparseSum::prepare() {
    width_ = static_cast<std::size_t>(n_) + 1;
    root_arc_ = arcs_->size();
    const auto rows = static_cast<std::size_t>(root_arc_) + 1;
    right_.scores.resize(rows * width_);
    left_.scores.resize(rows * width_);
    items_.resize(parts_->size() + rows);
    meetings_.resize(sides_->parts());
}

std::size_t SparseSum::item(int a, int b, int head) const {
    return head == 0 ? parts_->size() + static_cast<std::size_t>(a) : parts_->part(a, b, arcs_->first[head]);
}

double SparseSum::part_score(int a, int b, int head) const {
    return arc_scores_[a] + (head == 0 || grand_ == nullptr ? 0.0 : double{grand_[parts_->part(a, b, arcs_->first[head])]});
}

bool SparseSum::reaches(int b, int head, int dep) const {
    const int g = head_of(b);
    return dep > head ? g < head || g > dep : g > head || g < dep;
}

void SparseSum::meet(const Side& side, int k) {
    const int d = sides_->dep(side, k), arc = sides_->arc(side, k);
    double* row = &meetings_[sides_->part(side, k, -1)];
    row[0] = d > side.head ? left(arc)[side.head + 1] : right(arc)[side.head - 1];
    for (int a = 0; a < k; ++a) {
        const int s = sides_->dep(side, a), inner = sides_->arc(side, a);
        row[a + 1] = s < d ? log_sum(right(inner) + s, left(arc) + s + 1, d - s) : log_sum(right(arc) + d, left(inner) + d + 1, s - d);
    }
}

void SparseSum::add_dependent(const Side& side, int k, int b) {
    const int arc = sides_->arc(side, k);
    double& result = items_[item(arc, b, side.head)];
    if (!reaches(b, side.head, sides_->dep(side, k))) {
        result = kMinusInfinity;
        return;
    }
    const std::size_t first = sides_->part(side, k, -1);
    result = meetings_[first] + siblings_[first];
    for (int a = 0; a < k; ++a) {
        const std::size_t part = first + static_cast<std::size_t>(a) + 1;
        result = log_add(result, items_[item(sides_->arc(side, a), b, side.head)] + meetings_[part] + siblings_[part]);
    }
    result += part_score(arc, b, side.head);
}

// The half of a head under arc b that ends at `end`, on the side of `side`.
double SparseSum::half(const Side& side, int end, int b) {
    double sum = kMinusInfinity;
    for (int k = 0; k < side.count; ++k) {
        const int d = sides_->dep(side, k), arc = sides_->arc(side, k);
        if (end > side.head ? d > end : d < end) break;
        sum = log_add(sum, items_[item(arc, b, side.head)] + (end > side.head ? right(arc) : left(arc))[end]);
    }
    return sum;
}

void SparseSum::right_of(int i) {
    const Side& side = sides_->right(i);
    for (int k = 0; k < side.count; ++k) meet(side, k);
    for (int b = arcs_begin(i); b < arcs_end(i); ++b) {
        for (int k = 0; k < side.count; ++k) add_dependent(side, k, b);
        double* row = right(b);
        row[i] = 0.0;
        for (int end = i + 1; end <= n_; ++end) row[end] = half(side, end, b);
    }
}

void SparseSum::left_to(int i) {
    for (int b = arcs_begin(i); b < arcs_end(i); ++b) left(b)[i] = 0.0;
    for (int j = i + 1; j <= n_; ++j) {
        const Side& side = sides_->left(j);
        const int k = sides_->position(side, i);
        if (k >= 0) {
            meet(side, k);
            for (int b = arcs_begin(j); b < arcs_end(j); ++b) add_dependent(side, k, b);
        }
        for (int b = arcs_begin(j); b < arcs_end(j); ++b) left(b)[i] = half(side, i, b);
    }
}

void SparseSum::marginals() {
    arc_marginals_.assign(arcs_->heads.size(), 0.0);
    sibling_marginals_.assign(sides_->parts(), 0.0);
    grand_marginals_.assign(grand_ == nullptr ? 0 : parts_->size(), 0.0);
    if (n_ == 0) return;
    right_.adjoints.assign(right_.scores.size(), 0.0);
    left_.adjoints.assign(left_.scores.size(), 0.0);
    item_adjoints_.assign(items_.size(), 0.0);
    meeting_adjoints_.assign(meetings_.size(), 0.0);
    roots_back();
    for (int i = 1; i <= n_; ++i) {
        left_to_back(i);
        right_of_back(i);
    }
}

void SparseSum::roots_back() {
    if (roots_ == Roots::multi) {
        right_.adjoint(root_arc_, width_)[n_] = 1.0;
        return right_of_back(0);
    }
    const Side& side = sides_->right(0);
    for (int k = 0; k < side.count; ++k) {
        const int arc = sides_->arc(side, k);
        const std::size_t part = sides_->part(side, k, -1);
        const double p = share(1.0, arc_scores_[arc] + left(arc)[1] + right(arc)[n_] + siblings_[part], total_);
        arc_marginals_[arc] += p;
        sibling_marginals_[part] += p;
        left_.adjoint(arc, width_)[1] += p;
        right_.adjoint(arc, width_)[n_] += p;
    }
}

void SparseSum::meet_back(const Side& side, int k) {
    const int d = sides_->dep(side, k), arc = sides_->arc(side, k);
    const std::size_t first = sides_->part(side, k, -1);
    (d > side.head ? left_.adjoint(arc, width_)[side.head + 1] : right_.adjoint(arc, width_)[side.head - 1]) += meeting_adjoints_[first];
    for (int a = 0; a < k; ++a) {
        const std::size_t part = first + static_cast<std::size_t>(a) + 1;
        const double p = meeting_adjoints_[part], z = meetings_[part];
        if (p == 0.0) continue;
        const int s = sides_->dep(side, a), inner = sides_->arc(side, a);
        const int from = std::min(s, d), to = std::max(s, d), nearer = s < d ? inner : arc, farther = s < d ? arc : inner;
        const double *rights = right(nearer), *lefts = left(farther);
        double *right_adjoints = right_.adjoint(nearer, width_), *left_adjoints = left_.adjoint(farther, width_);
        for (int r = from; r < to; ++r) {
            const double q = share(p, rights[r] + lefts[r + 1], z);
            right_adjoints[r] += q;
            left_adjoints[r + 1] += q;
        }
    }
}

void SparseSum::add_dependent_back(const Side& side, int k, int b) {
    const int arc = sides_->arc(side, k);
    const std::size_t own = item(arc, b, side.head);
    const double p = item_adjoints_[own];
    if (p == 0.0) return;
    arc_marginals_[arc] += p;
    if (grand_ != nullptr && side.head > 0) grand_marginals_[own] += p;
    const double z = items_[own] - part_score(arc, b, side.head);
    const std::size_t first = sides_->part(side, k, -1);
    for (int a = -1; a < k; ++a) {
        const std::size_t part = first + static_cast<std::size_t>(a + 1);
        const double before = a < 0 ? 0.0 : items_[item(sides_->arc(side, a), b, side.head)];
        const double q = share(p, before + meetings_[part] + siblings_[part], z);
        sibling_marginals_[part] += q;
        meeting_adjoints_[part] += q;
        if (a >= 0) item_adjoints_[item(sides_->arc(side, a), b, side.head)] += q;
    }
}

void SparseSum::half_back(const Side& side, int end, int b) {
    const bool to_right = end > side.head;
    const double p = (to_right ? right_ : left_).adjoint(b, width_)[end], z = (to_right ? right(b) : left(b))[end];
    if (p == 0.0) return;
    for (int k = 0; k < side.count; ++k) {
        const int d = sides_->dep(side, k), arc = sides_->arc(side, k);
        if (to_right ? d > end : d < end) break;
        const std::size_t own = item(arc, b, side.head);
        const double q = share(p, items_[own] + (to_right ? right(arc) : left(arc))[end], z);
        item_adjoints_[own] += q;
        (to_right ? right_ : left_).adjoint(arc, width_)[end] += q;
    }
}

void SparseSum::right_of_back(int i) {
    const Side& side = sides_->right(i);
    for (int b = arcs_begin(i); b < arcs_end(i); ++b) {
        for (int end = n_; end > i; --end) half_back(side, end, b);
        for (int k = side.count - 1; k >= 0; --k) add_dependent_back(side, k, b);
    }
    for (int k = side.count - 1; k >= 0; --k) meet_back(side, k);
}

void SparseSum::left_to_back(int i) {
    for (int j = n_; j > i; --j) {
        const Side& side = sides_->left(j);
        for (int b = arcs_begin(j); b < arcs_end(j); ++b) half_back(side, i, b);
        const int k = sides_->position(side, i);
        if (k < 0) continue;
        for (int b = arcs_begin(j); b < arcs_end(j); ++b) add_dependent_back(side, k, b);
        meet_back(side, k);
    }
}

}  // namespace arbora::graph
