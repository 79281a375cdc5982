// Max-marginals of first-order projective trees over a sparse set of arcs: for each arc the score of the best tree that contains it
// (its witness), and the number of witnesses that contain each arc [rush-2012].
//
// The inside values are those of chart.hpp with maxima. The outside value of an item is the best score of the rest of a tree:
//   outI(h,d) = max over e of outR[h][e] + R[d][e]                              (d right of h)
//   outR[d][e] = max of  outR[h][e] + I(h,d), h -> d an arc, h < d,
//                        outI(a) + arc(a) + L[j][e+1], a an arc between d and j > e, either way,
//                        arc(0,d) + L[d][1] where d is the single root and e = n;   the left side mirrored
//   m(a) = I(a) + outI(a)
// The derivative of a sum of max-marginals by the score of an arc is the number of witnesses that contain it. So counts flow back
// through the outside items to the first largest term of each, and from there through the inside items as in chart.hpp. No witness
// is built. With k arcs per word: O(n^2 k) time and O(n^2) space; with all arcs O(n^3). Float32 and ties as in chart.hpp.
#pragma once

#include <algorithm>
#include <vector>

#include "base/interrupt.hpp"
#include "trees/sparse/chart.hpp"

namespace arbora::graph {

class MaxMarginals {
public:
    // Returns false if the arcs contain no projective tree with these roots. The arguments must stay valid until the next call.
    bool run(const ArcSet& arcs, const Sides& sides, const float* arc_scores, Roots roots) {
        arcs_ = &arcs;
        sides_ = &sides;
        arc_scores_ = arc_scores;
        roots_ = roots;
        n_ = arcs.n;
        width_ = static_cast<std::size_t>(n_) + 1;
        heads_.assign(width_, -1);
        values_.assign(arcs.heads.size(), kNever);
        best_ = chart_.inside({&arcs, &sides, roots, arc_scores});
        if (best_ == kNever) return false;
        if (n_ == 0) return true;
        chart_.read_best_tree(heads_.data());
        right_.values.assign(width_ * width_, kNever);
        left_.values.assign(width_ * width_, kNever);
        items_.values.assign(arcs.heads.size(), kNever);
        roots_outside();
        for (int i = 1; i <= n_; ++i) {
            check_stop(width_ * width_);
            left_outside(i);
            right_outside(i);
        }
        return true;
    }

    // After run():
    float best() const { return best_; }                          // the best tree's score
    const std::vector<int>& best_tree() const { return heads_; }  // [n+1]
    const std::vector<float>& values() const { return values_; }  // m, per arc; minus infinity where no tree has it

    // counts[a] <- `best` if the best tree has arc a, plus `each` for each witness that has it.
    void count_witnesses(double best, double each, std::vector<double>& counts) {
        start_counts(best, each);
        // In reverse order of the outside items, then of the inside items.
        for (int i = n_; i >= 1; --i) {
            check_stop(width_ * width_);
            right_back(i);
            left_back(i);
        }
        if (roots_ == Roots::multi) right_back(0);
        chart_.flow_back();
        counts = chart_.arc_flow();
    }

private:
    // Values of outside items, and the count of witnesses through each.
    struct Outside {
        std::vector<float> values;
        std::vector<double> counts;
    };

    std::size_t place(int head, int end) const { return static_cast<std::size_t>(head) * width_ + static_cast<std::size_t>(end); }
    bool is_single_root(int head) const { return head == 0 && roots_ == Roots::single; }
    template <bool to_right>
    Outside& outside() { return to_right ? right_ : left_; }
    template <bool to_right>
    const float* half(int h) const { return to_right ? chart_.right_half(h) : chart_.left_half(h); }
    template <bool to_right>
    double* half_counts(int h) { return to_right ? chart_.right_flow(h) : chart_.left_flow(h); }

    void roots_outside() {
        if (roots_ == Roots::multi) {
            right_.values[place(0, n_)] = 0.0F;
            return right_outside(0);
        }
        const Side& side = sides_->right(0);
        for (int b = 0; b < side.count; ++b) {
            const int d = sides_->dep(side, b), arc = sides_->arc(side, b);
            const float to_left = arc_scores_[arc] + chart_.left_half(d)[1], to_right = arc_scores_[arc] + chart_.right_half(d)[n_];
            values_[arc] = to_left + chart_.right_half(d)[n_];
            right_.values[place(d, n_)] = to_left;
            left_.values[place(d, 1)] = to_right;
        }
    }

    // The arc's own values, and those of the halves of i and j that meet below it.
    void set_arc(int arc, int i, int j, float outside) {
        items_.values[arc] = outside;
        values_[arc] = chart_.items()[arc] + outside;
        const float score = outside + arc_scores_[arc];
        raise(&right_.values[place(i, i)], chart_.left_half(j) + i + 1, score, j - i);
        raise(&left_.values[place(j, i + 1)], chart_.right_half(i) + i, score, j - i);
    }

    void right_outside(int i) {
        const Side& side = sides_->right(i);
        const float* around = &right_.values[place(i, 0)];
        for (int b = side.count - 1; b >= 0; --b) {
            const int d = sides_->dep(side, b), arc = sides_->arc(side, b);
            const float outside = best_sum(around + d, chart_.right_half(d) + d, n_ - d + 1);
            raise(&right_.values[place(d, d)], around + d, chart_.items()[arc], n_ - d + 1);
            set_arc(arc, i, d, outside);
        }
    }

