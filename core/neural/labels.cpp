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
    if (allowed.empty()) return static_cast<std::int32_t>(kernels().place_of_largest(scores, count));
    std::size_t best = count;
    for (std::size_t i = 0; i < count; ++i)
        if (allowed[i] != 0 && (best == count || scores[i] > scores[best])) best = i;
    return static_cast<std::int32_t>(best);
}

// A mask that allows nothing is as none.
std::span<const std::uint8_t> checked_mask(std::span<const std::uint8_t> mask, std::size_t count, const char* name) {
    if (!mask.empty() && mask.size() != count) reject(name, ": expected one for each of ", count, " labels, got ", mask.size());
    return std::all_of(mask.begin(), mask.end(), [](std::uint8_t allowed) { return allowed == 0; }) ? std::span<const std::uint8_t>() : mask;
}

}  // namespace

// The words of some sentences by their heads: the dependents of each head one after the other.
struct Network::WordsByHead {
    std::vector<std::size_t> words, rows;         // [words]: numbers of words, rows of the states
    std::vector<std::size_t> head_rows, ends{0};  // [heads], [heads + 1]: rows of the states, where each one's words end

    // `heads` begins with that of word `base`. `with_root`: whether dependents of the root are among the words.
    WordsByHead(const States& states, std::span<const std::int32_t> heads, std::size_t base, std::size_t begin, std::size_t end, bool with_root = true) {
        std::vector<std::vector<std::size_t>> dependents;
        for (std::size_t s = begin; s < end; ++s) {
            const std::size_t nodes = states.nodes(s), first = states.first_word(s);
            dependents.assign(nodes, {});
            for (std::size_t d = 1; d < nodes; ++d) {
                const std::int32_t head = heads[first - base + d - 1];
                if (head < 0 || static_cast<std::size_t>(head) >= nodes) reject("heads: expected 0 to ", nodes - 1, ", got ", head);
                dependents[static_cast<std::size_t>(head)].push_back(d);
            }
            for (std::size_t h = with_root ? 0 : 1; h < nodes; ++h) {
                if (dependents[h].empty()) continue;
                for (const std::size_t d : dependents[h]) words.push_back(first + d - 1), rows.push_back(states.first[s] + d);
                head_rows.push_back(states.first[s] + h);
                ends.push_back(words.size());
            }
        }
    }
};

// The units of some rows of the states.
UnsetVector<float> Network::units(const Dense& layer, const States& states, std::span<const std::size_t> rows) {
    UnsetVector<float> picked(rows.size() * states.stride);
    for (std::size_t i = 0; i < rows.size(); ++i) std::copy_n(states.of(rows[i]), states.stride, picked.data() + i * states.stride);
    return layer.rectified(picked.data(), states.stride, rows.size());
}

// visit(word, scores) for the words of some sentences. Each head gets a table of weights for its dependents, a few heads at a time.
template <class Visit>
void Network::score_some_labels(const States& states, const WordsByHead& by_head, Visit visit) const {
    const std::size_t count = by_head.head_rows.size(), size = label_product_.depth(), width = label_head_.width();
    const std::size_t table = label_product_.width(), row = padded(label_count_);
    const UnsetVector<float> head_units = units(label_head_, states, by_head.head_rows), dep_units = units(label_dep_, states, by_head.rows);
    constexpr std::size_t kPiece = 48;  // heads whose tables fit into the cache
    UnsetVector<float> tables(std::min(kPiece, count) * table + kPanel), scores;
    for (std::size_t h = 0; h < count; ++h) {
        if (h % kPiece == 0) label_product_(head_units.data() + h * width, width, std::min(kPiece, count - h), tables.data(), table);
        const std::size_t first = by_head.ends[h], dependents = by_head.ends[h + 1] - first;
        const float* weights = tables.data() + h % kPiece * table;
        scores.resize(dependents * row);
        kernels().product({dep_units.data() + first * width, width, dependents, size, weights, panels_of(label_count_),
                           weights + size * label_count_, scores.data(), row, nullptr, label_count_, kPanel});
        for (std::size_t i = 0; i < dependents; ++i) visit(by_head.words[first + i], scores.data() + i * row);
    }
}

