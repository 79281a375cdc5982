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

// False where a sibling score that counts is NaN or too large.
template <class S>
bool inside_sibling(SiblingCharts<typename S::Plane>& c) {
    const Diagonals& d = c.layout;
    const std::ptrdiff_t stride = d.stride;
    IVec bad{};
    begin<S>(d, c.right, c.left);
    for (int width = 1; width <= d.n - d.first; ++width) {
        for (int s = d.first; s + width <= d.n; s += W) {
            const std::ptrdiff_t here = d.at(width, s), inside = d.at(width - 1, s + 1);
            S::store(c.between, here, join<S>(c, width, s));
            const ScoreRows to_right = right_rows(c, width, s), to_left = left_rows(c, width, s);
            const Vec nearest_right = to_right.at(0), nearest_left = to_left.at(width);
            bad |= ~((nearest_right <= broadcast(kLargestScore)) & (nearest_left <= broadcast(kLargestScore)));
            auto right = S::times(S::load(c.left, inside), S::weight(nearest_right));
            auto left = S::times(S::load(c.right, d.at(width - 1, s)), S::weight(nearest_left));
            if (width > 1) {
                // SUM_{k=1..width-1} open_right(s, s+k) * between(s+k, t) * sibling(s, t, s+k)
                right = S::plus(right, S::dot({c.open_right, d.at(1, s), stride}, {c.between, inside, 1 - stride}, to_right, 1,
                                              width - 1, c.scratch, bad));
                // SUM_{k=1..width-1} between(s, s+k) * open_left(s+k, t) * sibling(t, s, s+k)
                left = S::plus(left, S::dot({c.between, d.at(1, s), stride}, {c.open_left, inside, 1 - stride}, to_left, 1,
                                            width - 1, c.scratch, bad));
            }
            S::store(c.open_right, here, S::times(right, S::load(c.arc_right, here)));
            S::store(c.open_left, here, S::times(left, S::load(c.arc_left, here)));
            complete<S>(c, width, s);
        }
    }
    c.goal = goal(c);
    return !any(bad);
}

// Where the marginals of siblings go: lane i of part k to row[i][k]. Only the first `lanes` rows are there.
struct MarginalRows {
    double* row[W];
    int lanes;

    ARBORA_INLINE void put(std::ptrdiff_t k, Vec value) const {
        const Vec clipped = minimum(value, broadcast(1.0));
        for (int i = 0; i < lanes; ++i) row[i][k] = clipped[i];
    }
    ARBORA_INLINE void put_block(std::ptrdiff_t k, Vec (&values)[W]) const {
        transpose_block(values);
        for (int i = 0; i < lanes; ++i) store(row[i] + k, minimum(values[i], broadcast(1.0)));
    }
};

// To the products a[k] * b[k] * exp(score[1 + k]); what each gets is also the marginal of its sibling part.
ARBORA_INLINE static inline void give_scored(const Shares::Giver& g, Walk<LogPlane> a, Walk<LogPlane> b, const ScoreRows& scores,
                                             double* to_a, double* to_b, const MarginalRows& out, int count) {
    std::ptrdiff_t i = a.start, j = b.start;
    const auto give = [&](Vec score) __attribute__((always_inline)) {
        const VecExtended w = exp_split(score);
        const Vec gap = ((load(a.plane.exponent + i) + load(b.plane.exponent + j)) + w.exponent) - g.base;
        const Vec all = load(a.plane.mantissa + i) * load(b.plane.mantissa + j) * w.mantissa * g.factor * power_of_two(gap);
        const Vec part = select(g.alive, all, Vec{});
        Shares::add(to_a + i, part);
        Shares::add(to_b + j, part);
        i += a.step;
        j += b.step;
        return part;
    };
    int k = 0;
    for (; k + W <= count; k += W) {
        Vec block[W];
        scores.block(1 + k, block);
        for (int l = 0; l < W; ++l) block[l] = give(block[l]);
        out.put_block(1 + k, block);
    }
    for (; k < count; ++k) out.put(1 + k, give(scores.at(1 + k)));
}

