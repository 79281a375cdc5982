// Products in int8, for every instruction set of this CPU: the same integers as plain loops; and the networks' cache of word types.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/errors.hpp"
#include "check.hpp"
#include "neural/layers.hpp"
#include "neural/type_cache.hpp"
#include "numeric/quantized.hpp"
#include "problems.hpp"

namespace quantized_tests {

using namespace arbora;

namespace {

template <class Body>
void each_table(Body body) {
    for (const char* name : {"baseline", "avx2", "avxvnni", "avx512", "avx512vnni"})
        if (const QuantizedKernels* table = quantized_kernels_named(name)) body(*table);
}

std::vector<float> random_floats(std::size_t count, problems::Random& random) {
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(problems::normal(random));
    return values;
}

// A row of activations as whole numbers, padding included.
std::vector<int> whole_numbers(const QuantizedKernels& k, const std::uint32_t* row, std::size_t groups) {
    std::vector<int> values;
    for (std::size_t g = 0; g < groups; ++g)
        for (std::size_t i = 0; i < k.group; ++i)
            values.push_back(k.group == 2 ? static_cast<std::int16_t>(row[g] >> (16 * i)) : static_cast<int>((row[g] >> (8 * i)) & 255) - kActivationOffset);
    return values;
}

}  // namespace

TEST(activations_are_rounded_alike_everywhere) {
    problems::Random random(1);
    for (const std::size_t depth : {1, 2, 3, 7, 8, 15, 16, 33, 100}) {
        const std::size_t rows = 4, stride = depth + 3;
        auto in = random_floats(rows * stride, random);
        std::fill_n(in.begin() + static_cast<std::ptrdiff_t>(stride), depth, 0.0f);
        in[2 * stride] = kLargestQuantized, in[2 * stride + depth - 1] = depth > 1 ? -2.5f : kLargestQuantized;  // halves go to the even number
        each_table([&](const QuantizedKernels& k) {
            const std::size_t groups = groups_of(depth, k.group);
            std::vector<std::uint32_t> out(rows * groups + 1, 0xabcdef01u);
            std::vector<float> scales(rows);
            k.quantize(in.data(), stride, rows, depth, out.data(), scales.data());
            CHECK(out.back() == 0xabcdef01u);  // nothing is written beyond
            for (std::size_t r = 0; r < rows; ++r) {
                const auto found = whole_numbers(k, out.data() + r * groups, groups);
                float largest = 0.0f;
                for (std::size_t i = 0; i < depth; ++i) largest = std::max(largest, std::abs(in[r * stride + i]));
                CHECK(scales[r] == largest / kLargestQuantized);
                for (std::size_t i = 0; i < found.size(); ++i) {
                    const float factor = largest > 0.0f ? kLargestQuantized / largest : 0.0f;
                    CHECK(found[i] == (i < depth ? static_cast<int>(std::nearbyint(in[r * stride + i] * factor)) : 0));
                }
            }
        });
    }
}

TEST(activations_that_are_not_finite_have_no_scale) {
    for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
        std::vector<float> in(20, 1.0f);
        in[17] = -bad;
        each_table([&](const QuantizedKernels& k) {
            std::vector<std::uint32_t> out(groups_of(20, k.group));
            float scale = 0.0f;
            k.quantize(in.data(), 20, 1, 20, out.data(), &scale);
            CHECK(std::isnan(scale));
        });
    }
}

TEST(quantized_products_are_the_same_whole_numbers) {
    problems::Random random(2);
    for (const std::size_t rows : {1, 2, 5, 6, 12, 29})
        for (const std::size_t depth : {1, 5, 64, 1000})
            for (const std::size_t panels : {1, 3, 7}) {
                const std::size_t columns = panels * kPanel, out_stride = columns + 5;
                auto in = random_floats(rows * depth, random);
                // A row and two columns of the largest numbers, whose sums come closest to the limits of 16 bits.
                std::fill_n(in.begin(), depth, 1.0f);
                std::vector<std::int8_t> weights(columns * depth, kLargestQuantized);
                std::fill_n(weights.begin() + static_cast<std::ptrdiff_t>(depth), depth, std::int8_t{-kLargestQuantized});
                for (std::size_t i = 2 * depth; i < weights.size(); ++i)
                    weights[i] = static_cast<std::int8_t>(static_cast<int>(random() % (2 * kLargestQuantized + 1)) - kLargestQuantized);
                const std::vector<float> ones(std::max(rows, columns), 1.0f), bias(columns, 3.0f);
                each_table([&](const QuantizedKernels& k) {
                    const std::size_t groups = groups_of(depth, k.group);
                    std::vector<std::uint32_t> activations(rows * groups);
                    std::vector<float> scales(rows);
                    k.quantize(in.data(), depth, rows, depth, activations.data(), scales.data());
                    std::vector<std::int8_t> packed(columns * groups * k.group);
                    std::vector<std::int32_t> offsets(columns);
                    for (std::size_t c = 0; c < columns; ++c)
                        for (std::size_t i = 0; i < depth; ++i) {
                            packed[((c / kPanel * groups + i / k.group) * kPanel + c % kPanel) * k.group + i % k.group] = weights[c * depth + i];
                            offsets[c] += kActivationOffset * weights[c * depth + i];
                        }
                    for (const bool adds : {false, true}) {
                        std::vector<float> out(rows * out_stride, 7.0f);
                        std::vector<const float*> starts(rows);
                        for (std::size_t r = 0; r < rows; ++r) starts[r] = out.data() + r * out_stride;
                        k.product({activations.data(), ones.data(), rows, groups, packed.data(), ones.data(), offsets.data(), panels, bias.data(),
                                   out.data(), out_stride, adds ? starts.data() : nullptr});
                        for (std::size_t r = 0; r < rows; ++r) {
                            const auto row = whole_numbers(k, activations.data() + r * groups, groups);
                            for (std::size_t c = 0; c < out_stride; ++c) {
                                int expected = c < columns && !adds ? 3 : 7;
                                for (std::size_t i = 0; c < columns && i < depth; ++i) expected += row[i] * weights[c * depth + i];
                                CHECK(out[r * out_stride + c] == static_cast<float>(expected));
                            }
                        }
                    }
                });
            }
}

