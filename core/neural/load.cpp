// Builds a network from its tensors, with checks.
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/errors.hpp"
#include "neural/network.hpp"

namespace arbora::neural {

// The tensors of a network, each taken once and checked.
class WeightReader {
public:
    explicit WeightReader(const Tensors& tensors) : tensors_(tensors) {}

    bool has(const std::string& name) const { return tensors_.contains(name); }
    std::size_t taken() const { return taken_; }

    // `expected` of 0: any size.
    const float* take(const std::string& name, std::vector<std::size_t> expected, std::vector<std::size_t>* shape = nullptr) {
        const auto found = tensors_.find(name);
        if (found == tensors_.end()) reject("network: expected a tensor ", name, ", got none");
        const Tensor& tensor = found->second;
        bool fits = tensor.shape.size() == expected.size();
        for (std::size_t i = 0; fits && i < expected.size(); ++i) fits = tensor.shape[i] > 0 && (expected[i] == 0 || expected[i] == tensor.shape[i]);
        if (!fits) reject("network: ", name, ": expected the shape ", text(expected), ", got ", text(tensor.shape));
        std::size_t count = 1;
        for (const std::size_t size : tensor.shape) count *= size;
        for (std::size_t i = 0; i < count; ++i)
            if (!std::isfinite(tensor.data[i])) reject("network: ", name, ": expected finite numbers, got another at ", i);
        taken_ += count;
        if (shape != nullptr) *shape = tensor.shape;
        return tensor.data;
    }

    // [rows, columns]; 0 rows: any.
    Matrix matrix(const std::string& name, std::size_t rows, std::size_t columns) {
        std::vector<std::size_t> shape;
        const float* data = take(name, {rows, columns}, &shape);
        return {data, shape[0], shape[1]};
    }

private:
    static std::string text(const std::vector<std::size_t>& shape) {
        std::string result;
        for (const std::size_t size : shape) result += (result.empty() ? "" : " x ") + (size == 0 ? std::string("any") : std::to_string(size));
        return result.empty() ? "a number" : result;
    }

