// The recurrences of factorization/sibling.hpp as vector programs, for any semiring, and the way back down for marginals.
#pragma once

#include "factorization/sibling.hpp"
#include "kernels/inside_arc.hpp"

namespace arbora::ARBORA_ISA {

// Head, dependent and sibling all move on by one vector.
template <class Charts>
ARBORA_INLINE static inline std::ptrdiff_t next_rows(const Charts& c) {
    const std::ptrdiff_t nodes = c.layout.n + 1;
    return W * (nodes * nodes + nodes + 1);
}

// Sibling scores of the arcs s+i -> s+i+width (right) or back (left), by distance from s+i. Lanes without such an arc read zeros.
template <class Charts>
ARBORA_INLINE static inline ScoreRows right_rows(const Charts& c, int width, int s) {
    ScoreRows rows;
    rows.next = next_rows(c);
    for (int i = 0; i < W; ++i) {
        rows.row[i] = s + i + width <= c.layout.n ? c.sibling_row(s + i, s + i + width) + s + i : c.zeros;
    }
    return rows;
}

template <class Charts>
ARBORA_INLINE static inline ScoreRows left_rows(const Charts& c, int width, int s) {
    ScoreRows rows;
    rows.next = next_rows(c);
    for (int i = 0; i < W; ++i) {
        const bool there = s + i >= 1 && s + i + width <= c.layout.n;
        rows.row[i] = there ? c.sibling_row(s + i + width, s + i) + s + i : c.zeros;
    }
    return rows;
}

// Where shares and marginals of siblings are: lane i of part k at row[i][k]; null for lanes without an arc.
struct ShareRows {
    double* row[W];
    const double* elsewhere;  // read in place of a missing row

    ARBORA_INLINE Vec at(std::ptrdiff_t k) const {
        Vec shares{};
        for (int i = 0; i < W; ++i) shares[i] = row[i] == nullptr ? 0.0 : row[i][k];
        return shares;
    }
    ARBORA_INLINE void block(std::ptrdiff_t k, Vec (&shares)[W]) const {
        for (int i = 0; i < W; ++i) shares[i] = load(row[i] == nullptr ? elsewhere : row[i] + k);
        transpose_block(shares);
    }
    ARBORA_INLINE void put(std::ptrdiff_t k, Vec value) const {
        for (int i = 0; i < W; ++i) {
            if (row[i] != nullptr) row[i][k] = value[i];
        }
    }
    ARBORA_INLINE void put_block(std::ptrdiff_t k, Vec (&values)[W]) const {
        transpose_block(values);
        for (int i = 0; i < W; ++i) {
            if (row[i] != nullptr) store(row[i] + k, values[i]);
        }
    }
};

enum class Side { right, left };

// Rows of the arcs s+i -> s+i+width, or back, by distance from s+i.
template <class Charts>
ARBORA_INLINE static inline ShareRows share_rows(const Charts& c, int width, int s, Side side) {
    const std::ptrdiff_t nodes = c.layout.n + 1;
    ShareRows out;
    out.elsewhere = c.zeros;
    for (int i = 0; i < W; ++i) {
        const std::ptrdiff_t from = s + i, to = s + i + width;
        const bool there = to <= c.layout.n && (side == Side::right || from > 0);
        const auto arc = side == Side::right ? from * nodes + to : to * nodes + from;
        out.row[i] = there ? c.shares + arc * nodes + from : nullptr;
    }
    return out;
}

// From the terms that LogLanes::dot left in scratch and the item's whole value: each term's share.
ARBORA_INLINE static inline void leave_shares(const double* scratch, int count, VecExtended nearest, std::ptrdiff_t nearest_at,
                                              VecExtended whole, const ShareRows& out) {
    const IVec alive = whole.mantissa > Vec{};
    const Vec factor = 1.0 / whole.mantissa;
    const auto share = [&](Vec mantissa, Vec exponent) __attribute__((always_inline)) {
        return select(alive, minimum(mantissa * factor * power_of_two(exponent - whole.exponent), broadcast(1.0)), Vec{});
    };
    out.put(nearest_at, share(nearest.mantissa, nearest.exponent));
    int k = 0;
    for (; k + W <= count; k += W) {
        Vec block[W];
        for (int l = 0; l < W; ++l) block[l] = share(load(scratch + 2 * W * (k + l)), load(scratch + 2 * W * (k + l) + W));
        out.put_block(1 + k, block);
    }
    for (; k < count; ++k) out.put(1 + k, share(load(scratch + 2 * W * k), load(scratch + 2 * W * k + W)));
}

template <class S>
ARBORA_INLINE static inline void leave_shares(const SiblingCharts<typename S::Plane>& c, int width, int s, Side side, typename S::V nearest,
                                              typename S::V whole) {
    if constexpr (S::kSums) {
        if (c.shares == nullptr) return;
        leave_shares(c.scratch, width - 1, nearest, side == Side::right ? 0 : width, whole, share_rows(c, width, s, side));
    }
}

// open_right before its arc is added: the nearest dependent, or the next one after a sibling.
template <class S>
ARBORA_INLINE static inline typename S::V inner_right(const SiblingCharts<typename S::Plane>& c, int width, int s, IVec& bad) {
    const Diagonals& d = c.layout;
    const std::ptrdiff_t inside = d.at(width - 1, s + 1);
    const ScoreRows scores = right_rows(c, width, s);
    const Vec score = scores.at(0);
    bad |= ~(score <= broadcast(kLargestScore));
    const auto nearest = S::times(S::load(c.left, inside), S::weight(score));
    auto whole = nearest;
    if (width > 1) {
        // SUM_{k=1..width-1} open_right(s, s+k) * between(s+k, t) * sibling(s, t, s+k)
        whole = S::plus(whole, S::dot({c.open_right, d.at(1, s), d.stride}, {c.between, inside, 1 - d.stride}, scores, 1, width - 1,
                                      c.scratch, bad));
    }
    leave_shares<S>(c, width, s, Side::right, nearest, whole);
    return whole;
}

template <class S>
ARBORA_INLINE static inline typename S::V inner_left(const SiblingCharts<typename S::Plane>& c, int width, int s, IVec& bad) {
    const Diagonals& d = c.layout;
    const std::ptrdiff_t inside = d.at(width - 1, s + 1);
    const ScoreRows scores = left_rows(c, width, s);
    const Vec score = scores.at(width);
    bad |= ~(score <= broadcast(kLargestScore));
    const auto nearest = S::times(S::load(c.right, d.at(width - 1, s)), S::weight(score));
    auto whole = nearest;
    if (width > 1) {
        // SUM_{k=1..width-1} between(s, s+k) * open_left(s+k, t) * sibling(t, s, s+k)
        whole = S::plus(whole, S::dot({c.between, d.at(1, s), d.stride}, {c.open_left, inside, 1 - d.stride}, scores, 1, width - 1,
                                      c.scratch, bad));
    }
    leave_shares<S>(c, width, s, Side::left, nearest, whole);
    return whole;
}

// False where a sibling score that counts is NaN or too large.
template <class S>
bool inside_sibling(SiblingCharts<typename S::Plane>& c) {
    const Diagonals& d = c.layout;
    IVec bad{};
    begin<S>(d, c.right, c.left);
    for (int width = 1; width <= d.n - d.first; ++width) {
        for (int s = d.first; s + width <= d.n; s += W) {
            const std::ptrdiff_t here = d.at(width, s);
            S::store(c.between, here, join<S>(c, width, s));
            S::store(c.open_right, here, S::times(inner_right<S>(c, width, s, bad), S::load(c.arc_right, here)));
            S::store(c.open_left, here, S::times(inner_left<S>(c, width, s, bad), S::load(c.arc_left, here)));
            complete<S>(c, width, s);
        }
    }
    c.goal = goal(c);
    for (int t = 1; t <= d.n; ++t) bad |= ~(broadcast(c.sibling_row(0, t)[0]) <= broadcast(kLargestScore));
    return !any(bad);
}

// Turns the shares of an arc's siblings into probabilities, and hands these to the items a[k] and b[k].
ARBORA_INLINE static inline void flow_siblings(Vec probability, const ShareRows& rows, double* a, std::ptrdiff_t step_a, double* b,
                                               std::ptrdiff_t step_b, int count) {
    const auto give = [&](Vec share) __attribute__((always_inline)) {
        const Vec part = share * probability;
        Shares::add(a, part);
        Shares::add(b, part);
        a += step_a;
        b += step_b;
        return part;
    };
    int k = 0;
    for (; k + W <= count; k += W) {
        Vec block[W];
        rows.block(1 + k, block);
        for (int l = 0; l < W; ++l) block[l] = give(block[l]);
        rows.put_block(1 + k, block);
    }
    for (; k < count; ++k) rows.put(1 + k, give(rows.at(1 + k)));
}

struct SiblingFlow {
    const SiblingCharts<LogPlane>& c;
    FlowPlanes f;

