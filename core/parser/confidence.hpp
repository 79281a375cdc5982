// Confidence of a graph parser: the probability of each head and label, of each tree, and of the k best of them [koo-2007].
//
// P(tree) is proportional to exp(score / T). Exact for first-order trees of every family and for second-order projective ones. For
// second-order non-projective ones, sums are over the trees that a search around the parser's own tree finds (see FoundTrees): P(head)
// is the share of them that have it, and a tree that was not found counts as one more. Of projective sentences too long for sums with
// siblings, each word's heads are compared with the rest of the tree as it is (see Reattachment), and trees have no probability.
// Words whose head was pruned away have probability 0. Labels: P(label | head), and given the whole tree where they are chosen on it.
#pragma once

#include <cstdint>
#include <vector>

#include "parser/batch.hpp"

namespace arbora::graph {

enum class Decode {
    argmax,        // as graph::parse
    minimum_risk,  // the tree with the most expected correct heads
    given,         // the heads that the sentences have
};

struct Asked {
    Decode decode = Decode::argmax;
    int k = 0;  // > 0: the k most probable trees instead
    double tree_temperature = 1.0;
    double risk_temperature = 1.0;  // of the distribution whose expected correct heads minimum_risk counts
    double label_temperature = 1.0;
    double missed = 0.0;  // share of words whose right head is none of those considered: P(head) and P(tree) are that share smaller
    bool staged = true;
    bool arc_table = false;    // all arcs' probabilities, too
    bool label_table = false;  // all labels'
    bool keep_heads = false;   // only trees with the heads that the sentences have are possible; these have probability 1
};

// Of all words of all trees in a row. Numbers that there are not, such as labels of a parser without, are NaN.
struct Confidence {
    std::vector<std::int64_t> counts;  // trees per sentence
    std::vector<double> entropies;     // of the distribution over a sentence's trees, in nats
    std::vector<double> log_probabilities;  // per tree
    std::vector<double> scores;             // per tree, divided by the temperature
    std::vector<std::int32_t> heads, labels;
    std::vector<double> head_probabilities, label_probabilities;
    std::vector<double> head_entropies;  // of a word's distribution over heads, in nats
    // Of the head and label that a sentence came with, given what the parser chose elsewhere.
    std::vector<double> known_head_probabilities, known_label_probabilities;
    std::vector<double> arc_table;    // (n+1)^2 [head, dep] per sentence
    std::vector<double> label_table;  // [word, label]; rows of zeros where there is no telling
};

Confidence judge(const feature::Encoded& sentences, const Model& model, const WeightView& weights, const Asked& asked, const Pruner* pruner,
                 int threads);

// log(exp(score / T) ...) as the distribution over a sentence's trees has it: dense [head, dep], labels summed out, minus infinity
// for arcs that are not there. First order only.
std::vector<double> tempered_scores(const feature::Encoded& sentences, std::size_t s, const Model& model, const WeightView& weights, const Asked& asked,
                                    const Pruner* pruner);

}  // namespace arbora::graph
