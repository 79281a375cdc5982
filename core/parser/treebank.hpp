// Shared by all parsers over many sentences: the check of gold trees, the parse loop, and learners' queries.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/interrupt.hpp"
#include "conll/tree_shape.hpp"
#include "features/encoded.hpp"
#include "numeric/batch_loop.hpp"
#include "parser/arc_set.hpp"
#include "trees/problem.hpp"

namespace arbora::graph {

// A learner's requirements on gold trees.
struct GoldNeeds {
    const std::vector<ArcSet>* arcs = nullptr;  // sets that hold all gold arcs; null: not required
    int labels = 0;                             // > 0: each word has a label below this
    bool heads = true;                          // each word has a head
    bool projective = false;
    std::optional<Roots> tree = std::nullopt;  // heads form a tree with these roots
};

[[noreturn]] inline void fail(std::size_t sentence, std::size_t word, const std::string& what) {
    throw InputError("sentence " + std::to_string(sentence) + ", word " + std::to_string(word) + ": " + what);
}

inline void check_words(std::size_t s, const feature::Sentence& sentence, const GoldNeeds& needs) {
    for (int d = 1; d <= sentence.n; ++d) {
        const int head = sentence.heads[d], label = sentence.labels[d];
        const auto word = static_cast<std::size_t>(d);
        if (head < 0 && needs.heads) fail(s, word, "expected a head to learn from, got none");
        if (needs.labels > 0 && (label < 0 || label >= needs.labels)) fail(s, word, "expected a known label to learn from, got none");
        if (needs.arcs != nullptr && head >= 0 && (*needs.arcs)[s].find(head, d) < 0)
            fail(s, word, "expected the gold arc among the kept arcs, got none; restore pruned gold arcs first");
    }
}

inline void check_shape(std::size_t s, std::span<const std::int32_t> heads, const GoldNeeds& needs, std::vector<std::int32_t>& scratch) {
    if (needs.tree) {
        const auto roots = *needs.tree == Roots::single ? conll::Roots::single : conll::Roots::multi;
        if (const auto fault = conll::find_tree_fault(heads, roots, scratch); fault)
            fail(s, fault->word + 1, "expected " + fault->expected + ", got " + fault->got);
    }
    if (!needs.projective) return;
    const std::int64_t offsets[] = {0, static_cast<std::int64_t>(heads.size())};
    const auto crossed = conll::measure_trees(heads, offsets).nonprojective;
    if (const auto found = std::find(crossed.begin(), crossed.end(), 1); found != crossed.end())
        fail(s, static_cast<std::size_t>(found - crossed.begin()) + 1, "expected a projective tree, got crossing arcs; projectivize first");
}

// Throws InputError unless the arcs match the sentences by their numbers of words.
inline void check_lengths(const feature::Encoded& sentences, const std::vector<ArcSet>& arcs) {
    if (arcs.size() != sentences.size())
        throw InputError("arcs: expected " + std::to_string(sentences.size()) + " sentences, got " + std::to_string(arcs.size()));
    for (std::size_t s = 0; s < arcs.size(); ++s)
        if (const int n = sentences.sentence(s).n; arcs[s].n != n)
            throw InputError("arcs: expected " + std::to_string(n) + " words in sentence " + std::to_string(s) + ", got " +
                             std::to_string(arcs[s].n) + "; pass the arcs kept for these sentences");
}

// Throws InputError that names the first bad word.
inline void check_gold(const feature::Encoded& sentences, const GoldNeeds& needs) {
    std::vector<std::int32_t> scratch;
    for (std::size_t s = 0; s < sentences.size(); ++s) {
        check_stop();
        const auto sentence = sentences.sentence(s);
        check_words(s, sentence, needs);
        check_shape(s, {sentence.heads + 1, static_cast<std::size_t>(sentence.n)}, needs, scratch);
    }
}

struct Parsed {
    std::vector<std::int32_t> heads, labels;  // one per word, all sentences in a row; labels -1 if there are none
};

// parse(worker, s, heads, labels) for each sentence s; heads[0..n] and labels[0..n] are -1 before.
template <class Worker, class Parse>
Parsed parse_each(const feature::Encoded& sentences, std::vector<Worker>&& workers, Parse&& parse) {
    Parsed parsed{std::vector<std::int32_t>(sentences.words()), std::vector<std::int32_t>(sentences.words(), -1)};
    parallel_for(sentences.size(), static_cast<int>(workers.size()), [&](int worker, std::size_t s) {
        std::vector<int> heads(static_cast<std::size_t>(sentences.sentence(s).n) + 1, -1), labels = heads;
        parse(workers[static_cast<std::size_t>(worker)], s, heads.data(), labels.data());
        std::copy(heads.begin() + 1, heads.end(), parsed.heads.begin() + sentences.offsets()[s]);
        std::copy(labels.begin() + 1, labels.end(), parsed.labels.begin() + sentences.offsets()[s]);
    });
    return parsed;
}

// Queries about the sentences of a treebank, which it does not copy.
template <class Self, class Worker>
class TreebankQuestions : public BatchQuestions<Self, Worker> {
public:
    // arcs: null for all arcs, else one set per sentence.
    TreebankQuestions(const feature::Encoded& sentences, const std::vector<ArcSet>* arcs, std::vector<Worker>&& workers)
        : BatchQuestions<Self, Worker>(std::move(workers)), sentences_(&sentences), arcs_(arcs) {
        if (arcs != nullptr) check_lengths(sentences, *arcs);
    }

    std::size_t size() const { return sentences_->size(); }

protected:
    feature::Sentence sentence(std::size_t s) const { return sentences_->sentence(s); }
    const ArcSet* arcs_of(std::size_t s) const { return arcs_ == nullptr ? nullptr : &(*arcs_)[s]; }

    const feature::Encoded* sentences_;
    const std::vector<ArcSet>* arcs_;
};

}  // namespace arbora::graph
