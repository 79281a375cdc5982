// The inner loops of networks, in float32: products of dense matrices, LSTM cells, activations.
#pragma once

#include <cstddef>
#include <type_traits>

#include "numeric/kernels/vec.hpp"
#include "numeric/dense.hpp"

namespace arbora::ARBORA_ISA {

inline constexpr int F = 2 * W;  // floats in a vector
inline constexpr int kPanelVectors = kPanel / F;
inline constexpr int kSums = W == 8 ? 24 : W == 4 ? 12 : 8;  // as many as registers hold besides the operands
inline constexpr int kRows = W == 8 ? 12 : W == 4 ? 6 : 2;   // rows at a time

// Panels at a time: few rows need several panels, or each sum would wait for the previous one.
template <int Rows>
inline constexpr int kPanelsAtOnce = kSums / (Rows * kPanelVectors) > 6 ? 6 : Rows * kPanelVectors < kSums ? kSums / (Rows * kPanelVectors) : 1;

typedef float FVec __attribute__((vector_size(F * 4)));
typedef std::int32_t FInts __attribute__((vector_size(F * 4)));

ARBORA_INLINE static inline FVec load_floats(const float* p) { return load_as<FVec>(p); }
ARBORA_INLINE static inline void store_floats(float* p, FVec v) { __builtin_memcpy(p, &v, sizeof v); }
ARBORA_INLINE static inline FVec floats(float x) { return x - FVec{}; }

// Rows of out = start + in · some panels of weights.
template <int Rows, int Panels>
ARBORA_INLINE static inline void tile(const DenseProduct& p, std::size_t row, std::size_t panel) {
    constexpr int kVectors = Panels * kPanelVectors;
    float* out = p.out + row * p.out_stride + panel * kPanel;
    const float* bias = p.bias == nullptr ? nullptr : p.bias + panel * kPanel;
    FVec sums[Rows][kVectors];
    for (int r = 0; r < Rows; ++r) {
        const float* start = p.starts != nullptr ? p.starts[row + r] + panel * kPanel : bias;
        for (int v = 0; v < kVectors; ++v) sums[r][v] = start != nullptr ? load_floats(start + v * F) : FVec{};
    }
    const std::size_t depth = p.depth, in_stride = p.in_stride, panel_size = depth * kPanel;
    const float *in = p.in + row * in_stride, *weights = p.weights + panel * panel_size;
    for (std::size_t k = 0; k < depth; ++k, weights += kPanel) {
        FVec at[kVectors];
        for (int v = 0; v < kVectors; ++v) at[v] = load_floats(weights + (v / kPanelVectors) * panel_size + (v % kPanelVectors) * F);
        for (int r = 0; r < Rows; ++r) {
            const FVec x = floats(in[r * in_stride + k]);
            for (int v = 0; v < kVectors; ++v) sums[r][v] += x * at[v];
        }
    }
    for (int r = 0; r < Rows; ++r)
        for (int v = 0; v < kVectors; ++v) store_floats(out + r * p.out_stride + v * F, sums[r][v]);
}

// Fewer than kRows rows, all panels.
template <int Rows>
static void few_rows(int count, const DenseProduct& p, std::size_t row) {
    if constexpr (Rows > 0) {
        if (count != Rows) return few_rows<Rows - 1>(count, p, row);
        constexpr int kPanels = kPanelsAtOnce<Rows>;
        std::size_t panel = 0;
        for (; panel + kPanels <= p.panels; panel += kPanels) tile<Rows, kPanels>(p, row, panel);
        for (; panel < p.panels; ++panel) tile<Rows, 1>(p, row, panel);
    }
}

static void product(const DenseProduct& p) {
    constexpr std::size_t kBlock = 96;  // rows of `in` that stay in the cache for all panels
    constexpr int kPanels = kPanelsAtOnce<kRows>;
    static_assert(kBlock % kRows == 0);
    for (std::size_t block = 0; block < p.rows; block += kBlock) {
        const std::size_t end = block + kBlock < p.rows ? block + kBlock : p.rows, whole = end - (end - block) % kRows;
        std::size_t panel = 0;
        for (; panel + kPanels <= p.panels; panel += kPanels)
            for (std::size_t row = block; row < whole; row += kRows) tile<kRows, kPanels>(p, row, panel);
        for (; panel < p.panels; ++panel)
            for (std::size_t row = block; row < whole; row += kRows) tile<kRows, 1>(p, row, panel);
        few_rows<kRows - 1>(static_cast<int>(end - whole), p, whole);
    }
}

// a if it is above b, else b.
ARBORA_INLINE static inline FVec larger(FVec a, FVec b) {
#if defined(__AVX512F__)
    return (FVec)_mm512_mask_max_ps((__m512)a, (__mmask16)0xffff, (__m512)a, (__m512)b);  // the plain one makes g++ 12 warn about its own header
#elif defined(__AVX2__)
    return (FVec)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__)
    return (FVec)_mm_max_ps((__m128)a, (__m128)b);
#else
    return a > b ? a : b;
#endif
}

