// The inner loops of arborescence/max_arborescence.cpp and kbest_arborescence.cpp.
#pragma once

#include "trees/chart/layout.hpp"
#include "numeric/kernels/vec.hpp"

namespace arbora::ARBORA_ISA {

// For every column: the largest score among the rows first..n, and the lowest row that has it.
static void column_best(const double* scores, Square q, int first, double* best, double* row) {
    for (int i = 0; i <= q.n; i += W) {
        Vec top = load(scores + q.line(first) + i), at = broadcast(first);
        for (int head = first + 1; head <= q.n; ++head) {
            const Vec x = load(scores + q.line(head) + i);
            const IVec better = x > top;
            top = maximum(x, top);
            at = select(better, broadcast(head), at);
        }
        store(best + i, top);
        store(row + i, at);
    }
}

// The largest magnitude of a score that is not -infinity.
static double largest_magnitude(const double* scores, Square q) {
    Vec top{};
    for (std::size_t i = 0; i < q.size(); i += W) {
        const Vec x = load(scores + i);
        top = maximum(select(x > broadcast(-__builtin_inf()), maximum(x, -x), top), top);
    }
    return horizontal_max(top);
}

// out[dep][head] = scores[head][dep]; what a vector may read past the last head is -infinity.
static void transpose(const double* scores, Square q, double* out) {
    for (int head = 0; head <= q.n; head += W) {
        for (int dep = 0; dep <= q.n; dep += W) {
            Vec block[W];
            for (int i = 0; i < W; ++i) block[i] = head + i <= q.n ? load(scores + q.cell(head + i, dep)) : broadcast(-__builtin_inf());
            transpose_block(block);
            for (int i = 0; i < W && dep + i <= q.n; ++i) store(out + q.cell(dep + i, head), block[i]);
        }
    }
}

// The lowest index of the largest of line[0..length), or -1 if that is -infinity. The padding holds -infinity.
static int line_best(const double* line, int length, double* best) {
    Vec top = broadcast(-__builtin_inf());
    for (int i = 0; i < length; i += W) top = maximum(load(line + i), top);
    const double value = horizontal_max(top);
    *best = value;
    if (value == -__builtin_inf()) return -1;
    for (int i = 0; i < length; i += W) {
        const IVec hit = load(line + i) == broadcast(value);
        if (any(hit))
            for (int j = 0; j < W; ++j)
                if (hit[j] != 0) return i + j;
    }
    return -1;
}

// The number of entries of line[0..length) that do not exceed the target.
static int line_rank(const double* line, int length, double target) {
    IVec count{};
    for (int i = 0; i < length; i += W) count -= (load(line + i) <= broadcast(target)) & first_lanes(length - i);
    std::int64_t sum = 0;
    for (int i = 0; i < W; ++i) sum += count[i];
    return static_cast<int>(sum);
}

// into = max(into, from - shift), entering words alongside: from_word, or where that is null one word for all.
static void line_merge(double* into, double* into_word, const double* from, const double* from_word, double word, double shift, int length) {
    for (int i = 0; i < length; i += W) {
        const Vec a = load(into + i), b = load(from + i) - broadcast(shift);
        const IVec better = b > a;
        const Vec words = from_word == nullptr ? broadcast(word) : load(from_word + i);
        store(into + i, select(better, b, a));
        store(into_word + i, select(better, words, load(into_word + i)));
    }
}

// The same for the two largest of each entry: `second` is the runner-up by another word.
static void line_merge_two(double* into, double* into_second, const double* from, const double* from_second, double shift, int length) {
    for (int i = 0; i < length; i += W) {
        const Vec a = load(into + i), b = load(from + i) - broadcast(shift);
        const Vec a2 = load(into_second + i), b2 = load(from_second + i) - broadcast(shift);
        const Vec lower = select(b > a, a, b);
        store(into_second + i, maximum(lower, maximum(a2, b2)));
    }
}

}  // namespace arbora::ARBORA_ISA
