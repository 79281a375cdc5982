// The recurrences of factorization/sibling.hpp as vector programs, for any semiring, and the way back down for marginals.
#pragma once

#include "factorization/sibling.hpp"
#include "kernels/inside_arc.hpp"

namespace arbora::ARBORA_ISA {

template <class S>
ARBORA_INLINE inline typename S::Value weight(double score);
template <>
ARBORA_INLINE inline double weight<Max>(double score) {
    return score;
}
template <>
ARBORA_INLINE inline Extended weight<Log>(double score) {
    const VecExtended split = exp_split(broadcast(score));
    return Log::normalize(split.mantissa[0], split.exponent[0]);
}

template <class S>
ARBORA_INLINE static inline void inside_sibling_root(SiblingCharts<typename S::Plane>& c) {
    const Square& q = c.square;
    const auto open0 = c.open_right + q.line(0);
    for (int t = 1; t <= q.n; ++t) {
        const double* siblings = c.sibling_row(0, t);
        auto inner = S::times(c.left.at(q.cell(1, t)), weight<S>(siblings[0]));
        if (c.roots == Roots::multi) {
            inner = S::plus(inner, S::dot(open0 + 1, c.between + (q.line(t) + 1), siblings + 1, t - 1));
        }
        put<S>(q, c.open_right, 0, t, S::times(inner, c.arcs.at(q.cell(0, t))));
    }
    c.goal = S::dot(open0 + 1, c.right + (q.line(q.n) + 1), q.n);
}

template <class S>
void inside_sibling(SiblingCharts<typename S::Plane>& c) {
    const Square& q = c.square;
    clear<S>(q, {c.right, c.left, c.open_right, c.open_left, c.between}, c.right, c.left);
    for (int width = 1; width < q.n; ++width) {
        for (int s = 1; s + width <= q.n; ++s) {
            const int t = s + width;
            const auto line_s = q.line(s), line_t = q.line(t);
            const double *after_s = c.sibling_row(s, t), *after_t = c.sibling_row(t, s);
            put<S>(q, c.between, s, t, S::dot(c.right + (line_s + s), c.left + (line_t + s + 1), width));
            const auto inner_right =
                S::plus(S::times(c.left.at(q.cell(s + 1, t)), weight<S>(after_s[s])),
                        S::dot(c.open_right + (line_s + s + 1), c.between + (line_t + s + 1), after_s + s + 1, width - 1));
            const auto inner_left =
                S::plus(S::times(c.right.at(q.cell(s, t - 1)), weight<S>(after_t[t])),
                        S::dot(c.between + (line_s + s + 1), c.open_left + (line_t + s + 1), after_t + s + 1, width - 1));
            put<S>(q, c.open_right, s, t, S::times(inner_right, c.arcs.at(q.cell(s, t))));
            put<S>(q, c.open_left, s, t, S::times(inner_left, c.arcs.at(q.cell(t, s))));
            put<S>(q, c.right, s, t, S::dot(c.open_right + (line_s + s + 1), c.right + (line_t + s + 1), width));
            put<S>(q, c.left, s, t, S::dot(c.left + (line_s + s), c.open_left + (line_t + s), width));
        }
    }
    inside_sibling_root<S>(c);
}

// Hands `probability` of an item to the products a[i] * b[i] * exp(score[i]); what each product gets is also its marginal.
ARBORA_INLINE static inline void share_scored(double probability, Extended whole, LogPlane a, LogPlane b, const double* score, double* to_a,
                                double* to_b, double* marginals, int length) {
    const Vec factor = broadcast(probability / whole.mantissa), base = broadcast(whole.exponent);
    for (int i = 0; i < length; i += W) {
        const VecExtended w = exp_split(Log::score_at(score, i, length));
        const Vec gap = load(a.exponent + i) + load(b.exponent + i) + w.exponent - base;
        const Vec part = load(a.mantissa + i) * load(b.mantissa + i) * w.mantissa * factor * power_of_two(gap);
        store(to_a + i, load(to_a + i) + part);
        store(to_b + i, load(to_b + i) + part);
        if (i + W <= length) {
            store(marginals + i, part);
        } else {
            for (int j = 0; j < length - i; ++j) marginals[i + j] = part[j];
        }
    }
}

struct SiblingFlow {
    Flow flow;
    double* between;
    double* siblings;  // [head, dep, sibling], dense, zeroed by the caller

