// The arcs that a parser considers for a sentence: all, those left by a pruner, or those compatible with given heads.
//
// A word with a given head has only that arc. Another word may attach to h unless h is below it by given arcs, h is the root and
// another word is the only root, or, in projective trees, the arc crosses a given one. Running minima and maxima check this in
// O(n^2). A pruner then chooses among these arcs, so that a given head keeps the arcs that it needs. Its best tree is added, in
// O(n^3) at most, so at least one tree is left. Max-marginal filtering (filter.hpp) continues from there. Probabilities sum over
// all trees, projective or not (matrix_tree.hpp), in O(n^3); in very long sentences heads are compared by their scores alone, in
// O(n^2).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "parser/filter.hpp"

namespace arbora::graph {

// How arcs are chosen by their scores.
enum class PruningRule {
    margin,        // each word's best heads
    max_marginal,  // arcs of trees that are good enough; for projective trees
    probability,   // each word's heads with probabilities near its best head's, by sums over all trees
};

// A small first-order model that keeps a few heads for each word.
struct Pruner {
    const Model* model = nullptr;
    WeightView weights;
    int keep = 0;        // heads per word at most, besides the word before it; max_marginal: those that it looks at; probability: in long sentences
    double within = 0;   // of the best head's score; max_marginal: of the best tree's; probability: of its log
    PruningRule rule = PruningRule::margin;
    double alpha = 0;    // max_marginal: see filter.hpp
};

inline constexpr int kLongestWithSums = 300;           // words
inline constexpr std::size_t kMostProbable = 2048;     // arcs, where each word may have more than `keep` heads by their probabilities
inline constexpr double kEverything = std::numeric_limits<double>::infinity();
inline constexpr const char* kRefusal = ", but the trees of this parser are projective; unpin one of them, or use a parser of non-projective trees (--trees nonprojective)";

inline std::string arc_text(int head, int dep) {
    return "word " + std::to_string(dep) + (head == 0 ? " as a root" : " on word " + std::to_string(head));
}

class Compatible {
public:
    Compatible(const feature::Sentence& sentence, Trees trees, Roots roots) : s_(sentence), trees_(trees), roots_(roots) {
        find_tops();
        find_root();
        find_reaches();
        if (trees == Trees::projective) check_spans();
    }

    void fill(ArcSet& arcs);

private:
    static std::size_t at(int node) { return static_cast<std::size_t>(node); }

    // The topmost node above each word by given arcs: one without a given head, or the root.
    void find_tops();

    [[noreturn]] void refuse_cycle(int start) const {
        std::string words = std::to_string(start);
        for (int node = s_.heads[start]; node != start; node = s_.heads[node]) words += " -> " + std::to_string(node);
        throw NoTreeError("the given heads form a cycle: " + words + " -> " + std::to_string(start) +
                          "; unpin one of them");
    }

    void find_root();

    // The outermost partners of each node by given arcs.
    void find_reaches();

    bool is_free(int h, int d) const { return tops_[at(h)] != d && (h > 0 || root_ == 0 || roots_ == Roots::multi); }

    // The heads whose arc to d crosses no given arc; all heads if trees may be non-projective. From d outwards.
    template <class Visit>
    void each_uncrossed(int d, Visit visit) const {
        const bool crossing = trees_ == Trees::nonprojective;
        for (const int step : {-1, 1}) {
            int low = d, high = d;  // how far given arcs reach from between h and d
            for (int h = d + step; h >= 0 && h <= s_.n; h += step) {
                if (crossing || (low >= std::min(h, d) && high <= std::max(h, d))) visit(h);
                low = std::min(low, lowest_[at(h)]);
                high = std::max(high, highest_[at(h)]);
            }
        }
    }

    // Every word between a head and its dependent must be below that head. If this holds and no arcs cross, there is a tree.
    void check_spans() const;

    // Call for a given arc that was left out, which happens only if it crosses another.
    [[noreturn]] void refuse_crossing(int d) const {
        const int given = s_.heads[d];
        const int low = std::min(given, d), high = std::max(given, d);
        int other = 1;
        const auto crosses = [&](int dep) {
            const int h = s_.heads[dep], left = std::min(h, dep), right = std::max(h, dep);
            return h >= 0 && ((left < low && low < right && right < high) || (low < left && left < high && high < right));
        };
        while (!crosses(other)) ++other;
        throw NoTreeError("the given arcs cross: " + arc_text(given, d) + " and " + arc_text(s_.heads[other], other) +
                          kRefusal);
    }

    const feature::Sentence& s_;
    Trees trees_;
    Roots roots_;
    int root_ = 0;  // a word that is given as a root; 0: none
    std::vector<int> tops_, lowest_, highest_;
};

inline bool has_given_heads(const feature::Sentence& sentence) {
    return std::any_of(sentence.heads + 1, sentence.heads + sentence.n + 1, [](int head) { return head >= 0; });
}

// All arcs of trees with the given heads. Throws NoTreeError, which names words, if there is no such tree.
inline void find_compatible(const feature::Sentence& sentence, Trees trees, Roots roots, ArcSet& arcs) {
    Compatible(sentence, trees, roots).fill(arcs);
}

// Keeps its memory between sentences. One per thread.
class Candidates {
public:
    // pruner: null for none. InputError for max-marginals of trees that may cross.
    Candidates(const Model& model, const Pruner* pruner, bool keep_heads)
        : model_(&model), pruner_(pruner), keep_heads_(keep_heads), worker_(pruner == nullptr ? model : *pruner->model) {
        if (pruner != nullptr && pruner->rule == PruningRule::max_marginal && model.trees != Trees::projective)
            throw InputError("pruner: the rule max-marginal requires projective trees; use arc-odds or margin");
    }

    // Null: all arcs. Valid until the next call.
    const ArcSet* find(const feature::Encoded& sentences, std::size_t s);

private:
    // among: null for all arcs.
    void prune(const feature::Sentence& sentence, const ArcSet* among);
    void filter(const ArcSet& among, const float* scores) {
        if (!filter_.run(among, scores, model_->roots, pruner_->alpha)) throw NoTreeError("no projective tree exists among the arcs considered");
        filter_.keep(pruner_->within, kept_);
    }
    void keep_probable(const feature::Sentence& sentence, const ArcSet* among);
    // The scores of a set's arcs as a matrix, minus infinity elsewhere.
    Problem dense_problem(const ArcSet& arcs, const float* scores, Trees trees) {
        arcs.spread(scores, kMinusInfinity, dense_);
        return {trees, model_->roots, arcs.n, dense_.data()};
    }
    void add_best_tree();

    const Model* model_;
    const Pruner* pruner_;
    bool keep_heads_;
    Worker worker_;
    ArcSet compatible_, kept_;
    Sides sides_;
    BestTree best_tree_;
    Filter filter_;
    ArcSet looked_at_;
    std::vector<float> scores_;
    Arena arena_;
    std::vector<double> dense_, probabilities_;
    std::vector<int> heads_, best_;
};

}  // namespace arbora::graph
