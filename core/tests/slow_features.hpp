// Features computed again, word by word from the definition: the oracle of the extractor and of the labeler.
//
// Texts stay texts and every feature is hashed from scratch, each time. From the core only the types of template sets are used.
// Saved models depend on these definitions: if this file and the core differ, the core has changed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "features/contexts.hpp"
#include "features/templates.hpp"

namespace slow {

using arbora::feature::Atom;
using arbora::feature::Field;
using arbora::feature::Role;
using arbora::feature::Template;
using arbora::feature::TemplateSpec;

using Places = std::vector<std::uint32_t>;

inline std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x / 0x100000000ULL)) * 15485907386658061715ULL;
    x = (x ^ (x / 0x20000000ULL)) * 11562461410679940143ULL;
    return x ^ (x / 0x100000000ULL);
}

inline std::uint64_t hash(const std::string& text, std::uint64_t seed) {
    std::uint64_t state = mix(seed ^ (11400714819323198485ULL * text.size()));
    for (std::size_t begin = 0; begin < text.size(); begin += 8) {
        std::uint64_t word = 0;
        for (std::size_t i = std::min(begin + 8, text.size()); i > begin; --i) word = word * 256 + static_cast<unsigned char>(text[i - 1]);
        state = mix(state ^ word) + word;
    }
    return mix(state);
}

// A text cut into its characters.
inline std::vector<std::string> characters(const std::string& text) {
    std::vector<std::string> result;
    for (const char c : text) {
        if ((static_cast<unsigned char>(c) >> 6) == 2 && !result.empty())
            result.back() += c;
        else
            result.emplace_back(1, c);
    }
    return result;
}

inline std::string joined(const std::vector<std::string>& parts, std::size_t begin, std::size_t end) {
    std::string result;
    for (std::size_t i = begin; i < end; ++i) result += parts[i];
    return result;
}

inline std::string shape(const std::string& form) {
    std::string result;
    for (const auto& character : characters(form)) {
        char kind = character[0];
        if (character.size() > 1 || (kind >= 'a' && kind <= 'z')) kind = 'x';
        if (kind >= 'A' && kind <= 'Z') kind = 'X';
        if (kind >= '0' && kind <= '9') kind = 'd';
        if (result.empty() || result.back() != kind) result += kind;
    }
    return result;
}

struct Word {
    std::string form, lemma, tag, fine, feats;

    std::string text(Field field) const {
        const auto parts = characters(form);
        const auto last = [&](std::size_t count) { return joined(parts, parts.size() - std::min(count, parts.size()), parts.size()); };
        switch (field) {
            case Field::form: return form;
            case Field::lemma: return lemma;
            case Field::tag: return tag;
            case Field::fine: return fine;
            case Field::feats: return feats;
            case Field::prefix: return joined(parts, 0, std::min<std::size_t>(4, parts.size()));
            case Field::suffix: return last(3);
            case Field::ending: return last(2);
            default: return shape(form);
        }
    }
};

inline constexpr int kNoNode = -1;

enum Kind { arcs = 1, siblings = 2, labels = 3, grandparents = 4, guides = 5, guide_labels = 6 };

struct Sentence {
    std::vector<Word> words;
    std::vector<std::string> tags;  // those with a number, in order
    std::vector<int> guide_heads{};  // [n+1]; empty: no guide
    std::vector<std::string> guide_labels{};  // [n+1]; "": none
    std::map<std::string, std::string> clusters{};  // of forms: their branches, '0' or '1' each

    // The first branches of a cluster as a number, as digits in base 2 after a 1; 0 without a cluster.
    std::uint64_t cluster_number(const std::string& form, Field field) const {
        const auto found = clusters.find(form);
        if (found == clusters.end()) return 0;
        const std::size_t branches = field == Field::cluster4 ? 4 : field == Field::cluster6 ? 6 : field == Field::cluster8 ? 8 : 99;
        return std::stoull("1" + found->second.substr(0, branches), nullptr, 2);
    }

    int n() const { return static_cast<int>(words.size()); }

