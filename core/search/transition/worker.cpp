#include "search/transition/worker.hpp"

#include "base/interrupt.hpp"

namespace arbora::transition {

std::vector<int> history(const Space& space, int state) {
    std::vector<int> states;
    for (int s = state; s >= 0; s = space.state(s).previous) states.push_back(s);
    std::reverse(states.begin(), states.end());
    return states;
}

double Worker::parse(const feature::Sentence& sentence, const graph::WeightView& weights, bool keep_heads, int* heads, int* labels) {
    features_.load(sentence, weights);
    return std::visit([&](const auto& system) {
        const int best = find_states(system, sentence, keep_heads, model_->beam, model_->most_labels)[0];
        read_tree(system, space_, best, heads, labels);
        return space_.state(best).score;
    }, model_->system);
}

std::vector<graph::Ranked> Worker::kbest(const feature::Sentence& sentence, const graph::WeightView& weights, bool keep_heads, int k) {
    features_.load(sentence, weights);
    return std::visit([&](const auto& system) {
        std::vector<graph::Ranked> trees{ranked(system, find_states(system, sentence, keep_heads, model_->beam, model_->most_labels)[0])};
        if (k == 1) return trees;
        for (const int state : find_states(system, sentence, keep_heads, std::max(model_->beam, k), std::max(model_->most_labels, 2))) {
            if (trees.size() == static_cast<std::size_t>(k)) break;
            graph::Ranked next = ranked(system, state);
            // Different sequences may give the same tree; the best of them counts.
            if (!is_among(trees, next)) trees.push_back(std::move(next));
        }
        return trees;
    }, model_->system);
}

Answer Worker::answer(const feature::Sentence& sentence, const graph::WeightView& weights, const Training& training) {
    features_.load(sentence, weights);
    const Gold gold = gold_of(sentence);
    return std::visit([&](const auto& system) {
        using S = std::decay_t<decltype(system)>;
        if (model_->beam == 1) return classify(system, gold, sentence.n, training);
        Scorer<S> scorer(system, features_);
        search::Beam<S, Scorer<S>> beam(system, space_, scorer, model_->beam, model_->most_labels);
        const auto costs = [&](const Arc& arc, int label) { return training.cost_augmented ? cost(gold, arc, label, training.cost) : 0.0; };
        const auto compared = beam.compare(sentence.n, gold, training.update, costs);
        return difference(system, gold, training.cost, compared.right, compared.found);
    }, model_->system);
}

std::vector<Answer> Worker::candidates(const feature::Sentence& sentence, const graph::WeightView& weights, const Training& training,
                                       int k) {
    features_.load(sentence, weights);
    const Gold gold = gold_of(sentence);
    return std::visit([&](const auto& system) {
        using S = std::decay_t<decltype(system)>;
        Scorer<S> scorer(system, features_);
        search::Beam<S, Scorer<S>> beam(system, space_, scorer, std::max(model_->beam, k), std::max(model_->most_labels, 2));
        const std::vector<int> found = beam.run(sentence.n);
        const int right = beam.right_sequence(gold, history(space_, found[0])[0]);
        std::vector<Answer> answers;
        std::vector<graph::Ranked> trees;
        for (const int state : found) {
            if (answers.size() == static_cast<std::size_t>(k)) break;
            graph::Ranked next = ranked(system, state);
            if (is_among(trees, next)) continue;
            trees.push_back(std::move(next));
            answers.push_back(difference(system, gold, training.cost, right, state));
        }
        return answers;
    }, model_->system);
}

void Worker::add_instances(const feature::Sentence& sentence, Instances& instances) {
    features_.load(sentence, {});
    const Gold gold = gold_of(sentence);
    std::visit([&](const auto& system) {
        const State start = system.start(space_, sentence.n);
        const auto plan = system.plan(sentence.n, gold);
        int at = space_.add(start);
        for (;;) {
            check_stop(256);
            const State state = space_.state(at);
            const Moves valid = system.valid(space_, state);
            if (valid == 0) return;
            Action action{is_forced(valid) ? first(valid) : system.oracle(space_, state, gold, plan), -1};
            if (makes_arc(action.move)) action.label = static_cast<std::int16_t>(gold.label(system.arc(space_, state, action.move).dep));
            if (!is_forced(valid)) {
                const auto hashes = features_.hashes(space_, state, system.focus(space_, state));
                instances.features.insert(instances.features.end(), hashes.begin(), hashes.end());
                instances.moves.push_back(static_cast<std::int8_t>(action.move));
                instances.labels.push_back(action.label);
            }
            at = search::step(system, space_, at, action, 0.0);
        }
    }, model_->system);
}

Worker::Decision Worker::learn_move(Moves valid, Moves right, const Training& training, Answer& answer) {
    constexpr double kNone = -std::numeric_limits<double>::infinity();
    Decision decision;
    double best = kNone, best_right = kNone;
    search::each_move(valid, [&](Move move) {
        const bool is_right = has(right, move);
        const double score = features_.move(move) + (training.cost_augmented && !is_right ? training.cost.head : 0.0);
        if (score > best) {
            best = score;
            decision.found = move;
        }
        if (is_right && score > best_right) {
            best_right = score;
            decision.target = move;
        }
    });
    if (!has(right, decision.found)) {
        answer.loss += training.cost.head;
        features_.add({decision.target, -1}, {}, 1.0F, answer.difference);
        features_.add({decision.found, -1}, {}, -1.0F, answer.difference);
    }
    return decision;
}

int Worker::learn_label(const Arc& arc, Move move, const Gold& gold, const Training& training, Answer& answer) {
    const int wanted = gold.is_right(arc) ? gold.label(arc.dep) : -1;
    if (wanted < 0) return features_.labels(arc, move, 1)[0].label;
    // The best wrong prediction is among the best two.
    search::LabelScore other;
    for (const auto& each : features_.labels(arc, move, 2))
        if (each.label != wanted && other.label < 0) other = each;
    if (other.label < 0) return wanted;
    const double score = features_.label(arc, move, wanted), rival = other.score + (training.cost_augmented ? training.cost.label : 0.0);
    if (rival < score || (rival == score && wanted < other.label)) return wanted;
    answer.loss += training.cost.label;
    features_.add_label(move, arc, wanted, 1.0F, answer.difference);
    features_.add_label(move, arc, other.label, -1.0F, answer.difference);
    return other.label;
}

}  // namespace arbora::transition