// The case in which the dependent is the nearest one.
ARBORA_INLINE static inline void give_nearest(const Shares::Giver& g, VecExtended rest, Vec score, double* to, const MarginalRows& out,
                                              std::ptrdiff_t k) {
    const VecExtended w = exp_split(score);
    const Vec all = rest.mantissa * w.mantissa * g.factor * power_of_two((rest.exponent + w.exponent) - g.base);
    const Vec part = select(g.alive, all, Vec{});
    Shares::add(to, part);
    out.put(k, part);
}

ARBORA_INLINE static inline VecExtended divide(VecExtended a, VecExtended b) { return {a.mantissa / b.mantissa, a.exponent - b.exponent}; }

struct SiblingFlow {
    const SiblingCharts<LogPlane>& c;
    FlowPlanes f;
    double* siblings;  // [head, dep, sibling], zeroed by the caller

    // Rows of the marginals of arcs s+i -> s+i+width, or back, by distance from s+i.
    ARBORA_INLINE MarginalRows rows(int width, int s, bool right) const {
        const std::ptrdiff_t nodes = c.layout.n + 1;
        MarginalRows out;
        out.lanes = c.layout.spans(width, s) < W ? c.layout.spans(width, s) : W;
        for (int i = 0; i < out.lanes; ++i) {
            const std::ptrdiff_t from = s + i, to = s + i + width;
            out.row[i] = siblings + ((right ? from : to) * nodes + (right ? to : from)) * nodes + from;
        }
        return out;
    }

    ARBORA_INLINE void open_right(int width, int s) const {
        const Diagonals& d = c.layout;
        const std::ptrdiff_t here = d.at(width, s), inside = d.at(width - 1, s + 1);
        const auto whole = divide(LogLanes::load(c.open_right, here), LogLanes::load(c.arc_right, here));
        const auto giver = Shares::giver(load(f.open_right + here), whole, d.spans(width, s));
        if (!any(giver.alive)) return;
        const ScoreRows scores = right_rows(c, width, s);
        const MarginalRows out = rows(width, s, true);
        give_nearest(giver, LogLanes::load(c.left, inside), scores.at(0), f.left + inside, out, 0);
        give_scored(giver, {c.open_right, d.at(1, s), d.stride}, {c.between, inside, 1 - d.stride}, scores, f.open_right, f.between, out,
                    width - 1);
    }

    ARBORA_INLINE void open_left(int width, int s) const {
        const Diagonals& d = c.layout;
        const std::ptrdiff_t here = d.at(width, s), inside = d.at(width - 1, s + 1), beside = d.at(width - 1, s);
        const auto whole = divide(LogLanes::load(c.open_left, here), LogLanes::load(c.arc_left, here));
        const auto giver = Shares::giver(load(f.open_left + here), whole, d.spans(width, s));
        if (!any(giver.alive)) return;
        const ScoreRows scores = left_rows(c, width, s);
        const MarginalRows out = rows(width, s, false);
        give_nearest(giver, LogLanes::load(c.right, beside), scores.at(width), f.right + beside, out, width);
        give_scored(giver, {c.between, d.at(1, s), d.stride}, {c.open_left, inside, 1 - d.stride}, scores, f.between, f.open_left, out,
                    width - 1);
    }

    void run() {
        const Diagonals& d = c.layout;
        flow_goal(c, f);
        if (c.roots == Roots::single) {
            for (int r = 1; r <= d.n; ++r) siblings[r * static_cast<std::ptrdiff_t>(d.n + 1)] = f.root[r];
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

// f becomes the marginals of arcs, as in flow_arc.
static void flow_sibling(const SiblingCharts<LogPlane>& c, FlowPlanes f, double* siblings) { SiblingFlow{c, f, siblings}.run(); }

}  // namespace arbora::ARBORA_ISA