    std::uint32_t value(int node, int offset, Field field) const {
        const int place = node + offset;
        std::string text;
        if (node == kNoNode) text = "\x01" "absent";
        else if (place < 0) text = "\x01" "before";
        else if (place == 0) text = "\x01" "root";
        else if (place > n()) text = "\x01" "after";
        else if (field == Field::guide) text = guide_labels[static_cast<std::size_t>(place)].empty() ? "\x01" "none" : guide_labels[static_cast<std::size_t>(place)];
        else if (field > Field::guide)
            return static_cast<std::uint32_t>(mix(static_cast<std::uint64_t>(field) * 0x100000000ULL +
                                                  2654435761ULL * cluster_number(words[static_cast<std::size_t>(place) - 1].form, field)));
        else text = words[static_cast<std::size_t>(place) - 1].text(field);
        return static_cast<std::uint32_t>(hash(text, static_cast<std::uint64_t>(field) + 1));
    }

    int tag_number(int node) const {
        if (node == 0) return 63;
        const auto found = std::find(tags.begin(), tags.end(), words[static_cast<std::size_t>(node) - 1].tag) - tags.begin();
        return found < 62 && found < static_cast<std::ptrdiff_t>(tags.size()) ? static_cast<int>(found) : 62;
    }
};

// The nodes in a part's roles.
struct Nodes {
    int head = kNoNode, dep = kNoNode, sibling = kNoNode, grandparent = kNoNode, left_child = kNoNode, right_child = kNoNode;
    int guide_head = kNoNode;

    int of(Role role) const {
        switch (role) {
            case Role::head: return head;
            case Role::dep: return dep;
            case Role::sibling: return sibling;
            case Role::grandparent: return grandparent;
            case Role::left_child: return left_child;
            case Role::guide_head: return guide_head;
            default: return right_child;
        }
    }
};

inline std::uint32_t factor(Kind kind, std::size_t number, std::size_t atom) {
    return static_cast<std::uint32_t>(mix((static_cast<std::uint64_t>(kind) << 40) + number * 256 + atom + 1)) | 1U;
}

// The sum of a template over all atoms but those between.
inline std::uint32_t sum(const Sentence& s, const Template& atoms, Kind kind, std::size_t number, const Nodes& nodes) {
    auto total = static_cast<std::uint32_t>(mix((static_cast<std::uint64_t>(kind) << 40) + number * 256));
    for (std::size_t a = 0; a < atoms.size(); ++a) {
        if (atoms[a].role == Role::between) continue;
        total += factor(kind, number, a) * s.value(nodes.of(atoms[a].role), atoms[a].offset, atoms[a].field);
    }
    return total;
}

inline std::uint32_t distance_bin(int head, int dep) {
    const int distance = std::abs(head - dep);
    std::uint32_t bin = 0;
    for (const int from : {1, 2, 3, 4, 5, 7, 11}) bin += distance >= from ? 1U : 0U;
    return bin;
}

inline constexpr std::uint32_t kLeftArc = 0x5bd1e995U, kLeftLabel = 0x27d4eb2fU;

inline Places arc_places(const Sentence& s, const std::vector<Template>& templates, int head, int dep, std::uint32_t size) {
    Places places;
    const bool left = dep < head;
    const std::uint32_t bin = distance_bin(head, dep);
    for (std::size_t t = 0; t < templates.size(); ++t) {
        const auto has = [&](Role role) {
            return std::any_of(templates[t].begin(), templates[t].end(), [&](const Atom& atom) { return atom.role == role; });
        };
        const std::uint32_t total = sum(s, templates[t], arcs, t, {head, dep});
        if (has(Role::between)) {
            std::set<int> tags;
            for (int w = std::min(head, dep) + 1; w < std::max(head, dep); ++w) tags.insert(s.tag_number(w));
            const std::uint32_t line = (total + (left ? kLeftArc : 0)) / 16 * 16;
            for (const int tag : tags) places.push_back((line + static_cast<std::uint32_t>(tag)) % size);
        } else if (has(Role::head) && has(Role::dep)) {
            const std::uint32_t place = (total + (left ? kLeftArc : 0)) % size;
            places.insert(places.end(), {place, place ^ bin});
        } else {
            const std::uint32_t line = total % size / 16 * 16 + (left ? 8 : 0);
            places.insert(places.end(), {line, line + bin});
        }
    }
    return places;
}

// The relation of the guide's tree to an arc: 1 the same, 2 reversed, 3 its head's head, 4 a sibling, 5 another head on that side,
// 6 on the other side.
inline std::uint32_t guide_value(const Sentence& s, int head, int dep) {
    const auto theirs = [&](int node) { return node > 0 ? s.guide_heads[static_cast<std::size_t>(node)] : kNoNode; };
    std::uint64_t number = (theirs(dep) > dep) == (head > dep) ? 5 : 6;
    if (theirs(dep) == theirs(head)) number = 4;
    if (theirs(theirs(dep)) == head) number = 3;
    if (theirs(head) == dep) number = 2;
    if (theirs(dep) == head) number = 1;
    return static_cast<std::uint32_t>(mix(0x6775696465ULL + number * 2654435761ULL));
}

