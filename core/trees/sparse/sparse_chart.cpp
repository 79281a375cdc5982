#include "trees/sparse/sparse_chart.hpp"

#include <algorithm>

#include "parser/lanes.hpp"

namespace arbora::graph {

bool SparseChart::argmax(const ArcSet& arcs, const Sides& sides, const float* arc_scores, const float* siblings, Roots roots,
                         int* heads) {
    arcs_ = &arcs;
    sides_ = &sides;
    arc_scores_ = arc_scores;
    siblings_ = siblings;
    roots_ = roots;
    n_ = arcs.n;
    heads[0] = -1;
    if (n_ == 0) return true;
    prepare();
    for (int i = n_; i >= 1; --i) {
        right_of(i);
        meetings_of(i);
        left_to(i);
    }
    open_.clear();
    if (roots == Roots::single) {
        const Choice root = best_single_root();
        if (root.score == kNever) return false;
        heads[root.which] = 0;
        open_ = {{root.which, 1}, {root.which, n_}};
    } else {
        right_of(0);
        if (right(0)[n_] == kNever) return false;
        open_ = {{0, n_}};
    }
    walk(heads);
    return true;
}

void SparseChart::prepare() {
    width_ = static_cast<std::size_t>(n_) + 1;
    right_.resize(width_ * width_);
    left_.resize(width_ * width_);
    between_.resize(width_ * width_);
    incomplete_.resize(arcs_->heads.size());
    find_wanted();
}

void SparseChart::find_wanted() {
    wanted_.assign(width_ * width_, 0);
    const auto want = [&](int a, int b) {
        wanted_[static_cast<std::size_t>(std::min(a, b)) * width_ + static_cast<std::size_t>(std::max(a, b))] = 1;
    };
    for (const Side& side : sides_->all())
        for (int b = 0; b < side.count; ++b) {
            if (siblings_ == nullptr) want(side.head, sides_->dep(side, b));
            for (int a = 0; siblings_ != nullptr && a < b; ++a) want(sides_->dep(side, a), sides_->dep(side, b));
        }
}

SparseChart::Choice SparseChart::best_inner(const Side& side, int b) {
    const int h = side.head, d = sides_->dep(side, b);
    if (siblings_ == nullptr) {
        // Right of h, the halves that meet end with h's own, which is being made: its part up to d is ready.
        return {d > h ? best_sum(right(h) + h, left(d) + h + 1, d - h) : between(d, h), -1};
    }
    const float* parts = siblings_ + sides_->part(side, b, -1);
    Choice best{(d > h ? left(d)[h + 1] : right(d)[h - 1]) + parts[0], -1};
    for (int a = 0; a < b; ++a) {
        const int s = sides_->dep(side, a);
        const float score = incomplete_[sides_->arc(side, a)] + between(std::min(s, d), std::max(s, d)) + parts[a + 1];
        if (score > best.score) best = {score, a};
    }
    return best;
}

SparseChart::Choice SparseChart::best_half(const Side& side, int end) {
    Choice best{side.head == end ? 0.0F : kNever, -1};
    for (int b = 0; b < side.count; ++b) {
        const int d = sides_->dep(side, b);
        if (end > side.head ? d > end : d < end) break;
        const float score = incomplete_[sides_->arc(side, b)] + (end > side.head ? right(d) : left(d))[end];
        if (score > best.score) best = {score, b};
    }
    return best;
}

void SparseChart::right_of(int i) {
    float* half = right(i);
    std::fill(half + i, half + n_ + 1, kNever);
    half[i] = 0.0F;
    const Side& side = sides_->right(i);
    for (int b = 0; b < side.count; ++b) {
        const int d = sides_->dep(side, b), arc = sides_->arc(side, b);
        const float score = best_inner(side, b).score + arc_scores_[arc];
        incomplete_[arc] = score;
        const float* beyond = right(d);
        raise(half + d, beyond + d, score, n_ - d + 1);
    }
}

void SparseChart::meetings_of(int i) {
    const std::uint8_t* wanted = &wanted_[static_cast<std::size_t>(i) * width_];
    for (int j = i + 1; j <= n_; ++j)
        if (wanted[j]) between(i, j) = best_sum(right(i) + i, left(j) + i + 1, j - i);
}

void SparseChart::left_to(int i) {
    left(i)[i] = 0.0F;
    for (int j = i + 1; j <= n_; ++j) {
        const Side& side = sides_->left(j);
        const int b = sides_->position(side, i);
        if (b >= 0) {
            const int arc = sides_->arc(side, b);
            incomplete_[arc] = best_inner(side, b).score + arc_scores_[arc];
        }
        left(j)[i] = best_half(side, i).score;
    }
}

SparseChart::Choice SparseChart::best_single_root() {
    const Side& side = sides_->right(0);
    Choice best{kNever, 0};
    for (int b = 0; b < side.count; ++b) {
        const int d = sides_->dep(side, b);
        float score = arc_scores_[sides_->arc(side, b)] + left(d)[1] + right(d)[n_];
        if (siblings_ != nullptr) score += siblings_[sides_->part(side, b, -1)];
        if (score > best.score) best = {score, d};
    }
    return best;
}

void SparseChart::open_halves(int i, int j) {
    const int r = i + best_sum_at(right(i) + i, left(j) + i + 1, j - i);
    open_.push_back({i, r});
    open_.push_back({j, r + 1});
}

void SparseChart::walk(int* heads) {
    while (!open_.empty()) {
        const Half half = open_.back();
        open_.pop_back();
        if (half.head == half.end) continue;
        const Side& side = sides_->of(half.head, half.end);
        const int b = best_half(side, half.end).which;
        open_.push_back({sides_->dep(side, b), half.end});
        walk_dependents(side, b, heads);
    }
}

// From dependent b inwards to the head.
void SparseChart::walk_dependents(const Side& side, int b, int* heads) {
    const int h = side.head;
    while (true) {
        const int d = sides_->dep(side, b);
        heads[d] = h;
        if (siblings_ == nullptr) return open_halves(std::min(h, d), std::max(h, d));
        const int a = best_inner(side, b).which;
        if (a < 0) return open_.push_back({d, d > h ? h + 1 : h - 1});
        const int s = sides_->dep(side, a);
        open_halves(std::min(s, d), std::max(s, d));
        b = a;
    }
}

}  // namespace arbora::graph
