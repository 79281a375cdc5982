// The recurrences of trees/chart/sibling.hpp as vector programs, for any semiring, and the outside pass for marginals.
#pragma once

#include "trees/chart/sibling.hpp"
#include "numeric/kernels/inside_arc.hpp"

namespace arbora::ARBORA_ISA {

enum class Side { right, left };

// The rows [head, dep, .] of a dense array for the arcs s+i -> s+i+width (right) or back (left), by distance from s+i; `none` for lanes
// without such an arc.
template <class Rows, class Charts, class T>
ARBORA_INLINE static inline Rows side_rows(const Charts& c, T* array, T* none, int width, int s, Side side) {
    const std::ptrdiff_t nodes = c.layout.n + 1;
    Rows rows;
    for (int i = 0; i < W; ++i) {
        const std::ptrdiff_t from = s + i, to = s + i + width;
        const bool there = to <= c.layout.n && (side == Side::right || from > 0);
        rows.row[i] = there ? array + (side == Side::right ? from * nodes + to : to * nodes + from) * nodes + from : none;
    }
    return rows;
}

// How far the right end of a vector of arcs moves its rows in memory, and how far head, dependent and sibling together do.
ARBORA_INLINE static inline std::ptrdiff_t end_step(std::ptrdiff_t nodes, Side side) { return side == Side::right ? nodes : nodes * nodes; }
ARBORA_INLINE static inline std::ptrdiff_t span_step(std::ptrdiff_t nodes) { return nodes * nodes + nodes + 1; }

// Sibling scores. The next vector upwards has the right end one further, or begins again with width 1 one vector to the left.
template <class Charts>
ARBORA_INLINE static inline ScoreRows score_rows(const Charts& c, int width, int s, Side side) {
    auto rows = side_rows<ScoreRows>(c, c.siblings, c.zeros, width, s, side);
    const std::ptrdiff_t nodes = c.layout.n + 1, step = end_step(nodes, side);
    rows.next = s + width < c.layout.n ? step : -W * span_step(nodes) - (width - 1) * step;
    return rows;
}

// Shares of one vector of arcs: the nearest dependent first, then by the sibling's distance from the left end.
template <class Charts>
ARBORA_INLINE static inline double* side_shares(const Charts& c, int width, int s, Side side) {
    return c.shares_at(width, s, W) + (side == Side::right ? 0 : width * W);
}

// Where dot stores its terms: LogLanes in scratch, for leave_shares; PlainLanes where the shares go.
template <class Charts>
ARBORA_INLINE static inline double* place_of_terms(const Charts& c, int width, int s, Side side) {
    if constexpr (std::is_same_v<typename Charts::Plane, PlainPlane>) return c.shares == nullptr ? nullptr : side_shares(c, width, s, side) + W;
    return c.scratch;
}

// Each term's share, from the terms that LogLanes::dot left in scratch and the item's total value.
ARBORA_INLINE static inline void leave_shares(const double* scratch, int count, VecExtended nearest, VecExtended whole, double* out) {
    const IVec alive = whole.mantissa > Vec{};
    const Vec factor = 1.0 / whole.mantissa;
    const auto share = [&](Vec mantissa, Vec exponent) __attribute__((always_inline)) {
        return select(alive, mantissa * factor * power_of_two(exponent - whole.exponent), Vec{});
    };
    store(out, share(nearest.mantissa, nearest.exponent));
    for (int k = 0; k < count; ++k) store(out + W * (k + 1), share(load(scratch + 2 * W * k), load(scratch + 2 * W * k + W)));
}

template <class S>
ARBORA_INLINE static inline void leave_shares(const SiblingCharts<typename S::Plane>& c, int width, int s, Side side, typename S::V nearest,
                                              typename S::V whole) {
    if (c.shares == nullptr) return;
    if constexpr (std::is_same_v<S, LogLanes>) leave_shares(c.scratch, width - 1, nearest, whole, side_shares(c, width, s, side));
    if constexpr (std::is_same_v<S, PlainLanes>) store(side_shares(c, width, s, side), nearest);
}

// An open item before its arc is added: the nearest dependent, or the next one after a sibling.
template <class S>
ARBORA_INLINE static inline typename S::V inner(const SiblingCharts<typename S::Plane>& c, int width, int s, Side side,
                                                typename S::Watch& watch) {
    const Diagonals& d = c.layout;
    const bool right = side == Side::right;
    const std::ptrdiff_t inside = d.at(width - 1, s + 1);
    const ScoreRows scores = score_rows(c, width, s, side);
    const Vec score = scores.at(right ? 0 : width);
    watch.see(score);
    const auto nearest = S::times(right ? S::load(c.left, inside) : S::load(c.right, d.at(width - 1, s)), S::weight(score));
    auto whole = nearest;
    if (width > 1) {
        // right: SUM_{k=1..width-1} open_right(s, s+k) * between(s+k, t) * sibling(s, t, s+k)
        // left:  SUM_{k=1..width-1} between(s, s+k) * open_left(s+k, t) * sibling(t, s, s+k)
        const auto first = right ? c.open_right : c.between, second = right ? c.between : c.open_left;
        whole = S::plus(whole, S::dot({first, d.at(1, s), d.stride}, {second, inside, 1 - d.stride}, scores, 1, width - 1,
                                      place_of_terms(c, width, s, side), watch));
    }
    leave_shares<S>(c, width, s, side, nearest, whole);
    return whole;
}

// Returns false if a sibling score that is used is NaN or too large; in plain doubles, if anything is out of bounds.
template <class S>
bool inside_sibling(SiblingCharts<typename S::Plane>& c) {
    const Diagonals& d = c.layout;
    typename S::Watch watch;
    begin<S>(d, c.right, c.left);
    for (int t = 1; t <= d.n && c.roots == Roots::single; ++t) watch.see(broadcast(c.sibling_row(0, t)[0]));
    IVec outside{};
    const auto fill = [&](int width, int s) __attribute__((always_inline)) {
        const std::ptrdiff_t here = d.at(width, s);
        S::store(c.between, here, sum_of<S>(joined_ways(c, width, s), width));
        S::store(c.open_right, here, S::times(inner<S>(c, width, s, Side::right, watch), S::load(c.arc_right, here)));
        S::store(c.open_left, here, S::times(inner<S>(c, width, s, Side::left, watch), S::load(c.arc_left, here)));
        complete<S>(c, width, s);
        if constexpr (std::is_same_v<S, PlainLanes>) outside |= outside_bounds(c, c.between, width, s);
    };
    if (!upwards(d, fill, [&]() __attribute__((always_inline)) { return watch.good() && !any(outside); })) return false;
    c.goal = goal(c);
    if constexpr (std::is_same_v<S, PlainLanes>)
        if (!(c.goal < __builtin_inf())) return false;  // a NaN that only the root has
    return watch.good();
}

// The output of sibling marginals: lane i of part k goes to row[i][k]; null for lanes without an arc.
struct MarginalRows {
    double* row[W];
    std::ptrdiff_t next = 0;  // as in ScoreRows