inline Nodes with_guide(const Sentence& s, Nodes nodes) {
    nodes.guide_head = s.guide_heads[static_cast<std::size_t>(nodes.dep)];
    return nodes;
}

inline Places guide_places(const Sentence& s, const std::vector<Template>& templates, int head, int dep, std::uint32_t size) {
    Places places;
    for (std::size_t t = 0; t < templates.size(); ++t) {
        const std::uint32_t total = sum(s, templates[t], guides, t, with_guide(s, {head, dep})) + guide_value(s, head, dep);
        const std::uint32_t place = (total + (dep < head ? kLeftArc : 0)) % size;
        places.insert(places.end(), {place, place ^ distance_bin(head, dep)});
    }
    return places;
}

inline Places sibling_places(const Sentence& s, const std::vector<Template>& templates, int head, int dep, int inner, std::uint32_t size) {
    Places places;
    for (std::size_t t = 0; t < templates.size(); ++t) {
        const Nodes nodes{head, dep, inner == head ? kNoNode : inner};
        places.push_back((sum(s, templates[t], siblings, t, nodes) + (dep < head ? kLeftArc : 0)) % size);
    }
    return places;
}

inline Places grandparent_places(const Sentence& s, const std::vector<Template>& templates, int grandparent, int head, int dep,
                                 std::uint32_t size) {
    Places places;
    for (std::size_t t = 0; t < templates.size(); ++t) {
        const Nodes nodes{head, dep, kNoNode, grandparent};
        const std::uint32_t turns = (dep < head ? kLeftArc : 0) + (head < grandparent ? 3 * kLeftArc : 0);
        places.push_back((sum(s, templates[t], grandparents, t, nodes) + turns) % size);
    }
    return places;
}

// Where the rows of weights, one per label, begin. Templates about more than head and dependent count only on a whole tree.
inline Places label_rows(const Sentence& s, const std::vector<Template>& templates, const Nodes& nodes, bool whole_tree, std::uint32_t size,
                         int label_count) {
    Places rows;
    for (std::size_t t = 0; t < templates.size(); ++t) {
        const bool of_arc = std::all_of(templates[t].begin(), templates[t].end(),
                                        [](const Atom& atom) { return atom.role == Role::head || atom.role == Role::dep; });
        if (!whole_tree && !of_arc) continue;
        const std::uint32_t total = sum(s, templates[t], labels, t, nodes) + (nodes.dep < nodes.head ? kLeftLabel : 0);
        const std::uint64_t start = std::uint64_t{total} * (size - static_cast<std::uint32_t>(label_count)) / 0x100000000ULL;
        rows.push_back(static_cast<std::uint32_t>(start / 16 * 16));
    }
    return rows;
}

// Those of templates about a guide, which come last.
inline Places guide_label_rows(const Sentence& s, const std::vector<Template>& templates, const Nodes& nodes, bool whole_tree, std::uint32_t size,
                               int label_count) {
    Places rows;
    for (std::size_t t = 0; t < templates.size(); ++t) {
        const bool of_arc = std::all_of(templates[t].begin(), templates[t].end(), [](const Atom& atom) {
            return atom.role == Role::head || atom.role == Role::dep || atom.role == Role::guide_head;
        });
        if (!whole_tree && !of_arc) continue;
        const std::uint32_t total = sum(s, templates[t], guide_labels, t, with_guide(s, nodes)) + guide_value(s, nodes.head, nodes.dep) +
                                    (nodes.dep < nodes.head ? kLeftLabel : 0);
        const std::uint64_t start = std::uint64_t{total} * (size - static_cast<std::uint32_t>(label_count)) / 0x100000000ULL;
        rows.push_back(static_cast<std::uint32_t>(start / 16 * 16));
    }
    return rows;
}