    ARBORA_INLINE double* row(const Square& q, int head, int dep) const {
        const std::ptrdiff_t nodes = q.n + 1;
        return siblings + (head * nodes + dep) * nodes;
    }
};

// The item open(head, dep) hands its probability to its nearest-dependent case and to the siblings before dep.
ARBORA_INLINE static inline void flow_open_right(const SiblingCharts<LogPlane>& c, SiblingFlow& f, int s, int t, double probability, int siblings) {
    const Square& q = c.square;
    const Extended whole = c.open_right.at(q.cell(s, t)) / c.arcs.at(q.cell(s, t));
    const double* scores = c.sibling_row(s, t);
    double* marginals = f.row(q, s, t);
    const double nearest = probability * ratio(c.left.at(q.cell(s + 1, t)) * weight<Log>(scores[s]), whole);
    marginals[s] = nearest;
    f.flow.left[q.cell(s + 1, t)] += nearest;
    share_scored(probability, whole, c.open_right + (q.line(s) + s + 1), c.between + (q.line(t) + s + 1), scores + s + 1,
                 f.flow.open_right + q.line(s) + s + 1, f.between + q.line(t) + s + 1, marginals + s + 1, siblings);
}

ARBORA_INLINE static inline void flow_open_left(const SiblingCharts<LogPlane>& c, SiblingFlow& f, int s, int t, double probability) {
    const Square& q = c.square;
    const Extended whole = c.open_left.at(q.cell(s, t)) / c.arcs.at(q.cell(t, s));
    const double* scores = c.sibling_row(t, s);
    double* marginals = f.row(q, t, s);
    const double nearest = probability * ratio(c.right.at(q.cell(s, t - 1)) * weight<Log>(scores[t]), whole);
    marginals[t] = nearest;
    f.flow.right[q.cell(s, t - 1)] += nearest;
    share_scored(probability, whole, c.between + (q.line(s) + s + 1), c.open_left + (q.line(t) + s + 1), scores + s + 1,
                 f.between + q.line(s) + s + 1, f.flow.open_left + q.line(t) + s + 1, marginals + s + 1, t - s - 1);
}

ARBORA_INLINE static inline void flow_sibling_root(const SiblingCharts<LogPlane>& c, SiblingFlow& f, double* marginals) {
    const Square& q = c.square;
    Flow& flow = f.flow;
    Flow::share(1.0, c.goal, c.open_right + (q.line(0) + 1), c.right + (q.line(q.n) + 1), flow.open_right + 1,
                flow.right + q.line(q.n) + 1, q.n);
    for (int t = q.n; t >= 1; --t) {
        const double open = flow.open_right[t];
        marginals[q.cell(0, t)] = open;
        if (open > Flow::kNegligible) flow_open_right(c, f, 0, t, open, c.roots == Roots::single ? 0 : t - 1);
    }
}

static void flow_sibling(const SiblingCharts<LogPlane>& c, SiblingFlow f, double* marginals) {
    const Square& q = c.square;
    Flow& flow = f.flow;
    flow_sibling_root(c, f, marginals);
    for (int width = q.n - 1; width >= 1; --width) {
        for (int s = 1; s + width <= q.n; ++s) {
            const int t = s + width;
            const auto line_s = q.line(s), line_t = q.line(t);
            const double right = Flow::taken(q, flow.right, s, t), left = Flow::taken(q, flow.left, s, t);
            if (right > Flow::kNegligible) {
                Flow::share(right, c.right.at(q.cell(s, t)), c.open_right + (line_s + s + 1), c.right + (line_t + s + 1),
                            flow.open_right + line_s + s + 1, flow.right + line_t + s + 1, width);
            }
            if (left > Flow::kNegligible) {
                Flow::share(left, c.left.at(q.cell(s, t)), c.left + (line_s + s), c.open_left + (line_t + s),
                            flow.left + line_s + s, flow.open_left + line_t + s, width);
            }
            const double open_right = flow.open_right[q.cell(s, t)], open_left = flow.open_left[q.cell(t, s)];
            marginals[q.cell(s, t)] = open_right;
            marginals[q.cell(t, s)] = open_left;
            if (open_right > Flow::kNegligible) flow_open_right(c, f, s, t, open_right, width - 1);
            if (open_left > Flow::kNegligible) flow_open_left(c, f, s, t, open_left);
            const double between = Flow::taken(q, f.between, s, t);
            if (between > Flow::kNegligible) {
                Flow::share(between, c.between.at(q.cell(s, t)), c.right + (line_s + s), c.left + (line_t + s + 1),
                            flow.right + line_s + s, flow.left + line_t + s + 1, width);
            }
        }
    }
}

}  // namespace arbora::ARBORA_ISA