// visit(word, scores, head) for all words; unless `with_root`, only for those whose head is a word.
template <class Visit>
void Network::score_labels(const States& states, std::span<const std::int32_t> heads, bool with_root, int threads, Visit visit) const {
    if (label_count_ == 0) reject("labels: this network has none");
    check(states);
    if (heads.size() != states.words()) reject("heads: expected one per word, got ", heads.size());
    each_block(states, threads, [&](std::size_t begin, std::size_t end) {
        score_some_labels(states, WordsByHead(states, heads, 0, begin, end, with_root), [&](std::size_t word, const float* scores) { visit(word, scores, heads[word]); });
    });
}

void Network::labels_of(const States& states, std::size_t sentence, std::span<const std::int32_t> heads, float* out) const {
    if (label_count_ == 0) reject("labels: this network has none");
    check(states);
    if (sentence >= states.sentences()) reject("sentence: expected a number below ", states.sentences(), ", got ", sentence);
    if (heads.size() + 1 != states.nodes(sentence)) reject("heads: expected one per word, got ", heads.size());
    const std::size_t base = states.first_word(sentence);
    score_some_labels(states, WordsByHead(states, heads, base, sentence, sentence + 1), [&](std::size_t word, const float* scores) {
        std::copy_n(scores, label_count_, out + (word - base) * label_count_);
    });
}

void Network::labels(const States& states, std::span<const std::int32_t> heads, int threads, float* out) const {
    score_labels(states, heads, true, threads, [&](std::size_t word, const float* scores, std::int32_t) { std::copy_n(scores, label_count_, out + word * label_count_); });
}

void Network::best_labels(const States& states, std::span<const std::int32_t> heads, LabelMasks masks, int threads, std::int32_t* out) const {
    const auto root = checked_mask(masks.root, label_count_, "root_labels"), other = checked_mask(masks.other, label_count_, "other_labels");
    // Most treebanks have one label below the root. Scoring it would take a table of weights per sentence, for a single word.
    const bool is_decided = std::count_if(root.begin(), root.end(), [](std::uint8_t allowed) { return allowed != 0; }) == 1;
    score_labels(states, heads, !is_decided, threads, [&](std::size_t word, const float* scores, std::int32_t head) {
        out[word] = best_of(scores, label_count_, head == 0 ? root : other);
    });
    if (!is_decided) return;
    const auto only = static_cast<std::int32_t>(std::find_if(root.begin(), root.end(), [](std::uint8_t allowed) { return allowed != 0; }) - root.begin());
    for (std::size_t word = 0; word < heads.size(); ++word)
        if (heads[word] == 0) out[word] = only;
}

// visit(word, scores of all columns) for all words.
template <class Visit>
void Network::score_outputs(const States& states, int threads, Visit visit) const {
    check(states);
    const std::size_t width = output_scores_.width();
    if (width == 0) return;
    each_block(states, threads, [&](std::size_t begin, std::size_t end) {
        const std::size_t top = states.first[begin], count = states.first[end] - top;
        if (states.first_word(end) == states.first_word(begin)) return;
        // Rows of roots are computed but not used, so they may start from any row.
        std::vector<const float*> starts(count, states.type_rows->data());
        const auto row_of = [&](std::size_t s, std::size_t w) { return states.first[s] + 1 + w - top; };
        for (std::size_t s = begin; s < end; ++s)
            for (std::size_t w = 0; w + 1 < states.nodes(s); ++w)
                starts[row_of(s, w)] = states.type_row(states.first_word(s) + w) + 8 * width_;
        UnsetVector<float> scores(count * width);
        output_scores_.add(states.for_outputs(top), states.stride, count, starts.data(), scores.data(), width);
        for (std::size_t s = begin; s < end; ++s)
            for (std::size_t w = 0; w + 1 < states.nodes(s); ++w) visit(states.first_word(s) + w, scores.data() + row_of(s, w) * width);
    });
}

void Network::outputs(const States& states, std::size_t which, int threads, float* out) const {
    if (which >= outputs_.size()) reject("which: expected a number below ", outputs_.size(), ", got ", which);
    const auto [first, count] = outputs_[which];
    score_outputs(states, threads, [&, first = first, count = count](std::size_t word, const float* scores) { std::copy_n(scores + first, count, out + word * count); });
}

void Network::best_outputs(const States& states, int threads, std::int32_t* out) const {
    score_outputs(states, threads, [&](std::size_t word, const float* scores) {
        for (std::size_t which = 0; which < outputs_.size(); ++which)
            out[which * states.words() + word] = best_of(scores + outputs_[which].begin, outputs_[which].count, {});
    });
}

}  // namespace arbora::neural
