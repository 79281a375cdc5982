// The two semirings as vector programs in which every lane is a separate item (see Diagonals in trees/chart/layout.hpp). The
// operation that a recurrence needs is a dot product along two walks through memory.
#pragma once

#include <type_traits>

#include "numeric/kernels/semirings.hpp"

namespace arbora::ARBORA_ISA {

// Cells start, start + step, start + 2 step, ... of a plane; each a vector of items.
template <class Plane>
struct Walk {
    Plane plane;
    std::ptrdiff_t start, step;
};

// One row of scores a lane: lane i of score k is row[i][k].
struct ScoreRows {
    const double* row[W];
    std::ptrdiff_t next = 0;  // from here to the rows of the next vector of items, which will be read soon

    // Prefetch into the second-level cache: the first holds the charts.
    ARBORA_INLINE static void prefetch(const double* place) { __builtin_prefetch(place, 0, 2); }

    ARBORA_INLINE Vec at(std::ptrdiff_t k) const {
        Vec scores{};
        for (int i = 0; i < W; ++i) scores[i] = row[i][k];
        return scores;
    }
    // Scores k .. k+count-1, count <= W; scores past them are not read.
    ARBORA_INLINE void block(std::ptrdiff_t k, int count, Vec (&scores)[W]) const {
        for (int i = 0; i < W; ++i) {
            scores[i] = count == W ? load(row[i] + k) : load_first(row[i] + k, count, 0.0);
            prefetch(row[i] + k + next);
        }
        transpose_block(scores);
    }
    // visit(k, scores) for k in from .. from+count-1, read in blocks.
    template <class Visit>
    ARBORA_INLINE void each(int from, int count, Visit visit) const {
        // Rows start anywhere in a cache line, so they may end in a line in which no block begins.
        for (int i = 0; i < W; ++i) prefetch(row[i] + from + count + next);
        int k = 0;
        for (; k + W <= count; k += W) {
            Vec scores[W];
            block(from + k, W, scores);
            for (int i = 0; i < W; ++i) visit(k + i, scores[i]);
        }
        if (k == count) return;
        Vec scores[W];
        block(from + k, count - k, scores);
        for (int i = 0; i < count - k; ++i) visit(k + i, scores[i]);
    }
};

// Checks every sibling score that is used: is it a number, and not too large?
struct ValidScores {
    IVec bad{};

    ARBORA_INLINE void see(Vec score) { bad |= ~(score <= broadcast(kLargestScore)); }
    ARBORA_INLINE bool good() const { return !any(bad); }
};

struct MaxLanes {
    using Plane = MaxPlane;
    using V = Vec;
    using Watch = ValidScores;

    ARBORA_INLINE static V load(Plane p, std::ptrdiff_t i) { return ARBORA_ISA::load(p.value + i); }
    ARBORA_INLINE static void store(Plane p, std::ptrdiff_t i, V v) { ARBORA_ISA::store(p.value + i, v); }
    ARBORA_INLINE static V unit() { return Vec{}; }
    ARBORA_INLINE static V times(V a, V b) { return a + b; }
    ARBORA_INLINE static V plus(V a, V b) { return maximum(a, b); }
    ARBORA_INLINE static V weight(Vec score) { return allowed(score); }

    // max_k a[k] + b[k]
    ARBORA_INLINE static V dot(Walk<Plane> a, Walk<Plane> b, int count) {
        const double *x = a.plane.value + a.start, *y = b.plane.value + b.start;
        V best = broadcast(kMinusInfinity), other = best;
        int k = 0;
        for (; k + 2 <= count; k += 2) {
            best = maximum(ARBORA_ISA::load(x) + ARBORA_ISA::load(y), best);
            other = maximum(ARBORA_ISA::load(x + a.step) + ARBORA_ISA::load(y + b.step), other);
            x += 2 * a.step;
            y += 2 * b.step;
        }
        if (k < count) best = maximum(ARBORA_ISA::load(x) + ARBORA_ISA::load(y), best);
        return maximum(best, other);
    }

    // max_k a[k] + b[k] + score[from + k]
    ARBORA_INLINE static V dot(Walk<Plane> a, Walk<Plane> b, const ScoreRows& scores, int from, int count, double*, Watch& watch) {
        const double *x = a.plane.value + a.start, *y = b.plane.value + b.start;
        V best = broadcast(kMinusInfinity);
        scores.each(from, count, [&](int, Vec score) __attribute__((always_inline)) {
            watch.see(score);
            best = maximum((ARBORA_ISA::load(x) + ARBORA_ISA::load(y)) + allowed(score), best);
            x += a.step;
            y += b.step;
        });
        return best;
    }
};

struct LogLanes {
    using Plane = LogPlane;
    using V = VecExtended;
    using Watch = ValidScores;

