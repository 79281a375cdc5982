// What all parsers share over many sentences: the check of gold trees, the loop that parses, and learners' questions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "features/encoded.hpp"
#include "numeric/batch_loop.hpp"
#include "parser/arc_set.hpp"
#include "trees/problem.hpp"

namespace arbora::graph {

// InputError unless the arcs are those of these sentences, by their numbers of words.
void check_lengths(const feature::Encoded& sentences, const std::vector<ArcSet>& arcs);

// What a learner needs of gold trees.
struct GoldNeeds {
    const std::vector<ArcSet>* arcs = nullptr;  // that hold all gold arcs; null: no matter
    int labels = 0;                             // > 0: each word has a label below this
    bool heads = true;                          // each word has a head
    bool projective = false;
    std::optional<Roots> tree = std::nullopt;  // heads form a tree with these roots
};

// InputError names the first word that does not fit.
void check_gold(const feature::Encoded& sentences, const GoldNeeds& needs);

struct Parsed {
    std::vector<std::int32_t> heads, labels;  // one per word, all sentences in a row; labels -1 where there are none
};

// parse(worker, s, heads, labels) for each sentence s, where heads[0..n] and labels[0..n] are -1 before.
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

// Questions about the sentences of a treebank. Holds no copy of them.
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