    ARBORA_INLINE void put(std::ptrdiff_t k, Vec value) const {
        for (int i = 0; i < W; ++i)
            if (row[i] != nullptr) row[i][k] = value[i];
    }
    // Parts k .. k+count-1, count <= W; parts past them are not accessed.
    ARBORA_INLINE void put_block(std::ptrdiff_t k, int count, Vec (&values)[W]) const {
        transpose_block(values);
        for (int i = 0; i < W; ++i) {
            if (row[i] == nullptr) continue;
            __builtin_prefetch(row[i] + k + next, 1);
            count == W ? store(row[i] + k, values[i]) : store_first(row[i] + k, count, values[i]);
        }
    }
};

// Turns the shares of an arc's siblings into probabilities, share * factor, and adds them to the items a[k] and b[k].
ARBORA_INLINE static inline void flow_siblings(Vec factor, const double* shares, const MarginalRows& rows, double* a,
                                               std::ptrdiff_t step_a, double* b, std::ptrdiff_t step_b, int count) {
    const IVec alive = factor > Vec{};
    for (int k = 0; k < count; k += W) {
        const int some = count - k < W ? count - k : W;
        Vec block[W] = {};
        for (int l = 0; l < some; ++l) {
            const Vec part = select(alive, load(shares + W * (k + l)) * factor, Vec{});
            Shares::add(a, part);
            Shares::add(b, part);
            a += step_a;
            b += step_b;
            block[l] = minimum(part, broadcast(1.0));
        }
        rows.put_block(1 + k, some, block);
    }
}

template <class Plane>
struct SiblingFlow {
    const SiblingCharts<Plane>& c;
    FlowPlanes f;
    double* siblings;  // [head, dep, sibling], zeroed by the caller

