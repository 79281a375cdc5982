// Arc scores as weights in plain doubles, scaled word by word so that the values of long spans stay near one (see PlainPlane). O(n^2).
//
// Every tree has one arc to each word, so a factor on all arcs to a word is a factor on all sums. The factor that keeps sums near
// one depends on S, the sum of a word's weights divided by the largest. If one tree is far above the rest, S is near 1 and the
// largest weight should be near 1. If all scores are similar, S is large and should become n / 6.75: for n words there are n^n
// choices of heads, and about 6.75^n projective trees. Dividing by 1/S + 6.75 S / n gives both. Factors are powers of two, so they
// cause no rounding.
#pragma once

#include "trees/chart/arc.hpp"
#include "numeric/kernels/scores.hpp"

namespace arbora::ARBORA_ISA {

struct PlainWeights {
    static constexpr double kTreesPerWord = 6.75, kSpareBits = 4.0;

    SpanCharts<PlainPlane>& c;
    double *shift, *top, *sum;  // by word, padded

    // visit(scores, weights, first word, lanes) for each vector of arcs, grouped by dependent.
    template <class Visit>
    ARBORA_INLINE void each(Visit visit) const {
        const Diagonals& d = c.layout;
        for (int width = 1; width <= d.n - d.first; ++width) {
            for (int s = d.first; s + width <= d.n; s += W) {
                const std::ptrdiff_t here = d.at(width, s);
                const IVec lanes = first_lanes(d.spans(width, s));
                visit(c.score_right + here, c.arc_right.value + here, s + width, lanes);
                visit(c.score_left + here, c.arc_left.value + here, s, lanes);
            }
        }
        if (d.first == 0) return;
        for (int t = 1; t <= d.n; t += W) visit(c.score_root + t, c.arc_root.value + t, t, first_lanes(d.n - t + 1));
    }

    // shift[t] <- the binary exponent of the best arc to t. Returns false if it is so large that arcs could not be distinguished.
    ARBORA_INLINE bool find_best() const {
        const int words = c.layout.n + 1;
        for (int t = 0; t < words; t += W) store(top + t, broadcast(-__builtin_inf()));
        each([&](const double* scores, double*, int word, IVec lanes) __attribute__((always_inline)) {
            store(top + word, select(lanes, maximum(load(scores), load(top + word)), load(top + word)));
        });
        IVec bad{};
        for (int t = 0; t < words; t += W) {
            const Vec best = load(top + t);
            const IVec none = best < broadcast(-kLargestScore);
            bad |= ((best > broadcast(kScoreLimit)) | (best < broadcast(-kScoreLimit))) & ~none & first_lanes(words - t);
            store(shift + t, select(none, Vec{}, exp_split(best).exponent));
        }
        return !any(bad);
    }

    // Returns false if a weight is out of bounds.
    ARBORA_INLINE bool weigh() const {
        const int words = c.layout.n + 1;
        for (int t = 0; t < words; t += W) store(sum + t, Vec{});
        IVec bad{};
        each([&](const double* scores, double* weights, int word, IVec lanes) __attribute__((always_inline)) {
            const VecExtended e = exp_split(load(scores));
            const Vec exponent = e.exponent - load(shift + word);
            const Vec weight = select(e.mantissa > Vec{}, e.mantissa * power_of_two(exponent), Vec{});
            bad |= (exponent < broadcast(kSpareBits - PlainPlane::kWeightBits)) & (e.mantissa > Vec{}) & lanes;
            store(weights, weight);
            store(sum + word, load(sum + word) + select(lanes, weight, Vec{}));
        });
        return !any(bad);
    }

    // Rescales from the largest weight of each word near one to sums near one.
    ARBORA_INLINE void balance() const {
        constexpr double kRootOfTwo = 0x1.6a09e667f3bcdp+0;  // turns rounding down into rounding to nearest
        const int words = c.layout.n + 1;
        IVec uneven{};
        for (int t = 0; t < words; t += W) {
            const Vec all = load(sum + t), growth = 1.0 / all + all * (kTreesPerWord / words);
            const Vec more = select(all > Vec{}, normalize(growth * kRootOfTwo, Vec{}).exponent, Vec{});
            uneven |= (more != Vec{}) & first_lanes(words - t);
            store(shift + t, load(shift + t) + more);
            store(top + t, power_of_two(-more));
        }
        if (!any(uneven)) return;
        each([&](const double*, double* weights, int word, IVec) __attribute__((always_inline)) {
            store(weights, load(weights) * load(top + word));
        });
    }
};

// The weights of all arcs, and shift (n + 1 + 8 numbers; scratch twice as many). Returns false if the scores are out of range.
static bool weigh_plain(SpanCharts<PlainPlane>& charts, double* shift, double* scratch) {
    charts.shift = shift;
    const PlainWeights weights{charts, shift, scratch, scratch + charts.layout.n + 9};
    if (!weights.find_best() || !weights.weigh()) return false;
    weights.balance();
    return true;
}

}  // namespace arbora::ARBORA_ISA