TEST(quantized_layers_are_near_those_in_float32) {
    problems::Random random(3);
    const std::size_t rows = 200, inputs = 50, outputs = 37;
    const auto weights = random_floats(outputs * inputs, random), bias = random_floats(outputs, random), in = random_floats(rows * inputs, random);
    const neural::Dense exact({weights.data(), outputs, inputs}, bias.data());
    neural::Dense rounded = exact;
    rounded.quantize();
    std::vector<float> expected(rows * exact.width()), found(expected);
    exact(in.data(), inputs, rows, expected.data(), exact.width());
    rounded(in.data(), inputs, rows, found.data(), exact.width());
    double largest = 0.0;
    for (std::size_t i = 0; i < found.size(); ++i) largest = std::max(largest, std::abs(double{found[i]} - expected[i]));
    CHECK(largest > 0.0 && largest < 0.5);  // sums of 50 products of about 1
    std::vector<const float*> starts(rows);
    for (std::size_t r = 0; r < rows; ++r) starts[r] = expected.data() + r * exact.width();
    exact.add(in.data(), inputs, rows, starts.data(), expected.data(), exact.width());
    for (std::size_t r = 0; r < rows; ++r) starts[r] = found.data() + r * exact.width();
    rounded.add(in.data(), inputs, rows, starts.data(), found.data(), exact.width());
    for (std::size_t i = 0; i < found.size(); ++i) CHECK_NEAR(found[i], expected[i], 1.0);
}

TEST(layers_too_deep_for_int8_are_rejected) {
    neural::Dense deep(kDeepestQuantized + 1, 1);
    bool rejected = false;
    try {
        deep.quantize();
    } catch (const InputError&) {
        rejected = true;
    }
    CHECK(rejected);
}

TEST(kept_word_types_come_back_unchanged) {
    // Few rows fit, so generations change often.
    const std::size_t width = std::size_t{1} << 20, count = 40;
    neural::TypeCache cache(width);
    std::vector<std::int32_t> words(count), vectors(count), characters;
    std::vector<std::int64_t> ends;
    for (std::size_t t = 0; t < count; ++t) {
        words[t] = static_cast<std::int32_t>(t % 3), vectors[t] = static_cast<std::int32_t>(t % 2);  // characters tell them apart
        characters.insert(characters.end(), t / 6 + 1, static_cast<std::int32_t>(t % 6));
        ends.push_back(static_cast<std::int64_t>(characters.size()));
    }
    std::size_t hits = 0;
    for (std::size_t from = 0; from + 4 <= count; from += from % 3 + 1) {
        const std::size_t begin = from == 0 ? 0 : static_cast<std::size_t>(ends[from - 1]);
        std::vector<std::int64_t> own_ends;
        for (std::size_t t = from; t < from + 4; ++t) own_ends.push_back(ends[t] - static_cast<std::int64_t>(begin));
        const neural::WordTypes types{{words.data() + from, 4}, {vectors.data() + from, 4},
                                      {characters.data() + begin, static_cast<std::size_t>(own_ends.back())}, own_ends};
        std::vector<float> rows(4 * width);
        std::vector<std::size_t> place(4);
        const auto unknown = cache.look_up(types, rows.data(), place);
        hits += 4 - unknown.size();
        for (std::size_t i = 0; i < unknown.size(); ++i) {
            CHECK(place[unknown[i]] == i);
            std::fill_n(rows.begin() + static_cast<std::ptrdiff_t>(i * width), width, static_cast<float>(from + unknown[i]));
        }
        for (std::size_t t = 0; t < 4; ++t)
            for (const std::size_t i : {std::size_t{0}, width - 1}) CHECK(rows[place[t] * width + i] == static_cast<float>(from + t));
        cache.keep(types, unknown, rows.data());
    }
    CHECK(hits > 10);
}

}  // namespace quantized_tests
