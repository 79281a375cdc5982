// Crossing arcs for a parser whose search is projective, after [mcdonald-2006]: from the tree that search found, one word at a time is
// given another of its heads or labels, always the best such change, while the score rises.
//
// The best change of every word is remembered. One that moves d from h to h' alters it only for words that may hang on one of these
// three, for the three themselves, and for the ancestors of h and h', which must not come to hang below themselves. With k heads and l
// labels per word, O(n k l) scores of words for the start, O(k l) for each of those words after a change, of which a word that many may
// hang on has many. With a single root, its dependent stays.
#pragma once

#include <vector>

#include "search/cube/whole_tree.hpp"

namespace arbora::cube {

class Reattachment {
public:
    explicit Reattachment(Roots roots) : roots_(roots) {}

    struct Change {
        double gain = 0.0;
        double rounding = 0.0;  // what the gain may be wrong by
        int dep = 0, arc = -1, choice = 0;

        // Rounding must not make a gain out of a tie, or the search would not end.
        bool beats(const Change& other) const { return dep != 0 && gain > other.gain + rounding; }
    };

    // No single change makes the tree better in the end.
    void improve(const Parts& parts, WholeTree& tree);

    // After improve(), the best changes of one word each: the best label of every other head, and the other labels of the head that it
    // has; at most `most` of either kind, best first.
    struct Neighbours {
        std::vector<Change> heads, labels;
    };
    Neighbours neighbours(WholeTree& tree, std::size_t most);

private:
    // visit(change) for all of one word, one arc after another; what the word has now is among them.
    template <class Visit>
    void each_change(WholeTree& tree, int dep, Visit&& visit);
    Change best_change(WholeTree& tree, int dep);
    // All labels of the arc by which the word is attached now. `rest`: the score of a word that they do not change; `before`: that of all
    // words which the change concerns, as the tree is.
    template <class Visit>
    void try_labels(WholeTree& tree, int dep, double rest, double before, Visit&& visit);
    void apply(WholeTree& tree, const Change& change);
    void add_ancestors(const WholeTree& tree, int node) {
        for (; node > 0; node = tree.head(node)) changed_.push_back(node);
    }
    double& known(int word) { return scores_[static_cast<std::size_t>(word)]; }

    const Parts* parts_ = nullptr;
    Roots roots_;
    std::vector<double> scores_;    // of each word, as the tree is
    std::vector<Change> changes_;   // of each word, the best
    std::vector<std::vector<int>> possible_;  // of each head, the words that may hang on it
    std::vector<int> changed_;
};

}  // namespace arbora::cube
