#include "trees/sparse/max_marginals.hpp"

#include <algorithm>

#include "parser/lanes.hpp"

namespace arbora::graph {

bool MaxMarginals::run(const ArcSet& arcs, const Sides& sides, const float* arc_scores, Roots roots) {
    arcs_ = &arcs;
    sides_ = &sides;
    arc_scores_ = arc_scores;
    roots_ = roots;
    n_ = arcs.n;
    width_ = static_cast<std::size_t>(n_) + 1;
    best_ = 0.0F;
    heads_.assign(width_, -1);
    values_.assign(arcs.heads.size(), kNever);
    if (n_ == 0) return true;
    if (!chart_.argmax(arcs, sides, arc_scores, nullptr, roots, heads_.data())) return false;
    out_right_.assign(width_ * width_, kNever);
    out_left_.assign(width_ * width_, kNever);
    out_arcs_.assign(arcs.heads.size(), kNever);
    roots_outside();
    for (int i = 1; i <= n_; ++i) {
        left_outside(i);
        right_outside(i);
    }
    return true;
}

void MaxMarginals::roots_outside() {
    if (roots_ == Roots::multi) {
        best_ = chart_.right_half(0)[n_];
        out_right_[place(0, n_)] = 0.0F;
        return right_outside(0);
    }
    best_ = kNever;
    const Side& side = sides_->right(0);
    for (int b = 0; b < side.count; ++b) {
        const int d = sides_->dep(side, b), arc = sides_->arc(side, b);
        const float to_left = arc_scores_[arc] + chart_.left_half(d)[1], to_right = arc_scores_[arc] + chart_.right_half(d)[n_];
        values_[arc] = to_left + chart_.right_half(d)[n_];
        out_right_[place(d, n_)] = to_left;
        out_left_[place(d, 1)] = to_right;
        best_ = std::max(best_, values_[arc]);
    }
}

// What the halves of i and j that meet below an arc have around them; the score is the arc's own and what is around it.
void MaxMarginals::spread_meeting(int i, int j, float score) {
    raise(&out_right_[place(i, i)], chart_.left_half(j) + i + 1, score, j - i);
    raise(&out_left_[place(j, i + 1)], chart_.right_half(i) + i, score, j - i);
}

void MaxMarginals::right_outside(int i) {
    const Side& side = sides_->right(i);
    const float* around = &out_right_[place(i, 0)];
    for (int b = side.count - 1; b >= 0; --b) {
        const int d = sides_->dep(side, b), arc = sides_->arc(side, b);
        const float inside = chart_.incomplete()[arc], outside = best_sum(around + d, chart_.right_half(d) + d, n_ - d + 1);
        out_arcs_[arc] = outside;
        values_[arc] = inside + outside;
        raise(&out_right_[place(d, d)], around + d, inside, n_ - d + 1);
        spread_meeting(i, d, outside + arc_scores_[arc]);
    }
}

void MaxMarginals::left_outside(int i) {
    for (int j = n_; j > i; --j) {
        const Side& side = sides_->left(j);
        const float around = out_left_[place(j, i)];
        for (int b = 0; b < side.count && sides_->dep(side, b) >= i; ++b) {
            float& further = out_left_[place(sides_->dep(side, b), i)];
            further = std::max(further, chart_.incomplete()[sides_->arc(side, b)] + around);
        }
        const int b = sides_->position(side, i);
        if (b < 0) continue;
        const int arc = sides_->arc(side, b);
        const float outside = best_sum(&out_left_[place(j, 1)], chart_.left_half(i) + 1, i);
        out_arcs_[arc] = outside;
        values_[arc] = chart_.incomplete()[arc] + outside;
        spread_meeting(i, j, outside + arc_scores_[arc]);
    }
}

void MaxMarginals::count_witnesses(double best, double each, std::vector<double>& counts) {
    counts.assign(arcs_->heads.size(), 0.0);
    counts_ = &counts;
    if (n_ == 0) return;
    for (Counts* table : {&right_, &left_, &through_out_right_, &through_out_left_}) table->assign(width_ * width_, 0.0);
    arcs_through_.assign(arcs_->heads.size(), 0.0);
    through_out_arcs_.assign(arcs_->heads.size(), 0.0);
    for (int d = 1; d <= n_; ++d)
        for (int a = arcs_->first[d]; a < arcs_->first[d + 1]; ++a) {
            if (heads_[d] == arcs_->heads[a]) counts[a] += best;
            if (values_[a] == kNever) continue;
            if (is_single_root_arc(arcs_->heads[a])) {
                counts[a] += each;
                left_[place(d, 1)] += each;
                right_[place(d, n_)] += each;
            } else {
                arcs_through_[a] = through_out_arcs_[a] = each;
            }
        }
    // Against the order of the outside items, then against that of the inside ones.
    for (int i = n_; i >= 1; --i) {
        right_counts_outside(i);
        left_counts_outside(i);
    }
    if (roots_ == Roots::multi) {
        right_counts_outside(0);
        right_counts_inside(0);
    }
    for (int i = 1; i <= n_; ++i) {
        left_counts_inside(i);
        right_counts_inside(i);
    }
}

// From R[i][end]'s outside to the one item that it was made from.
void MaxMarginals::pass_right(int i, int end) {
    const double count = through_out_right_[place(i, end)];
    if (count == 0.0) return;
    float best = kNever;
    int which = -1, partner = 0;
    const auto offer = [&](float score, int arc, int node) {
        if (score > best) {
            best = score;
            which = arc;
            partner = node;
        }
    };
    for (int a = arcs_->first[i]; a < arcs_->first[i + 1]; ++a) {
        const int h = arcs_->heads[a];
        if (is_single_root_arc(h)) {
            if (end == n_) offer(arc_scores_[a] + chart_.left_half(i)[1], a, 0);
        } else if (h < i) {
            offer(out_right_[place(h, end)] + chart_.incomplete()[a], a, h);
        } else if (h > end) {
            offer(out_arcs_[a] + arc_scores_[a] + chart_.left_half(h)[end + 1], a, h);
        }
    }
    const Side& side = sides_->right(i);
    for (int b = side.count - 1; b >= 0 && sides_->dep(side, b) > end; --b) {
        const int d = sides_->dep(side, b), a = sides_->arc(side, b);
        offer(out_arcs_[a] + arc_scores_[a] + chart_.left_half(d)[end + 1], a, d);
    }
    if (which < 0) return;  // the root's own half
    if (partner > i) {
        through_out_arcs_[which] += count;
        (*counts_)[which] += count;
        left_[place(partner, end + 1)] += count;
    } else if (is_single_root_arc(partner)) {
        (*counts_)[which] += count;
        left_[place(i, 1)] += count;
    } else {
        through_out_right_[place(partner, end)] += count;
        arcs_through_[which] += count;
    }
}

// The same for L[j][end].
void MaxMarginals::pass_left(int j, int end) {
    const double count = through_out_left_[place(j, end)];
    if (count == 0.0) return;
    float best = kNever;
    int which = -1, partner = 0;
    const auto offer = [&](float score, int arc, int node) {
        if (score > best) {
            best = score;
            which = arc;
            partner = node;
        }
    };
    for (int a = arcs_->first[j]; a < arcs_->first[j + 1]; ++a) {
        const int h = arcs_->heads[a];
        if (is_single_root_arc(h)) {
            if (end == 1) offer(arc_scores_[a] + chart_.right_half(j)[n_], a, 0);
        } else if (h > j) {
            offer(out_left_[place(h, end)] + chart_.incomplete()[a], a, h);
        } else if (h < end) {
            offer(out_arcs_[a] + arc_scores_[a] + chart_.right_half(h)[end - 1], a, h);
        }
    }
    const Side& side = sides_->left(j);
    for (int b = side.count - 1; b >= 0 && sides_->dep(side, b) < end; --b) {
        const int d = sides_->dep(side, b), a = sides_->arc(side, b);
        offer(out_arcs_[a] + arc_scores_[a] + chart_.right_half(d)[end - 1], a, d);
    }
    if (which < 0) return;
    if (partner > j) {
        through_out_left_[place(partner, end)] += count;
        arcs_through_[which] += count;
    } else if (is_single_root_arc(partner)) {
        (*counts_)[which] += count;
        right_[place(j, n_)] += count;
    } else {
        through_out_arcs_[which] += count;
        (*counts_)[which] += count;
        right_[place(partner, end - 1)] += count;
    }
}

void MaxMarginals::right_counts_outside(int i) {
    const Side& side = sides_->right(i);
    const float* around = &out_right_[place(i, 0)];
    for (int end = i, b = 0; end <= n_; ++end) {
        if (b < side.count && sides_->dep(side, b) == end) {
            const int arc = sides_->arc(side, b++);
            if (const double count = through_out_arcs_[arc]; count != 0.0) {
                const int e = end + best_sum_at(around + end, chart_.right_half(end) + end, n_ - end + 1);
                through_out_right_[place(i, e)] += count;
                right_[place(end, e)] += count;
            }
        }
        pass_right(i, end);
    }
}

void MaxMarginals::left_counts_outside(int i) {
    for (int j = i + 1; j <= n_; ++j) {
        const Side& side = sides_->left(j);
        const int b = sides_->position(side, i);
        if (const double count = b < 0 ? 0.0 : through_out_arcs_[sides_->arc(side, b)]; count != 0.0) {
            const int s = 1 + best_sum_at(&out_left_[place(j, 1)], chart_.left_half(i) + 1, i);
            through_out_left_[place(j, s)] += count;
            left_[place(i, s)] += count;
        }
        pass_left(j, i);
    }
}

void MaxMarginals::count_arc(int arc, int head, int dep) {
    const double count = arcs_through_[arc];
    if (count == 0.0) return;
    (*counts_)[arc] += count;
    const int i = std::min(head, dep), j = std::max(head, dep);
    const int r = i + best_sum_at(chart_.right_half(i) + i, chart_.left_half(j) + i + 1, j - i);
    right_[place(i, r)] += count;
    left_[place(j, r + 1)] += count;
}

void MaxMarginals::right_counts_inside(int i) {
    const Side& side = sides_->right(i);
    for (int end = n_, last = side.count - 1; end > i; --end) {
        while (last >= 0 && sides_->dep(side, last) > end) --last;
        if (const double count = right_[place(i, end)]; count != 0.0) {
            int found = 0;
            float best = kNever;
            for (int b = 0; b <= last; ++b) {
                const float score = chart_.incomplete()[sides_->arc(side, b)] + chart_.right_half(sides_->dep(side, b))[end];
                if (score > best) best = score, found = b;
            }
            arcs_through_[sides_->arc(side, found)] += count;
            right_[place(sides_->dep(side, found), end)] += count;
        }
        if (last >= 0 && sides_->dep(side, last) == end) count_arc(sides_->arc(side, last), i, end);
    }
}

void MaxMarginals::left_counts_inside(int i) {
    for (int j = n_; j > i; --j) {
        const Side& side = sides_->left(j);
        if (const double count = left_[place(j, i)]; count != 0.0) {
            int found = 0;
            float best = kNever;
            for (int b = 0; b < side.count && sides_->dep(side, b) >= i; ++b) {
                const float score = chart_.incomplete()[sides_->arc(side, b)] + chart_.left_half(sides_->dep(side, b))[i];
                if (score > best) best = score, found = b;
            }
            arcs_through_[sides_->arc(side, found)] += count;
            left_[place(sides_->dep(side, found), i)] += count;
        }
        if (const int b = sides_->position(side, i); b >= 0) count_arc(sides_->arc(side, b), j, i);
    }
}

}  // namespace arbora::graph
