// Non-projective trees for a parser whose search is projective [mcdonald-2006]: hill climbing over changes of the head and label of one
// word (trees/hill_climbing.hpp), from the tree that search found. A change is scored by the three words that it concerns (whole_tree.hpp).
// With k heads and l labels per word, the best change of a word takes O(k l) scores of words. With a single root, its dependent stays.
#pragma once

#include <vector>

#include "search/cube/whole_tree.hpp"
#include "trees/hill_climbing.hpp"

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
    struct Scorer;

    // visit(change) for all changes of one word, one arc after another; its current arc and label are among them.
    template <class Visit>
    void each_change(WholeTree& tree, int dep, Visit&& visit);
    // All labels of the arc by which the word is attached now. `rest`: the score of a word that they do not change; `before`: that of all
    // words which the change concerns, in the current tree.
    template <class Visit>
    void try_labels(WholeTree& tree, int dep, double rest, double before, Visit&& visit);
    double& known(int word) { return scores_[static_cast<std::size_t>(word)]; }

    const Parts* parts_ = nullptr;
    Roots roots_;
    HillClimber<Change> climber_;
    std::vector<double> scores_;  // of each word in the current tree
};

}  // namespace arbora::cube
