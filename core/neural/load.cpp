// Builds a network from its tensors and checks them.
#include <algorithm>
#include <numeric>
#include <utility>

#include "base/errors.hpp"
#include "neural/network.hpp"

namespace arbora::neural {

namespace {

// One direction's weights, with padded units.
void place_gates(Matrix weights, const float* bias, std::size_t size, std::span<const std::size_t> input_of, Dense& into) {
    for (std::size_t g = 0; g < 4; ++g)
        for (std::size_t u = 0; u < size; ++u) {
            const std::size_t out = Lstm::gate(size, g, u), row = g * size + u;
            for (std::size_t i = 0; i < input_of.size(); ++i) into.weight(out, input_of[i]) = weights.row(row)[i];
            if (bias != nullptr) into.bias(out) = bias[row];
        }
}

}  // namespace

Network::Network(const Tensors& tensors, VectorTable vectors, const std::vector<std::string>& outputs, bool quantized) {
    WeightReader read(tensors);
    if (read.has("lstm0.forward.recurrent")) {
        read_words(read, std::move(vectors));
    } else {
        Shape shape;
        const float* root = read.take("root", {0}, &shape);
        root_.assign(root, root + shape[0]);
        state_size_ = shape[0];
        state_width_ = padded(state_size_);
    }
    read_outputs(read, outputs);
    if (reads_words()) cache_ = std::make_unique<TypeCache>(type_input_.width());
    workspaces_ = std::make_unique<Workspaces>();
    state_memory_ = std::make_shared<ArrayPool>();
    read_arcs(read);
    if (read.has("sibling_head.weight")) read_siblings(read);
    if (read.has("labels.weight")) read_labels(read);
    parameters_ = read.taken();
    if (quantized) quantize();
}

void Network::read_words(WeightReader& read, VectorTable vectors) {
    types_ = WordTypeEncoder(read, std::move(vectors));
    const std::vector<Matrix> tag_tables = read_layers(read);
    state_size_ = 2 * size_;
    state_width_ = 2 * width_;
    split_first_layer(read, tag_tables);
}

void Network::quantize() {
    types_.quantize();
    for (Layer& layer : layers_)
        for (Direction& direction : layer) {
            direction.input.quantize();
            direction.lstm.quantize();
        }
    for (Dense* layer : {&type_input_, &arc_head_, &arc_dep_, &arc_product_, &arc_lengths_, &label_head_, &label_dep_, &label_scores_,
                         &sibling_head_, &sibling_dep_, &sibling_sib_, &output_units_, &output_scores_})
        layer->quantize();
}

// The tables of the given tags; the first layer reads their embeddings after the word's own features.
std::vector<Matrix> Network::read_layers(WeightReader& read) {
    std::vector<Matrix> tag_tables;
    std::size_t input_size = types_.size();
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
        Layer layer{Direction{Dense(stored, 4 * width_), Lstm(recurrent[0], false)}, Direction{Dense(stored, 4 * width_), Lstm(recurrent[1], true)}};
        for (std::size_t d = 0; d < 2; ++d) {
            const std::string side = name + (d == 0 ? ".forward" : ".backward");
            const Matrix weights = read.matrix(side + ".input", 4 * size_, places.size());
            place_gates(weights, read.take(side + ".bias", {4 * size_}), size_, places, layer[d].input);
        }
        layers_.push_back(std::move(layer));
        places = state_places();
    }
    return tag_tables;
}

// The places of the outputs of some LSTM layers, concatenated, among the padded ones; or of given states.
std::vector<std::size_t> Network::state_places(std::size_t layers) const {
    std::vector<std::size_t> places;
    if (!reads_words()) {
        places.resize(state_size_);
        std::iota(places.begin(), places.end(), std::size_t{0});
        return places;
    }
    for (std::size_t side = 0; side < 2 * layers; ++side)
        for (std::size_t u = 0; u < size_; ++u) places.push_back(side * width_ + u);
    return places;
}

// Turns the first layer's inputs into sums of rows: one per distinct word, one per tag, and the root's.
void Network::split_first_layer(WeightReader& read, const std::vector<Matrix>& tag_tables) {
    const std::size_t input_size = layers_[0][0].input.depth(), type_size = types_.size();
    const auto weight = [&](std::size_t g, std::size_t i) { return layers_[0][g / (4 * width_)].input.weight(g % (4 * width_), i); };
    const float* root = read.take("root", {input_size});
    type_input_ = Dense(type_size, 8 * width_);
    root_gates_.resize(8 * width_);
    for (std::size_t g = 0; g < 8 * width_; ++g) {
        for (std::size_t i = 0; i < type_size; ++i) type_input_.weight(g, i) = weight(g, i);
        type_input_.bias(g) = root_gates_[g] = layers_[0][g / (4 * width_)].input.bias(g % (4 * width_));
        for (std::size_t i = 0; i < input_size; ++i) root_gates_[g] += weight(g, i) * root[i];
    }
    std::size_t begin = type_size;
    for (const Matrix& table : tag_tables) {
        std::vector<float> gates(table_size("tag" + std::to_string(tags_.size()), {table.rows, 8 * width_}));
        for (std::size_t value = 0; value < table.rows; ++value)
            for (std::size_t g = 0; g < 8 * width_; ++g)
                for (std::size_t i = 0; i < table.columns; ++i) gates[value * 8 * width_ + g] += weight(g, begin + i) * table.row(value)[i];
        tags_.push_back(std::move(gates));
        begin += table.columns;
    }
    for (Direction& direction : layers_[0]) direction.input = Dense();
}

