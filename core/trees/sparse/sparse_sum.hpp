// The sum over projective trees with siblings and grandparents over a sparse set of arcs, and the probability of every part.
//
// The items are those of grand_chart.hpp with sums for maxima, in the log domain:
//   meet(h; s, d) = log sum over r of exp(R[h,s][r] + L[h,d][r+1])
//   I[b](d) = arc(h,d) + grand(b,d) + log( exp(L[h,d][h+1] + sib(h,d,none)) + sum over s of exp(I[b](s) + meet(h; s, d) + sib(h,d,s)) )
//   R[b][e] = log sum over d <= e of exp(I[b](d) + R[h,d][e]),  R[b][h] = 0;  the left side mirrored.
// Every tree is built in one way only, so nothing is counted twice. The way back takes the same steps in reverse and gives to each
// item its probability: what x gives to z = log sum exp(x) is P(z) exp(x - z). All of it lies in [0, 1], so nothing overflows.
// With k arcs per word: O(n^2 k^2) time, O(n^2 k) space.
#pragma once

#include <vector>

#include "parser/arc_set.hpp"
#include "trees/sparse/grand_chart.hpp"

namespace arbora::graph {

class SparseSum {
public:
    // siblings: one score per sibling part; grand: one per grandparent part, or null for none. Minus infinity where no tree is left.
    double log_partition(const ArcSet& arcs, const Sides& sides, const GrandParts& parts, const double* arc_scores, const float* siblings,
                         const float* grand, Roots roots);

    // After log_partition(), which must have been finite: the probability of each part.
    void marginals();
    const std::vector<double>& arc_marginals() const { return arc_marginals_; }
    const std::vector<double>& sibling_marginals() const { return sibling_marginals_; }
    const std::vector<double>& grand_marginals() const { return grand_marginals_; }  // empty without grandparents

private:
    // One kind of half, and its probabilities: [arc, end].
    struct Halves {
        std::vector<double> scores, adjoints;
        double* at(int arc, std::size_t width) { return scores.data() + static_cast<std::size_t>(arc) * width; }
        double* adjoint(int arc, std::size_t width) { return adjoints.data() + static_cast<std::size_t>(arc) * width; }
    };

    double* right(int b) { return right_.at(b, width_); }
    double* left(int b) { return left_.at(b, width_); }
    std::size_t item(int a, int b, int head) const;
    double part_score(int a, int b, int head) const;
    int arcs_begin(int head) const { return head == 0 ? root_arc_ : arcs_->first[head]; }
    int arcs_end(int head) const { return head == 0 ? root_arc_ + 1 : arcs_->first[head + 1]; }
    int head_of(int b) const { return b == root_arc_ ? -1 : arcs_->heads[b]; }
    // Whether the dependents of h on d's side may reach to d where h's own head is that of arc b.
    bool reaches(int b, int head, int dep) const;

    void prepare();
    void right_of(int i);
    void left_to(int i);
    void meet(const Side& side, int k);
    void add_dependent(const Side& side, int k, int b);
    double half(const Side& side, int end, int b);

    void right_of_back(int i);
    void left_to_back(int i);
    void meet_back(const Side& side, int k);
    void add_dependent_back(const Side& side, int k, int b);
    void half_back(const Side& side, int end, int b);
    void roots_back();

    const ArcSet* arcs_ = nullptr;
    const Sides* sides_ = nullptr;
    const GrandParts* parts_ = nullptr;
    const double* arc_scores_ = nullptr;
    const float* siblings_ = nullptr;
    const float* grand_ = nullptr;
    Roots roots_ = Roots::single;
    int n_ = 0;
    int root_arc_ = 0;  // stands for "the root's head"
    std::size_t width_ = 0;
    double total_ = 0.0;
    Halves right_, left_;
    std::vector<double> items_, item_adjoints_;        // I, per grandparent part, then per arc of the root
    std::vector<double> meetings_, meeting_adjoints_;  // per sibling part
    std::vector<double> arc_marginals_, sibling_marginals_, grand_marginals_;
};

}  // namespace arbora::graph
