// A complete labelled tree, projective or not: its score, its cost and its features.
//
// The score is a sum over words. Each has the arcs to its dependents with their labels, siblings and chains, the lineages of these
// dependents under its own head, and its own closing. So re-attaching a word changes the scores of only three words: its old head,
// its new one, and itself. For projective trees the sum equals that of search.hpp.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "search/cube/parts.hpp"

namespace arbora::cube {

class WholeTree {
public:
    // Call first: heads[0..n] and labels[0..n], all among the arcs and choices that the parts have loaded. The parts are read until
    // the next call.
    void set(Parts& parts, const int* heads, const int* labels);

    int head(int dep) const { return heads_[static_cast<std::size_t>(dep)]; }
    int label(int dep) const { return choice(dep).label; }
    bool is_below(int node, int dep) const { return arbora::is_below(heads_.data(), node, dep); }

    // O(dependents of the head).
    void detach(int dep) {
        auto& dependents = side(head(dep), dep);
        dependents.erase(std::find(dependents.begin(), dependents.end(), dep));
    }
    // arc: one of the dependent's arcs; choice: the number of its label there.
    void attach(int dep, int arc, int choice);
    void relabel(int dep, int choice) { choices_[static_cast<std::size_t>(dep)] = choice; }
    int arc(int dep) const { return arcs_[static_cast<std::size_t>(dep)]; }
    int choice_number(int dep) const { return choices_[static_cast<std::size_t>(dep)]; }

    // The score of one word, which must be attached; equal for equal contexts. O(its dependents).
    double score_of(int word) const;
    double score() const {
        double sum = 0.0;
        for (int word = 0; word <= words(); ++word) sum += score_of(word);
        return sum;
    }
    double cost() const {
        double sum = 0.0;
        for (int word = 1; word <= words(); ++word) sum += static_cast<double>(choice(word).cost);
        return sum;
    }
    void add_features(float count, std::vector<SparseEntry>& entries);
    void read(int* heads, int* labels) const;

private:
    const LabelChoice& choice(int dep) const {
        return parts_->choices(arcs_[static_cast<std::size_t>(dep)])[static_cast<std::size_t>(choices_[static_cast<std::size_t>(dep)])];
    }
    std::vector<int>& side(int head, int dep) { return sides_[2 * static_cast<std::size_t>(head) + (dep > head ? 1 : 0)]; }
    // visit(memory before it, memory with it) for each dependent on one side, nearest first; returns the final memory.
    template <class Visit>
    Memory walk(int word, bool right, Visit&& visit) const {
        Memory memory;
        memory.head = word;
        for (const int dep : sides_[2 * static_cast<std::size_t>(word) + (right ? 1 : 0)]) {
            const Memory outer = memory;
            memory.dep = dep;
            memory.arc = arcs_[static_cast<std::size_t>(dep)];
            memory.label = choice(dep).label;
            memory.before = outer.dep;
            memory.before_label = outer.label;
            memory.count = outer.count + 1;
            visit(outer, memory);
        }
        return memory;
    }
    // The closing of a word, given the memories of its sides.
    feature::Context closing(int word, const Memory& left, const Memory& right) const;
    int words() const { return static_cast<int>(heads_.size()) - 1; }

    Parts* parts_ = nullptr;
    std::vector<int> heads_, arcs_, choices_;  // per word
    std::vector<std::vector<int>> sides_;      // [node, left or right]: dependents, nearest first
};

}  // namespace arbora::cube
