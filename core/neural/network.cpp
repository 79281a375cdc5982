#include "neural/network.hpp"

#include <algorithm>
#include <numeric>

#include "base/errors.hpp"
#include "base/parallel.hpp"
#include "numeric/kernels/kernels.hpp"

namespace arbora::neural {

namespace {

constexpr float kSlope = 0.1f;             // of the rectifiers below 0
constexpr std::size_t kGroupWords = 1024;  // words that one thread works on at a time

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