// e^x within 2e-7 of it, for -87 <= x <= 88; below, e^-87.
ARBORA_INLINE static inline FVec exponential(FVec x) {
    x = larger(floats(-87.0f), x);
    // x = n ln 2 + r with |r| <= ln(2) / 2; adding 1.5 * 2^23 rounds to a whole number.
    const FVec shifted = x * floats(1.44269504f) + floats(12582912.0f), n = shifted - floats(12582912.0f);
    const FVec r = (x - n * floats(0.693359375f)) + n * floats(2.12194440e-4f);
    FVec y = floats(1.9875691500e-4f);
    for (const float c : {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f}) y = y * r + floats(c);
    y = y * r * r + r + floats(1.0f);
    return (FVec)(((FInts)shifted << 23) + (FInts)y);  // the low bits of `shifted` are n: 2^n times y
}

// e^-x, to be added to 1. Bounded where the sum is 1, and where a sigmoid is 0 at float precision, so that products of three stay
// finite.
ARBORA_INLINE static inline FVec falling(FVec x) { return exponential(-larger(floats(-28.0f), x)); }

// One step of an LSTM for several sequences: gates [rows, 4 · size] in the order i, f, g, o; cells and outputs [rows, size]. With
// e_x = e^-x, sigmoid(x) = 1 / (1 + e_x) and tanh(x) = (1 - e_2x) / (1 + e_2x). Sums and products of them get one common
// denominator, because divisions are slow. Outputs have their own loop, because they would wait for their cells.
static void lstm_cells(const float* gates, std::size_t rows, std::size_t size, float* cells, float* outputs, std::size_t output_stride) {
    const FVec one = floats(1.0f);
    for (std::size_t r = 0; r < rows; ++r, gates += 4 * size, cells += size, outputs += output_stride) {
        for (std::size_t i = 0; i < size; i += F) {
            const FVec input = one + falling(load_floats(gates + i)), forget = one + falling(load_floats(gates + size + i));
            const FVec twice = load_floats(gates + 2 * size + i), change = falling(twice + twice), both = input * (one + change);
            store_floats(cells + i, (load_floats(cells + i) * both + (one - change) * forget) / (both * forget));
        }
        for (std::size_t i = 0; i < size; i += F) {
            const FVec cell = load_floats(cells + i), shown = falling(cell + cell);
            store_floats(outputs + i, (one - shown) / ((one + falling(load_floats(gates + 3 * size + i))) * (one + shown)));
        }
    }
}

// body(i, count) for the vectors of a line whose length need not be a multiple of F; the last may have fewer than F numbers.
template <class Body>
ARBORA_INLINE static inline void each_vector(std::size_t length, Body body) {
    std::size_t i = 0;
    for (; i + F <= length; i += F) body(i, std::integral_constant<std::size_t, F>());
    if (i < length) body(i, length - i);
}
template <class Count>
ARBORA_INLINE static inline FVec load_some(const float* p, Count count) {
    FVec v{};
    __builtin_memcpy(&v, p, count * sizeof(float));
    return v;
}
template <class Count>
ARBORA_INLINE static inline void store_some(float* p, FVec v, Count count) {
    __builtin_memcpy(p, &v, count * sizeof(float));
}

