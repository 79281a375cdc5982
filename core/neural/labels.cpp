// From states to scores of labels and tags, and to the best of them.
#include <algorithm>
#include <numeric>

#include "base/errors.hpp"
#include "neural/blocks.hpp"
#include "neural/network.hpp"
#include "numeric/kernels/kernels.hpp"

namespace arbora::neural {

namespace {

// The place of the largest allowed score, the first of several; an empty mask allows all.
std::int32_t best_of(const float* scores, std::size_t count, std::span<const std::uint8_t> allowed) {
    if (allowed.empty()) return static_cast<std::int32_t>(kernels().place_of_largest(scores, count));
    std::size_t best = count;
    for (std::size_t i = 0; i < count; ++i)
        if (allowed[i] != 0 && (best == count || scores[i] > scores[best])) best = i;
    return static_cast<std::int32_t>(best);
}

// A mask that allows nothing counts as no mask.
std::span<const std::uint8_t> checked_mask(std::span<const std::uint8_t> mask, std::size_t count, const char* name) {
    if (!mask.empty() && mask.size() != count) reject(name, ": expected one for each of ", count, " labels, got ", mask.size());
    return std::all_of(mask.begin(), mask.end(), [](std::uint8_t allowed) { return allowed == 0; }) ? std::span<const std::uint8_t>() : mask;
}

}  // namespace

// The arcs of some sentences' words. Most words have no dependents, so head units are computed once per head.
struct Network::Arcs {
    std::vector<std::size_t> words, rows, heads;  // [arcs]: numbers of words, rows of the states, places among head_rows
    std::vector<std::size_t> head_rows;           // of the states

    // `given` begins with the head of word `base`. `with_root`: whether arcs from the root are among the arcs.
    Arcs(const States& states, std::span<const std::int32_t> given, std::size_t base, std::size_t begin, std::size_t end, bool with_root = true) {
        constexpr std::size_t kNone = static_cast<std::size_t>(-1);
        std::vector<std::size_t> place;
        for (std::size_t s = begin; s < end; ++s) {
            const std::size_t nodes = states.nodes(s), first = states.first_word(s);
            place.assign(nodes, kNone);
            for (std::size_t d = 1; d < nodes; ++d) {
                const std::int32_t head = given[first - base + d - 1];
                if (head < 0 || static_cast<std::size_t>(head) >= nodes) reject("heads: expected 0 to ", nodes - 1, ", got ", head);
                if (head == 0 && !with_root) continue;
                std::size_t& own = place[static_cast<std::size_t>(head)];
                if (own == kNone) {
                    own = head_rows.size();
                    head_rows.push_back(states.first[s] + static_cast<std::size_t>(head));
                }
                words.push_back(first + d - 1), rows.push_back(states.first[s] + d), heads.push_back(own);
            }
        }
    }
};

// The units of some rows of the states.
UnsetVector<float> Network::units(const Dense& layer, const States& states, std::span<const std::size_t> rows) {
    const std::size_t size = layer.depth();
    UnsetVector<float> picked(rows.size() * size);
    for (std::size_t i = 0; i < rows.size(); ++i) std::copy_n(states.of(rows[i]), size, picked.data() + i * size);
    return layer.rectified(picked.data(), size, rows.size());
}

// visit(word, scores) for the words of some arcs.
template <class Visit>
void Network::score_some_labels(const States& states, const Arcs& arcs, Visit visit) const {
    const std::size_t count = arcs.words.size(), size = label_scores_.depth() / 3, width = label_head_.width();
    const UnsetVector<float> head_units = units(label_head_, states, arcs.head_rows), dep_units = units(label_dep_, states, arcs.rows);
    UnsetVector<float> pairs(count * 3 * size), scores(count * label_scores_.width());
    for (std::size_t a = 0; a < count; ++a) {
        const float *head = head_units.data() + arcs.heads[a] * width, *dep = dep_units.data() + a * width;
        float* pair = pairs.data() + a * 3 * size;
        for (std::size_t i = 0; i < size; ++i) pair[i] = head[i] * dep[i];
        std::copy_n(dep, size, std::copy_n(head, size, pair + size));
    }
    label_scores_(pairs.data(), 3 * size, count, scores.data(), label_scores_.width());
    for (std::size_t a = 0; a < count; ++a) visit(arcs.words[a], scores.data() + a * label_scores_.width());
}

// visit(word, scores, head) for all words; unless `with_root`, only for those whose head is a word.
template <class Visit>
void Network::score_labels(const States& states, std::span<const std::int32_t> heads, bool with_root, int threads, Visit visit) const {
    if (label_count_ == 0) reject("labels: this network has none");
    check(states);
    if (heads.size() != states.words()) reject("heads: expected one per word, got ", heads.size());
    each_block(states, threads, [&](std::size_t begin, std::size_t end) {
        score_some_labels(states, Arcs(states, heads, 0, begin, end, with_root), [&](std::size_t word, const float* scores) { visit(word, scores, heads[word]); });
    });
}

void Network::labels_of(const States& states, std::size_t sentence, std::span<const std::int32_t> heads, float* out) const {
    if (label_count_ == 0) reject("labels: this network has none");
    check(states);
    if (sentence >= states.sentences()) reject("sentence: expected a number below ", states.sentences(), ", got ", sentence);
    if (heads.size() + 1 != states.nodes(sentence)) reject("heads: expected one per word, got ", heads.size());
    const std::size_t base = states.first_word(sentence);
    score_some_labels(states, Arcs(states, heads, base, sentence, sentence + 1), [&](std::size_t word, const float* scores) {
        std::copy_n(scores, label_count_, out + (word - base) * label_count_);
    });
}

void Network::labels(const States& states, std::span<const std::int32_t> heads, int threads, float* out) const {
    score_labels(states, heads, true, threads, [&](std::size_t word, const float* scores, std::int32_t) { std::copy_n(scores, label_count_, out + word * label_count_); });
}

void Network::best_labels(const States& states, std::span<const std::int32_t> heads, LabelMasks masks, int threads, std::int32_t* out) const {
    const auto root = checked_mask(masks.root, label_count_, "root_labels"), other = checked_mask(masks.other, label_count_, "other_labels");
    // Most treebanks have only one label below the root, which needs no scores.
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
        // Rows of roots are computed but not used, so they may start at any row.
        std::vector<const float*> starts(count, states.type_rows->data());
        const auto row_of = [&](std::size_t s, std::size_t w) { return states.first[s] + 1 + w - top; };
        for (std::size_t s = begin; s < end; ++s)
            for (std::size_t w = 0; w + 1 < states.nodes(s); ++w)
                starts[row_of(s, w)] = states.type_row(states.first_word(s) + w) + 8 * width_;
        const UnsetVector<float> units = output_units_.rectified(states.all_of(top), states.stride, count);
        UnsetVector<float> scores(count * width);
        output_scores_.add(units.data(), output_units_.width(), count, starts.data(), scores.data(), width);
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
