#include "neural/network.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/errors.hpp"
#include "base/parallel.hpp"
#include "numeric/kernels/kernels.hpp"

namespace arbora::neural {

namespace {

constexpr float kSlope = 0.1f;             // of the rectifiers below 0
constexpr std::size_t kGroupWords = 1024;  // words that one thread works on at a time

// The tensors of a network, each taken once and checked.
class Reader {
public:
    explicit Reader(const Tensors& tensors) : tensors_(tensors) {}

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

    Dense dense(const std::string& name, std::size_t depth, std::size_t columns = 0) {
        const Matrix weights = matrix(name + ".weight", columns, depth);
        return {weights, take(name + ".bias", {weights.rows})};
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

// The columns of one direction's weights within those of both, with units padded.
void place_gates(Matrix weights, const float* bias, std::size_t size, std::size_t base, std::span<const std::size_t> input_of, Dense& into) {
    for (std::size_t g = 0; g < 4; ++g)
        for (std::size_t u = 0; u < size; ++u) {
            const std::size_t out = base + Lstm::gate(size, g, u), row = g * size + u;
            for (std::size_t i = 0; i < input_of.size(); ++i) into.weight(out, input_of[i]) = weights.row(row)[i];
            if (bias != nullptr) into.bias(out) = bias[row];
        }
}

// Sentences in groups of about kGroupWords rows, each with neighbours of like length.
std::vector<std::vector<std::size_t>> groups_of(const States& states) {
    std::vector<std::size_t> order(states.sentences());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return states.nodes(a) > states.nodes(b); });
    std::vector<std::vector<std::size_t>> groups;
    std::size_t rows = kGroupWords;
    for (const std::size_t sentence : order) {
        if (rows >= kGroupWords) groups.emplace_back(), rows = 0;
        groups.back().push_back(sentence);
        rows += states.nodes(sentence);
    }
    return groups;
}

void check_rows(std::span<const std::int32_t> rows, std::size_t count, const char* what) {
    for (const std::int32_t row : rows)
        if (row < 0 || static_cast<std::size_t>(row) >= count) reject(what, ": expected numbers below ", count, ", got ", row);
}

}  // namespace

Network::Network(const Tensors& tensors, VectorTable vectors, std::vector<std::string> outputs) : vectors_(std::move(vectors)) {
    Reader read(tensors);
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
    std::vector<Matrix> tag_tables;
    std::size_t input_size = type_size_;
    for (int i = 0; read.has("tag" + std::to_string(i)); ++i) {
        tag_tables.push_back(read.matrix("tag" + std::to_string(i), 0, 0));
        input_size += tag_tables.back().columns;
    }
    const float* root = read.take("root", {input_size});

    // The first layer's inputs become sums of rows of gates.
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
        places.clear();  // the next layer reads both directions, whose units are padded
        for (std::size_t d = 0; d < 2; ++d)
            for (std::size_t u = 0; u < size_; ++u) places.push_back(d * width_ + u);
    }
    if (layers_.empty()) reject("network: expected tensors lstm0.forward.recurrent and so on, got none");
    Dense& whole = layers_[0].input;
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

    // What comes after the LSTM reads padded units, too.
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
    parameters_ = read.taken();
}

// Characters come with boundary marks; a convolution sees nothing beyond them.
void Network::character_features(std::span<const std::int32_t> characters, float* out) const {
    std::vector<float> sums;
    for (const Convolution& convolution : convolutions_) {
        const std::size_t filters = convolution.filters, half = convolution.width / 2, n = characters.size();
        std::fill_n(out, filters, 0.0f);  // a rectified maximum is at least 0
        for (std::size_t at = 0; at < n; ++at) {
            sums.assign(convolution.bias.begin(), convolution.bias.end());
            for (std::size_t place = 0; place < convolution.width; ++place) {
                if (at + place < half || at + place - half >= n) continue;
                const auto c = static_cast<std::size_t>(characters[at + place - half]);
                const float* row = convolution.table.data() + (c * convolution.width + place) * filters;
                for (std::size_t f = 0; f < filters; ++f) sums[f] += row[f];
            }
            for (std::size_t f = 0; f < filters; ++f) out[f] = std::max(out[f], sums[f]);
        }
        out += filters;
    }
}

