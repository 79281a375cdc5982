// Kernels of networks, for every instruction set of this CPU, against plain loops in double precision.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "check.hpp"
#include "neural/layers.hpp"
#include "neural/lstm_training.hpp"
#include "numeric/kernels/kernels.hpp"
#include "problems.hpp"

namespace dense_tests {

using namespace arbora;

namespace {

std::vector<float> random_floats(std::size_t count, problems::Random& random, double scale = 1.0) {
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(scale * problems::normal(random));
    return values;
}

template <class Body>
void each_table(Body body) {
    for (const char* name : {"baseline", "avx2", "avx512"})
        if (const Kernels* table = kernels_named(name)) body(*table);
}

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

}  // namespace

TEST(dense_products_are_those_of_plain_loops) {
    problems::Random random(1);
    for (const std::size_t rows : {1, 2, 5, 12, 13, 97, 200})
        for (const std::size_t depth : {1, 7, 64})
            for (const std::size_t panels : {1, 3}) {
                const std::size_t columns = panels * kPanel, in_stride = depth + 3, out_stride = columns + 5;
                const auto in = random_floats(rows * in_stride, random), weights = random_floats(depth * columns, random);
                const auto bias = random_floats(columns, random), before = random_floats(rows * out_stride, random);
                each_table([&](const Kernels& k) {
                    for (const bool adds : {false, true}) {
                        auto out = before;
                        std::vector<const float*> starts(rows);
                        for (std::size_t r = 0; r < rows; ++r) starts[r] = (r % 2 == 0 ? before : out).data() + r * out_stride;
                        k.product({in.data(), in_stride, rows, depth, weights.data(), panels, bias.data(), out.data(), out_stride, adds ? starts.data() : nullptr});
                        for (std::size_t r = 0; r < rows; ++r)
                            for (std::size_t c = 0; c < out_stride; ++c) {
                                double expected = c < columns && !adds ? bias[c] : before[r * out_stride + c];
                                for (std::size_t i = 0; c < columns && i < depth; ++i)
                                    expected += double{in[r * in_stride + i]} * weights[(c / kPanel * depth + i) * kPanel + c % kPanel];
                                CHECK_NEAR(out[r * out_stride + c], expected, 1e-5);
                            }
                    }
                });
            }
}

TEST(lstm_cells_and_rectifiers_are_those_of_plain_loops) {
    problems::Random random(2);
    const std::size_t rows = 3, size = 48;
    for (const double scale : {0.1, 3.0, 200.0}) {  // 200: gates that are all but closed or open
        const auto gates = random_floats(rows * 4 * size, random, scale), before = random_floats(rows * size, random);
        each_table([&](const Kernels& k) {
            auto cells = before;
            std::vector<float> outputs(rows * (size + 16), 7.0f);
            k.lstm_cells(gates.data(), rows, size, cells.data(), outputs.data(), size + 16);
            for (std::size_t r = 0; r < rows; ++r) {
                for (std::size_t u = 0; u < size; ++u) {
                    const auto gate = [&](std::size_t g) { return double{gates[r * 4 * size + g * size + u]}; };
                    const double cell = sigmoid(gate(1)) * before[r * size + u] + sigmoid(gate(0)) * std::tanh(gate(2));
                    CHECK_NEAR(cells[r * size + u], cell, 1e-6);
                    CHECK_NEAR(outputs[r * (size + 16) + u], sigmoid(gate(3)) * std::tanh(cell), 1e-6);
                }
                CHECK(outputs[r * (size + 16) + size] == 7.0f);  // nothing is written beyond
            }
            auto values = gates;
            k.rectify(values.data(), values.size(), 0.1f);
            for (std::size_t i = 0; i < values.size(); ++i) CHECK(values[i] == (gates[i] > 0.0f ? gates[i] : 0.1f * gates[i]));
        });
    }
}

TEST(the_largest_score_is_found_and_the_first_of_equal_ones) {
    problems::Random random(4);
    for (std::size_t count = 1; count < 70; ++count) {
        auto scores = random_floats(count + 16, random);
        for (float& score : scores) score = std::round(4.0f * score);  // many are equal
        std::fill(scores.begin() + static_cast<std::ptrdiff_t>(count), scores.end(), 1e9f);  // beyond
        const auto end = scores.begin() + static_cast<std::ptrdiff_t>(count);
        const auto expected = static_cast<std::size_t>(std::max_element(scores.begin(), end) - scores.begin());
        each_table([&](const Kernels& k) {
            CHECK(k.place_of_largest(scores.data(), count) == expected);
            const std::vector<float> lowest(count, -std::numeric_limits<float>::infinity());
            CHECK(k.place_of_largest(lowest.data(), count) == 0);
        });
    }
}

TEST(lstm_steps_of_training_are_those_of_plain_loops) {
    problems::Random random(5);
    const std::size_t rows = 3, old = 2, later = 1;
    for (const std::size_t size : {4, 20, 32}) {
        const std::size_t stride = size + 3;
        const auto raw = random_floats(rows * 4 * size, random, 2.0), before = random_floats(old * size, random), given = random_floats(rows * size, random);
        const auto later_states = random_floats(later * stride, random), carried = random_floats(rows * stride, random);
        each_table([&](const Kernels& k) {
            auto gates = raw, later_cells = carried;
            std::vector<float> cells(rows * size + 1, 7.0f), shown = cells, states = cells, slopes(rows * 4 * size + 1, 7.0f);
            k.lstm_forward_step({rows, size, old, gates.data(), before.data(), cells.data(), shown.data(), states.data()});
            k.lstm_backward_step({rows, size, old, later, stride, given.data(), gates.data(), shown.data(), before.data(), later_states.data(), later_cells.data(), slopes.data()});
            for (std::size_t r = 0; r < rows; ++r)
                for (std::size_t u = 0; u < size; ++u) {
                    const auto gate = [&](std::size_t g) { return double{raw[r * 4 * size + g * size + u]}; };
                    const double i = sigmoid(gate(0)), f = sigmoid(gate(1)), g = std::tanh(gate(2)), o = sigmoid(gate(3));
                    const double last = r < old ? before[r * size + u] : 0.0, cell = i * g + f * last, tanh = std::tanh(cell);
                    CHECK_NEAR(cells[r * size + u], cell, 1e-6);
                    CHECK_NEAR(states[r * size + u], o * tanh, 1e-6);
                    const double d_state = given[r * size + u] + (r < later ? later_states[r * stride + u] : 0.0f);
                    const double d_cell = d_state * o * (1 - tanh * tanh) + (r < later ? carried[r * stride + u] : 0.0f);
                    const double expected[] = {d_cell * g * i * (1 - i), d_cell * last * f * (1 - f), d_cell * i * (1 - g * g), d_state * tanh * o * (1 - o)};
                    for (std::size_t q = 0; q < 4; ++q) CHECK_NEAR(slopes[r * 4 * size + q * size + u], expected[q], 2e-6);
                    CHECK_NEAR(later_cells[r * stride + u], d_cell * f, 2e-6);
                }
            CHECK(cells.back() == 7.0f && slopes.back() == 7.0f);  // nothing is written beyond
        });
    }
}

TEST(gradients_of_lstms_are_those_of_finite_differences) {
    problems::Random random(6);
    const std::int32_t counts[] = {4, 3, 3, 1};
    const std::size_t tokens = 11, size = 4;
    const auto recurrent = random_floats(4 * size * size, random, 0.7), factors = random_floats(tokens * size, random);
    for (const bool is_backward : {false, true}) {
        const auto inputs = random_floats(tokens * 4 * size, random);
        // The sum of all states times factors, by definition: sequence s has its t-th token in row first[t] + s.
        const auto value = [&](std::size_t changed, double by) {
            double sum = 0.0;
            const std::size_t first[] = {0, 4, 7, 10};
            for (std::size_t s = 0; s < 4; ++s) {
                std::vector<std::size_t> places;
                for (std::size_t t = 0; t < 4; ++t)
                    if (static_cast<std::int32_t>(s) < counts[t]) places.push_back(first[t] + s);
                if (is_backward) places = {places.rbegin(), places.rend()};
                std::vector<double> cell(size), state(size);
                for (const std::size_t token : places) {
                    std::vector<double> gate(4 * size);
                    for (std::size_t q = 0; q < 4 * size; ++q) {
                        gate[q] = inputs[token * 4 * size + q] + (token * 4 * size + q == changed ? by : 0.0);
                        for (std::size_t v = 0; v < size; ++v) gate[q] += recurrent[q * size + v] * state[v];
                    }
                    for (std::size_t u = 0; u < size; ++u) {
                        cell[u] = sigmoid(gate[size + u]) * cell[u] + sigmoid(gate[u]) * std::tanh(gate[2 * size + u]);
                        state[u] = sigmoid(gate[3 * size + u]) * std::tanh(cell[u]);
                        sum += factors[token * size + u] * state[u];
                    }
                }
            }
            return sum;
        };
        auto gates = inputs;
        std::vector<float> cells(tokens * size), shown(tokens * size), states(tokens * size), slopes(tokens * 4 * size), before(tokens * size);
        const neural::LstmArrays arrays{size, recurrent.data(), gates.data(), cells.data(), shown.data(), states.data()};
        neural::lstm_forward({counts, is_backward}, arrays);
        double sum = 0.0;
        for (std::size_t i = 0; i < states.size(); ++i) sum += factors[i] * states[i];
        CHECK_NEAR(sum, value(inputs.size(), 0.0), 1e-5);
        neural::lstm_backward({counts, is_backward}, arrays, factors.data(), slopes.data(), before.data());
        for (std::size_t i = 0; i < slopes.size(); ++i) CHECK_NEAR(slopes[i], (value(i, 1e-4) - value(i, -1e-4)) / 2e-4, 1e-5);
        for (std::size_t u = 0; u < size; ++u) {  // the second token of the first sequence, and its first
            CHECK(before[4 * size + u] == (is_backward ? states[7 * size + u] : states[u]));
            CHECK(before[u] == (is_backward ? states[4 * size + u] : 0.0f));
        }
    }
}

TEST(lstms_do_not_depend_on_neighbours) {
    problems::Random random(3);
    for (const bool is_backward : {false, true}) {
        const std::size_t size = 20, width = neural::Lstm::width(size), lengths[] = {9, 9, 4, 3, 1};
        const auto weights = random_floats(4 * size * size, random, 0.3);
        const neural::Lstm lstm({weights.data(), 4 * size, size}, is_backward);
        std::vector<std::size_t> first{0}, steps{0};
        for (const std::size_t length : lengths) first.push_back(first.back() + length);
        std::vector<std::size_t> token_of;  // of each row
        for (std::size_t t = 0; t < 9; ++t) {
            for (std::size_t s = 0; s < 5; ++s)
                if (t < lengths[s]) token_of.push_back(first[s] + t);
            steps.push_back(token_of.size());
        }
        auto inputs = random_floats(first.back() * 4 * width, random);
        for (std::size_t t = 0; t < first.back(); ++t)  // padded units have no input
            for (std::size_t g = 0; g < 4; ++g)
                for (std::size_t u = size; u < width; ++u) inputs[t * 4 * width + g * width + u] = 0.0f;
        neural::Lstm::Workspace workspace;
        const auto run = [&](std::span<const std::size_t> at, auto token, float* out) {
            lstm.run(at, [&](std::size_t t, float* room, const float** starts) {
                for (std::size_t row = at[t]; row < at[t + 1]; ++row, room += 4 * width) {
                    const float* own = inputs.data() + token(row) * 4 * width;
                    *starts++ = token(row) % 2 == 0 ? own : (std::copy_n(own, 4 * width, room), room);
                }
            }, out, width, workspace);
        };
        std::vector<float> rows(first.back() * width), together(rows.size()), alone(rows.size());
        run(steps, [&](std::size_t row) { return token_of[row]; }, rows.data());
        for (std::size_t row = 0; row < token_of.size(); ++row) std::copy_n(rows.data() + row * width, width, together.data() + token_of[row] * width);
        for (std::size_t s = 0; s < 5; ++s) {
            std::vector<std::size_t> own(lengths[s] + 1);
            std::iota(own.begin(), own.end(), std::size_t{0});
            run(own, [&](std::size_t row) { return first[s] + row; }, alone.data() + first[s] * width);
        }
        CHECK(together == alone);
        // One sentence by the definition.
        std::vector<double> cell(size), output(size);
        for (std::size_t step = 0; step < 9; ++step) {
            const std::size_t token = first[1] + (is_backward ? 8 - step : step);
            std::vector<double> gate(4 * size);
            for (std::size_t g = 0; g < 4; ++g)
                for (std::size_t u = 0; u < size; ++u) {
                    gate[g * size + u] = inputs[token * 4 * width + g * width + u];
                    for (std::size_t v = 0; v < size; ++v) gate[g * size + u] += weights[(g * size + u) * size + v] * output[v];
                }
            for (std::size_t u = 0; u < size; ++u) {
                cell[u] = sigmoid(gate[size + u]) * cell[u] + sigmoid(gate[u]) * std::tanh(gate[2 * size + u]);
                output[u] = sigmoid(gate[3 * size + u]) * std::tanh(cell[u]);
                CHECK_NEAR(together[token * width + u], output[u], 1e-5);
            }
            for (std::size_t u = size; u < width; ++u) CHECK(together[token * width + u] == 0.0f);
        }
    }
}

}  // namespace dense_tests
