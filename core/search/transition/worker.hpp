// Parses and answers for one sentence at a time; keeps its memory between sentences. One per thread.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "base/interrupt.hpp"
#include "parser/candidates.hpp"
#include "search/transition/features.hpp"

namespace arbora::transition {

// Training of a parser. With a beam, `update` selects the step at which sequences are compared. Without a beam, the parser is a
// classifier of moves, and `explores` selects whether it follows its own choices (dynamic oracle) or the gold ones (static oracle).
struct Training {
    search::Update update = search::Update::max_violation;
    bool explores = true;
    graph::Cost cost{};  // without a beam, a wrong move costs as much as a wrong head
    bool cost_augmented = false;
};

// States on the path to gold trees, each with its gold action: the examples of a classifier of actions.
struct Instances {
    std::vector<std::uint32_t> features;  // one hash per template of moves, state by state
    std::vector<std::int8_t> moves;
    std::vector<std::int32_t> labels;  // of the arc that the move makes; -1: none
};

// Allows moves after which all given heads are still possible.
template <class S>
struct Keeping {
    const S* system;
    const Gold* given;

    Moves operator()(const Space& space, const State& state, Moves moves) const {
        Moves kept = 0;
        search::each_move(moves, [&](Move move) {
            if (system->cost(space, state, move, *given) == 0) kept = static_cast<Moves>(kept | only(move));
        });
        return kept;
    }
};

inline constexpr double kStrayed = 0.5;  // heads: the least cost of an unfinished sequence that left the right one

inline double cost(const Gold& gold, const Arc& arc, int label, const graph::Cost& costs) {
    const double of_label = gold.label(arc.dep) >= 0 && label != gold.label(arc.dep) ? costs.label : 0.0;
    return gold.is_right(arc) ? of_label : costs.head + of_label;
}

inline Gold gold_of(const feature::Sentence& sentence) { return {sentence.n, sentence.heads, sentence.labels}; }

inline bool is_among(const std::vector<graph::Ranked>& trees, const graph::Ranked& tree) {
    return std::any_of(trees.begin(), trees.end(), [&](const auto& other) { return other.heads == tree.heads && other.labels == tree.labels; });
}

// The sequence of states that led to one, first to last, including itself.
std::vector<int> history(const Space& space, int state);

// The moves of least cost, or the oracle's move.
template <class S, class Plan>
inline Moves right_moves(const S& system, const Space& space, const State& state, Moves valid, const Gold& gold, const Plan& plan, bool explores) {
    if constexpr (S::has_costs) {
        if (explores) {
            int least = -1;
            Moves right = 0;
            search::each_move(valid, [&](Move move) {
                const int found = system.cost(space, state, move, gold);
                if (least >= 0 && found > least) return;
                right = static_cast<Moves>((found == least ? right : 0) | only(move));
                least = found;
            });
            return right;
        }
    }
    return only(system.oracle(space, state, gold, plan));
}

class Worker {
public:
    explicit Worker(const Model& model) : model_(&model), features_(model) {}

    // The best tree found: heads[0..n] and labels[0..n], -1 if there are none. Returns its score. keep_heads: only trees with the
    // sentence's heads, for systems with costs; throws NoTreeError if none is found.
    double parse(const feature::Sentence& sentence, const graph::WeightView& weights, bool keep_heads, int* heads, int* labels);

    // The tree that parse() finds, and others that differ in heads or labels, best first: up to k in all.
    std::vector<graph::Ranked> kbest(const feature::Sentence& sentence, const graph::WeightView& weights, bool keep_heads, int k);