// The gates of each distinct word, [distinct words, 8 · width].
LargeVector<float> Network::type_gates(const Input& input, int threads) const {
    const std::size_t count = input.words.size(), stride = 8 * width_;
    LargeVector<float> gates(count * stride);
    constexpr std::size_t kPiece = 96;
    parallel_for((count + kPiece - 1) / kPiece, threads, [&](int, std::size_t piece) {
        const std::size_t begin = piece * kPiece, rows = std::min(kPiece, count - begin);
        std::vector<float> x(rows * type_size_);
        const std::size_t width = projection_.width();
        std::vector<float> vectors(rows * vectors_.size), projected(rows * width);
        for (std::size_t r = 0; r < rows; ++r) {
            const std::size_t type = begin + r;
            float* out = std::copy_n(words_.row(static_cast<std::size_t>(input.words[type])), words_.columns, x.data() + r * type_size_);
            const auto from = static_cast<std::size_t>(type == 0 ? 0 : input.ends[type - 1]);
            character_features(input.characters.subspan(from, static_cast<std::size_t>(input.ends[type]) - from), out);
            const auto row = static_cast<std::size_t>(input.vectors[type]);
            for (std::size_t i = 0; i < vectors_.size; ++i)
                vectors[r * vectors_.size + i] = vectors_.scales[row] * static_cast<float>(vectors_.values[row * vectors_.size + i]);
        }
        if (vectors_.size > 0) {
            projection_(vectors.data(), vectors_.size, rows, projected.data(), width);
            std::size_t size = type_size_ - words_.columns;
            for (const Convolution& convolution : convolutions_) size -= convolution.filters;
            for (std::size_t r = 0; r < rows; ++r) std::copy_n(projected.data() + r * width, size, x.data() + (r + 1) * type_size_ - size);
        }
        type_input_(x.data(), type_size_, rows, gates.data() + begin * stride, stride);
    });
    return gates;
}

States Network::encode(const Input& input, int threads) const {
    const std::size_t types = input.words.size();
    check_rows(input.words, words_.rows, "words");
    check_rows(input.characters, characters_, "characters");
    check_rows(input.types, types, "types");
    if (input.vectors.size() != types || input.ends.size() != types) reject("vectors, ends: expected one per distinct word");
    check_rows(input.vectors, vectors_.size > 0 ? vectors_.scales.size() : 1, "vectors");
    std::int64_t last = 0;
    for (const std::int64_t end : input.ends) {
        if (end < last || static_cast<std::size_t>(end) > input.characters.size()) reject("ends: expected growing places among the characters, got ", end);
        last = end;
    }
    if (input.tags.size() != tags_.size()) reject("tags: expected ", tags_.size(), " columns, got ", input.tags.size());
    States states;
    states.stride = 2 * width_;
    states.first.push_back(0);
    std::size_t words = 0;
    for (const std::int32_t length : input.lengths) {
        if (length < 0 || words + static_cast<std::size_t>(length) > input.types.size()) reject("lengths: expected those of all words' sentences, got ", length);
        words += static_cast<std::size_t>(length);
        states.first.push_back(states.first.back() + static_cast<std::size_t>(length) + 1);
    }
    if (words != input.types.size()) reject("lengths: expected a sum of ", input.types.size(), ", got ", words);
    for (std::size_t c = 0; c < tags_.size(); ++c) {
        if (input.tags[c].size() != words) reject("tags: expected one per word, got ", input.tags[c].size());
        check_rows(input.tags[c], tags_[c].size() / (8 * width_), "tags");
    }
    states.rows.resize(states.first.back() * states.stride);
    const LargeVector<float> gates = type_gates(input, threads);
    const auto groups = groups_of(states);
    parallel_for(groups.size(), threads, [&](int, std::size_t g) {
        std::vector<std::size_t> first{0}, begins;
        for (const std::size_t s : groups[g]) {
            begins.push_back(states.first[s]);
            first.push_back(first.back() + states.nodes(s));
        }
        const std::size_t rows = first.back(), stride = states.stride;
        // Of each row of the group: the word's number, or -1 for the root.
        std::vector<std::int64_t> word_of(rows);
        for (std::size_t i = 0; i < begins.size(); ++i)
            for (std::size_t r = first[i]; r < first[i + 1]; ++r)
                word_of[r] = r == first[i] ? -1 : static_cast<std::int64_t>(begins[i] - groups[g][i] + (r - first[i]) - 1);
        LargeVector<float> here(rows * stride), below, inner;
        for (std::size_t l = 0; l < layers_.size(); ++l) {
            const Layer& layer = layers_[l];
            if (l > 0) {
                below.swap(here);
                here.resize(rows * stride);
                inner.resize(rows * 8 * width_);
                layer.input(below.data(), stride, rows, inner.data(), 8 * width_);
            }
            for (const Lstm* lstm : {&layer.forward, &layer.backward}) {
                const std::size_t side = lstm == &layer.forward ? 0 : 1;
                lstm->run(first, [&](std::size_t row, float* out) {
                    const float* source = l > 0 ? inner.data() + row * 8 * width_
                                                : word_of[row] < 0 ? root_gates_.data() : gates.data() + static_cast<std::size_t>(input.types[static_cast<std::size_t>(word_of[row])]) * 8 * width_;
                    std::copy_n(source + side * 4 * width_, 4 * width_, out);
                    if (l > 0 || word_of[row] < 0) return;
                    for (std::size_t c = 0; c < tags_.size(); ++c) {
                        const auto value = static_cast<std::size_t>(input.tags[c][static_cast<std::size_t>(word_of[row])]);
                        const float* more = tags_[c].data() + value * 8 * width_ + side * 4 * width_;
                        for (std::size_t i = 0; i < 4 * width_; ++i) out[i] += more[i];
                    }
                }, here.data() + side * width_, stride);
            }
        }
        for (std::size_t i = 0; i < begins.size(); ++i)
            std::copy_n(here.data() + first[i] * stride, (first[i + 1] - first[i]) * stride, states.rows.data() + begins[i] * stride);
    });
    return states;
}

