// Projective trees over a sparse set of arcs: best tree, sums and marginals, for three orders [eisner-1996, mcdonald-2006, koo-2010].
//
// One recurrence, generic in the semiring and the order. A half of a word is the word with its dependents on one side up to an end:
// R[b][e] on the right, L[b][s] on the left. b is the word h itself or, with grandparents, the arc (g, h) by which h hangs.
//   R[b][e] = SUM over dependents d <= e of h: I[b](d) * R[d][e],  R[b][h] = 1;  the left side mirrored
//   meet(s, d) = SUM over r, s <= r < d: R[s][r] * L[d][r+1]
//   I[b](d): the arc h -> d and all between h and d (d right of h; mirrored on the left)
//     arcs:          arc(h,d) * meet(h, d)
//     siblings:      arc(h,d) * ( L[d][h+1] * sib(h,d,none) + SUM over dependents s < d of h: I(s) * meet(s, d) * sib(h,d,s) )
//     grandparents:  the same with I[b](s) and halves under h's arcs, times grand(b, d)
//   total: R[0][n], or with a single root SUM over d: arc(0,d) * L[d][1] * R[d][n] (* sib(0,d,none))
// Left ends run from n down to 0, because an item needs only items with left ends further right. Every tree has one derivation.
//
// The backward pass takes the same steps in reverse. Each item passes its flow on to the items that it was made from. In sums each
// term gets its share, so that the flow of an item is its probability. In maxima the first largest term gets all, so that a flow of
// one marks the best tree; ties go to the first term in the order of the loops.
// With k arcs per word: O(n^2 k) time and O(n^2) space, plus O(n) for each pair of siblings; with grandparents O(n^2 k^2) and O(n^2 k).
#pragma once

#include <concepts>
#include <span>
#include <vector>

#include "parser/arc_set.hpp"
#include "trees/chart/layout.hpp"
#include "trees/sparse/semirings.hpp"

namespace arbora::graph {

enum class Order { arcs, siblings, grandparents };

// Scores by number of arc, sibling part and grandparent part. The pointers must stay valid while a chart uses them.
template <class Value>
struct SparseProblem {
    const ArcSet* arcs;
    const Sides* sides;
    Roots roots;
    const Value* arc_scores;
    const float* siblings = nullptr;
    const GrandParts* grand_parts = nullptr;
    const float* grand_scores = nullptr;  // null with grand_parts: all are 0
};

// Keeps its memory between sentences.
template <class Semiring, Order order>
class Chart {
public:
    using Value = typename Semiring::Value;

    // The total over all trees; zero (minus infinity) where there is none.
    Value inside(const SparseProblem<Value>& problem);

    // After inside(), whose result must not have been zero: the flow of each item for a flow of one from the total.
    void flow_from_total();
    // The same from any start: add to the flows after begin_flow(), then call flow_back().
    void begin_flow();
    void flow_back();
    // heads[0..n] of the best tree, instead of all flows.
    void read_best_tree(int* heads)
        requires std::same_as<Semiring, MaxSemiring>;

    // Halves by word; the root has some only where it may have several dependents.
    const Value* right_half(int h) const { return right_.data() + row(h); }
    const Value* left_half(int h) const { return left_.data() + row(h); }
    const std::vector<Value>& items() const { return items_; }  // I; per arc without grandparents

    std::vector<double>& arc_flow() { return arc_flow_; }
    std::vector<double>& item_flow() { return item_flow_; }
    double* right_flow(int h) { return right_flow_.data() + row(h); }
    double* left_flow(int h) { return left_flow_.data() + row(h); }
    // With grandparents only.
    const std::vector<double>& sibling_flow() const { return meeting_flow_; }
    std::span<const double> grand_flow() const { return {item_flow_.data(), p_.grand_parts->size()}; }

private:
    static constexpr bool kByArc = order == Order::grandparents;  // halves are those of arcs

    struct Meeting {
        int left_key, i, right_key, j;  // the right half of i and the left half of j
    };
    struct Half {
        int key, head, end;
    };

    std::size_t row(int key) const { return static_cast<std::size_t>(key) * width_; }
    Value* right(int key) { return right_.data() + row(key); }
    Value* left(int key) { return left_.data() + row(key); }
    // The keys of a head's halves, and that of a dependent's.
    int keys_begin(int head) const { return !kByArc ? head : head == 0 ? root_key_ : p_.arcs->first[head]; }
    int keys_end(int head) const { return !kByArc || head == 0 ? keys_begin(head) + 1 : p_.arcs->first[head + 1]; }
    int key(const Side& side, int k) const { return kByArc ? p_.sides->arc(side, k) : p_.sides->dep(side, k); }
    // Halves of a head do not reach its own head.
    int last_of(int head, int key) const;
    bool reaches(int head, int key, int dep) const;

    std::size_t item(int arc, int key, int head) const;
    std::size_t meeting(const Side& side, int k, int a) const;
    Value grand_score(std::size_t item, int head) const;
    Meeting meeting_of(const Side& side, int k, int a) const;
    Value join(const Meeting& m) { return Semiring::join(right(m.left_key) + m.i, left(m.right_key) + m.i + 1, m.j - m.i); }
    Value nearest(const Side& side, int k);
    Value inner_term(const Side& side, int k, int key, int a);
    Value root_term(const Side& side, int k);

    void prepare();
    void right_of(int i);
    void left_to(int i);
    void make_item(const Side& side, int k, int key);
    // visit(meeting, number) for each pair of siblings with i on the left.
    template <class Visit>
    void each_meeting(int i, Visit visit);

    void right_back(int i);
    void left_back(int i);
    template <class Give>
    void split_meeting(double flow, Value total, const Meeting& m, Give give);
    template <class Give>
    void split_item(double flow, Value total, const Side& side, int k, int key, Give give);
    template <class Give>
    void split_half(double flow, const Side& side, int end, int count, int key, Give give);
    void half_back(const Side& side, int end, int count, int key);
    void item_back(const Side& side, int k, int key);
    void meet_back(double flow, Value total, const Meeting& m);
    void read_dependents(const Side& side, int k, int key, int* heads)
        requires std::same_as<Semiring, MaxSemiring>;

    SparseProblem<Value> p_{};
    int n_ = 0;
    int root_key_ = 0;
    std::size_t width_ = 0;
    Value total_ = 0;
    std::vector<Value> right_, left_;  // [key, end]
    std::vector<Value> items_;         // per arc; with grandparents per such part, then per arc of the root
    std::vector<Value> meetings_;      // per pair of words; with grandparents per sibling part
    std::vector<double> right_flow_, left_flow_, item_flow_, meeting_flow_, arc_flow_;
    std::vector<Half> open_;   // halves of the best tree whose arcs are still to be found
    std::vector<int> within_;  // of each word, its dependents on the left that are within the current left end
    std::vector<int> met_;     // of each word, the last left end that it met
};

using SumChart = Chart<SumSemiring, Order::grandparents>;
using MaxArcChart = Chart<MaxSemiring, Order::arcs>;

// The best tree, whatever the order.
class BestTree {
public:
    // heads[1..n] of the best tree, heads[0] = -1; false where the arcs hold no projective tree with these roots.
    bool find(const SparseProblem<float>& problem, int* heads);

private:
    MaxArcChart arcs_;
    Chart<MaxSemiring, Order::siblings> siblings_;
    Chart<MaxSemiring, Order::grandparents> grandparents_;
};

}  // namespace arbora::graph