// The roles around a word in a tree: the next dependent towards the head, the head's head, and the first and last dependents.
inline Nodes around(const std::vector<int>& heads, int dep) {
    Nodes nodes{heads[static_cast<std::size_t>(dep)], dep};
    const int step = dep < nodes.head ? 1 : -1;
    for (int k = dep + step; k != nodes.head && nodes.sibling == kNoNode; k += step)
        if (heads[static_cast<std::size_t>(k)] == nodes.head) nodes.sibling = k;
    if (nodes.head > 0) nodes.grandparent = heads[static_cast<std::size_t>(nodes.head)];
    for (int k = static_cast<int>(heads.size()) - 1; k >= 1; --k)
        if (heads[static_cast<std::size_t>(k)] == dep) nodes.left_child = k;
    for (int k = 1; k < static_cast<int>(heads.size()); ++k)
        if (heads[static_cast<std::size_t>(k)] == dep) nodes.right_child = k;
    return nodes;
}

// The context read off a finished tree; kNoNode and 0 for missing nodes.
struct Around {
    int nodes[4] = {kNoNode, kNoNode, kNoNode, kNoNode};
    int labels[4] = {-1, -1, -1, -1};
    int counts[4] = {0, 0, 0, 0};
    std::uint32_t turns = 0;
};

using ContextTemplate = std::vector<arbora::feature::ContextAtom>;

inline Places context_places(const Sentence& s, const std::vector<ContextTemplate>& templates, int kind, const Around& around, std::uint32_t size) {
    Places places;
    for (std::size_t t = 0; t < templates.size(); ++t) {
        const std::uint64_t base = (static_cast<std::uint64_t>(kind + 16) << 40) + t * 256;
        auto total = static_cast<std::uint32_t>(mix(base)) + around.turns;
        for (std::size_t a = 0; a < templates[t].size(); ++a) {
            const auto& atom = templates[t][a];
            std::uint32_t value = 0;
            if (atom.field == 14)
                value = static_cast<std::uint32_t>(mix(0x6c6162656cULL + static_cast<std::uint64_t>(around.labels[atom.slot] + 1) * 2654435761ULL));
            else if (atom.field == 15)
                value = static_cast<std::uint32_t>(mix(0x636f756e74ULL + static_cast<std::uint64_t>(std::min(around.counts[atom.slot], 6)) * 2654435761ULL));
            else
                value = s.value(around.nodes[atom.slot], atom.offset, static_cast<Field>(atom.field));
            total += value * (static_cast<std::uint32_t>(mix(base + a + 1)) | 1U);
        }
        places.push_back(total % size);
    }
    return places;
}

// All contexts of a tree: those of a word's chain, lineage (below the root's dependents) and closing.
inline Places all_context_places(const Sentence& s, const arbora::feature::ContextSpec& spec, const std::vector<int>& heads,
                                 const std::vector<int>& labels, std::uint32_t size) {
    const int n = static_cast<int>(heads.size()) - 1;
    const auto head = [&](int w) { return heads[static_cast<std::size_t>(w)]; };
    const auto label = [&](int w) { return w < 1 ? -1 : labels[static_cast<std::size_t>(w)]; };
    // The next dependent of h from d towards h.
    const auto inner = [&](int h, int d) {
        if (d == kNoNode) return kNoNode;
        const int step = d < h ? 1 : -1;
        for (int k = d + step; k != h; k += step)
            if (head(k) == h) return k;
        return kNoNode;
    };
    const auto turn = [](int h, int d) { return d < h ? kLeftArc : 0U; };
    Places places;
    const auto add = [&](const Places& more) { places.insert(places.end(), more.begin(), more.end()); };
    for (int d = 1; d <= n; ++d) {
        const int h = head(d), sibling = inner(h, d), second = inner(h, sibling);
        int before = 1, left = kNoNode, right = kNoNode, lefts = 0, rights = 0;
        for (int k = inner(h, d); k != kNoNode; k = inner(h, k)) ++before;
        for (int k = 1; k <= n; ++k) {
            if (head(k) != d) continue;
            (k < d ? lefts : rights) += 1;
            if (k < d && left == kNoNode) left = k;
            if (k > d) right = k;
        }
        add(context_places(s, spec.chains, 0, {{h, d, sibling, second}, {-1, label(d), label(sibling), -1}, {before, 0, 0, 0}, turn(h, d)}, size));
        if (h > 0)
            add(context_places(s, spec.lineages, 1, {{head(h), h, d, sibling}, {-1, label(h), label(d), label(sibling)}, {}, turn(h, d) + 3 * turn(head(h), h)}, size));
        add(context_places(s, spec.closings, 2, {{h, d, left, right}, {-1, label(d), label(left), label(right)}, {0, 0, lefts, rights}, turn(h, d)}, size));
    }
    return places;
}

}  // namespace slow
