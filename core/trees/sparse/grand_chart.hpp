// The best projective tree over a sparse set of arcs, with adjacent siblings and grandparents [koo-2010], exactly.
//
// As in sparse_chart.hpp, but the halves of a word h know its head g: they are named by the arc b = (g, h).
//   meet(h; s, d) = max over r of R[h,s][r] + L[h,d][r+1]        for two dependents s < d on one side of h
//   I[b](d) = arc(h,d) + grand(b, d) + max( L[h,d][h+1] + sib(h,d,none),  max over s: I[b](s) + meet(h; s, d) + sib(h,d,s) )
//   R[b][e] = max over d <= e of I[b](d) + R[h,d][e],  R[b][h] = 0;  the left side mirrored.
// With k arcs per word: O(n^2 k^2) time, O(n^2 k) space, so that pruning is what makes this practical.
// Left ends run from n down to 0, maxima are found again on the walk back, float32, ties as there.
#pragma once

#include <cstddef>
#include <vector>

#include "trees/chart/layout.hpp"
#include "parser/arc_set.hpp"

namespace arbora::graph {

// Numbers of grandparent parts: of arc a = (h, d), one for each arc b = (g, h), in b's order. The root has no head, so its
// dependents have no such part.
class GrandParts {
public:
    void build(const ArcSet& arcs);
    std::size_t size() const { return first_.empty() ? 0 : first_.back(); }
    // b: number of the arc (g, h); own: number of the first arc of h.
    std::size_t part(int a, int b, int own) const { return first_[static_cast<std::size_t>(a)] + static_cast<std::size_t>(b - own); }

private:
    std::vector<std::size_t> first_;
};

class GrandChart {
public:
    // As SparseChart::argmax; grand: one score per grandparent part.
    bool argmax(const ArcSet& arcs, const Sides& sides, const GrandParts& parts, const float* arc_scores, const float* siblings,
                const float* grand, Roots roots, int* heads);

private:
    struct Choice {
        float score;
        int which;
    };
    // Halves of h under arc b; b = root_arc_ for h = 0.
    struct Half {
        int arc, head, end;
    };

    float* right(int b) { return right_.data() + static_cast<std::size_t>(b) * width_; }
    float* left(int b) { return left_.data() + static_cast<std::size_t>(b) * width_; }
    float& incomplete(int a, int b, int head);
    float grand_score(int a, int b, int head) const;
    int arcs_begin(int head) const { return head == 0 ? root_arc_ : arcs_->first[head]; }
    int arcs_end(int head) const { return head == 0 ? root_arc_ + 1 : arcs_->first[head + 1]; }
    int head_of(int b) const { return b == root_arc_ ? -1 : arcs_->heads[b]; }

    void prepare();
    void right_of(int i);
    void left_arcs(int j, int i);
    void left_to(int i);
    void meet(const Side& side, int b);
    float meeting(int arc_left, int from, int arc_right, int to);
    Choice best_inner(const Side& side, int dependent, int b);
    Choice best_half(const Side& side, int end, int b);
    Choice best_single_root();
    void open_halves(int arc_left, int i, int arc_right, int j);
    void walk(int* heads);
    void walk_dependents(const Side& side, int dependent, int b, int* heads);

    const ArcSet* arcs_ = nullptr;
    const Sides* sides_ = nullptr;
    const GrandParts* parts_ = nullptr;
    const float* arc_scores_ = nullptr;
    const float* siblings_ = nullptr;
    const float* grand_ = nullptr;
    int n_ = 0;
    int root_arc_ = 0;  // stands for "the root's head"
    std::size_t width_ = 0;
    std::vector<float> right_, left_;
    std::vector<float> incomplete_;       // per grandparent part
    std::vector<float> root_incomplete_;  // per arc of the root
    std::vector<float> meetings_;         // per sibling part
    std::vector<Half> open_;
};

}  // namespace arbora::graph