    ARBORA_INLINE static V load(Plane p, std::ptrdiff_t i) {
        return {ARBORA_ISA::load(p.mantissa + i), ARBORA_ISA::load(p.exponent + i)};
    }
    ARBORA_INLINE static void store(Plane p, std::ptrdiff_t i, V v) {
        ARBORA_ISA::store(p.mantissa + i, v.mantissa);
        ARBORA_ISA::store(p.exponent + i, v.exponent);
    }
    ARBORA_INLINE static V unit() { return {broadcast(1.0), Vec{}}; }
    ARBORA_INLINE static V times(V a, V b) { return normalize(a.mantissa * b.mantissa, a.exponent + b.exponent); }
    ARBORA_INLINE static V plus(V a, V b) {
        const Vec top = maximum(a.exponent, b.exponent);
        return normalize(a.mantissa * power_of_two(a.exponent - top) + b.mantissa * power_of_two(b.exponent - top), top);
    }
    ARBORA_INLINE static V weight(Vec score) { return exp_split(score); }

    // sum_k a[k] * b[k]: first the largest exponent, then the sum relative to it. Two chains each, to hide latency.
    ARBORA_INLINE static V dot(Walk<Plane> a, Walk<Plane> b, int count) {
        const std::ptrdiff_t exponent_a = a.plane.exponent - a.plane.mantissa, exponent_b = b.plane.exponent - b.plane.mantissa;
        const double *x = a.plane.exponent + a.start, *y = b.plane.exponent + b.start;
        Vec top = ARBORA_ISA::load(x) + ARBORA_ISA::load(y), other = top;
        int k = 1;
        for (; k + 2 <= count; k += 2) {
            top = maximum(ARBORA_ISA::load(x + a.step) + ARBORA_ISA::load(y + b.step), top);
            x += 2 * a.step;
            y += 2 * b.step;
            other = maximum(ARBORA_ISA::load(x) + ARBORA_ISA::load(y), other);
        }
        if (k < count) top = maximum(ARBORA_ISA::load(x + a.step) + ARBORA_ISA::load(y + b.step), top);
        top = maximum(top, other);
        x = a.plane.mantissa + a.start;
        y = b.plane.mantissa + b.start;
        const auto product = [&](const double* at_a, const double* at_b) __attribute__((always_inline)) {
            const Vec gap = (ARBORA_ISA::load(at_a + exponent_a) + ARBORA_ISA::load(at_b + exponent_b)) - top;
            return (ARBORA_ISA::load(at_a) * ARBORA_ISA::load(at_b)) * power_of_two(gap);
        };
        Vec sum{}, rest{};
        for (k = 0; k + 2 <= count; k += 2) {
            sum += product(x, y);
            rest += product(x + a.step, y + b.step);
            x += 2 * a.step;
            y += 2 * b.step;
        }
        if (k < count) sum += product(x, y);
        return normalize(sum + rest, top);
    }

    // sum_k a[k] * b[k] * exp(score[from + k]). `scratch` keeps products and exponents from the first pass for the second.
    ARBORA_INLINE static V dot(Walk<Plane> a, Walk<Plane> b, const ScoreRows& scores, int from, int count, double* scratch, Watch& watch) {
        Vec top = broadcast(4.0 * kZeroExponent);
        std::ptrdiff_t i = a.start, j = b.start;
        scores.each(from, count, [&](int k, Vec score) __attribute__((always_inline)) {
            watch.see(score);
            const V w = exp_split(score);
            const Vec exponent = (ARBORA_ISA::load(a.plane.exponent + i) + ARBORA_ISA::load(b.plane.exponent + j)) + w.exponent;
            top = maximum(exponent, top);
            ARBORA_ISA::store(scratch + 2 * W * k, ARBORA_ISA::load(a.plane.mantissa + i) * ARBORA_ISA::load(b.plane.mantissa + j) * w.mantissa);
            ARBORA_ISA::store(scratch + 2 * W * k + W, exponent);
            i += a.step;
            j += b.step;
        });
        Vec sum{}, rest{};
        const auto term = [&](int k) __attribute__((always_inline)) {
            return ARBORA_ISA::load(scratch + 2 * W * k) * power_of_two(ARBORA_ISA::load(scratch + 2 * W * k + W) - top);
        };
        int k = 0;
        for (; k + 2 <= count; k += 2) {
            sum += term(k);
            rest += term(k + 1);
        }
        if (k < count) sum += term(k);
        return normalize(sum + rest, top);
    }

