// The max-marginals of first-order projective trees over a sparse set of arcs: of each arc the score of the best tree that has it
// [rush-2012], and how often arcs stand in these trees.
//
// Inside, the items of sparse_chart.hpp. Outside, the best of what a tree has besides an item:
//   outI(h,d) = max over e of outR[h][e] + R[d][e]                              (the incomplete half of an arc, d right of h)
//   outR[d][e] = max of  outR[h][e] + I(h,d), h -> d an arc, h < d,
//                        outI(a) + arc(a) + L[j][e+1], a an arc between d and j > e, either way,
//                        arc(0,d) + L[d][1] where d is the only root and e = n;   the left side mirrored.
//   m(a) = I(a) + outI(a)
// The tree that m(a) is the score of is a's witness. The derivative of a sum of max-marginals by an arc's score is the number of
// witnesses that have the arc: counts run back through the outside items, then through the inside ones, and each maximum is found
// again where a count arrives. No witness is ever built.
// With k arcs per word: O(n^2 k) time, O(n^2) space; with all arcs O(n^3). float32, as in sparse_chart.hpp, whose ties these are.
#pragma once

#include <vector>

#include "trees/sparse/sparse_chart.hpp"

namespace arbora::graph {

class MaxMarginals {
public:
    // False where the arcs hold no projective tree with these roots. What is given must stay until the next call.
    bool run(const ArcSet& arcs, const Sides& sides, const float* arc_scores, Roots roots);

    // After run():
    float best() const { return best_; }                          // the best tree's score
    const std::vector<int>& best_tree() const { return heads_; }  // [n+1]
    const std::vector<float>& values() const { return values_; }  // m, per arc; minus infinity where no tree has it

    // counts[a] <- `best` where the best tree has arc a, plus `each` for each witness that has it.
    void count_witnesses(double best, double each, std::vector<double>& counts);

private:
    using Table = std::vector<float>;
    using Counts = std::vector<double>;
    std::size_t place(int head, int end) const { return static_cast<std::size_t>(head) * width_ + static_cast<std::size_t>(end); }
    bool is_single_root_arc(int head) const { return head == 0 && roots_ == Roots::single; }

    void roots_outside();
    void right_outside(int i);
    void left_outside(int i);
    void spread_meeting(int i, int j, float score);

    void right_counts_outside(int i);
    void left_counts_outside(int i);
    void pass_right(int i, int end);
    void pass_left(int j, int end);
    void right_counts_inside(int i);
    void left_counts_inside(int i);
    void count_arc(int arc, int head, int dep);

    const ArcSet* arcs_ = nullptr;
    const Sides* sides_ = nullptr;
    const float* arc_scores_ = nullptr;
    Roots roots_ = Roots::single;
    int n_ = 0;
    std::size_t width_ = 0;
    float best_ = 0.0F;
    SparseChart chart_;
    std::vector<int> heads_;
    Table values_, out_right_, out_left_;
    Table out_arcs_;  // outI, per arc
    // Witnesses that go through each item.
    Counts right_, left_, arcs_through_;
    Counts through_out_right_, through_out_left_, through_out_arcs_;
    Counts* counts_ = nullptr;
};

}  // namespace arbora::graph
