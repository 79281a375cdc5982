// Projective trees with grandparents: arcs, siblings, (grandparent, head, dep) and grand-siblings (grandparent, head, dep, sibling) [koo-2010, model 1].
//
// Items include the head's own head g, which is outside the span (g-spans). For a head h and any g outside:
//   complete(g, h, e)   h has all its dependents up to e on that side
//   open(g, h, m)       an arc from h to m, and everything between them
//   between(h; s, m)    two adjacent dependents of h on one side, and everything between them
// Recurrences, written for dependents on the right (left is the mirror image), weights of parts as w:
//   between(h; s, m) = SUM_{s <= r < m} complete(h, s, r) * complete(h, m, r+1)
//   open(g, h, m)    = arc(h, m) * w(g, h, m) * [ complete(h, m, h+1) * w(g, h, m, none)
//                                                + SUM_{h < s < m} open(g, h, s) * between(h; s, m) * w(g, h, m, s) ]
//   complete(g, h, e) = SUM_{h < m <= e} open(g, h, m) * complete(h, m, e)
// The root has no grandparent: its items are at g = 0, and its parts have neither w(g, h, m) nor grand-siblings.
//   goal = SUM_m open(root, m) * complete(root, m, n); with a single root, open(root, m) has no siblings.
// Time O(n^4), space O(n^3).
#pragma once

#include "trees/chart/layout.hpp"
#include "trees/problem.hpp"

namespace arbora {

// One Square per grandparent (or per head, for between), filled with zeros.
template <class P>
struct Cube {
    P plane;
    Square square;

    void take(Arena& arena, Square shape, typename P::Value zero) {
        const std::size_t size = shape.size() * (shape.n + 1) + 8;
        square = shape;
        plane = take_plane<P>(arena, size);
        for (std::size_t i = 0; i < size; ++i) plane.set(static_cast<std::ptrdiff_t>(i), zero);
    }
    ARBORA_INLINE P line(int outer, int i) const { return plane + (offset(outer) + square.line(i)); }
    ARBORA_INLINE std::ptrdiff_t offset(int outer) const { return static_cast<std::ptrdiff_t>(outer) * square.size(); }
    ARBORA_INLINE typename P::Value at(int outer, int i, int j) const { return plane.at(offset(outer) + square.cell(i, j)); }
    ARBORA_INLINE void set(int outer, int i, int j, typename P::Value value) const {
        plane.set(offset(outer) + square.cell(i, j), value);
    }
};

template <class P>
struct GrandparentCharts {
    using Plane = P;
    using Value = typename P::Value;

    Problem problem;  // the higher-order scores are read in place
    Square square;
    const double* scores = nullptr;  // arc scores in the layout of the Square
    double* summed = nullptr;        // scratch: sibling and grand-sibling scores of one arc, added
    const double* zeros = nullptr;   // the scores of siblings where there are none
    Cube<P> complete, complete_by_end, open, between;  // complete_by_end(g, e, h) = complete(g, h, e)
    Value goal = P::kZero;
    Extended total() const { return goal; }

    static GrandparentCharts take(Arena& arena, const Problem& problem, Square square, const double* scores) {
        GrandparentCharts charts;
        charts.problem = problem;
        charts.square = square;
        charts.scores = scores;
        charts.summed = arena.take<double>(square.stride);
        charts.zeros = std::fill_n(arena.take<double>(square.stride), square.stride, 0.0) - square.stride;
        for (Cube<P>* cube : {&charts.complete, &charts.complete_by_end, &charts.open, &charts.between}) cube->take(arena, square, P::kZero);
        return charts;
    }

    // The search space for descend.hpp: left is the head (for between: the left dependent), right the end or dependent, outer the
    // grandparent (for between: the head).
    enum Kind : std::int16_t { kComplete, kOpen, kBetween, kGoal };

    Item top() const { return {kGoal, 0, square.n, 0}; }

    static bool is_leaf(Item item) { return item.kind == kComplete && item.left == item.right; }

    Value value(Item item) const {
        switch (item.kind) {
            case kComplete: return item.left == item.right ? P::kUnit : complete.at(item.outer, item.left, item.right);
            case kOpen: return open.at(item.outer, item.left, item.right);
            case kBetween: return between.at(item.outer, item.left, item.right);
            default: return goal;
        }
    }

    double constant(Item item) const { return item.kind == kOpen ? arc_score(item.outer, item.left, item.right) : 0.0; }
    Arc arc(Item item) const { return item.kind == kOpen ? Arc{item.left, item.right} : Arc{0, 0}; }

    int edge_count(Item item) const {
        if (item.kind == kGoal) return square.n;
        if (item.kind == kOpen && item.left == 0 && problem.roots == Roots::single) return 1;
        return item.left < item.right ? item.right - item.left : item.left - item.right;
    }

    Edge edge(Item item, int index) const {
        const int g = item.outer, h = item.left, e = item.right, low = h < e ? h : e;
        switch (item.kind) {
            case kComplete: {
                const int m = h < e ? h + 1 + index : e + index;
                return {{kOpen, h, m, g}, {kComplete, m, e, h}, 0.0};
            }
            case kOpen: {
                const double* scores = sibling_scores(g, h, e);
                if (index == 0) return {{kComplete, h, h, g}, {kComplete, e, h < e ? h + 1 : h - 1, h}, allowed(scores[h])};
                const int s = low + index;
                return {{kOpen, h, s, g}, {kBetween, s < e ? s : e, s < e ? e : s, h}, allowed(scores[s])};
            }
            case kBetween: return {{kComplete, h, h + index, g}, {kComplete, e, h + index + 1, g}, 0.0};
            default: return {{kOpen, 0, index + 1, 0}, {kComplete, index + 1, e, 0}, 0.0};
        }
    }

    // The score of arc h -> m under grandparent g, without its siblings'.
    ARBORA_INLINE double arc_score(int g, int h, int m) const {
        const double arc = scores[square.cell(h, m)];
        if (h == 0 || problem.grandparents == nullptr) return arc;
        return arc + allowed(problem.grandparents[(g * problem.nodes() + h) * problem.nodes() + m]);
    }

    // Scores of (h, m, sibling) under g, by sibling. Valid until the next call.
    ARBORA_INLINE const double* sibling_scores(int g, int h, int m) const {
        const auto nodes = problem.nodes();
        const double* own = problem.siblings == nullptr ? zeros : problem.siblings + (h * nodes + m) * nodes;
        if (h == 0 || problem.grandsiblings == nullptr) return own;
        const double* grand = problem.grandsiblings + ((g * nodes + h) * nodes + m) * nodes;
        if (own == zeros) return grand;
        const int low = h < m ? h : m, high = h < m ? m : h;
        for (int s = low; s <= high; ++s) summed[s] = allowed(own[s]) + allowed(grand[s]);
        return summed;
    }
};

// The outputs of the marginals of one sentence: dense zeroed arrays, shaped as the problem's scores; null if those are.
struct GrandparentMarginals {
    double *arcs, *siblings, *grandparents, *grandsiblings;
};

// Working memory of the marginals: one zeroed double per chart cell, and a line of scratch.
struct GrandparentMemory {
    Cube<MaxPlane> complete, complete_by_end, open, between;
    double* scratch;

    static GrandparentMemory take(Arena& arena, Square square) {
        GrandparentMemory memory;
        for (Cube<MaxPlane>* cube : {&memory.complete, &memory.complete_by_end, &memory.open, &memory.between}) cube->take(arena, square, 0.0);
        memory.scratch = arena.take<double>(square.stride);
        return memory;
    }
};

}  // namespace arbora
