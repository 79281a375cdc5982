#include "trees/sparse/grand_chart.hpp"

#include <algorithm>

#include "parser/lanes.hpp"

namespace arbora::graph {

void GrandParts::build(const ArcSet& arcs) {
    first_.assign(1, 0);
    for (const int h : arcs.heads)
        first_.push_back(first_.back() + (h == 0 ? 0 : static_cast<std::size_t>(arcs.first[h + 1] - arcs.first[h])));
}

bool GrandChart::argmax(const ArcSet& arcs, const Sides& sides, const GrandParts& parts, const float* arc_scores,
                        const float* siblings, const float* grand, Roots roots, int* heads) {
    arcs_ = &arcs;
    sides_ = &sides;
    parts_ = &parts;
    arc_scores_ = arc_scores;
    siblings_ = siblings;
    grand_ = grand;
    n_ = arcs.n;
    heads[0] = -1;
    if (n_ == 0) return true;
    prepare();
    for (int i = n_; i >= 1; --i) {
        right_of(i);
        left_to(i);
    }
    open_.clear();
    if (roots == Roots::single) {
        const Choice root = best_single_root();
        if (root.score == kNever) return false;
        const Side& side = sides_->right(0);
        const int arc = sides_->arc(side, root.which), d = sides_->dep(side, root.which);
        heads[d] = 0;
        open_ = {{arc, d, 1}, {arc, d, n_}};
    } else {
        right_of(0);
        if (right(root_arc_)[n_] == kNever) return false;
        open_ = {{root_arc_, 0, n_}};
    }
    walk(heads);
    return true;
}

void GrandChart::prepare() {
    width_ = static_cast<std::size_t>(n_) + 1;
    root_arc_ = arcs_->size();
    const auto rows = static_cast<std::size_t>(root_arc_) + 1;
    right_.resize(rows * width_);
    left_.resize(rows * width_);
    incomplete_.resize(parts_->size());
    root_incomplete_.resize(rows);
    meetings_.resize(sides_->parts());
}

float& GrandChart::incomplete(int a, int b, int head) {
    return head == 0 ? root_incomplete_[static_cast<std::size_t>(a)] : incomplete_[parts_->part(a, b, arcs_->first[head])];
}

float GrandChart::grand_score(int a, int b, int head) const {
    return head == 0 ? 0.0F : grand_[parts_->part(a, b, arcs_->first[head])];
}

// Between i with head and arc_left, and j with arc_right: the halves that meet, i < j.
float GrandChart::meeting(int arc_left, int i, int arc_right, int j) {
    return best_sum(right(arc_left) + i, left(arc_right) + i + 1, j - i);
}

// The meetings of dependent b of a side with all that stand nearer to the head.
void GrandChart::meet(const Side& side, int b) {
    const int d = sides_->dep(side, b), arc = sides_->arc(side, b);
    float* row = &meetings_[sides_->part(side, b, -1)];
    row[0] = d > side.head ? left(arc)[side.head + 1] : right(arc)[side.head - 1];
    for (int a = 0; a < b; ++a) {
        const int s = sides_->dep(side, a), inner = sides_->arc(side, a);
        row[a + 1] = s < d ? meeting(inner, s, arc, d) : meeting(arc, d, inner, s);
    }
}

GrandChart::Choice GrandChart::best_inner(const Side& side, int dependent, int b) {
    const std::size_t first = sides_->part(side, dependent, -1);
    Choice best{meetings_[first] + siblings_[first], -1};
    for (int a = 0; a < dependent; ++a) {
        const std::size_t part = first + static_cast<std::size_t>(a) + 1;
        const float score = incomplete(sides_->arc(side, a), b, side.head) + meetings_[part] + siblings_[part];
        if (score > best.score) best = {score, a};
    }
    return best;
}

GrandChart::Choice GrandChart::best_half(const Side& side, int end, int b) {
    Choice best{side.head == end ? 0.0F : kNever, -1};
    for (int k = 0; k < side.count; ++k) {
        const int d = sides_->dep(side, k), arc = sides_->arc(side, k);
        if (end > side.head ? d > end : d < end) break;
        const float score = incomplete(arc, b, side.head) + (end > side.head ? right(arc) : left(arc))[end];
        if (score > best.score) best = {score, k};
    }
    return best;
}

void GrandChart::right_of(int i) {
    const Side& side = sides_->right(i);
    for (int k = 0; k < side.count; ++k) meet(side, k);
    for (int b = arcs_begin(i); b < arcs_end(i); ++b) {
        // A head on the right bounds the half: it stands outside.
        const int g = head_of(b), last = g > i ? g - 1 : n_;
        float* half = right(b);
        std::fill(half + i, half + n_ + 1, kNever);
        half[i] = 0.0F;
        for (int k = 0; k < side.count; ++k) {
            const int d = sides_->dep(side, k), arc = sides_->arc(side, k);
            float& item = incomplete(arc, b, i);
            item = d > last ? kNever : best_inner(side, k, b).score + arc_scores_[arc] + grand_score(arc, b, i);
            if (d <= last) raise(half + d, right(arc) + d, item, last - d + 1);
        }
    }
}

void GrandChart::left_arcs(int j, int i) {
    const Side& side = sides_->left(j);
    const int k = sides_->position(side, i);
    if (k < 0) return;
    const int arc = sides_->arc(side, k);
    left(arc)[i] = 0.0F;
    meet(side, k);
    for (int b = arcs_begin(j); b < arcs_end(j); ++b) {
        const int g = head_of(b);
        const bool outside = g > j || g < i;
        incomplete(arc, b, j) = outside ? best_inner(side, k, b).score + arc_scores_[arc] + grand_score(arc, b, j) : kNever;
    }
}

void GrandChart::left_to(int i) {
    for (int b = arcs_begin(i); b < arcs_end(i); ++b) left(b)[i] = 0.0F;
    for (int j = i + 1; j <= n_; ++j) {
        left_arcs(j, i);
        const Side& side = sides_->left(j);
        for (int b = arcs_begin(j); b < arcs_end(j); ++b) left(b)[i] = best_half(side, i, b).score;
    }
}

GrandChart::Choice GrandChart::best_single_root() {
    const Side& side = sides_->right(0);
    Choice best{kNever, 0};
    for (int k = 0; k < side.count; ++k) {
        const int arc = sides_->arc(side, k);
        const float score = arc_scores_[arc] + left(arc)[1] + right(arc)[n_] + siblings_[sides_->part(side, k, -1)];
        if (score > best.score) best = {score, k};
    }
    return best;
}

void GrandChart::open_halves(int arc_left, int i, int arc_right, int j) {
    const int r = i + best_sum_at(right(arc_left) + i, left(arc_right) + i + 1, j - i);
    open_.push_back({arc_left, i, r});
    open_.push_back({arc_right, j, r + 1});
}

void GrandChart::walk(int* heads) {
    while (!open_.empty()) {
        const Half half = open_.back();
        open_.pop_back();
        if (half.head == half.end) continue;
        const Side& side = sides_->of(half.head, half.end);
        const int k = best_half(side, half.end, half.arc).which;
        open_.push_back({sides_->arc(side, k), sides_->dep(side, k), half.end});
        walk_dependents(side, k, half.arc, heads);
    }
}

// From dependent k of a side, whose head hangs by arc b, inwards to the head.
void GrandChart::walk_dependents(const Side& side, int k, int b, int* heads) {
    while (true) {
        const int d = sides_->dep(side, k), arc = sides_->arc(side, k);
        heads[d] = side.head;
        const int inner = best_inner(side, k, b).which;
        if (inner < 0) return open_.push_back({arc, d, d > side.head ? side.head + 1 : side.head - 1});
        const int s = sides_->dep(side, inner), inner_arc = sides_->arc(side, inner);
        if (s < d)
            open_halves(inner_arc, s, arc, d);
        else
            open_halves(arc, d, inner_arc, s);
        k = inner;
    }
}

}  // namespace arbora::graph
