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

// Sentences that one thread processes at a time: enough rows for a product at each step, few enough for the cache.
constexpr std::size_t kGroupSentences = 48, kGroupRows = 2048;

// Sentences in groups, the longest first, each with sentences of similar length.
std::vector<std::vector<std::size_t>> groups_of(const States& states) {
    std::vector<std::size_t> order(states.sentences());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return states.nodes(a) > states.nodes(b); });
    std::vector<std::vector<std::size_t>> groups;
    std::size_t rows = kGroupRows;
    for (const std::size_t sentence : order) {
        if (rows >= kGroupRows || groups.back().size() == kGroupSentences) groups.emplace_back(), rows = 0;
        groups.back().push_back(sentence);
        rows += states.nodes(sentence);
    }
    return groups;
}

}  // namespace

// Multiplies the distinct words that are not cached from earlier batches.
void Network::multiply_types(const Input& input, int threads, States& states) const {
    const WordTypes& types = input.distinct;
    const std::size_t stride = states.type_stride = type_input_.width();
    states.type_rows = state_memory_->take(types.size() * stride);
    float* rows = states.type_rows->data();
    std::vector<std::size_t> place(types.size());
    const std::vector<std::size_t> unknown = cache_->look_up(types, rows, place);
    constexpr std::size_t kPiece = 96;
    parallel_for((unknown.size() + kPiece - 1) / kPiece, threads, [&](int, std::size_t piece) {
        const std::size_t begin = piece * kPiece, count = std::min(kPiece, unknown.size() - begin);
        const UnsetVector<float> x = types_.encode(types, std::span(unknown).subspan(begin, count));
        type_input_(x.data(), types_.size(), count, rows + begin * stride, stride);
    });
    cache_->keep(types, unknown, rows);
    for (const std::int32_t type : input.types) states.type_of.push_back(place[static_cast<std::size_t>(type)]);
}

// Assigns places to the states of some sentences.
States Network::lay_out(std::span<const std::int32_t> lengths, std::size_t words) const {
    States states;
    states.stride = state_layers() * state_width_;
    states.last = states.stride - state_width_;
    states.first.push_back(0);
    std::size_t so_far = 0;
    for (const std::int32_t length : lengths) {
        if (length < 0 || so_far + static_cast<std::size_t>(length) > words) reject("lengths: expected those of all words' sentences, got ", length);
        so_far += static_cast<std::size_t>(length);
        states.first.push_back(states.first.back() + static_cast<std::size_t>(length) + 1);
    }
    if (so_far != words) reject("lengths: expected a sum of ", words, ", got ", so_far);
    states.rows = state_memory_->take(states.first.back() * states.stride);
    return states;
}

// Throws InputError if an input names rows that do not exist.
void Network::check(const Input& input) const {
    types_.check(input.distinct);
    check_rows(input.types, input.distinct.size(), "types");
    const std::size_t words = input.types.size();
    if (input.tags.size() != tags_.size()) reject("tags: expected ", tags_.size(), " columns, got ", input.tags.size());
    for (std::size_t c = 0; c < tags_.size(); ++c) {
        if (input.tags[c].size() != words) reject("tags: expected one per word, got ", input.tags[c].size());
        check_rows(input.tags[c], tags_[c].size() / (8 * width_), "tags");
    }
}

// Throws InputError unless a network of these sizes made the states.
void Network::check(const States& states) const {
    const bool fits = states.stride == state_layers() * state_width_ && states.type_stride == type_input_.width();
    if (!fits) reject("states: expected states of this network, got another's");
}

// The rows of some sentences, longest first, step by step.
struct Network::Group {
    std::vector<std::size_t> steps{0};  // as in Lstm::run
    std::vector<std::size_t> places;    // of each row: its place in the states
    std::vector<std::int64_t> word_of;  // the word's number, -1 for the root

    Group(const States& states, std::span<const std::size_t> sentences) {
        for (std::size_t t = 0; t < states.nodes(sentences[0]); ++t) {
            for (const std::size_t s : sentences) {
                if (t >= states.nodes(s)) break;
                places.push_back(states.first[s] + t);
                word_of.push_back(t == 0 ? -1 : static_cast<std::int64_t>(states.first_word(s) + t - 1));
            }
            steps.push_back(places.size());
        }
    }

    std::size_t rows() const { return places.size(); }
    // from [rows, size]; `begin`: their place in a row of the states.
    void copy_back(const float* from, std::size_t size, std::size_t begin, States& states) const {
        for (std::size_t r = 0; r < rows(); ++r) std::copy_n(from + r * size, size, states.rows->data() + places[r] * states.stride + begin);
    }
};