    // Share times this is probability; for plain terms, P(item) / (the value of the item without its arc). 0 for lanes that
    // distribute nothing.
    ARBORA_INLINE Vec factor(const double* probabilities, [[maybe_unused]] Plane open, [[maybe_unused]] Plane arc, std::ptrdiff_t here,
                             int lanes) const {
        const Vec probability = load(probabilities + here);
        const IVec alive = (probability > broadcast(Shares::kNegligible)) & first_lanes(lanes);
        if constexpr (std::is_same_v<Plane, PlainPlane>)
            return select(alive, probability * PlainLanes::load(arc, here) / PlainLanes::load(open, here), Vec{});
        return select(alive, probability, Vec{});
    }

    ARBORA_INLINE void open(int width, int s, Side side) const {
        const Diagonals& d = c.layout;
        const bool right = side == Side::right;
        const std::ptrdiff_t inside = d.at(width - 1, s + 1), nodes = d.n + 1, step = end_step(nodes, side);
        const Vec scale = right ? factor(f.open_right, c.open_right, c.arc_right, d.at(width, s), d.spans(width, s))
                                : factor(f.open_left, c.open_left, c.arc_left, d.at(width, s), d.spans(width, s));
        if (!any(scale > Vec{})) return;
        const double* shares = side_shares(c, width, s, side);
        auto out = side_rows<MarginalRows>(c, siblings, static_cast<double*>(nullptr), width, s, side);
        out.next = width > 1 ? -step : W * span_step(nodes) + (d.n - W - s - 1) * step;
        const Vec nearest = select(scale > Vec{}, load(shares) * scale, Vec{});
        out.put(right ? 0 : width, minimum(nearest, broadcast(1.0)));
        Shares::add(right ? f.left + inside : f.right + d.at(width - 1, s), nearest);
        flow_siblings(scale, shares + W, out, (right ? f.open_right : f.between) + d.at(1, s), d.stride,
                      (right ? f.between : f.open_left) + inside, 1 - d.stride, width - 1);
    }

    void run() {
        const Diagonals& d = c.layout;
        flow_goal(c, f);
        for (std::ptrdiff_t r = 1; r <= d.n && c.roots == Roots::single; ++r) siblings[r * (d.n + 1)] = f.root[r] < 1.0 ? f.root[r] : 1.0;
        downwards(d, [&](int width, int s) __attribute__((always_inline)) {
            flow_complete(c, f, width, s);
            open(width, s, Side::right);
            open(width, s, Side::left);
            flow_joined(c, f, c.between, load(f.between + d.at(width, s)), width, s);
        });
    }
};

// f, zeroed by the caller, becomes the marginals of arcs as in flow_arc.
template <class Plane>
void flow_sibling(const SiblingCharts<Plane>& c, FlowPlanes f, double* siblings) {
    SiblingFlow<Plane>{c, f, siblings}.run();
}

}  // namespace arbora::ARBORA_ISA
