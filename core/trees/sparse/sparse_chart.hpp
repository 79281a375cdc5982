// The best projective tree over a sparse set of arcs, first order or with adjacent siblings [eisner-1996, mcdonald-2006].
//
// The dense charts of kernels/ look at all arcs; this one only at those there are. Nodes 0..n, every item named by its head:
//   R[h][e] = best right half of h over h..e,  L[h][s] = best left half of h over s..h,
//   between[i][j] = max over r of R[i][r] + L[j][r+1], i <= r < j          (two halves that meet)
//   arc h -> d, d right of h, first order:   I(h,d) = arc + between[h][d]
//       siblings:  I(h,d) = arc + max( L[d][h+1] + sib(h,d,none),  max over b of h's arcs, h < b < d: I(h,b) + between[b][d] + sib(h,d,b) )
//   R[h][e] = max over d of h's arcs, d <= e: I(h,d) + R[d][e];   R[h][h] = 0;  the left side mirrored.
// Left ends run from n down to 0; all that a left end needs stands further right. Nothing is remembered but the values: the walk
// back finds each maximum again. With k arcs per word: O(n^2 k) for the halves and, per pair that needs it, O(n) for `between`,
// vectorised; O(n^2) space. float32: the scores are sums of float32 weights, and only the order of trees matters here.
// Ties: the first best in the order of the loops, which is fixed.
#pragma once

#include <cstdint>
#include <vector>

#include "trees/chart/layout.hpp"
#include "parser/arc_set.hpp"

namespace arbora::graph {

class SparseChart {
public:
    // heads[1..n] of the best tree, heads[0] = -1; false where the arcs hold no projective tree with these roots.
    // siblings: one score per sibling part, or null for first order.
    bool argmax(const ArcSet& arcs, const Sides& sides, const float* arc_scores, const float* siblings, Roots roots, int* heads);

    // After argmax(): R[h][h..n], L[h][1..h] and I per arc. Those of the root are there only where it may have several dependents.
    const float* right_half(int h) const { return right_.data() + static_cast<std::size_t>(h) * width_; }
    const float* left_half(int h) const { return left_.data() + static_cast<std::size_t>(h) * width_; }
    const float* incomplete() const { return incomplete_.data(); }

private:
    float* right(int h) { return right_.data() + static_cast<std::size_t>(h) * width_; }
    float* left(int h) { return left_.data() + static_cast<std::size_t>(h) * width_; }
    float& between(int i, int j) { return between_[static_cast<std::size_t>(i) * width_ + static_cast<std::size_t>(j)]; }

    struct Choice {
        float score;
        int which;
    };

    void prepare();
    void find_wanted();
    void right_of(int i);
    void meetings_of(int i);
    void left_to(int i);
    // I(h, b) without its arc; the inner sibling, -1 for none.
    Choice best_inner(const Side& side, int b);
    // The value of a half, and its outermost dependent.
    Choice best_half(const Side& side, int end);
    Choice best_single_root();
    void walk(int* heads);
    void walk_dependents(const Side& side, int b, int* heads);
    void open_halves(int i, int j);

    const ArcSet* arcs_ = nullptr;
    const Sides* sides_ = nullptr;
    const float* arc_scores_ = nullptr;
    const float* siblings_ = nullptr;
    Roots roots_ = Roots::single;
    int n_ = 0;
    std::size_t width_ = 0;
    std::vector<float> right_, left_, between_;
    std::vector<float> incomplete_;     // per arc
    std::vector<std::uint8_t> wanted_;  // [i, j]: between[i][j] is used
    struct Half {
        int head, end;
    };
    std::vector<Half> open_;  // halves of the best tree whose arcs are still to be found
};

}  // namespace arbora::graph
