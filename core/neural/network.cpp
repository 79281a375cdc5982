// From words to the LSTM's states.
#include "neural/network.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "base/errors.hpp"
#include "base/parallel.hpp"

namespace arbora::neural {

namespace {

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

}  // namespace

// What each distinct word is multiplied to, [distinct words, type_input_.width()]; the row of each.
std::vector<std::size_t> Network::type_rows(const WordTypes& types, int threads, UnsetVector<float>& rows) const {
    const std::size_t stride = type_input_.width();
    rows.resize(types.size() * stride);
    std::vector<std::size_t> place(types.size());
    const std::vector<std::size_t> unknown = cache_->look_up(types, rows.data(), place);
    constexpr std::size_t kPiece = 96;
    parallel_for((unknown.size() + kPiece - 1) / kPiece, threads, [&](int, std::size_t piece) {
        const std::size_t begin = piece * kPiece, count = std::min(kPiece, unknown.size() - begin);
        const UnsetVector<float> x = types_.encode(types, std::span(unknown).subspan(begin, count));
        type_input_(x.data(), types_.stride(), count, rows.data() + begin * stride, stride);
    });
    cache_->keep(types, unknown, rows.data());
    return place;
}

// Checks an input, and gives its states their places.
States Network::lay_out(const Input& input) const {
    types_.check(input.distinct);
    check_rows(input.types, input.distinct.size(), "types");
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
    if (input.tags.size() != tags_.size()) reject("tags: expected ", tags_.size(), " columns, got ", input.tags.size());
    for (std::size_t c = 0; c < tags_.size(); ++c) {
        if (input.tags[c].size() != words) reject("tags: expected one per word, got ", input.tags[c].size());
        check_rows(input.tags[c], tags_[c].size() / (8 * width_), "tags");
    }
    states.rows.resize(states.first.back() * states.stride);
    if (output_layer_ + 1 < layers_.size()) states.lower.resize(states.rows.size());
    return states;
}

// InputError unless a network of these sizes made the states.
void Network::check(const States& states) const {
    const bool fits = states.stride == 2 * width_ && states.lower.empty() == (output_layer_ + 1 == layers_.size() || states.rows.empty());
    if (!fits || states.output_stride != output_scores_.width()) reject("states: expected those of this network, got another's");
}

// The rows of some sentences, one after the other.
struct Network::Group {
    std::vector<std::size_t> first{0}, begins;  // where each sentence begins here, and where in the states
    std::vector<std::int64_t> word_of;          // of each row: the word's number, -1 for the root

    Group(const States& states, std::span<const std::size_t> sentences) {
        for (const std::size_t s : sentences) {
            begins.push_back(states.first[s]);
            first.push_back(first.back() + states.nodes(s));
            word_of.push_back(-1);
            for (std::size_t w = 0; w + 1 < states.nodes(s); ++w) word_of.push_back(static_cast<std::int64_t>(states.first_word(s) + w));
        }
    }

    std::size_t rows() const { return first.back(); }
    void copy_back(const float* from, std::size_t stride, UnsetVector<float>& into) const {
        for (std::size_t i = 0; i < begins.size(); ++i)
            std::copy_n(from + first[i] * stride, (first[i + 1] - first[i]) * stride, into.data() + begins[i] * stride);
    }
};

void Network::run_lstm(const Input& input, std::span<const float* const> gates_of, std::span<const std::size_t> sentences, States& states,
                       Workspace& workspace) const {
    const Group group(states, sentences);
    const std::size_t rows = group.rows(), stride = states.stride;
    auto& [type_rows, here, below, inner, lstm_workspace] = workspace;
    here.resize(rows * stride);
    below.resize(layers_.size() > 1 ? rows * stride : 0);
    inner.resize(layers_.size() > 1 ? rows * 8 * width_ : 0);
    for (std::size_t l = 0; l < layers_.size(); ++l) {
        const Layer& layer = layers_[l];
        if (l > 0) {
            below.swap(here);
            layer.input(below.data(), stride, rows, inner.data(), 8 * width_);
        }
        for (const Lstm* lstm : {&layer.forward, &layer.backward}) {
            const std::size_t side = lstm == &layer.forward ? 0 : 1, begin = side * 4 * width_;
            const auto first_layer = [&](std::size_t row, float* room) -> const float* {
                if (group.word_of[row] < 0) return root_gates_.data() + begin;
                const auto word = static_cast<std::size_t>(group.word_of[row]);
                const float* own = gates_of[static_cast<std::size_t>(input.types[word])] + begin;
                if (tags_.empty()) return own;
                std::copy_n(own, 4 * width_, room);
                for (std::size_t c = 0; c < tags_.size(); ++c) {
                    const float* more = tags_[c].data() + static_cast<std::size_t>(input.tags[c][word]) * 8 * width_ + begin;
                    for (std::size_t i = 0; i < 4 * width_; ++i) room[i] += more[i];
                }
                return room;
            };
            const auto others = [&](std::size_t row, float*) { return inner.data() + row * 8 * width_ + begin; };
            float* out = here.data() + side * width_;
            l == 0 ? lstm->run(group.first, first_layer, out, stride, lstm_workspace) : lstm->run(group.first, others, out, stride, lstm_workspace);
        }
        if (l == output_layer_ && !states.lower.empty()) group.copy_back(here.data(), stride, states.lower);
    }
    group.copy_back(here.data(), stride, states.rows);
}

States Network::encode(const Input& input, int threads) const {
    States states = lay_out(input);
    const auto groups = groups_of(states);
    std::vector<std::unique_ptr<Workspace>> workspaces(std::clamp<std::size_t>(groups.size(), 1, static_cast<std::size_t>(std::max(threads, 1))));
    for (auto& workspace : workspaces) workspace = workspaces_->take();
    UnsetVector<float>& rows = workspaces[0]->type_rows;
    const std::vector<std::size_t> place = type_rows(input.distinct, threads, rows);
    std::vector<const float*> gates_of;
    for (const std::size_t row : place) gates_of.push_back(rows.data() + row * type_input_.width());
    states.output_stride = output_scores_.width();
    states.output_rows.resize(gates_of.size() * states.output_stride);
    for (std::size_t type = 0; type < gates_of.size(); ++type)
        std::copy_n(gates_of[type] + 8 * width_, states.output_stride, states.output_rows.data() + type * states.output_stride);
    states.types.assign(input.types.begin(), input.types.end());
    parallel_for(groups.size(), threads, [&](int worker, std::size_t g) {
        run_lstm(input, gates_of, groups[g], states, *workspaces[static_cast<std::size_t>(worker)]);
    });
    for (auto& workspace : workspaces) workspaces_->give_back(std::move(workspace));
    return states;
}

}  // namespace arbora::neural
