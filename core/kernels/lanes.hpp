// The two semirings as vector programs in which every lane is an item of its own (see Diagonals in factorization/layout.hpp).
// What a recurrence needs of a semiring is a dot product along two walks through memory.
#pragma once

#include "kernels/semirings.hpp"

namespace arbora::ARBORA_ISA {

// Cells start, start + step, start + 2 step, ... of a plane; each a vector of items.
template <class Plane>
struct Walk {
    Plane plane;
    std::ptrdiff_t start, step;
};

// One score a lane: lane i reads row[i][k].
struct ScoreRows {
    const double* row[W];

    ARBORA_INLINE Vec at(std::ptrdiff_t k) const {
        Vec scores{};
        for (int i = 0; i < W; ++i) scores[i] = row[i][k];
        return scores;
    }
};

struct MaxLanes {
    using Plane = MaxPlane;
    using V = Vec;

    ARBORA_INLINE static V load(Plane p, std::ptrdiff_t i) { return ARBORA_ISA::load(p.value + i); }
    ARBORA_INLINE static void store(Plane p, std::ptrdiff_t i, V v) { ARBORA_ISA::store(p.value + i, v); }
    ARBORA_INLINE static V unit() { return Vec{}; }
    ARBORA_INLINE static V times(V a, V b) { return a + b; }
    ARBORA_INLINE static V plus(V a, V b) { return maximum(a, b); }
    ARBORA_INLINE static V weight(Vec score) { return score; }

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

    // max_k a[k] + b[k] + score[from + k]; `bad` collects lanes with scores that are no numbers.
    ARBORA_INLINE static V dot(Walk<Plane> a, Walk<Plane> b, const ScoreRows& scores, int from, int count, double*, IVec& bad) {
        const double *x = a.plane.value + a.start, *y = b.plane.value + b.start;
        V best = broadcast(kMinusInfinity);
        for (int k = 0; k < count; ++k, x += a.step, y += b.step) {
            const Vec score = scores.at(from + k);
            bad |= ~(score < broadcast(__builtin_inf()));
            best = maximum((ARBORA_ISA::load(x) + ARBORA_ISA::load(y)) + score, best);
        }
        return best;
    }
};

struct LogLanes {
    using Plane = LogPlane;
    using V = VecExtended;

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

    // sum_k a[k] * b[k]: first the largest exponent, then the sum relative to it.
    ARBORA_INLINE static V dot(Walk<Plane> a, Walk<Plane> b, int count) {
        const std::ptrdiff_t to_exponent_a = a.plane.exponent - a.plane.mantissa, to_exponent_b = b.plane.exponent - b.plane.mantissa;
        const double *x = a.plane.exponent + a.start, *y = b.plane.exponent + b.start;
        Vec top = ARBORA_ISA::load(x) + ARBORA_ISA::load(y);
        for (int k = 1; k < count; ++k) {
            x += a.step;
            y += b.step;
            top = maximum(ARBORA_ISA::load(x) + ARBORA_ISA::load(y), top);
        }
        x = a.plane.mantissa + a.start;
        y = b.plane.mantissa + b.start;
        Vec sum{};
        for (int k = 0; k < count; ++k, x += a.step, y += b.step) {
            const Vec gap = (ARBORA_ISA::load(x + to_exponent_a) + ARBORA_ISA::load(y + to_exponent_b)) - top;
            sum += ARBORA_ISA::load(x) * ARBORA_ISA::load(y) * power_of_two(gap);
        }
        return normalize(sum, top);
    }

    // sum_k a[k] * b[k] * exp(score[from + k]). The weights are kept in `scratch` from the first pass to the second.
    ARBORA_INLINE static V dot(Walk<Plane> a, Walk<Plane> b, const ScoreRows& scores, int from, int count, double* scratch, IVec& bad) {
        if (count <= 0) return {Vec{}, broadcast(kZeroExponent)};
        Vec top = broadcast(4.0 * kZeroExponent);
        for (int k = 0; k < count; ++k) {
            const Vec score = scores.at(from + k);
            bad |= ~(score < broadcast(__builtin_inf()));
            const V w = exp_split(score);
            const Vec exponent = (ARBORA_ISA::load(a.plane.exponent + a.start + k * a.step) +
                                  ARBORA_ISA::load(b.plane.exponent + b.start + k * b.step)) + w.exponent;
            top = maximum(exponent, top);
            ARBORA_ISA::store(scratch + 2 * W * k, w.mantissa);
            ARBORA_ISA::store(scratch + 2 * W * k + W, exponent);
        }
        Vec sum{};
        for (int k = 0; k < count; ++k) {
            const Vec product = ARBORA_ISA::load(a.plane.mantissa + a.start + k * a.step) *
                                ARBORA_ISA::load(b.plane.mantissa + b.start + k * b.step);
            sum += product * ARBORA_ISA::load(scratch + 2 * W * k) * power_of_two(ARBORA_ISA::load(scratch + 2 * W * k + W) - top);
        }
        return normalize(sum, top);
    }
};

}  // namespace arbora::ARBORA_ISA