void Network::run_lstm(const Input& input, std::span<const std::size_t> sentences, States& states, Workspace& workspace) const {
    const Group group(states, sentences);
    const std::span<const std::size_t> steps = group.steps;
    const std::size_t rows = group.rows(), stride = 2 * width_, gates = 4 * width_;
    auto &here = workspace.here, &below = workspace.below, &inner = workspace.inner;  // clang 14 captures no structured bindings
    here.resize(rows * stride);
    below.resize(layers_.size() > 1 ? rows * stride : 0);
    for (std::size_t l = 0; l < layers_.size(); ++l) {
        if (l > 0) below.swap(here);
        for (std::size_t side = 0; side < 2; ++side) {
            const Direction& direction = layers_[l][side];
            const auto first_layer = [&](std::size_t t, float* room, const float** starts) {
                for (std::size_t row = steps[t]; row < steps[t + 1]; ++row, room += gates)
                    *starts++ = first_gates(input, states, group.word_of[row], side * gates, room);
            };
            std::size_t begin = 0, end = 0;  // rows whose gates are computed
            const auto others = [&](std::size_t t, float*, const float** starts) {
                if (steps[t] < begin || steps[t + 1] > end) {
                    constexpr std::size_t kRows = 48;  // whose gates stay in the cache
                    std::size_t from = t, to = t + 1;
                    while (steps[to] - steps[from] < kRows && (side == 0 ? to + 1 < steps.size() : from > 0)) side == 0 ? ++to : --from;
                    begin = steps[from], end = steps[to];
                    inner.resize(std::max(inner.size(), (end - begin) * gates));
                    direction.input(below.data() + begin * stride, stride, end - begin, inner.data(), gates);
                }
                for (std::size_t row = steps[t]; row < steps[t + 1]; ++row) *starts++ = inner.data() + (row - begin) * gates;
            };
            float* out = here.data() + side * width_;
            l == 0 ? direction.lstm.run(steps, first_layer, out, stride, workspace.lstm) : direction.lstm.run(steps, others, out, stride, workspace.lstm);
        }
        group.copy_back(here.data(), stride, l * stride, states);
    }
}

// The inputs' part of a node's gates from `begin` on, in the first layer; may use `room`.
const float* Network::first_gates(const Input& input, const States& states, std::int64_t word, std::size_t begin, float* room) const {
    if (word < 0) return root_gates_.data() + begin;
    const auto w = static_cast<std::size_t>(word);
    const float* own = states.type_row(w) + begin;
    if (tags_.empty()) return own;
    std::copy_n(own, 4 * width_, room);
    for (std::size_t c = 0; c < tags_.size(); ++c) {
        const float* more = tags_[c].data() + static_cast<std::size_t>(input.tags[c][w]) * 8 * width_ + begin;
        for (std::size_t i = 0; i < 4 * width_; ++i) room[i] += more[i];
    }
    return room;
}

States Network::encode(const Input& input, int threads) const {
    if (!reads_words()) reject("encode: this network reads states of words, not words");
    check(input);
    States states = lay_out(input.lengths, input.types.size());
    const auto groups = groups_of(states);
    std::vector<std::unique_ptr<Workspace>> workspaces(std::clamp<std::size_t>(groups.size(), 1, static_cast<std::size_t>(std::max(threads, 1))));
    for (auto& workspace : workspaces) workspace = workspaces_->take();
    multiply_types(input, threads, states);
    parallel_for(groups.size(), threads, [&](int worker, std::size_t g) {
        run_lstm(input, groups[g], states, *workspaces[static_cast<std::size_t>(worker)]);
    });
    for (auto& workspace : workspaces) workspaces_->give_back(std::move(workspace));
    return states;
}

States Network::given(std::span<const std::int32_t> lengths, std::span<const float> rows) const {
    if (reads_words()) reject("given: this network reads words, not their states");
    if (rows.size() % state_size_ != 0) reject("rows: expected ", state_size_, " numbers per word, got ", rows.size(), " in all");
    const std::size_t words = rows.size() / state_size_;
    States states = lay_out(lengths, words);
    std::fill(states.rows->begin(), states.rows->end(), 0.0f);
    const float* from = rows.data();
    for (std::size_t s = 0; s < states.sentences(); ++s) {
        float* to = states.rows->data() + states.first[s] * states.stride;
        std::copy(root_.begin(), root_.end(), to);
        for (std::size_t node = 1; node < states.nodes(s); ++node, from += state_size_) std::copy_n(from, state_size_, to + node * states.stride);
    }
    // Each word adds the biases of tags.
    states.type_stride = type_input_.width();
    states.type_rows = state_memory_->take(states.type_stride);
    for (std::size_t o = 0; o < states.type_stride; ++o) (*states.type_rows)[o] = type_input_.bias(o);
    states.type_of.assign(words, 0);
    return states;
}

}  // namespace arbora::neural