    // The probability that one vector of items of value `whole` distributes over the products that it sums (see Shares in
    // inside_arc.hpp).
    struct Giver {
        Vec factor, base;
    };
    ARBORA_INLINE static Giver giver(Vec probability, V whole) { return {probability / whole.mantissa, whole.exponent}; }
    ARBORA_INLINE static Vec part(const Giver& g, Plane a, std::ptrdiff_t i, Plane b, std::ptrdiff_t j) {
        const Vec gap = (ARBORA_ISA::load(a.exponent + i) + ARBORA_ISA::load(b.exponent + j)) - g.base;
        return ARBORA_ISA::load(a.mantissa + i) * ARBORA_ISA::load(b.mantissa + j) * g.factor * power_of_two(gap);
    }
};

struct PlainLanes {
    using Plane = PlainPlane;
    using V = Vec;

    // Checks every sibling score that is used against the bounds of PlainPlane. (NaN makes values NaN, which are out of bounds.)
    struct Watch {
        Vec low{}, high{};

        ARBORA_INLINE void see(Vec score) {
            low = minimum(select(score < broadcast(-kLargestScore), Vec{}, score), low);
            high = maximum(score, high);
        }
        ARBORA_INLINE bool good() const {
            return !any((low < broadcast(-PlainPlane::kWeightLimit)) | (high > broadcast(PlainPlane::kWeightLimit)));
        }
    };

    // Lanes whose value is out of bounds.
    ARBORA_INLINE static IVec outside(V v) {
        return ~(v <= broadcast(PlainPlane::kLargest)) | ((v < broadcast(PlainPlane::kSmallest)) & (v != Vec{}));
    }

    ARBORA_INLINE static V load(Plane p, std::ptrdiff_t i) { return ARBORA_ISA::load(p.value + i); }
    ARBORA_INLINE static void store(Plane p, std::ptrdiff_t i, V v) { ARBORA_ISA::store(p.value + i, v); }
    ARBORA_INLINE static V unit() { return broadcast(1.0); }
    ARBORA_INLINE static V times(V a, V b) { return a * b; }
    ARBORA_INLINE static V plus(V a, V b) { return a + b; }
    ARBORA_INLINE static V weight(Vec score) { return exp_within(score); }

    // sum_k a[k] * b[k], in four chains to hide latency
    ARBORA_INLINE static V dot(Walk<Plane> a, Walk<Plane> b, int count) {
        const double *x = a.plane.value + a.start, *y = b.plane.value + b.start;
        V sum[4] = {};
        int k = 0;
        for (; k + 4 <= count; k += 4) {
            for (int i = 0; i < 4; ++i) sum[i] += ARBORA_ISA::load(x + i * a.step) * ARBORA_ISA::load(y + i * b.step);
            x += 4 * a.step;
            y += 4 * b.step;
        }
        for (; k < count; ++k) {
            sum[0] += ARBORA_ISA::load(x) * ARBORA_ISA::load(y);
            x += a.step;
            y += b.step;
        }
        return (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }

    // sum_k a[k] * b[k] * exp(score[from + k]). Stores the terms in `terms`, unless it is null.
    ARBORA_INLINE static V dot(Walk<Plane> a, Walk<Plane> b, const ScoreRows& scores, int from, int count, double* terms, Watch& watch) {
        const double *x = a.plane.value + a.start, *y = b.plane.value + b.start;
        V sum{};
        const auto term = [&](Vec score) __attribute__((always_inline)) {
            watch.see(score);
            const V product = ARBORA_ISA::load(x) * ARBORA_ISA::load(y) * exp_within(score);
            x += a.step;
            y += b.step;
            sum += product;
            return product;
        };
        if (terms == nullptr) {
            scores.each(from, count, [&](int, Vec score) __attribute__((always_inline)) { term(score); });
        } else {
            scores.each(from, count, [&](int k, Vec score) __attribute__((always_inline)) {
                ARBORA_ISA::store(terms + W * k, term(score));
            });
        }
        return sum;
    }

    using Giver = Vec;
    ARBORA_INLINE static Giver giver(Vec probability, V whole) { return probability / whole; }
    ARBORA_INLINE static Vec part(Giver factor, Plane a, std::ptrdiff_t i, Plane b, std::ptrdiff_t j) {
        return ARBORA_ISA::load(a.value + i) * ARBORA_ISA::load(b.value + j) * factor;
    }
};

// The program that fills a kind of plane with sums.
template <class Plane>
using LanesOf = std::conditional_t<std::is_same_v<Plane, LogPlane>, LogLanes, PlainLanes>;

}  // namespace arbora::ARBORA_ISA
