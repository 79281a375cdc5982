#include "parser/treebank.hpp"

#include "conll/tree_shape.hpp"

namespace arbora::graph {

namespace {

[[noreturn]] void fail(std::size_t sentence, std::size_t word, const std::string& what) {
    throw InputError("sentence " + std::to_string(sentence) + ", word " + std::to_string(word) + ": " + what);
}

void check_words(std::size_t s, const feature::Sentence& sentence, const GoldNeeds& needs) {
    for (int d = 1; d <= sentence.n; ++d) {
        const int head = sentence.heads[d], label = sentence.labels[d];
        const auto word = static_cast<std::size_t>(d);
        if (head < 0 && needs.heads) fail(s, word, "expected a head to learn from, got none");
        if (needs.labels > 0 && (label < 0 || label >= needs.labels)) fail(s, word, "expected a known label to learn from, got none");
        if (needs.arcs != nullptr && head >= 0 && (*needs.arcs)[s].find(head, d) < 0)
            fail(s, word, "expected the gold arc among the kept arcs, got none; restore pruned gold arcs first");
    }
}

void check_shape(std::size_t s, std::span<const std::int32_t> heads, const GoldNeeds& needs, std::vector<std::int32_t>& scratch) {
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

}  // namespace

void check_lengths(const feature::Encoded& sentences, const std::vector<ArcSet>& arcs) {
    if (arcs.size() != sentences.size())
        throw InputError("arcs: expected " + std::to_string(sentences.size()) + " sentences, got " + std::to_string(arcs.size()));
    for (std::size_t s = 0; s < arcs.size(); ++s)
        if (const int n = sentences.sentence(s).n; arcs[s].n != n)
            throw InputError("arcs: expected " + std::to_string(n) + " words in sentence " + std::to_string(s) + ", got " +
                             std::to_string(arcs[s].n) + "; pass the arcs kept for these sentences");
}

void check_gold(const feature::Encoded& sentences, const GoldNeeds& needs) {
    std::vector<std::int32_t> scratch;
    for (std::size_t s = 0; s < sentences.size(); ++s) {
        const auto sentence = sentences.sentence(s);
        check_words(s, sentence, needs);
        check_shape(s, {sentence.heads + 1, static_cast<std::size_t>(sentence.n)}, needs, scratch);
    }
}

}  // namespace arbora::graph
