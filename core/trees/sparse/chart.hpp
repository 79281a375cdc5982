// Projective trees over a sparse set of arcs: best tree, sums and marginals, for three orders [eisner-1996, mcdonald-2006, koo-2010].
//
// One recurrence, generic in the semiring and the order. A half of a word is the word with its dependents on one side up to an end:
// R[b][e] on the right, L[b][s] on the left. b is the word h itself or, with grandparents, the arc (g, h) from h's head.
//   R[b][e] = SUM over dependents d <= e of h: I[b](d) * R[d][e],  R[b][h] = 1;  the left side mirrored
//   meet(s, d) = SUM over r, s <= r < d: R[s][r] * L[d][r+1]
//   I[b](d): the arc h -> d and all between h and d (d right of h; mirrored on the left)
//     arcs:          arc(h,d) * meet(h, d)
//     siblings:      arc(h,d) * ( L[d][h+1] * sib(h,d,none) + SUM over dependents s < d of h: I(s) * meet(s, d) * sib(h,d,s) )
//     grandparents:  the same with I[b](s) and halves under h's arcs, times grand(b, d)
//   total: R[0][n], or with a single root SUM over d: arc(0,d) * L[d][1] * R[d][n] (* sib(0,d,none))
// Left ends run from n down to 0, because an item needs only items with left ends further right. Every tree has one derivation.
//
// The backward pass takes the same steps in reverse. Each item distributes its flow over the items that it was built from. In sums
// each term gets its share, so the flow of an item is its probability. In maxima the first largest term gets all, so a flow of one
// marks the best tree; ties go to the first term in the order of the loops.
// With k arcs per word: O(n^2 k) time and O(n^2) space, plus O(n) for each pair of siblings; with grandparents O(n^2 k^2) and O(n^2
// k).
#pragma once

#include <algorithm>
#include <concepts>
#include <span>
#include <utility>
#include <vector>

