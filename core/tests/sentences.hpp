// Random sentences and template sets for the tests of features and graph parsers.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "conll/reader.hpp"
#include "features/encoded.hpp"
#include "numeric/weights.hpp"
#include "problems.hpp"
#include "slow_features.hpp"

namespace sentences {

using problems::Random;

inline int below(Random& random, int count) { return static_cast<int>(random() % static_cast<std::uint64_t>(count)); }

inline const std::vector<std::string> kForms = {"the", "Dog", "barks", "bark", "McDonald2", "U.S.", "3,000", "déjà", "ßeta", "漢字", "🌳", "x", "_"};
inline const std::vector<std::string> kLabels = {"nsubj", "obj", "det", "punct", "root"};
// Of some forms: paths of several lengths, and two that are the same at first.
inline const std::map<std::string, std::string> kClusters = {
    {"the", ""}, {"Dog", "0"}, {"barks", "10110"}, {"bark", "1011010"}, {"U.S.", "101101011010111"}, {"déjà", "000000000000000"}, {"🌳", "0000"}, {"漢字", "0000001"}};

// `tags`: the number of different coarse tags; past 62 they share an id.
inline slow::Sentence random_sentence(Random& random, int n, int tags) {
    slow::Sentence sentence;
    for (int t = 0; t < tags; ++t) sentence.tags.push_back("T" + std::to_string(t));
    for (int w = 0; w < n; ++w) {
        const auto& form = kForms[static_cast<std::size_t>(below(random, static_cast<int>(kForms.size())))];
        // One tag more than there are names.
        sentence.words.push_back({form, form + "0", "T" + std::to_string(below(random, tags + 1)), "F" + std::to_string(below(random, 4)),
                                  below(random, 2) ? "_" : "A=b|C=" + std::to_string(below(random, 3))});
    }
    sentence.clusters = kClusters;
    return sentence;
}

// A field of a word's own, of texts and clusters.
inline int random_field(Random& random) {
    const int field = below(random, arbora::feature::kAllFields - 1);
    return field < arbora::feature::kFields ? field : field + 1;  // not the guide's label
}

inline arbora::feature::Clusters clusters(const std::map<std::string, std::string>& paths) {
    std::vector<std::string> words;
    std::vector<arbora::feature::ClusterCode> codes;
    for (const auto& [word, path] : paths) {
        words.push_back(word);
        codes.push_back(static_cast<arbora::feature::ClusterCode>(std::stoul("1" + path, nullptr, 2)));
    }
    return arbora::feature::Clusters::of(words, codes);
}

// A tree in which words are attached, in random order, to node 0 or to an earlier word.
inline std::vector<int> random_tree(Random& random, int n, bool single_root) {
    std::vector<int> joined, left, heads(static_cast<std::size_t>(n) + 1, -1);
    for (int w = 1; w <= n; ++w) left.push_back(w);
    while (!left.empty()) {
        const auto at = static_cast<std::size_t>(below(random, static_cast<int>(left.size())));
        const int word = left[at];
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(at));
        const int roots = joined.empty() || !single_root ? 1 : 0;
        const int pick = below(random, static_cast<int>(joined.size()) + roots);
        heads[static_cast<std::size_t>(word)] = pick < roots ? 0 : joined[static_cast<std::size_t>(pick - roots)];
        joined.push_back(word);
    }
    return heads;
}

struct Tree {
    std::vector<int> heads;   // [n+1]
    std::vector<int> labels;  // [n+1], into kLabels; -1: another label
};

inline std::string conllu(const slow::Sentence& sentence, const Tree& tree) {
    std::string text;
    for (std::size_t w = 1; w <= sentence.words.size(); ++w) {
        const auto& word = sentence.words[w - 1];
        const std::string label = tree.labels[w] < 0 ? "unheard" : kLabels[static_cast<std::size_t>(tree.labels[w])];
        text += std::to_string(w) + "\t" + word.form + "\t" + word.lemma + "\t" + word.tag + "\t" + word.fine + "\t" + word.feats + "\t" +
                std::to_string(tree.heads[w]) + "\t" + label + "\t_\t_\n";
    }
    return text + "\n";
}

inline arbora::conll::Columns columns(const std::string& text) {
    arbora::conll::Reader reader({});
    reader.parse(text, true);
    return reader.take();
}

inline arbora::feature::Encoded encoded(const std::string& conllu, const std::vector<std::string>& tags, const std::map<std::string, std::string>& paths = kClusters) {
    const auto known = clusters(paths);
    return {columns(conllu), arbora::feature::Names(tags, kLabels), &known};
}
inline arbora::feature::Encoded encoded(const slow::Sentence& sentence, const Tree& tree) {
    return encoded(conllu(sentence, tree), sentence.tags, sentence.clusters);
}

inline std::vector<slow::Template> random_templates(Random& random, int count, const std::vector<slow::Role>& roles) {
    std::vector<slow::Template> templates(static_cast<std::size_t>(count));
    for (auto& atoms : templates) {
        for (int a = 1 + below(random, 4); a > 0; --a) {
            const auto role = roles[static_cast<std::size_t>(below(random, static_cast<int>(roles.size())))];
            atoms.push_back({role, below(random, 5) - 2, static_cast<slow::Field>(random_field(random))});
        }
    }
    return templates;
}

// Templates of every kind, some with a tag between head and dependent.
inline slow::TemplateSpec random_spec(Random& random) {
    using slow::Role;
    slow::TemplateSpec spec;
    spec.arcs = random_templates(random, 9, {Role::head, Role::dep});
    for (const auto& atoms : random_templates(random, 2, {Role::head, Role::dep})) {
        spec.arcs.push_back(atoms);
        spec.arcs.back().insert(spec.arcs.back().begin() + below(random, static_cast<int>(atoms.size())), {Role::between, 0, slow::Field::tag});
    }
    spec.siblings = random_templates(random, 5, {Role::head, Role::dep, Role::sibling});
    spec.grandparents = random_templates(random, 6, {Role::head, Role::dep, Role::grandparent});
    spec.labels = random_templates(random, 4, {Role::head, Role::dep});
    for (const auto& atoms : random_templates(random, 4, {Role::dep, Role::sibling, Role::grandparent, Role::left_child, Role::right_child}))
        spec.labels.push_back(atoms);
    return spec;
}

using Counts = std::map<std::uint32_t, int>;  // features, with how often each is there

// difference = gold - found?
inline bool is_difference(const arbora::SparseVector& difference, const Counts& gold, const Counts& found) {
    Counts expected = gold;
    for (const auto& [place, count] : found) expected[place] -= count;
    std::erase_if(expected, [](const auto& entry) { return entry.second == 0; });
    if (expected.size() != difference.size()) return false;
    std::size_t i = 0;
    for (const auto& [place, count] : expected) {
        if (difference.indices[i] != place || difference.values[i] != static_cast<float>(count)) return false;
        ++i;
    }
    return true;
}

// v with another scale: w = 0.5 v, as after steps of a learner.
inline arbora::Weights scaled(const std::vector<float>& w) {
    arbora::WeightsState state;
    state.v.assign(w.begin(), w.end());
    for (float& value : state.v) value *= 2.0F;
    state.scale = 0.5;
    state.norm2 = 1.0;
    return arbora::Weights(state);
}

inline std::vector<float> random_weights(Random& random, std::size_t size) {
    std::vector<float> weights(size);
    for (auto& weight : weights) weight = static_cast<float>(problems::normal(random));
    return weights;
}

}  // namespace sentences