    // f(gold) - f(predicted), and the cost of the predicted.
    Answer answer(const feature::Sentence& sentence, const graph::WeightView& weights, const Training& training);
    // The same for the k best whole trees; the gold tree has no difference.
    std::vector<Answer> candidates(const feature::Sentence& sentence, const graph::WeightView& weights, const Training& training, int k);
    // Adds the states of a sentence on the oracle's path, except those with a forced action.
    void add_instances(const feature::Sentence& sentence, Instances& instances);

private:
    // Finished states, best first.
    template <class S>
    std::vector<int> find_states(const S& system, const feature::Sentence& sentence, bool keep_heads, int beam, int most_labels) {
        Scorer<S> scorer(system, features_);
        const auto run = [&](const auto& allowed) -> std::vector<int> {
            if (beam > 1) return search::Beam<S, Scorer<S>>(system, space_, scorer, beam, most_labels).run(sentence.n, allowed);
            return {search::greedy(system, space_, sentence.n, scorer, allowed)};
        };
        if constexpr (S::has_costs) {
            if (keep_heads) {
                const Gold given(sentence.n, sentence.heads, nullptr);
                auto found = run(Keeping<S>{&system, &given});
                // Costs do not count arcs that unshift may restore, so trees may still differ from the given heads.
                std::erase_if(found, [&](int state) {
                    if (state < 0) return true;
                    const graph::Ranked tree = ranked(system, state);
                    for (int d = 1; d <= sentence.n; ++d)
                        if (sentence.heads[d] >= 0 && sentence.heads[d] != tree.heads[static_cast<std::size_t>(d)]) return true;
                    return false;
                });
                if (found.empty()) {
                    // Which of them are wrong, as far as that is known.
                    graph::ArcSet compatible;
                    graph::find_compatible(sentence, Trees::projective, system.roots, compatible);
                    throw NoTreeError("no tree found with all given heads; unpin some of them");
                }
                return found;
            }
        }
        if (keep_heads && std::any_of(sentence.heads + 1, sentence.heads + sentence.n + 1, [](int head) { return head >= 0; }))
            throw InputError("keep_heads: only the system arc-eager supports given heads");
        return run(search::Unrestricted{});
    }
    template <class S>
    graph::Ranked ranked(const S& system, int state) const {
        graph::Ranked tree;
        tree.heads.assign(static_cast<std::size_t>(space_.n()) + 1, -1);
        tree.labels = tree.heads;
        tree.score = space_.state(state).score;
        read_tree(system, space_, state, tree.heads.data(), tree.labels.data());
        return tree;
    }
    template <class S>
    Answer classify(const S& system, const Gold& gold, int n, const Training& training) {
        Scorer<S> scorer(system, features_);
        Answer answer;
        const bool explores = training.explores && S::has_costs;
        const State start = system.start(space_, n);
        int at = space_.add(start);
        const auto plan = system.plan(n, gold);
        for (;;) {
            check_stop(256);
            const State state = space_.state(at);
            const Moves valid = system.valid(space_, state);
            if (valid == 0) return answer;
            if (is_forced(valid)) {
                at = search::step(system, space_, at, {first(valid), -1}, 0.0);
                continue;
            }
            scorer.look(space_, state);
            const Moves right = right_moves(system, space_, state, valid, gold, plan, explores);
            const auto [found, target] = learn_move(valid, right, training, answer);
            int label = -1;
            if (makes_arc(target)) {
                const Arc arc = system.arc(space_, state, target);
                label = learn_label(arc, target, gold, training, answer);
                if (!explores && gold.is_right(arc)) label = gold.label(arc.dep);
            }
            const Move followed = explores ? found : target;
            if (followed != target) label = makes_arc(followed) ? features_.labels(system.arc(space_, state, followed), followed, 1)[0].label : -1;
            at = search::step(system, space_, at, {followed, static_cast<std::int16_t>(label)}, 0.0);
        }
    }
    // The update in the current state: for the moves, and for the label of an arc; returns the predicted label.
    struct Decision {
        Move found = Move::shift, target = Move::shift;  // target: the best of the gold moves
    };
    Decision learn_move(Moves valid, Moves right, const Training& training, Answer& answer);
    int learn_label(const Arc& arc, Move move, const Gold& gold, const Training& training, Answer& answer);
    // f(gold) - f(predicted) of two sequences with a common start.
    template <class S>
    Answer difference(const S& system, const Gold& gold, const graph::Cost& costs, int right, int found) {
        Answer answer;
        const std::vector<int> rights = history(space_, right), founds = history(space_, found);
        std::size_t same = 1;
        const auto action = [&](int state) { return space_.state(state).action; };
        while (same < rights.size() && same < founds.size() && action(rights[same]) == action(founds[same])) ++same;
        if (same == rights.size() && same == founds.size()) return answer;
        for (std::size_t i = 1; i < founds.size(); ++i) {
            const Action made = action(founds[i]);
            if (makes_arc(made.move)) answer.loss += cost(gold, system.arc(space_, space_.state(founds[i - 1]), made.move), made.label, costs);
        }
        const bool is_whole = system.valid(space_, space_.state(found)) == 0;
        if (answer.loss == 0.0 && is_whole) return answer;  // the gold tree, derived in another order
        if (!is_whole) answer.loss = std::max(answer.loss, kStrayed * costs.head);
        add_features(system, rights, same, 1.0F, answer.difference);
        add_features(system, founds, same, -1.0F, answer.difference);
        return answer;
    }
    template <class S>
    void add_features(const S& system, const std::vector<int>& states, std::size_t from, float count, std::vector<SparseEntry>& entries) {
        Scorer<S> scorer(system, features_);
        for (std::size_t i = from; i < states.size(); ++i) {
            const State& before = space_.state(states[i - 1]);
            if (is_forced(system.valid(space_, before))) continue;
            scorer.look(space_, before);
            const Action action = space_.state(states[i]).action;
            const Arc arc = makes_arc(action.move) ? system.arc(space_, before, action.move) : Arc{};
            features_.add(action, arc, count, entries);
        }
    }

    const Model* model_;
    Features features_;
    Space space_;
};

}  // namespace arbora::transition