#include "base/interrupt.hpp"
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

    // The total over all trees; zero (minus infinity) if there is none.
    Value inside(const SparseProblem<Value>& problem) {
        p_ = problem;
        n_ = p_.arcs->n;
        total_ = 0;
        prepare();
        if (n_ == 0) return total_;
        for (int i = n_; i >= 1; --i) {
            check_row();
            right_of(i);
            each_meeting(i, [&](const Meeting& m, std::size_t number) { meetings_[number] = join(m); });
            left_to(i);
        }
        if (p_.roots == Roots::multi) {
            right_of(0);
            return total_ = right(root_key_)[n_];
        }
        total_ = Semiring::kZero;
        const Side& side = p_.sides->right(0);
        for (int k = 0; k < side.count; ++k) total_ = Semiring::add(total_, root_term(side, k));
        return total_;
    }

    // After inside() with a nonzero result: the flow of each item for a flow of one from the total.
    void flow_from_total() {
        begin_flow();
        if (n_ == 0) return;
        if (p_.roots == Roots::multi) {
            right_flow_[row(root_key_) + static_cast<std::size_t>(n_)] = 1.0;
        } else {
            const Side& side = p_.sides->right(0);
            const auto give = [&](int k, double flow) {
                arc_flow_[static_cast<std::size_t>(p_.sides->arc(side, k))] += flow;
                if constexpr (kByArc) meeting_flow_[p_.sides->part(side, k, -1)] += flow;
                left_flow(key(side, k))[1] += flow;
                right_flow(key(side, k))[n_] += flow;
            };
            Semiring::split(1.0, total_, 0, side.count, [&](int k) { return root_term(side, k); }, give);
        }
        flow_back();
    }

    // The same from another start: add to the flows after begin_flow(), then call flow_back().
    void begin_flow() {
        right_flow_.assign(right_.size(), 0.0);
        left_flow_.assign(left_.size(), 0.0);
        item_flow_.assign(items_.size(), 0.0);
        meeting_flow_.assign(meetings_.size(), 0.0);
        arc_flow_.assign(p_.arcs->heads.size(), 0.0);
        for (int j = 0; j <= n_; ++j) {
            within_[static_cast<std::size_t>(j)] = p_.sides->left(j).count;
            met_[static_cast<std::size_t>(j)] = 0;
        }
    }

    void flow_back() {
        if (p_.roots == Roots::multi) right_back(0);
        for (int i = 1; i <= n_; ++i) {
            check_row();
            left_back(i);
            each_meeting(i, [&](const Meeting& m, std::size_t number) { meet_back(meeting_flow_[number], meetings_[number], m); });
            right_back(i);
        }
    }

    // The backward pass for a flow of one: visits only the items of the best tree.
    void read_best_tree(int* heads)
        requires std::same_as<Semiring, MaxSemiring>
    {
        heads[0] = -1;
        if (n_ == 0) return;
        open_.clear();
        if (p_.roots == Roots::multi) {
            open_.push_back({root_key_, 0, n_});
        } else {
            const Side& side = p_.sides->right(0);
            Semiring::split(1.0, total_, 0, side.count, [&](int k) { return root_term(side, k); }, [&](int k, double) {
                const int d = p_.sides->dep(side, k);
                heads[d] = 0;
                open_.push_back({key(side, k), d, 1});
                open_.push_back({key(side, k), d, n_});
            });
        }
        while (!open_.empty()) {
            const Half half = open_.back();
            open_.pop_back();
            if (half.head == half.end) continue;
            const Side& side = p_.sides->of(half.head, half.end);
            const auto outside = [&](int d) { return half.end > half.head ? d > half.end : d < half.end; };
            int count = side.count;
            while (outside(p_.sides->dep(side, count - 1))) --count;
            split_half(1.0, side, half.end, count, half.key, [&](int k, double) {
                open_.push_back({key(side, k), p_.sides->dep(side, k), half.end});
                read_dependents(side, k, half.key, heads);
            });
        }
    }

    // Halves by word; the root has some only if it may have several dependents.
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

    void check_row() const { check_stop(width_ * width_); }
    // A row of arcs' halves is long.
    void check_key(const Side& side) const {
        if constexpr (kByArc) check_stop(16 * width_ * static_cast<std::size_t>(side.count + 1));
    }
    std::size_t row(int key) const { return static_cast<std::size_t>(key) * width_; }
    Value* right(int key) { return right_.data() + row(key); }
    Value* left(int key) { return left_.data() + row(key); }
    // The keys of a head's halves, and that of a dependent's.
    int keys_begin(int head) const { return !kByArc ? head : head == 0 ? root_key_ : p_.arcs->first[head]; }
    int keys_end(int head) const { return !kByArc || head == 0 ? keys_begin(head) + 1 : p_.arcs->first[head + 1]; }
    int key(const Side& side, int k) const { return kByArc ? p_.sides->arc(side, k) : p_.sides->dep(side, k); }
    // Halves of a head do not extend to its own head.
    int last_of(int head, int key) const {
        if (!kByArc || key == root_key_) return n_;
        const int g = p_.arcs->heads[key];
        return g > head ? g - 1 : n_;
    }

    bool reaches(int head, int key, int dep) const {
        if (!kByArc) return true;
        const int g = p_.arcs->heads[key];
        return g > head || g < dep;
    }

    std::size_t item(int arc, int key, int head) const {
        if constexpr (!kByArc) return static_cast<std::size_t>(arc);
        return head == 0 ? p_.grand_parts->size() + static_cast<std::size_t>(arc) : p_.grand_parts->part(arc, key, p_.arcs->first[head]);
    }

    // For dependent k and the nearer one a; -1 represents the head itself, whose own halves meet those of k without siblings.
    Meeting meeting_of(const Side& side, int k, int a) const {
        const int d = p_.sides->dep(side, k), s = a < 0 ? side.head : p_.sides->dep(side, a);
        const int outer = key(side, k), inner = a < 0 ? side.head : key(side, a);
        return s < d ? Meeting{inner, s, outer, d} : Meeting{outer, d, inner, s};
    }

    // The number of a meeting.
    std::size_t meeting(const Side& side, int k, int a) const {
        if constexpr (kByArc) return p_.sides->part(side, k, a);
        const int d = p_.sides->dep(side, k), s = p_.sides->dep(side, a);
        return row(std::min(s, d)) + static_cast<std::size_t>(std::max(s, d));
    }

    Value grand_score(std::size_t item, int head) const {
        return !kByArc || head == 0 || p_.grand_scores == nullptr ? Value{0} : Value{p_.grand_scores[item]};
    }

    Value join(const Meeting& m) { return Semiring::join(right(m.left_key) + m.i, left(m.right_key) + m.i + 1, m.j - m.i); }

    // The item between a head and its nearest dependent on a side.
    Value nearest(const Side& side, int k) {
        return p_.sides->dep(side, k) > side.head ? left(key(side, k))[side.head + 1] : right(key(side, k))[side.head - 1];
    }

    // A term of I[key](k) before its own arc: a is the next dependent towards the head, -1 for none.
    Value inner_term(const Side& side, int k, int key, int a) {
        const auto sibling = Value{p_.siblings[p_.sides->part(side, k, a)]};
        if (a < 0) return nearest(side, k) + sibling;
        return items_[item(p_.sides->arc(side, a), key, side.head)] + meetings_[meeting(side, k, a)] + sibling;
    }

    Value root_term(const Side& side, int k) {
        const Value halves = p_.arc_scores[p_.sides->arc(side, k)] + left(key(side, k))[1] + right(key(side, k))[n_];
        return order == Order::arcs ? halves : halves + Value{p_.siblings[p_.sides->part(side, k, -1)]};
    }

    void prepare() {
        width_ = static_cast<std::size_t>(n_) + 1;
        const std::size_t arcs = p_.arcs->heads.size(), rows = kByArc ? arcs + 1 : width_;
        root_key_ = kByArc ? static_cast<int>(arcs) : 0;
        right_.resize(rows * width_);
        left_.resize(rows * width_);
        items_.resize(kByArc ? p_.grand_parts->size() + arcs : arcs);
        if constexpr (order != Order::arcs) meetings_.resize(kByArc ? p_.sides->parts() : width_ * width_);
        within_.assign(width_, 0);
        met_.assign(width_, 0);
    }

    void make_item(const Side& side, int k, int key) {
        const int h = side.head, arc = p_.sides->arc(side, k);
        Value inner;
        if constexpr (order == Order::arcs) {
            inner = join(meeting_of(side, k, -1));
        } else {
            inner = inner_term(side, k, key, -1);
            for (int a = 0; a < k; ++a) inner = Semiring::add(inner, inner_term(side, k, key, a));
        }
        const std::size_t own = item(arc, key, h);
        items_[own] = Semiring::with_parts(inner, p_.arc_scores[arc], grand_score(own, h));
    }

    void right_of(int i) {
        const Side& side = p_.sides->right(i);
        for (int b = keys_begin(i); b < keys_end(i); ++b) {
            check_key(side);
            const int last = last_of(i, b);
            Value* half = right(b);
            std::fill(half + i, half + n_ + 1, Semiring::kZero);
            half[i] = 0;
            for (int k = 0; k < side.count; ++k) {
                const int d = p_.sides->dep(side, k);
                const std::size_t own = item(p_.sides->arc(side, k), b, i);
                items_[own] = Semiring::kZero;
                if (d > last) continue;
                make_item(side, k, b);
                Semiring::extend(half + d, right(key(side, k)) + d, items_[own], last - d + 1);
            }
        }
    }

    void left_to(int i) {
        for (int b = keys_begin(i); b < keys_end(i); ++b) left(b)[i] = 0;
        for (int j = i + 1; j <= n_; ++j) {
            const Side& side = p_.sides->left(j);
            int& count = within_[static_cast<std::size_t>(j)];
            const bool is_dependent = count < side.count && p_.sides->dep(side, count) == i;
            count += is_dependent ? 1 : 0;
            check_key(side);
            for (int b = keys_begin(j); b < keys_end(j); ++b) {
                const bool inside = reaches(j, b, i);
                if (is_dependent && inside) make_item(side, count - 1, b);
                if (is_dependent && !inside) items_[item(p_.sides->arc(side, count - 1), b, j)] = Semiring::kZero;
                Value sum = Semiring::kZero;
                for (int k = 0; inside && k < count; ++k)
                    sum = Semiring::add(sum, items_[item(p_.sides->arc(side, k), b, j)] + left(key(side, k))[i]);
                left(b)[i] = sum;
            }
        }
    }

    // The backward pass of sums adds in this order.
    template <class Visit>
    void each_meeting(int i, Visit visit) {
        if constexpr (order == Order::arcs) return;
        for (int arc = p_.arcs->first[i]; arc < p_.arcs->first[i + 1]; ++arc) {
            const int h = p_.arcs->heads[arc];
            if (h == 0 && p_.roots == Roots::single) continue;
            const Side& side = p_.sides->of(h, i);
            check_key(side);
            const int own = p_.sides->position(side, i);
            const auto meet = [&](int k, int outer, int inner) {
                const int d = p_.sides->dep(side, k);
                if (!kByArc && std::exchange(met_[static_cast<std::size_t>(d)], i) == i) return;  // under another head
                visit(Meeting{kByArc ? arc : i, i, key(side, k), d}, meeting(side, outer, inner));
            };
            if (h < i)
                for (int k = side.count - 1; k > own; --k) meet(k, k, own);
            else
                for (int k = 0; k < own; ++k) meet(k, own, k);
        }
    }

    // give(r, part) for each place where the halves of two keys may meet.
    template <class Give>
    void split_meeting(double flow, Value total, const Meeting& m, Give give) {
        const Value *rights = right(m.left_key), *lefts = left(m.right_key) + 1;
        Semiring::split(flow, total, m.i, m.j, [&](int r) { return rights[r] + lefts[r]; }, give);
    }

    // give(a, part) for each dependent a that may be the next one from k towards the head, -1 for none.
    template <class Give>
    void split_item(double flow, Value total, const Side& side, int k, int key, Give give) {
        Semiring::split(flow, total, -1, k, [&](int a) { return inner_term(side, k, key, a); }, give);
    }

    // give(k, part) for each of the first `count` dependents, which may be the outermost one of a half.
    template <class Give>
    void split_half(double flow, const Side& side, int end, int count, int b, Give give) {
        const std::vector<Value>& halves = end > side.head ? right_ : left_;
        const auto e = static_cast<std::size_t>(end);
        const auto term = [&](int k) { return items_[item(p_.sides->arc(side, k), b, side.head)] + halves[row(key(side, k)) + e]; };
        Semiring::split(flow, halves[row(b) + e], 0, count, term, give);
    }

    void meet_back(double flow, Value total, const Meeting& m) {
        if (flow == 0.0) return;
        double *to_right = right_flow(m.left_key), *to_left = left_flow(m.right_key) + 1;
        split_meeting(flow, total, m, [&](int r, double part) {
            to_right[r] += part;
            to_left[r] += part;
        });
    }

    void item_back(const Side& side, int k, int b) {
        const int arc = p_.sides->arc(side, k);
        const std::size_t own = item(arc, b, side.head);
        const double flow = item_flow_[own];
        if (flow == 0.0) return;
        arc_flow_[static_cast<std::size_t>(arc)] += flow;
        const Value total = Semiring::without_parts(items_[own], p_.arc_scores[arc], grand_score(own, side.head));
        if constexpr (order == Order::arcs) return meet_back(flow, total, meeting_of(side, k, -1));
        split_item(flow, total, side, k, b, [&](int a, double part) {
            if (kByArc || a >= 0) meeting_flow_[meeting(side, k, a)] += part;
            if (a >= 0)
                item_flow_[item(p_.sides->arc(side, a), b, side.head)] += part;
            else if (p_.sides->dep(side, k) > side.head)
                left_flow(key(side, k))[side.head + 1] += part;
            else
                right_flow(key(side, k))[side.head - 1] += part;
        });
    }

    void half_back(const Side& side, int end, int count, int b) {
        std::vector<double>& flows = end > side.head ? right_flow_ : left_flow_;
        const auto e = static_cast<std::size_t>(end);
        const double flow = flows[row(b) + e];
        if (flow == 0.0) return;
        split_half(flow, side, end, count, b, [&](int k, double part) {
            item_flow_[item(p_.sides->arc(side, k), b, side.head)] += part;
            flows[row(key(side, k)) + e] += part;
        });
    }

    void right_back(int i) {
        const Side& side = p_.sides->right(i);
        for (int b = keys_begin(i); b < keys_end(i); ++b) {
            check_key(side);
            for (int end = n_, count = side.count; end > i; --end) {
                while (count > 0 && p_.sides->dep(side, count - 1) > end) --count;
                half_back(side, end, count, b);
                // Without siblings, an arc distributes its flow over shorter halves of the same head.
                if (order == Order::arcs && count > 0 && p_.sides->dep(side, count - 1) == end) item_back(side, count - 1, b);
            }
            for (int k = side.count - 1; order != Order::arcs && k >= 0; --k) item_back(side, k, b);
        }
    }

    void left_back(int i) {
        for (int j = n_; j > i; --j) {
            const Side& side = p_.sides->left(j);
            check_key(side);
            int& count = within_[static_cast<std::size_t>(j)];
            for (int b = keys_begin(j); b < keys_end(j); ++b) half_back(side, i, count, b);
            if (count == 0 || p_.sides->dep(side, count - 1) != i) continue;
            --count;
            for (int b = keys_begin(j); b < keys_end(j); ++b) item_back(side, count, b);
        }
    }

    // Dependent k of a side and those nearer to the head.
    void read_dependents(const Side& side, int k, int b, int* heads) {
        for (int next = 0; k >= 0; k = next) {
            const int d = p_.sides->dep(side, k);
            heads[d] = side.head;
            next = -1;
            if constexpr (order != Order::arcs) split_item(1.0, total_, side, k, b, [&](int a, double) { next = a; });
            if (order != Order::arcs && next < 0) return open_.push_back({key(side, k), d, d > side.head ? side.head + 1 : side.head - 1});
            const Meeting m = meeting_of(side, k, next);
            split_meeting(1.0, total_, m, [&](int r, double) {
                open_.push_back({m.left_key, m.i, r});
                open_.push_back({m.right_key, m.j, r + 1});
            });
        }
    }

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

extern template class Chart<MaxSemiring, Order::arcs>;
extern template class Chart<MaxSemiring, Order::siblings>;
extern template class Chart<MaxSemiring, Order::grandparents>;
extern template class Chart<SumSemiring, Order::grandparents>;
using SumChart = Chart<SumSemiring, Order::grandparents>;
using MaxArcChart = Chart<MaxSemiring, Order::arcs>;

// The best tree, for any order.
class BestTree {
public:
    // heads[1..n] of the best tree, heads[0] = -1; false if the arcs contain no projective tree with these roots.
    bool find(const SparseProblem<float>& problem, int* heads) {
        const auto read = [&](auto& chart) {
            if (chart.inside(problem) == kNever) return false;
            chart.read_best_tree(heads);
            return true;
        };
        if (problem.grand_scores != nullptr) return read(grandparents_);
        return problem.siblings != nullptr ? read(siblings_) : read(arcs_);
    }

private:
    MaxArcChart arcs_;
    Chart<MaxSemiring, Order::siblings> siblings_;
    Chart<MaxSemiring, Order::grandparents> grandparents_;
};

}  // namespace arbora::graph
