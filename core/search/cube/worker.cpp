#include "search/cube/worker.hpp"

namespace arbora::cube {

std::vector<Ranked> Worker::kbest(const feature::Sentence& sentence, const graph::ArcSet* arcs, const WeightView& weights, int k) {
    search_.parts().load(sentence, arcs, weights, false, false);
    take_best();
    std::vector<Ranked> trees{ranked()};
    if (k == 1) return trees;
    if (crossing()) {
        append_neighbours(trees, static_cast<std::size_t>(k));
        return trees;
    }
    // Trees that differ in heads, from a wider beam, because a list is only as varied as its nodes; then other labellings of the
    // best.
    const int wide = std::max(model_->beam, std::min(k, kListBeam));
    search_.run(Keys::trees, wide, std::max(wide, k));
    append(trees, k);
    search_.run(Keys::distinct, model_->beam, std::max(model_->beam, k));
    append(trees, k);
    std::stable_sort(trees.begin() + 1, trees.end(), [](const Ranked& a, const Ranked& b) { return a.score > b.score; });
    return trees;
}

Answer Worker::answer(const feature::Sentence& sentence, const graph::ArcSet* arcs, const WeightView& weights, bool cost_augmented,
                      hypergraph::Update update, Tally& tally) {
    search_.parts().load(sentence, arcs, weights, true, cost_augmented);
    take_best();
    Search::Gold& gold = search_.derive_gold();
    if (crossing()) {
        gold_.set(search_.parts(), sentence.heads, sentence.labels);
        gold.add_whole(tree_.score() - gold_.score(), tree_.cost() > 0.0);
    }
    count(gold, tally);
    Answer answer;
    for (const int node : hypergraph::update_nodes(update, gold.nodes)) {
        const auto n = static_cast<std::size_t>(node);
        if (gold.best[n] < 0) {
            if (gold.nodes[n].wrong) compare_whole_trees(answer);
            continue;
        }
        const double cost = search_.cost(gold.best[n]);
        if (cost == 0.0) continue;  // it is the gold tree
        answer.loss += cost;
        search_.add_features(gold.derivations[n], 1.0F, answer.difference);
        search_.add_features(gold.best[n], -1.0F, answer.difference);
    }
    return answer;
}

std::vector<Answer> Worker::candidates(const feature::Sentence& sentence, const graph::ArcSet* arcs, const WeightView& weights, int k,
                                       Tally& tally) {
    search_.parts().load(sentence, arcs, weights, true, false);
    std::vector<Ranked> trees;
    if (search_.run(Keys::distinct, model_->beam, std::max(model_->beam, k))) {
        append(trees, k);
    } else {
        take_best_of_arcs();
        trees.push_back(ranked());
    }
    gold_.set(search_.parts(), sentence.heads, sentence.labels);
    tally.asked += 1;
    tally.non_violations += trees.front().score < gold_.score() ? 1 : 0;
    std::vector<Answer> answers(trees.size());
    for (std::size_t i = 0; i < trees.size(); ++i) {
        tree_.set(search_.parts(), trees[i].heads.data(), trees[i].labels.data());
        compare_whole_trees(answers[i]);
    }
    return answers;
}

void Worker::take(int rank) {
    const auto nodes = static_cast<std::size_t>(search_.words()) + 1;
    heads_.resize(nodes);
    labels_.resize(nodes);
    search_.read(search_.forest().ranked(search_.root(), rank), heads_.data(), labels_.data());
    tree_.set(search_.parts(), heads_.data(), labels_.data());
    if (crossing()) reattachment_.improve(search_.parts(), tree_);
}

void Worker::take_best_of_arcs() {
    if (!crossing()) throw NoTreeError("no projective tree exists among the kept arcs");
    const Parts& parts = search_.parts();
    const auto nodes = static_cast<std::size_t>(search_.words()) + 1;
    dense_.assign(nodes * nodes, kMinusInfinity);
    for (int a = 0; a < parts.arcs().size(); ++a)
        dense_[static_cast<std::size_t>(parts.head(a)) * nodes + static_cast<std::size_t>(parts.dep(a))] = static_cast<double>(parts.arc(a) + parts.choices(a)[0].score);
    heads_.resize(nodes);
    labels_.resize(nodes);
    argmax(Problem{Trees::nonprojective, model_->graph.roots, search_.words(), dense_.data()}, arena_, heads_.data());
    for (int d = 1; d <= search_.words(); ++d)
        labels_[static_cast<std::size_t>(d)] = parts.choices(parts.arcs().find(heads_[static_cast<std::size_t>(d)], d))[0].label;
    tree_.set(search_.parts(), heads_.data(), labels_.data());
    reattachment_.improve(parts, tree_);
}

void Worker::append(std::vector<Ranked>& trees, int most) {
    const int count = std::min(most, search_.forest().count(search_.root()));
    for (int i = 0; i < count; ++i) {
        take(i);
        Ranked next = ranked();
        const auto is_same = [&](const Ranked& tree) { return tree.heads == next.heads && tree.labels == next.labels; };
        if (std::none_of(trees.begin(), trees.end(), is_same)) trees.push_back(std::move(next));
    }
}

void Worker::append_neighbours(std::vector<Ranked>& trees, std::size_t most) {
    const Ranked best = trees.front();
    const auto found = reattachment_.neighbours(tree_, most);
    for (const auto* changes : {&found.heads, &found.labels})
        for (const Reattachment::Change& change : *changes) {
            const auto dep = static_cast<std::size_t>(change.dep);
            trees.push_back(best);
            trees.back().heads[dep] = search_.parts().head(change.arc);
            trees.back().labels[dep] = search_.parts().choices(change.arc)[static_cast<std::size_t>(change.choice)].label;
            trees.back().score += change.gain;
        }
    std::stable_sort(trees.begin() + 1, trees.end(), [](const Ranked& a, const Ranked& b) { return a.score > b.score; });
}

Ranked Worker::ranked() {
    Ranked tree;
    tree.heads.assign(static_cast<std::size_t>(search_.words()) + 1, -1);
    tree.labels = tree.heads;
    tree.score = tree_.score();
    tree_.read(tree.heads.data(), tree.labels.data());
    return tree;
}

}  // namespace arbora::cube