// Like lstm_cells, for training: also keeps the activated gates, in place, and tanh of the cells.
static void lstm_forward_step(const LstmForwardStep& p) {
    const FVec one = floats(1.0f);
    for (std::size_t r = 0; r < p.rows; ++r) {
        float* gate = p.gates + r * 4 * p.size;
        each_vector(p.size, [&](std::size_t i, auto count) {
            const auto sigmoid = [&](FVec x) { return one / (one + falling(x)); };
            const auto tanh = [&](FVec x) {
                const FVec e = falling(x + x);
                return (one - e) / (one + e);
            };
            const auto of = [&](int which) { return load_some(gate + which * p.size + i, count); };
            const FVec input = sigmoid(of(0)), forget = sigmoid(of(1)), change = tanh(of(2)), output = sigmoid(of(3));
            FVec cell = input * change;
            if (r < p.old) cell += forget * load_some(p.before + r * p.size + i, count);
            const FVec shown = tanh(cell);
            store_some(gate + i, input, count);
            store_some(gate + p.size + i, forget, count);
            store_some(gate + 2 * p.size + i, change, count);
            store_some(gate + 3 * p.size + i, output, count);
            store_some(p.cells + r * p.size + i, cell, count);
            store_some(p.shown + r * p.size + i, shown, count);
            store_some(p.states + r * p.size + i, output * shown, count);
        });
    }
}

static void lstm_backward_step(const LstmBackwardStep& p) {
    const FVec one = floats(1.0f);
    for (std::size_t r = 0; r < p.rows; ++r) {
        const float* gate = p.gates + r * 4 * p.size;
        float* slope = p.slopes + r * 4 * p.size;
        each_vector(p.size, [&](std::size_t i, auto count) {
            const auto of = [&](int which) { return load_some(gate + which * p.size + i, count); };
            const FVec input = of(0), forget = of(1), change = of(2), output = of(3), shown = load_some(p.shown + r * p.size + i, count);
            FVec state = load_some(p.given + r * p.size + i, count);
            if (r < p.later) state += load_some(p.later_states + r * p.stride + i, count);
            FVec cell = state * output * (one - shown * shown);
            if (r < p.later) cell += load_some(p.later_cells + r * p.stride + i, count);
            const FVec before = r < p.old ? load_some(p.before + r * p.size + i, count) : FVec{};
            store_some(slope + i, cell * change * (input - input * input), count);
            store_some(slope + p.size + i, cell * before * (forget - forget * forget), count);
            store_some(slope + 2 * p.size + i, cell * input * (one - change * change), count);
            store_some(slope + 3 * p.size + i, state * shown * (output - output * output), count);
            store_some(p.later_cells + r * p.stride + i, cell * forget, count);
        });
    }
}

// x where it is above 0, slope · x below, in place; count is a multiple of kPanel.
static void rectify(float* values, std::size_t count, float slope) {
    for (std::size_t i = 0; i < count; i += F) {
        const FVec x = load_floats(values + i);
        store_floats(values + i, x > FVec{} ? x : x * floats(slope));
    }
}

// The place of the largest of `count` scores, the first of several; 0 if none is above -infinity.
static std::size_t place_of_largest(const float* scores, std::size_t count) {
    FVec most = floats(-__builtin_inff());
    FInts places{}, at{};
    for (int i = 0; i < F; ++i) at[i] = i;
    std::size_t i = 0;
    for (; i + F <= count; i += F, at += F) {
        const FVec x = load_floats(scores + i);
        const FInts is_larger = x > most;
        most = is_larger ? x : most;
        places = is_larger ? at : places;
    }
    float largest = most[0];
    std::size_t place = static_cast<std::size_t>(places[0]);
    for (int lane = 1; lane < F; ++lane) {
        const auto own = static_cast<std::size_t>(places[lane]);
        if (most[lane] > largest || (most[lane] == largest && own < place)) largest = most[lane], place = own;
    }
    for (; i < count; ++i)
        if (scores[i] > largest) largest = scores[i], place = i;
    return place;
}

}  // namespace arbora::ARBORA_ISA