    // What lanes without a span, or of negligible probability, hand on is nothing.
    ARBORA_INLINE Vec alive(Vec probability, int lanes) const {
        return select((probability > broadcast(Shares::kNegligible)) & first_lanes(lanes), probability, Vec{});
    }

    ARBORA_INLINE void open_right(int width, int s) const {
        const Diagonals& d = c.layout;
        const std::ptrdiff_t inside = d.at(width - 1, s + 1);
        const Vec probability = alive(load(f.open_right + d.at(width, s)), d.spans(width, s));
        const ShareRows rows = share_rows(c, width, s, Side::right);
        const Vec nearest = rows.at(0) * probability;
        rows.put(0, nearest);
        Shares::add(f.left + inside, nearest);
        flow_siblings(probability, rows, f.open_right + d.at(1, s), d.stride, f.between + inside, 1 - d.stride, width - 1);
    }

    ARBORA_INLINE void open_left(int width, int s) const {
        const Diagonals& d = c.layout;
        const Vec probability = alive(load(f.open_left + d.at(width, s)), d.spans(width, s));
        const ShareRows rows = share_rows(c, width, s, Side::left);
        const Vec nearest = rows.at(width) * probability;
        rows.put(width, nearest);
        Shares::add(f.right + d.at(width - 1, s), nearest);
        flow_siblings(probability, rows, f.between + d.at(1, s), d.stride, f.open_left + d.at(width - 1, s + 1), 1 - d.stride, width - 1);
    }

    void run() {
        const Diagonals& d = c.layout;
        flow_goal(c, f);
        if (c.roots == Roots::single) {
            for (int r = 1; r <= d.n; ++r) c.shares[r * static_cast<std::ptrdiff_t>(d.n + 1)] = f.root[r];
        }
        for (int width = d.n - d.first; width >= 1; --width) {
            for (int s = d.first; s + width <= d.n; s += W) {
                flow_complete(c, f, width, s);
                open_right(width, s);
                open_left(width, s);
                flow_joined(c, f, c.between, load(f.between + d.at(width, s)), width, s);
            }
        }
    }
};

// f, zeroed by the caller, becomes the marginals of arcs as in flow_arc; c.shares becomes those of siblings.
static void flow_sibling(const SiblingCharts<LogPlane>& c, FlowPlanes f) { SiblingFlow{c, f}.run(); }

}  // namespace arbora::ARBORA_ISA