    void left_outside(int i) {
        for (int j = n_; j > i; --j) {
            const Side& side = sides_->left(j);
            const float around = left_.values[place(j, i)];
            for (int b = 0; b < side.count && sides_->dep(side, b) >= i; ++b) {
                float& further = left_.values[place(sides_->dep(side, b), i)];
                further = std::max(further, chart_.items()[sides_->arc(side, b)] + around);
            }
            if (const int b = sides_->position(side, i); b >= 0)
                set_arc(sides_->arc(side, b), i, j, best_sum(&left_.values[place(j, 1)], chart_.left_half(i) + 1, i));
        }
    }

    void start_counts(double best, double each) {
        chart_.begin_flow();
        right_.counts.assign(width_ * width_, 0.0);
        left_.counts.assign(width_ * width_, 0.0);
        items_.counts.assign(arcs_->heads.size(), 0.0);
        for (int d = 1; d <= n_; ++d)
            for (int a = arcs_->first[d]; a < arcs_->first[d + 1]; ++a) {
                if (heads_[d] == arcs_->heads[a]) chart_.arc_flow()[a] += best;
                if (values_[a] == kNever) continue;
                if (is_single_root(arcs_->heads[a])) {
                    chart_.arc_flow()[a] += each;
                    chart_.left_flow(d)[1] += each;
                    chart_.right_flow(d)[n_] += each;
                } else {
                    chart_.item_flow()[a] = items_.counts[a] = each;
                }
            }
    }

    // From the outside of the half of a node that reaches to `end`, to the one item that it was built from.
    template <bool to_right>
    void half_back(int node, int end) {
        const double count = outside<to_right>().counts[place(node, end)];
        if (count == 0.0) return;
        constexpr int kStep = to_right ? 1 : -1;
        const auto beyond = [](int a, int b) { return to_right ? a > b : a < b; };
        const int last = to_right ? n_ : 1, first = to_right ? 1 : n_;
        float best = kNever;
        int arc = -1, partner = 0;
        const auto offer = [&](float score, int a, int other) {
            if (score > best) best = score, arc = a, partner = other;
        };
        const auto offer_meeting = [&](int a, int other) {
            offer(items_.values[a] + arc_scores_[a] + half<!to_right>(other)[end + kStep], a, other);
        };
        for (int a = arcs_->first[node]; a < arcs_->first[node + 1]; ++a) {
            const int h = arcs_->heads[a];
            if (is_single_root(h)) {
                if (end == last) offer(arc_scores_[a] + half<!to_right>(node)[first], a, h);
            } else if (beyond(node, h)) {
                offer(outside<to_right>().values[place(h, end)] + chart_.items()[a], a, h);
            } else if (beyond(h, end)) {
                offer_meeting(a, h);
            }
        }
        const Side& side = to_right ? sides_->right(node) : sides_->left(node);
        for (int b = side.count - 1; b >= 0 && beyond(sides_->dep(side, b), end); --b) offer_meeting(sides_->arc(side, b), sides_->dep(side, b));
        if (arc < 0) return;  // the root's own half
        if (is_single_root(partner)) {
            chart_.arc_flow()[arc] += count;
            half_counts<!to_right>(node)[first] += count;
        } else if (beyond(partner, node)) {
            items_.counts[arc] += count;
            chart_.arc_flow()[arc] += count;
            half_counts<!to_right>(partner)[end + kStep] += count;
        } else {
            outside<to_right>().counts[place(partner, end)] += count;
            chart_.item_flow()[arc] += count;
        }
    }

    void right_back(int i) {
        const Side& side = sides_->right(i);
        const float* around = &right_.values[place(i, 0)];
        for (int end = i, b = 0; end <= n_; ++end) {
            if (b < side.count && sides_->dep(side, b) == end) {
                if (const double count = items_.counts[sides_->arc(side, b++)]; count != 0.0) {
                    const int e = end + best_sum_at(around + end, chart_.right_half(end) + end, n_ - end + 1);
                    right_.counts[place(i, e)] += count;
                    chart_.right_flow(end)[e] += count;
                }
            }
            half_back<true>(i, end);
        }
    }

    void left_back(int i) {
        for (int j = i + 1; j <= n_; ++j) {
            const Side& side = sides_->left(j);
            const int b = sides_->position(side, i);
            if (const double count = b < 0 ? 0.0 : items_.counts[sides_->arc(side, b)]; count != 0.0) {
                const int s = 1 + best_sum_at(&left_.values[place(j, 1)], chart_.left_half(i) + 1, i);
                left_.counts[place(j, s)] += count;
                chart_.left_flow(i)[s] += count;
            }
            half_back<false>(j, i);
        }
    }

    const ArcSet* arcs_ = nullptr;
    const Sides* sides_ = nullptr;
    const float* arc_scores_ = nullptr;
    Roots roots_ = Roots::single;
    int n_ = 0;
    std::size_t width_ = 0;
    float best_ = 0.0F;
    MaxArcChart chart_;
    std::vector<int> heads_;
    std::vector<float> values_;
    Outside right_, left_;  // [word, end]
    Outside items_;         // per arc
};

}  // namespace arbora::graph
