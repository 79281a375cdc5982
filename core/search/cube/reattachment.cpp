#include "search/cube/reattachment.hpp"

#include <algorithm>
#include <cmath>

namespace arbora::cube {

void Reattachment::improve(const Parts& parts, WholeTree& tree) {
    parts_ = &parts;
    const int n = parts_->sentence().n;
    const auto nodes = static_cast<std::size_t>(n) + 1;
    possible_.resize(std::max(possible_.size(), nodes));
    for (auto& dependents : possible_) dependents.clear();
    for (int a = 0; a < parts_->arcs().size(); ++a) possible_[static_cast<std::size_t>(parts_->head(a))].push_back(parts_->dep(a));
    scores_.resize(nodes);
    changes_.assign(nodes, {});
    for (int word = 0; word <= n; ++word) known(word) = tree.score_of(word);
    for (int d = 1; d <= n; ++d) changes_[static_cast<std::size_t>(d)] = best_change(tree, d);
    for (;;) {
        Change best;
        for (const Change& change : changes_)
            if (change.beats(best)) best = change;
        if (best.dep == 0) return;
        apply(tree, best);
    }
}

template <class Visit>
void Reattachment::try_labels(WholeTree& tree, int dep, double rest, double before, Visit&& visit) {
    const int arc = tree.arc(dep), choices = static_cast<int>(parts_->choices(arc).size());
    for (int choice = 0; choice < choices; ++choice) {
        tree.relabel(dep, choice);
        const double after = rest + tree.score_of(tree.head(dep)) + tree.score_of(dep);
        visit(Change{after - before, 1e-12 * (1.0 + std::abs(after) + std::abs(before)), dep, arc, choice});
    }
}

template <class Visit>
void Reattachment::each_change(WholeTree& tree, int dep, Visit&& visit) {
    const int head = tree.head(dep), arc = tree.arc(dep), choice = tree.choice_number(dep);
    const double before = known(head) + known(dep);
    try_labels(tree, dep, 0.0, before, visit);
    tree.relabel(dep, choice);
    const bool single = roots_ == Roots::single;
    if (single && head == 0) return;
    tree.detach(dep);
    const double without = tree.score_of(head);
    const auto first = parts_->arcs().first[static_cast<std::size_t>(dep)], last = parts_->arcs().first[static_cast<std::size_t>(dep) + 1];
    for (int a = first; a < last; ++a) {
        const int other = parts_->head(a);
        if (a == arc || (single && other == 0) || tree.is_below(other, dep)) continue;
        tree.attach(dep, a, 0);
        try_labels(tree, dep, without, before + known(other), visit);
        tree.detach(dep);
    }
    tree.attach(dep, arc, choice);
}

Reattachment::Change Reattachment::best_change(WholeTree& tree, int dep) {
    Change best;
    each_change(tree, dep, [&](const Change& change) {
        if (change.beats(best)) best = change;
    });
    return best;
}

Reattachment::Neighbours Reattachment::neighbours(WholeTree& tree, std::size_t most) {
    Neighbours found;
    const int n = parts_->sentence().n;
    for (int d = 1; d <= n; ++d) {
        const int arc = tree.arc(d), choice = tree.choice_number(d);
        each_change(tree, d, [&](const Change& change) {
            if (change.arc == arc) {
                if (change.choice != choice) found.labels.push_back(change);
            } else if (found.heads.empty() || found.heads.back().dep != d || found.heads.back().arc != change.arc) {
                found.heads.push_back(change);
            } else if (change.gain > found.heads.back().gain) {
                found.heads.back() = change;
            }
        });
    }
    for (auto* changes : {&found.heads, &found.labels}) {
        std::stable_sort(changes->begin(), changes->end(), [](const Change& a, const Change& b) { return a.gain > b.gain; });
        changes->resize(std::min(changes->size(), most));
    }
    return found;
}

void Reattachment::apply(WholeTree& tree, const Change& change) {
    const int from = tree.head(change.dep), to = parts_->head(change.arc);
    changed_.clear();
    add_ancestors(tree, from);
    tree.detach(change.dep);
    tree.attach(change.dep, change.arc, change.choice);
    add_ancestors(tree, to);
    changed_.push_back(change.dep);
    for (const int word : {from, to, change.dep}) {
        known(word) = tree.score_of(word);
        changed_.insert(changed_.end(), possible_[static_cast<std::size_t>(word)].begin(), possible_[static_cast<std::size_t>(word)].end());
    }
    std::sort(changed_.begin(), changed_.end());
    changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
    for (const int d : changed_) changes_[static_cast<std::size_t>(d)] = best_change(tree, d);
}

}  // namespace arbora::cube