namespace {

// One hidden layer of some rows.
LargeVector<float> hidden(const Dense& layer, const float* in, std::size_t stride, std::size_t rows) {
    LargeVector<float> out(rows * layer.width());
    layer(in, stride, rows, out.data(), layer.width());
    kernels().rectify(out.data(), out.size(), kSlope);
    return out;
}

}  // namespace

void Network::arcs(const States& states, int threads, const std::function<double*(std::size_t)>& target) const {
    parallel_for(states.sentences(), threads, [&](int, std::size_t s) {
        const std::size_t nodes = states.nodes(s), size = arc_product_.depth();
        const float* in = states.of(states.first[s]);
        const LargeVector<float> heads = hidden(arc_head_, in, states.stride, nodes), deps = hidden(arc_dep_, in, states.stride, nodes);
        LargeVector<float> moved(nodes * arc_product_.width()), bias(nodes * kPanel);
        arc_product_(deps.data(), arc_dep_.width(), nodes, moved.data(), arc_product_.width());
        arc_bias_(heads.data(), arc_head_.width(), nodes, bias.data(), kPanel);
        Dense by_head(size, nodes);
        for (std::size_t h = 0; h < nodes; ++h) {
            for (std::size_t i = 0; i < size; ++i) by_head.weight(h, i) = heads[h * arc_head_.width() + i];
            by_head.bias(h) = bias[h * kPanel];
        }
        LargeVector<float> scores(nodes * by_head.width());
        by_head(moved.data(), arc_product_.width(), nodes, scores.data(), by_head.width());
        double* out = target(s);
        for (std::size_t h = 0; h < nodes; ++h)
            for (std::size_t d = 0; d < nodes; ++d) out[h * nodes + d] = d == 0 || d == h ? 0.0 : double{scores[d * by_head.width() + h]};
    });
}

void Network::labels(const States& states, std::span<const std::int32_t> heads, int threads, float* out) const {
    if (label_count_ == 0) reject("labels: this network has none");
    if (heads.size() + states.sentences() != states.first.back()) reject("heads: expected one per word, got ", heads.size());
    parallel_for(states.sentences(), threads, [&](int, std::size_t s) {
        const std::size_t nodes = states.nodes(s), size = label_product_.depth(), both = size + 1, panels = panels_of(label_count_);
        const std::size_t first_word = states.first[s] - s;
        const float* in = states.of(states.first[s]);
        const LargeVector<float> head_units = hidden(label_head_, in, states.stride, nodes), dep_units = hidden(label_dep_, in, states.stride, nodes);
        constexpr std::size_t kPiece = 24;  // words whose tables fit into the cache
        const std::size_t width = label_product_.width();
        LargeVector<float> tables(kPiece * width), row(panels * kPanel), head(both);
        for (std::size_t begin = 1; begin < nodes; begin += kPiece) {
            const std::size_t end = std::min(begin + kPiece, nodes);
            label_product_(dep_units.data() + begin * label_dep_.width(), label_dep_.width(), end - begin, tables.data(), width);
            for (std::size_t d = begin; d < end; ++d) {
                const std::int32_t h = heads[first_word + d - 1];
                if (h < 0 || static_cast<std::size_t>(h) >= nodes) reject("heads: expected 0 to ", nodes - 1, ", got ", h);
                std::copy_n(head_units.data() + static_cast<std::size_t>(h) * label_head_.width(), size, head.data());
                head[size] = 1.0f;
                kernels().product({head.data(), both, 1, both, tables.data() + (d - begin) * width, panels, nullptr, row.data(), row.size()});
                std::copy_n(row.data(), label_count_, out + (first_word + d - 1) * label_count_);
            }
        }
    });
}

void Network::outputs(const States& states, std::size_t which, int threads, float* out) const {
    const Dense& layer = outputs_.at(which);
    const std::size_t count = output_sizes_[which];
    parallel_for(states.sentences(), threads, [&](int, std::size_t s) {
        const std::size_t words = states.nodes(s) - 1, first_word = states.first[s] - s;
        LargeVector<float> rows(words * layer.width());
        layer(states.of(states.first[s] + 1), states.stride, words, rows.data(), layer.width());
        for (std::size_t w = 0; w < words; ++w) std::copy_n(rows.data() + w * layer.width(), count, out + (first_word + w) * count);
    });
}

}  // namespace arbora::neural
