#include "cube/worker.hpp"

#include <algorithm>

#include "errors/errors.hpp"

namespace arbora::cube {

namespace {

constexpr int kListBeam = 16;  // of each node, where a list of trees is asked for

void count(const Search::Gold& gold, Tally& tally) {
    tally.asked += 1;
    tally.non_violations += gold.nodes.back().violation < 0.0 ? 1 : 0;
}

}  // namespace

void Worker::run(Keys keys, int beam, int trees) {
    if (!search_.run(keys, beam, std::max(beam, trees))) throw NoTreeError("the arcs that were kept hold no projective tree");
}

void Worker::find_best() { run(model_->exact_keys ? Keys::exact : Keys::loose, model_->beam, 1); }

double Worker::parse(const feature::Sentence& sentence, const graph::ArcSet* arcs, const WeightView& weights, int* heads, int* labels) {
    search_.parts().load(sentence, arcs, weights, false, false);
    find_best();
    const int best = search_.forest().ranked(search_.root(), 0);
    search_.read(best, heads, labels);
    return search_.forest().at(best).score;
}

void Worker::append(std::vector<Ranked>& trees, int most) const {
    const int count = std::min(most, search_.forest().count(search_.root()));
    for (int i = 0; i < count; ++i) {
        Ranked next = ranked(i);
        const auto is_same = [&](const Ranked& tree) { return tree.heads == next.heads && tree.labels == next.labels; };
        if (std::none_of(trees.begin(), trees.end(), is_same)) trees.push_back(std::move(next));
    }
}

Ranked Worker::ranked(int rank) const {
    const int derivation = search_.forest().ranked(search_.root(), rank);
    Ranked tree;
    tree.heads.assign(static_cast<std::size_t>(search_.words()) + 1, -1);
    tree.labels = tree.heads;
    tree.score = search_.forest().at(derivation).score;
    search_.read(derivation, tree.heads.data(), tree.labels.data());
    return tree;
}

std::vector<Ranked> Worker::kbest(const feature::Sentence& sentence, const graph::ArcSet* arcs, const WeightView& weights, int k) {
    search_.parts().load(sentence, arcs, weights, false, false);
    find_best();
    std::vector<Ranked> trees{ranked(0)};
    if (k == 1) return trees;
    // Trees by their heads from a wider beam, since a list is as varied as its nodes; then other labellings of what is best.
    run(Keys::trees, std::max(model_->beam, std::min(k, kListBeam)), k);
    append(trees, k);
    run(Keys::distinct, model_->beam, k);
    append(trees, k);
    std::stable_sort(trees.begin() + 1, trees.end(), [](const Ranked& a, const Ranked& b) { return a.score > b.score; });
    return trees;
}

graph::Answer Worker::answer(const feature::Sentence& sentence, const graph::ArcSet* arcs, const WeightView& weights,
                             bool cost_augmented, hypergraph::Update update, Tally& tally) {
    search_.parts().load(sentence, arcs, weights, true, cost_augmented);
    find_best();
    const Search::Gold& gold = search_.derive_gold();
    count(gold, tally);
    graph::Answer answer;
    for (const int node : hypergraph::update_nodes(update, gold.nodes)) {
        const auto n = static_cast<std::size_t>(node);
        const double cost = search_.cost(gold.best[n]);
        if (cost == 0.0) continue;  // it is the gold tree
        answer.loss += cost;
        search_.add_features(gold.derivations[n], 1.0F, answer.difference);
        search_.add_features(gold.best[n], -1.0F, answer.difference);
    }
    return answer;
}

std::vector<graph::Answer> Worker::candidates(const feature::Sentence& sentence, const graph::ArcSet* arcs, const WeightView& weights,
                                              int k, Tally& tally) {
    search_.parts().load(sentence, arcs, weights, true, false);
    run(Keys::distinct, model_->beam, k);
    const Search::Gold& derived = search_.derive_gold();
    count(derived, tally);
    const int gold = derived.derivations.back();
    std::vector<graph::Answer> answers(static_cast<std::size_t>(std::min(k, search_.forest().count(search_.root()))));
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const int found = search_.forest().ranked(search_.root(), static_cast<int>(i));
        answers[i].loss = search_.cost(found);
        search_.add_features(gold, 1.0F, answers[i].difference);
        search_.add_features(found, -1.0F, answers[i].difference);
    }
    return answers;
}

}  // namespace arbora::cube
