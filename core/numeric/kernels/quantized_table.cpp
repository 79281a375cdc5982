// Products of int8 matrices (numeric/quantized.hpp). Compiled once per instruction set, with ARBORA_ISA naming it, as table.cpp is.
//
// With VNNI, one instruction adds four products of bytes to a sum. Without it, AVX2 adds pairs of products in 16 bits (vpmaddubsw)
// for two groups at a time, and then widens them. The baseline first widens weights to 16 bits.
#include <cstring>

#include "base/attributes.hpp"
#include "numeric/quantized.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#define ARBORA_TEXT_OF(x) #x
#define ARBORA_NAME_OF(x) ARBORA_TEXT_OF(x)

namespace arbora::ARBORA_ISA {

#if defined(__AVX2__)
inline constexpr std::size_t kGroup = 4;
static_assert(2 * 2 * (kActivationOffset + kLargestQuantized) * kLargestQuantized < 1 << 15, "two groups fit into 16 bits");
#else
inline constexpr std::size_t kGroup = 2;
#endif

#if defined(__AVX512BW__)
inline constexpr int kLanes = 16, kSums = 24, kRows = 12;  // kSums, kRows: as in dense.hpp
typedef std::int32_t Ints __attribute__((vector_size(64)));
typedef float Floats __attribute__((vector_size(64)));
#elif defined(__AVX2__)
inline constexpr int kLanes = 8, kSums = 12, kRows = 6;
typedef std::int32_t Ints __attribute__((vector_size(32)));
typedef float Floats __attribute__((vector_size(32)));
#else
inline constexpr int kLanes = 4, kSums = 8, kRows = 2;
typedef std::int32_t Ints __attribute__((vector_size(16)));
typedef float Floats __attribute__((vector_size(16)));
#endif
inline constexpr int kPanelVectors = kPanel / kLanes;

template <class Vector, class Number>
ARBORA_INLINE static inline Vector load_as(const Number* p) {
    Vector v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

// kLanes columns of a group's weights, ready to be multiplied.
ARBORA_INLINE static inline Ints load_weights(const std::int8_t* p) {
#if defined(__AVX2__)
    return load_as<Ints>(p);
#elif defined(__SSE2__)
    const __m128i bytes = _mm_loadl_epi64((const __m128i*)p);
    return (Ints)_mm_srai_epi16(_mm_unpacklo_epi8(bytes, bytes), 8);
#else
    Ints pairs{};
    for (int i = 0; i < kLanes; ++i) pairs[i] = (std::int32_t)(((std::uint32_t)(std::uint16_t)p[2 * i + 1] << 16) | (std::uint16_t)p[2 * i]);
    return pairs;
#endif
}

#if defined(__AVX512VNNI__) || defined(__AVXVNNI__) || !defined(__AVX2__)
// sums + the products of a group of activations, the same for all columns, with its weights.
ARBORA_INLINE static inline Ints add_group(Ints sums, Ints x, Ints weights) {
#if defined(__AVX512VNNI__)
    return (Ints)_mm512_dpbusd_epi32((__m512i)sums, (__m512i)x, (__m512i)weights);
#elif defined(__AVXVNNI__)
    return (Ints)_mm256_dpbusd_avx_epi32((__m256i)sums, (__m256i)x, (__m256i)weights);
#elif defined(__SSE2__)
    return sums + (Ints)_mm_madd_epi16((__m128i)x, (__m128i)weights);
#else
    const Ints high = (x >> 16) * (weights >> 16);
    for (int i = 0; i < kLanes; ++i) sums[i] += high[i] + (std::int32_t)(std::int16_t)x[i] * (std::int16_t)weights[i];
    return sums;
#endif
}
#endif

// The same for two groups.
ARBORA_INLINE static inline Ints add_products(Ints sums, const std::uint32_t* in, Ints first, Ints second) {
    const Ints x = (std::int32_t)in[0] - Ints{}, y = (std::int32_t)in[1] - Ints{};
#if defined(__AVX512VNNI__) || defined(__AVXVNNI__) || !defined(__AVX2__)
    return add_group(add_group(sums, x, first), y, second);
#elif defined(__AVX512BW__)
    const __m512i pairs = _mm512_add_epi16(_mm512_maddubs_epi16((__m512i)x, (__m512i)first), _mm512_maddubs_epi16((__m512i)y, (__m512i)second));
    return sums + (Ints)_mm512_madd_epi16(pairs, _mm512_set1_epi16(1));
#else
    const __m256i pairs = _mm256_add_epi16(_mm256_maddubs_epi16((__m256i)x, (__m256i)first), _mm256_maddubs_epi16((__m256i)y, (__m256i)second));
    return sums + (Ints)_mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
#endif
}

// Panels at a time: few rows need several panels, or each sum would wait for the previous one.
template <int Rows>
inline constexpr int kPanelsAtOnce = kSums / (Rows * kPanelVectors) > 6 ? 6 : Rows * kPanelVectors < kSums ? kSums / (Rows * kPanelVectors) : 1;

template <int Rows, int Panels>
ARBORA_INLINE static inline void tile(const QuantizedProduct& p, std::size_t row, std::size_t panel) {
    constexpr int kVectors = Panels * kPanelVectors;
    constexpr std::size_t kRowBytes = kPanel * kGroup;
    Ints sums[Rows][kVectors] = {};
    const std::uint32_t* in = p.in + row * p.groups;
    const std::size_t groups = p.groups, panel_bytes = groups * kRowBytes;
    const std::int8_t* weights = p.weights + panel * panel_bytes;
    const auto at = [&](std::size_t g, int v) {
        return load_weights(weights + g * kRowBytes + (v / kPanelVectors) * panel_bytes + static_cast<std::size_t>(v % kPanelVectors) * kLanes * kGroup);
    };
    for (std::size_t g = 0; g < groups; g += 2) {
        Ints first[kVectors], second[kVectors];
        for (int v = 0; v < kVectors; ++v) first[v] = at(g, v), second[v] = at(g + 1, v);
        for (int r = 0; r < Rows; ++r)
            for (int v = 0; v < kVectors; ++v) sums[r][v] = add_products(sums[r][v], in + r * groups + g, first[v], second[v]);
    }
    for (int r = 0; r < Rows; ++r) {
        const std::size_t column = panel * kPanel;
        const float scale = p.in_scales[row + r];
        float* out = p.out + (row + r) * p.out_stride + column;
        const float* start = (p.starts != nullptr ? p.starts[row + r] : p.bias) + column;
        for (int v = 0; v < kVectors; ++v) {
            const std::size_t at = column + static_cast<std::size_t>(v) * kLanes;
            const Ints sum = kGroup == 4 ? sums[r][v] - load_as<Ints>(p.offsets + at) : sums[r][v];
            const Floats result = load_as<Floats>(start + v * kLanes) + __builtin_convertvector(sum, Floats) * (load_as<Floats>(p.scales + at) * scale);
            __builtin_memcpy(out + v * kLanes, &result, sizeof result);
        }
    }
}

// Fewer than kRows rows, all panels.
template <int Rows>
static void few_rows(int count, const QuantizedProduct& p, std::size_t row) {
    if constexpr (Rows > 0) {
        if (count != Rows) return few_rows<Rows - 1>(count, p, row);
        constexpr int kPanels = kPanelsAtOnce<Rows>;
        std::size_t panel = 0;
        for (; panel + kPanels <= p.panels; panel += kPanels) tile<Rows, kPanels>(p, row, panel);
        for (; panel < p.panels; ++panel) tile<Rows, 1>(p, row, panel);
    }
}

static void product(const QuantizedProduct& p) {
    constexpr int kPanels = kPanelsAtOnce<kRows>;
    const std::size_t whole = p.rows - p.rows % kRows;
    std::size_t panel = 0;
    for (; panel + kPanels <= p.panels; panel += kPanels)
        for (std::size_t row = 0; row < whole; row += kRows) tile<kRows, kPanels>(p, row, panel);
    for (; panel < p.panels; ++panel)
        for (std::size_t row = 0; row < whole; row += kRows) tile<kRows, 1>(p, row, panel);
    few_rows<kRows - 1>(static_cast<int>(p.rows - whole), p, whole);
}

// Rounds to the nearest integer, halves to even: the same on every instruction set.
ARBORA_INLINE static inline Ints rounded(Floats x) {
#if defined(__AVX512BW__)
    return (Ints)_mm512_maskz_cvtps_epi32((__mmask16)0xffff, (__m512)x);  // the plain one makes g++ 12 warn about its own header
#elif defined(__AVX2__)
    return (Ints)_mm256_cvtps_epi32((__m256)x);
#elif defined(__SSE2__)
    return (Ints)_mm_cvtps_epi32((__m128)x);
#else
    Ints result{};
    for (int i = 0; i < kLanes; ++i) result[i] = (std::int32_t)__builtin_rintf(x[i]);
    return result;
#endif
}

static float largest_magnitude(const float* in, std::size_t depth) {
    typedef std::uint32_t Bits __attribute__((vector_size(sizeof(Floats))));
    Bits largest{};  // without their signs, floats are in the order of their bits; infinity and NaN come last
    std::size_t k = 0;
    for (; k + kLanes <= depth; k += kLanes) {
        const Bits bits = load_as<Bits>(in + k) & 0x7fffffffu;
        largest = bits > largest ? bits : largest;
    }
    std::uint32_t result = 0;
    for (int i = 0; i < kLanes; ++i) result = largest[i] > result ? largest[i] : result;
    for (; k < depth; ++k) {
        std::uint32_t bits;
        __builtin_memcpy(&bits, in + k, sizeof bits);
        result = (bits & 0x7fffffffu) > result ? bits & 0x7fffffffu : result;
    }
    float value;
    __builtin_memcpy(&value, &result, sizeof value);
    return value;
}

// Writes kLanes activations from `place` on.
ARBORA_INLINE static inline void store_activations(Ints values, std::uint32_t* row, std::size_t place) {
#if defined(__AVX2__) && !defined(__AVX512BW__)
    const __m256i shifted = (__m256i)(values + kActivationOffset);
    const __m128i shorts = _mm_packs_epi32(_mm256_castsi256_si128(shifted), _mm256_extracti128_si256(shifted, 1));
    _mm_storel_epi64((__m128i*)(reinterpret_cast<std::uint8_t*>(row) + place), _mm_packus_epi16(shorts, shorts));
#else
    if constexpr (kGroup == 4) {
        typedef std::uint8_t Bytes __attribute__((vector_size(kLanes)));
        const Bytes bytes = __builtin_convertvector(values + kActivationOffset, Bytes);
        __builtin_memcpy(reinterpret_cast<std::uint8_t*>(row) + place, &bytes, sizeof bytes);
    } else {
        typedef std::int16_t Shorts __attribute__((vector_size(kLanes * 2)));
        const Shorts shorts = __builtin_convertvector(values, Shorts);
        __builtin_memcpy(reinterpret_cast<std::int16_t*>(row) + place, &shorts, sizeof shorts);
    }
#endif
}

static void quantize(const float* in, std::size_t in_stride, std::size_t rows, std::size_t depth, std::uint32_t* out, float* scales) {
    const std::size_t groups = groups_of(depth, kGroup);
    for (std::size_t r = 0; r < rows; ++r, in += in_stride, out += groups) {
        const float largest = largest_magnitude(in, depth);
        const bool is_finite = largest <= 3.4e38f;
        const float factor = is_finite && largest > 1e-30f ? kLargestQuantized / largest : 0.0f;
        scales[r] = is_finite ? largest / kLargestQuantized : __builtin_nanf("");
        std::size_t k = 0;
        for (; is_finite && k + kLanes <= depth; k += kLanes) store_activations(rounded(load_as<Floats>(in + k) * factor), out, k);
        float rest[kLanes];
        std::uint32_t last[kLanes];
        for (; k < groups * kGroup; k += kLanes) {
            for (int i = 0; i < kLanes; ++i) rest[i] = is_finite && k + i < depth ? in[k + i] : 0.0f;
            store_activations(rounded(load_as<Floats>(rest) * factor), last, 0);
            const std::size_t bytes = 4 / kGroup, count = groups * kGroup - k < kLanes ? groups * kGroup - k : kLanes;
            __builtin_memcpy(reinterpret_cast<char*>(out) + k * bytes, last, count * bytes);
        }
    }
}

extern const QuantizedKernels quantized;
const QuantizedKernels quantized = {ARBORA_NAME_OF(ARBORA_ISA), kGroup, quantize, product};

}  // namespace arbora::ARBORA_ISA
