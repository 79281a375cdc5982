// Non-projective trees for a parser whose search is projective [mcdonald-2006]: hill climbing over changes of the head and label of one
// word (trees/hill_climbing.hpp), from the tree that search found. A change is scored by the three words that it concerns (whole_tree.hpp).
// With k heads and l labels per word, the best change of a word takes O(k l) scores of words. With a single root, its dependent stays.
#pragma once

#include <algorithm>
#include <vector>

#include "search/cube/whole_tree.hpp"

namespace arbora::cube {

class Reattachment {
public:
    explicit Reattachment(Roots roots) : roots_(roots) {}

    struct Change : HeadChange {
        int arc = -1, choice = 0;
    };

    // Changes the tree until no single change makes it better.
    void improve(const Parts& parts, WholeTree& tree);

    // After improve(), the best changes of one word each: the best label of every other head, and the other labels of the current head;
    // at most `most` of either kind, best first.
    struct Neighbours {
        std::vector<Change> heads, labels;
    };
    Neighbours neighbours(WholeTree& tree, std::size_t most);

private:
    struct Scorer {
        Reattachment& own;
        WholeTree& tree;

        int n() const { return own.parts_->sentence().n; }
        int head(int dep) const { return tree.head(dep); }
        template <class Visit>
        void each_head(int dep, Visit visit) const {
            for (const int h : own.parts_->arcs().heads_of(dep)) visit(h);
        }

        Change best_change(int dep) const {
            Change best;
            own.each_change(tree, dep, [&](const Change& change) {
                if (change.beats(best)) best = change;
            });
            return best;
        }

        void apply(const Change& change) const {
            const int from = tree.head(change.dep);
            tree.detach(change.dep);
            tree.attach(change.dep, change.arc, change.choice);
            for (const int word : {from, change.head, change.dep}) own.known(word) = tree.score_of(word);
        }
    };

    // visit(change) for all changes of one word, one arc after another; its current arc and label are among them.
    template <class Visit>
    void each_change(WholeTree& tree, int dep, Visit&& visit) {
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
    // All labels of the arc by which the word is attached now. `rest`: the score of a word that they do not change; `before`: that of all
    // words which the change concerns, in the current tree.
    template <class Visit>
    void try_labels(WholeTree& tree, int dep, double rest, double before, Visit&& visit) {
        const int arc = tree.arc(dep), choices = static_cast<int>(parts_->choices(arc).size());
        for (int choice = 0; choice < choices; ++choice) {
            tree.relabel(dep, choice);
            const double after = rest + tree.score_of(tree.head(dep)) + tree.score_of(dep);
            visit(Change{HeadChange::of(before, after, dep, tree.head(dep)), arc, choice});
        }
    }
    double& known(int word) { return scores_[static_cast<std::size_t>(word)]; }

    const Parts* parts_ = nullptr;
    Roots roots_;
    HillClimber<Change> climber_;
    std::vector<double> scores_;  // of each word in the current tree
};

}  // namespace arbora::cube
