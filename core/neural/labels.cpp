// From states to scores of labels and tags, and to the best of them.
#include <algorithm>
#include <numeric>

#include "base/errors.hpp"
#include "neural/blocks.hpp"
#include "neural/network.hpp"
#include "numeric/kernels/kernels.hpp"

namespace arbora::neural {

namespace {

// The place of the largest score that is allowed, the first of several; masks of nothing allow all.
std::int32_t best_of(const float* scores, std::size_t count, std::span<const std::uint8_t> allowed) {
    std::size_t best = count;
    for (std::size_t i = 0; i < count; ++i)
        if ((allowed.empty() || allowed[i] != 0) && (best == count || scores[i] > scores[best])) best = i;
    return static_cast<std::int32_t>(best);
}

// A mask that allows nothing is as none.
std::span<const std::uint8_t> checked_mask(std::span<const std::uint8_t> mask, std::size_t count, const char* name) {
    if (!mask.empty() && mask.size() != count) reject(name, ": expected one for each of ", count, " labels, got ", mask.size());
    return std::all_of(mask.begin(), mask.end(), [](std::uint8_t allowed) { return allowed == 0; }) ? std::span<const std::uint8_t>() : mask;
}

}  // namespace

// visit(word, scores, head) for all words. The words of a block are taken by their heads, whose tables are made a few at a time.
template <class Visit>
void Network::score_labels(const States& states, std::span<const std::int32_t> heads, int threads, Visit visit) const {
    if (label_count_ == 0) reject("labels: this network has none");
    check(states);
    if (heads.size() != states.words()) reject("heads: expected one per word, got ", heads.size());
    each_block(states, threads, [&](std::size_t begin, std::size_t end) {
        const std::size_t top = states.first[begin], rows = states.first[end] - top, size = label_product_.depth();
        std::vector<std::size_t> head_of(rows), word_of(rows), order;  // rows here; numbers of words
        for (std::size_t s = begin; s < end; ++s)
            for (std::size_t d = 1; d < states.nodes(s); ++d) {
                const std::size_t word = states.first_word(s) + d - 1, row = states.first[s] - top + d;
                const std::int32_t h = heads[word];
                if (h < 0 || static_cast<std::size_t>(h) >= states.nodes(s)) reject("heads: expected 0 to ", states.nodes(s) - 1, ", got ", h);
                head_of[row] = states.first[s] - top + static_cast<std::size_t>(h);
                word_of[row] = word;
                order.push_back(row);
            }
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return head_of[a] < head_of[b]; });
        const std::size_t width = label_head_.width(), table = label_product_.width(), panels = panels_of(label_count_);
        const LargeVector<float> head_units = label_head_.rectified(states.of(top), states.stride, rows);
        const LargeVector<float> dep_units = label_dep_.rectified(states.of(top), states.stride, rows);
        constexpr std::size_t kPiece = 24;  // heads whose tables fit into the cache
        LargeVector<float> picked(kPiece * width), tables(kPiece * table + kPanel), scores(panels * kPanel), deps, bias(scores.size());
        for (std::size_t at = 0; at < order.size();) {
            std::vector<std::size_t> ends;  // of each head's words in the order
            const std::size_t from = at;
            for (; at < order.size() && ends.size() < kPiece; ends.push_back(at)) {
                const std::size_t head = head_of[order[at]];
                std::copy_n(head_units.data() + head * width, width, picked.data() + ends.size() * width);
                while (at < order.size() && head_of[order[at]] == head) ++at;
            }
            label_product_(picked.data(), width, ends.size(), tables.data(), table);
            for (std::size_t i = 0; i < ends.size(); ++i) {
                const std::size_t first = i == 0 ? from : ends[i - 1], count = ends[i] - first;
                const float* weights = tables.data() + i * table;
                std::copy_n(weights + size * label_count_, label_count_, bias.data());
                deps.resize(count * width);
                scores.resize(count * panels * kPanel);
                for (std::size_t w = 0; w < count; ++w) std::copy_n(dep_units.data() + order[first + w] * width, width, deps.data() + w * width);
                kernels().product({deps.data(), width, count, size, weights, panels, bias.data(), scores.data(), panels * kPanel, false, label_count_, kPanel});
                for (std::size_t w = 0; w < count; ++w) {
                    const std::size_t word = word_of[order[first + w]];
                    visit(word, scores.data() + w * panels * kPanel, heads[word]);
                }
            }
        }
    });
}

void Network::labels(const States& states, std::span<const std::int32_t> heads, int threads, float* out) const {
    score_labels(states, heads, threads, [&](std::size_t word, const float* scores, std::int32_t) { std::copy_n(scores, label_count_, out + word * label_count_); });
}

void Network::best_labels(const States& states, std::span<const std::int32_t> heads, LabelMasks masks, int threads, std::int32_t* out) const {
    const auto root = checked_mask(masks.root, label_count_, "root_labels"), other = checked_mask(masks.other, label_count_, "other_labels");
    score_labels(states, heads, threads, [&](std::size_t word, const float* scores, std::int32_t head) {
        out[word] = best_of(scores, label_count_, head == 0 ? root : other);
    });
}

// visit(word, scores) for all words.
template <class Visit>
void Network::score_outputs(const States& states, std::size_t which, int threads, Visit visit) const {
    if (which >= outputs_.size()) reject("which: expected a number below ", outputs_.size(), ", got ", which);
    check(states);
    const Dense& layer = outputs_[which].scores;
    each_block(states, threads, [&](std::size_t begin, std::size_t end) {
        const std::size_t top = states.first[begin], rows = states.first[end] - top;
        LargeVector<float> scores(rows * layer.width());
        layer(states.for_outputs(top), states.stride, rows, scores.data(), layer.width());
        for (std::size_t s = begin; s < end; ++s)
            for (std::size_t d = 1; d < states.nodes(s); ++d) visit(states.first_word(s) + d - 1, scores.data() + (states.first[s] - top + d) * layer.width());
    });
}

void Network::outputs(const States& states, std::size_t which, int threads, float* out) const {
    score_outputs(states, which, threads, [&](std::size_t word, const float* scores) { std::copy_n(scores, output_size(which), out + word * output_size(which)); });
}

void Network::best_outputs(const States& states, std::size_t which, int threads, std::int32_t* out) const {
    score_outputs(states, which, threads, [&](std::size_t word, const float* scores) { out[word] = best_of(scores, output_size(which), {}); });
}

}  // namespace arbora::neural
