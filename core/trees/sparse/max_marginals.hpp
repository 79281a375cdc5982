// Max-marginals of first-order projective trees over a sparse set of arcs: for each arc the score of the best tree that has it, its
// witness, and how many witnesses have each arc [rush-2012].
//
// The inside values are those of chart.hpp with maxima. Outside, each item has the best score of the rest of a tree:
//   outI(h,d) = max over e of outR[h][e] + R[d][e]                              (d right of h)
//   outR[d][e] = max of  outR[h][e] + I(h,d), h -> d an arc, h < d,
//                        outI(a) + arc(a) + L[j][e+1], a an arc between d and j > e, either way,
//                        arc(0,d) + L[d][1] where d is the single root and e = n;   the left side mirrored
//   m(a) = I(a) + outI(a)
// The derivative of a sum of max-marginals by the score of an arc is the number of witnesses that have it. So counts flow back through
// the outside items to the first largest term of each, and from there through the inside items as in chart.hpp. No witness is built.
// Only maxima need this pass: the flows of sums are probabilities already. It works by rows, so that it runs in vector lanes.
// With k arcs per word: O(n^2 k) time and O(n^2) space; with all arcs O(n^3). Float32 and ties as in chart.hpp.
#pragma once

#include <vector>

#include "trees/sparse/chart.hpp"

namespace arbora::graph {

class MaxMarginals {
public:
    // False where the arcs hold no projective tree with these roots. The arguments must stay valid until the next call.
    bool run(const ArcSet& arcs, const Sides& sides, const float* arc_scores, Roots roots);

    // After run():
    float best() const { return best_; }                          // the best tree's score
    const std::vector<int>& best_tree() const { return heads_; }  // [n+1]
    const std::vector<float>& values() const { return values_; }  // m, per arc; minus infinity where no tree has it

    // counts[a] <- `best` where the best tree has arc a, plus `each` for each witness that has it.
    void count_witnesses(double best, double each, std::vector<double>& counts);

private:
    // Values of outside items, and the count of witnesses that go through each.
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

    void roots_outside();
    void right_outside(int i);
    void left_outside(int i);
    void set_arc(int arc, int i, int j, float outside);

    void start_counts(double best, double each);
    void right_back(int i);
    void left_back(int i);
    template <bool to_right>
    void half_back(int node, int end);

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