    const Tensors& tensors_;
    std::size_t taken_ = 0;
};

namespace {

// The columns of one direction's weights within those of both, with units padded.
void place_gates(Matrix weights, const float* bias, std::size_t size, std::size_t base, std::span<const std::size_t> input_of, Dense& into) {
    for (std::size_t g = 0; g < 4; ++g)
        for (std::size_t u = 0; u < size; ++u) {
            const std::size_t out = base + Lstm::gate(size, g, u), row = g * size + u;
            for (std::size_t i = 0; i < input_of.size(); ++i) into.weight(out, input_of[i]) = weights.row(row)[i];
            if (bias != nullptr) into.bias(out) = bias[row];
        }
}

}  // namespace

Network::Network(const Tensors& tensors, VectorTable vectors, const std::vector<std::string>& outputs) : vectors_(std::move(vectors)) {
    WeightReader read(tensors);
    read_words(read);
    const std::vector<Matrix> tag_tables = read_layers(read);
    split_first_layer(read, tag_tables);
    read_outputs(read, outputs);
    parameters_ = read.taken();
}

void Network::read_words(WeightReader& read) {
    const Matrix words = read.matrix("word", 0, 0);
    word_rows_.assign(words.data, words.data + words.rows * words.columns);
    words_ = {word_rows_.data(), words.rows, words.columns};
    type_size_ = words.columns;
    std::vector<std::size_t> shape;
    const float* embeddings = read.take("character", {0, 0}, &shape);
    characters_ = shape[0];
    const std::size_t character_size = shape[1];
    for (int i = 0; read.has("convolution" + std::to_string(i) + ".weight"); ++i) {
        const std::string name = "convolution" + std::to_string(i);
        const float* weights = read.take(name + ".weight", {0, character_size, 0}, &shape);  // [filters, embedding, places]
        Convolution made{shape[2], shape[0], {}, {}};
        if (made.width % 2 == 0) reject("network: ", name, ": expected an odd width, got ", made.width);
        const float* bias = read.take(name + ".bias", {made.filters});
        made.bias.assign(bias, bias + made.filters);
        made.table.resize(characters_ * made.width * made.filters);
        for (std::size_t c = 0; c < characters_; ++c)
            for (std::size_t place = 0; place < made.width; ++place)
                for (std::size_t f = 0; f < made.filters; ++f) {
                    float sum = 0.0f;
                    for (std::size_t e = 0; e < character_size; ++e)
                        sum += embeddings[c * character_size + e] * weights[(f * character_size + e) * made.width + place];
                    made.table[(c * made.width + place) * made.filters + f] = sum;
                }
        type_size_ += made.filters;
        convolutions_.push_back(std::move(made));
    }
    if (vectors_.size > 0) {
        const Matrix projection = read.matrix("projection", 0, vectors_.size);
        projection_ = Dense(projection, nullptr);
        type_size_ += projection.rows;
        if (vectors_.values.size() != vectors_.scales.size() * vectors_.size || vectors_.scales.empty())
            reject("network: vectors: expected a scale for each row, got ", vectors_.scales.size());
    }
}

// The tables of the given tags; the first layer reads their embeddings after what depends on the word alone.
std::vector<Matrix> Network::read_layers(WeightReader& read) {
    std::vector<Matrix> tag_tables;
    std::size_t input_size = type_size_;
    for (int i = 0; read.has("tag" + std::to_string(i)); ++i) {
        tag_tables.push_back(read.matrix("tag" + std::to_string(i), 0, 0));
        input_size += tag_tables.back().columns;
    }
    std::vector<std::size_t> places(input_size);
    std::iota(places.begin(), places.end(), std::size_t{0});
    for (int l = 0; read.has("lstm" + std::to_string(l) + ".forward.recurrent"); ++l) {
        const std::string name = "lstm" + std::to_string(l);
        std::vector<Matrix> recurrent;
        for (const char* direction : {".forward", ".backward"}) {
            recurrent.push_back(read.matrix(name + direction + ".recurrent", 4 * size_, size_));
            if (size_ == 0) {
                size_ = recurrent[0].columns;
                width_ = Lstm::width(size_);
                if (recurrent[0].rows != 4 * size_) reject("network: ", name, ": expected four gates of ", size_, ", got ", recurrent[0].rows, " rows");
            }
        }
        const std::size_t stored = l == 0 ? input_size : 2 * width_;
        Layer layer{Dense(stored, 8 * width_), Lstm(recurrent[0], false), Lstm(recurrent[1], true)};
        for (int d = 0; d < 2; ++d) {
            const std::string side = name + (d == 0 ? ".forward" : ".backward");
            const Matrix weights = read.matrix(side + ".input", 4 * size_, places.size());
            place_gates(weights, read.take(side + ".bias", {4 * size_}), size_, static_cast<std::size_t>(d) * 4 * width_, places, layer.input);
        }
        layers_.push_back(std::move(layer));
        places = state_places();
    }
    if (layers_.empty()) reject("network: expected tensors lstm0.forward.recurrent and so on, got none");
    return tag_tables;
}

// Where the LSTM's outputs stand among the padded ones.
std::vector<std::size_t> Network::state_places() const {
    std::vector<std::size_t> places;
    for (std::size_t d = 0; d < 2; ++d)
        for (std::size_t u = 0; u < size_; ++u) places.push_back(d * width_ + u);
    return places;
}

// Turns the first layer's inputs into sums of rows: one per distinct word, one per tag, and that of the root.
void Network::split_first_layer(WeightReader& read, const std::vector<Matrix>& tag_tables) {
    Dense& whole = layers_[0].input;
    const std::size_t input_size = whole.depth();
    const float* root = read.take("root", {input_size});
    type_input_ = Dense(type_size_, 8 * width_);
    root_gates_.resize(8 * width_);
    for (std::size_t g = 0; g < 8 * width_; ++g) {
        for (std::size_t i = 0; i < type_size_; ++i) type_input_.weight(g, i) = whole.weight(g, i);
        type_input_.bias(g) = root_gates_[g] = whole.bias(g);
        for (std::size_t i = 0; i < input_size; ++i) root_gates_[g] += whole.weight(g, i) * root[i];
    }
    std::size_t begin = type_size_;
    for (const Matrix& table : tag_tables) {
        std::vector<float> gates(table.rows * 8 * width_);
        for (std::size_t value = 0; value < table.rows; ++value)
            for (std::size_t g = 0; g < 8 * width_; ++g)
                for (std::size_t i = 0; i < table.columns; ++i) gates[value * 8 * width_ + g] += whole.weight(g, begin + i) * table.row(value)[i];
        tags_.push_back(std::move(gates));
        begin += table.columns;
    }
    whole = Dense();
}

void Network::read_outputs(WeightReader& read, const std::vector<std::string>& outputs) {
    const std::vector<std::size_t> places = state_places();
    std::vector<std::size_t> shape;
    const auto from_states = [&](const std::string& name, std::size_t columns = 0) {
        const Matrix weights = read.matrix(name + ".weight", columns, 2 * size_);
        const float* bias = read.take(name + ".bias", {weights.rows});
        Dense made(2 * width_, weights.rows);
        for (std::size_t o = 0; o < weights.rows; ++o) {
            for (std::size_t i = 0; i < places.size(); ++i) made.weight(o, places[i]) = weights.row(o)[i];
            made.bias(o) = bias[o];
        }
        return std::pair(std::move(made), weights.rows);
    };
    std::size_t arc_size, label_size;
    std::tie(arc_head_, arc_size) = from_states("arc_head");
    arc_dep_ = from_states("arc_dep", arc_size).first;
    const Matrix arcs = read.matrix("arcs", arc_size, arc_size);  // [dep, head]
    const float* arc_bias = read.take("arc_bias", {arc_size});
    arc_product_ = Dense(arc_size, arc_size);
    arc_bias_ = Dense(arc_size, 1);
    for (std::size_t d = 0; d < arc_size; ++d) {
        for (std::size_t h = 0; h < arc_size; ++h) arc_product_.weight(h, d) = arcs.row(d)[h];
        arc_bias_.weight(0, d) = arc_bias[d];
    }
    if (read.has("labels")) {
        std::tie(label_head_, label_size) = from_states("label_head");
        label_dep_ = from_states("label_dep", label_size).first;
        const std::size_t both = label_size + 1;
        const float* labels = read.take("labels", {0, both, both}, &shape);  // [label, head, dep]
        label_count_ = shape[0];
        // For each word a table [panel, head unit, label], by which the head's units are then multiplied.
        label_product_ = Dense(label_size, panels_of(label_count_) * both * kPanel);
        for (std::size_t l = 0; l < label_count_; ++l)
            for (std::size_t h = 0; h < both; ++h) {
                const std::size_t out = (l / kPanel * both + h) * kPanel + l % kPanel;
                const float* row = labels + (l * both + h) * both;
                for (std::size_t d = 0; d < label_size; ++d) label_product_.weight(out, d) = row[d];
                label_product_.bias(out) = row[label_size];
            }
    }
    for (const std::string& name : outputs) {
        auto [made, count] = from_states("output." + name);
        outputs_.push_back(std::move(made));
        output_sizes_.push_back(count);
    }
}

}  // namespace arbora::neural
