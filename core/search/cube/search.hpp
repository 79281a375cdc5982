// Eisner's items as a hypergraph, searched with a beam per node [zhang-2012, zhang-2013].
//
// Nodes over words 0..n and the kept arcs; a half H(h,e) is a head with all its dependents up to e on one side:
//   leaf  H(h,h)
//   arc   A(h,m) = H(h,k) + H(m,k')        the halves meet, k' next to k; makes the arc h -> m with one of its labels
//   half  H(h,e) = A(h,m) + H(m,e)
//   root  H(0,n); with a single root only A(0,m) = H(0,0) + H(m,1), and of the root's halves only the whole.
// Scored at an arc: arc and label, the sibling, the chain (h m s t), and the lineages of m's dependents towards h under their new
// grandparent. Scored at a half: those of m's dependents on its far side, and the closing of m. A derivation remembers its head's
// dependents on its side; Keys decides which two in one node are equivalent.
//
// With a filter that keeps k heads per word: O(n^2 k) to find the existing nodes, O(beam) combinations for each of them and one for
// each hyperedge, O(nodes * beam) space. float32 parts, sums in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "search/cube/parts.hpp"
#include "search/forest.hpp"
#include "search/updates.hpp"

namespace arbora::cube {

// Which derivations of one node are equivalent, so that only the better one is kept.
enum class Keys {
    loose,     // those with the same dependents, if the labels of the outermost are the same; leaves most room for other trees
    exact,     // those with the same dependents and labels: an unlimited beam finds the best tree
    trees,     // those with the same arcs, whatever their labels: many trees, one labelling of each
    distinct,  // none: an unlimited beam finds all trees with all labellings
};

using Derivations = hypergraph::Forest<Memory>;

inline constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();

inline std::uint64_t with(std::uint64_t list, int dep, int label) {
    return feature::mix(list * 0x9e3779b97f4a7c15ULL + (std::uint64_t{static_cast<std::uint32_t>(dep)} << 32) + static_cast<std::uint32_t>(label));
}

// Whether keys identify derivations completely.
inline bool is_whole(Keys keys) { return keys == Keys::trees || keys == Keys::distinct; }

// The key of halves: all of the head's dependents, and the label of at least the outermost.
inline std::uint64_t half_key(const Memory& memory) { return with(memory.list, 0, memory.label); }

using feature::Context;
class Search {
public:
    explicit Search(const Model& model, const graph::Cost& cost = {}) : model_(&model), parts_(model, cost) {}

    Parts& parts() { return parts_; }
    const Derivations& forest() const { return forest_; }

    // Builds the forest for the sentence in parts(); the root keeps `root_beam` derivations. Returns false if the arcs contain no
    // projective tree.
    bool run(Keys keys, int beam, int root_beam);
    int words() const { return parts_.sentence().n; }
    int root() const { return half(0, words()); }

    // heads[0..n] and, unless null, labels[0..n] of a derivation of the root.
    void read(int derivation, int* heads, int* labels) const;

    // The derivation of the gold tree, over kept arcs and with the required roots: its nodes, children first, with their
    // violations. For non-projective trees, those of its projective subtrees, joined.
    struct Gold {
        std::vector<hypergraph::GoldNode> nodes;
        std::vector<int> derivations;  // the gold one of each node; -1: joined ones have none
        std::vector<int> best;         // the best one found there

        // A node above all others that is in no forest; its violation, and whether the result is wrong.
        void add_whole(double violation, bool wrong) {
            nodes.push_back({{static_cast<int>(nodes.size()) - 1, -1}, violation, wrong});
            derivations.push_back(-1);
            best.push_back(-1);
        }
        // Joins two nodes into one, which is never chosen itself.
        int join(int left, int right) {
            nodes.push_back({{left, right}, -std::numeric_limits<double>::infinity(), false});
            derivations.push_back(-1);
            best.push_back(-1);
            return static_cast<int>(nodes.size()) - 1;
        }
    };
    Gold& derive_gold();

    // The sum of the costs of a derivation's arcs, where costs are counted.
    double cost(int derivation) const { return static_cast<double>(forest_.at(derivation).context.cost); }
    void add_features(int derivation, float count, std::vector<SparseEntry>& entries);

private:
    using Item = Derivations::Item;

    int& half(int head, int end) { return halves_[static_cast<std::size_t>(head) * width_ + static_cast<std::size_t>(end)]; }
    int half(int head, int end) const { return halves_[static_cast<std::size_t>(head) * width_ + static_cast<std::size_t>(end)]; }
    void prepare();
    void make_arc(int a, int beam);
    void make_half(const Side& side, int end, int beam);
    Item combine_arc(int a, const LabelChoice& choice, const Item& outer, int inner, float chain_free);
    Item combine_half(const Item& arc, int far);
    // The parts of all dependents of a half, after its head got the arc b to its own head.
    float lineages_free(int half, int b);
    float lineages_chosen(const Item& half, int grandparent, int label) const;
    // visit(context, dependent's own item) for each dependent of a half under a grandparent.
    template <class Visit>
    void each_lineage(const Item& half, int grandparent, int label, Visit&& visit) const {
        for (const Item* item = &half; item->context.count > 0; item = &forest_.at(forest_.at(item->left).left))
            visit(lineage_of(grandparent, label, item->context), item->context);
    }
    int gold_leaf(int word);
    int gold_side(int word, const std::vector<int>& dependents);
    void find_gold_sides();
    void join_projective_subtrees(const std::vector<bool>& is_derived);

    const Model* model_;
    Parts parts_;
    Derivations forest_;
    Keys keys_ = Keys::loose;
    std::size_t width_ = 0;
    std::vector<int> halves_, arc_nodes_;                    // nodes, -1: not there
    std::vector<std::vector<int>> right_ends_, left_ends_;   // of the halves that are there, nearest first
    std::vector<std::vector<int>> by_length_;                // arcs
    std::vector<hypergraph::Edge> edges_;
    std::vector<float> chains_;                              // per edge and rank on the left; NaN: not yet
    std::vector<std::size_t> first_chain_;
    std::vector<std::ptrdiff_t> first_lineage_;              // per derivation; -1: none yet
    std::vector<float> lineages_;                            // per half and head of its head; NaN: not yet
    std::vector<int> chain_;
    Gold gold_;
    std::vector<std::vector<int>> gold_left_, gold_right_;   // dependents, nearest first
    std::vector<int> gold_halves_;                           // [word, left or right]: gold nodes
};

}  // namespace arbora::cube