// The layers of all columns of tags, concatenated: the scores from units, and from distinct words, with the biases.
void Network::read_outputs(WeightReader& read, const std::vector<std::string>& names) {
    if (names.empty()) return;
    const std::size_t units = read_from_states(read, "tags", 0, output_units_, state_layers());
    std::vector<Matrix> weights;
    std::size_t total = 0;
    for (const std::string& name : names) {
        weights.push_back(read.matrix("output." + name + ".weight", 0, units));
        outputs_.push_back({total, weights.back().rows});
        total += padded(weights.back().rows);
    }
    const std::size_t gates = 8 * width_;
    Dense both(types_.size(), gates + total);
    output_scores_ = Dense(units, total);
    for (std::size_t g = 0; g < gates; ++g) {
        for (std::size_t i = 0; i < both.depth(); ++i) both.weight(g, i) = type_input_.weight(g, i);
        both.bias(g) = type_input_.bias(g);
    }
    for (std::size_t which = 0; which < names.size(); ++which) {
        const auto [begin, count] = outputs_[which];
        const Matrix words = reads_words() ? read.matrix("output." + names[which] + ".words", count, types_.size()) : Matrix();
        const float* bias = read.take("output." + names[which] + ".bias", {count});
        for (std::size_t o = 0; o < count; ++o) {
            for (std::size_t i = 0; i < both.depth(); ++i) both.weight(gates + begin + o, i) = words.row(o)[i];
            both.bias(gates + begin + o) = bias[o];
            for (std::size_t i = 0; i < units; ++i) output_scores_.weight(begin + o, i) = weights[which].row(o)[i];
        }
    }
    type_input_ = std::move(both);
}

// A layer over the outputs of some LSTM layers, `rows` of 0: any; returns its number of outputs.
std::size_t Network::read_from_states(WeightReader& read, const std::string& name, std::size_t rows, Dense& made, std::size_t layers) const {
    const std::vector<std::size_t> places = state_places(layers);
    const Matrix weights = read.matrix(name + ".weight", rows, places.size());
    const float* bias = read.take(name + ".bias", {weights.rows});
    made = Dense(layers * state_width_, weights.rows);
    for (std::size_t o = 0; o < weights.rows; ++o) {
        for (std::size_t i = 0; i < places.size(); ++i) made.weight(o, places[i]) = weights.row(o)[i];
        made.bias(o) = bias[o];
    }
    return weights.rows;
}

void Network::read_arcs(WeightReader& read) {
    const std::size_t size = read_from_states(read, "arc_head", 0, arc_head_);
    read_from_states(read, "arc_dep", size, arc_dep_);
    const Matrix arcs = read.matrix("arcs", size, size);  // [dep, head]
    const float* bias = read.take("arc_bias", {size});
    // What a head's units are multiplied by: Uᵀ dep + u.
    arc_product_ = Dense(size, padded(size) + kLengthClasses);
    for (std::size_t h = 0; h < size; ++h) {
        for (std::size_t d = 0; d < size; ++d) arc_product_.weight(h, d) = arcs.row(d)[h];
        arc_product_.bias(h) = bias[h];
    }
    const Matrix by_dep = read.matrix("lengths.dep", kLengthClasses, size);
    arc_lengths_ = Dense(read.matrix("lengths.head", kLengthClasses, size), read.take("lengths.bias", {kLengthClasses}));
    for (std::size_t c = 0; c < kLengthClasses; ++c)
        for (std::size_t d = 0; d < size; ++d) arc_product_.weight(padded(size) + c, d) = by_dep.row(c)[d];
}

void Network::read_siblings(WeightReader& read) {
    sibling_rank_ = read_from_states(read, "sibling_head", 0, sibling_head_);
    read_from_states(read, "sibling_dep", sibling_rank_, sibling_dep_);
    read_from_states(read, "sibling_sib", sibling_rank_, sibling_sib_);
}

void Network::read_labels(WeightReader& read) {
    const std::size_t size = read_from_states(read, "label_head", 0, label_head_);
    read_from_states(read, "label_dep", size, label_dep_);
    const Matrix weights = read.matrix("labels.weight", 0, 3 * size);
    label_count_ = weights.rows;
    label_scores_ = Dense(weights, read.take("labels.bias", {label_count_}));
}

}  // namespace arbora::neural
