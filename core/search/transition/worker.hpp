// Parses and answers for one sentence at a time; keeps its memory between sentences. One per thread.
#pragma once

#include <vector>

#include "numeric/batch_loop.hpp"
#include "search/transition/features.hpp"

namespace arbora::transition {

// How a parser is trained. With a beam, `update` says after how many steps sequences are compared; without, it is a classifier of
// moves, and `explores` says whether it follows its own choices (dynamic oracle) or the right ones (static).
struct Training {
    search::Update update = search::Update::max_violation;
    bool explores = true;
    graph::Cost cost{};  // the label counts where the head is right; without a beam, a wrong move costs as much as a wrong head
    bool cost_augmented = false;
};

// States on the way to right trees, with the action to take in each: what a classifier of actions learns from.
struct Instances {
    std::vector<std::uint32_t> features;  // one hash per template of moves, state by state
    std::vector<std::int8_t> moves;
    std::vector<std::int32_t> labels;  // of the arc that the move makes; -1: none
};

class Worker {
public:
    explicit Worker(const Model& model) : model_(&model), features_(model) {}

    // The best tree found: heads[0..n] and labels[0..n], -1 where there are none. Its score.
    // keep_heads: only trees with the heads that the sentence has, for systems with costs; NoTreeError where none is found.
    double parse(const feature::Sentence& sentence, const graph::WeightView& weights, bool keep_heads, int* heads, int* labels);

    // The tree that parse() finds, and others, different in heads or labels, best first: up to k in all.
    std::vector<graph::Ranked> kbest(const feature::Sentence& sentence, const graph::WeightView& weights, bool keep_heads, int k);

    // f(right) - f(found), and the cost of what was found.
    Answer answer(const feature::Sentence& sentence, const graph::WeightView& weights, const Training& training);
    // The same for the k best whole trees; the right one has no difference.
    std::vector<Answer> candidates(const feature::Sentence& sentence, const graph::WeightView& weights, const Training& training, int k);
    // Adds the states of a sentence, by the system's oracle; not those in which the action is forced.
    void add_instances(const feature::Sentence& sentence, Instances& instances);

private:
    // Finished states, best first.
    template <class S>
    std::vector<int> find_states(const S& system, const feature::Sentence& sentence, bool keep_heads, int beam, int most_labels);
    template <class S>
    graph::Ranked ranked(const S& system, int state) const;
    template <class S>
    Answer classify(const S& system, const Gold& gold, int n, const Training& training);
    // What to learn in the state that is looked at: of the moves, and of the label of an arc; returns the label that was found.
    struct Decision {
        Move found = Move::shift, target = Move::shift;  // target: the best of the right ones
    };
    Decision learn_move(Moves valid, Moves right, const Training& training, Answer& answer);
    int learn_label(const Arc& arc, Move move, const Gold& gold, const Training& training, Answer& answer);
    // f(right) - f(found) of two sequences that begin alike.
    template <class S>
    Answer difference(const S& system, const Gold& gold, const graph::Cost& costs, int right, int found);
    template <class S>
    void add_features(const S& system, const std::vector<int>& states, std::size_t from, float count, std::vector<SparseEntry>& entries);

    const Model* model_;
    Features features_;
    Space space_;
};

}  // namespace arbora::transition
