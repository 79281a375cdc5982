// A compiled template set: what to sum for each node and role.
//
// A template is a conjunction of atoms. An atom is a field of the node in a role, or of its neighbour ("the tag of the word before
// the head"). The sum of an arc's feature splits by role:
//   place(h, d) = seed + sum over atoms of factor * value  =  at_head[h] + at_dep[d]
// so the two summands are computed once per word. A template with the tag of a word between the two has one weight per tag,
// starting at that place.
//
// Templates about a guide also read another parser's tree: the label that it gives to a node, and the head that it gives to the
// dependent. Each of them includes the guide's relation to the arc (extractor.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/errors.hpp"
#include "features/encoded.hpp"
#include "features/hash.hpp"

namespace arbora::feature {

enum class Role : std::uint8_t { head, dep, sibling, between, grandparent, left_child, right_child, guide_head };
inline constexpr int kRoles = 8;

struct Atom {
    Role role;
    int offset;
    Field field;
};
using Template = std::vector<Atom>;

[[noreturn]] inline void refuse_template(const std::string& kind, const std::string& what) { throw InputError("template of " + kind + ": " + what); }

// Throws InputError unless there is an atom, every atom has a valid role and no offset is above kPadding.
template <class AnyAtom, class Fits>
void check_template(const char* kind, const std::vector<AnyAtom>& atoms, Fits&& fits) {
    if (atoms.empty()) refuse_template(kind, "expected at least one atom, got none");
    for (const AnyAtom& atom : atoms) {
        if (!fits(atom)) refuse_template(kind, "an atom has a role that does not belong there");
        if (std::abs(atom.offset) > kPadding) refuse_template(kind, "expected an offset within 2 words, got " + std::to_string(atom.offset));
    }
}

// A template set in source form.
struct TemplateSpec {
    std::vector<Template> arcs;      // roles head, dep, between
    std::vector<Template> siblings;  // roles head, dep, sibling
    std::vector<Template> grandparents;  // roles head, dep, grandparent
    std::vector<Template> labels;    // any role but between and guide_head
    std::vector<Template> guides{};  // of arcs; roles head, dep, guide_head
    std::vector<Template> guide_labels{};  // any role but between
};

struct Term {
    std::int32_t offset;
    std::uint32_t field;
    std::uint32_t factor;
};

// seed + sum of factor * value over the terms: what one role adds to a template's place.
struct Summand {
    std::uint32_t seed = 0;
    std::vector<Term> terms;

    std::uint32_t operator()(const Sentence& sentence, int node) const {
        std::uint32_t sum = seed;
        for (const Term& term : terms) sum += sentence.row(node, term.offset)[term.field] * term.factor;
        return sum;
    }
};

struct PairTemplate {
    Summand head, dep;
};
// About three nodes: a sibling, a grandparent or the guide's head with the arc.
struct TripleTemplate {
    Summand head, dep, third;
};
struct LabelTemplate {
    std::vector<std::pair<Role, Summand>> summands;
    bool of_arc;   // only head, dep and the guide's head: can be scored before the tree is known
    bool guided = false;  // about the guide
};

enum class Kind : std::uint64_t { arc = 1, sibling = 2, label = 3, grandparent = 4, guide = 5, guide_label = 6 };

inline void check(const Template& atoms, std::initializer_list<Role> roles, const char* kind) {
    const auto fits = [&](Role role) { return std::find(roles.begin(), roles.end(), role) != roles.end(); };
    check_template(kind, atoms, [&](const Atom& atom) { return fits(atom.role); });
    for (const Atom& atom : atoms)
        if (atom.field == Field::guide && !fits(Role::guide_head)) refuse_template(kind, "labels of a guide are for templates about one");
}

inline bool has(const Template& atoms, Role role) {
    return std::any_of(atoms.begin(), atoms.end(), [&](const Atom& atom) { return atom.role == role; });
}

inline Summand summand(const Template& atoms, Role role, Kind kind, std::size_t number) {
    Summand result;
    for (std::size_t a = 0; a < atoms.size(); ++a)
        if (atoms[a].role == role)
            result.terms.push_back({atoms[a].offset, static_cast<std::uint32_t>(atoms[a].field), TemplateHash{static_cast<std::uint64_t>(kind), number}.factor(a)});
    return result;
}

// The same plus the template's seed: for one role of each template.
inline Summand seeded(const Template& atoms, Role role, Kind kind, std::size_t number) {
    Summand result = summand(atoms, role, kind, number);
    result.seed = TemplateHash{static_cast<std::uint64_t>(kind), number}.seed();
    return result;
}

inline LabelTemplate label_template(const Template& atoms, Kind kind, std::size_t number) {
    LabelTemplate compiled{{{Role::dep, seeded(atoms, Role::dep, kind, number)}}, true, kind == Kind::guide_label};
    for (const Role role : {Role::head, Role::sibling, Role::grandparent, Role::left_child, Role::right_child, Role::guide_head}) {
        if (!has(atoms, role)) continue;
        compiled.summands.emplace_back(role, summand(atoms, role, kind, number));
        compiled.of_arc = compiled.of_arc && (role == Role::head || role == Role::guide_head);
    }
    return compiled;
}

inline void check_between(const Template& atoms) {
    int found = 0;
    for (const Atom& atom : atoms) {
        if (atom.role != Role::between) continue;
        if (atom.field != Field::tag || atom.offset != 0)
            refuse_template("arcs", "of the words between, only the tag can be an atom");
        if (++found > 1) refuse_template("arcs", "expected at most one atom about the words between, got more");
    }
}

struct Templates {
    // Throws InputError where an atom's role does not fit its kind or its offset is out of range.
    explicit Templates(const TemplateSpec& spec) {
        for (std::size_t t = 0; t < spec.arcs.size(); ++t) {
            const Template& atoms = spec.arcs[t];
            check(atoms, {Role::head, Role::dep, Role::between}, "arcs");
            const Summand head = summand(atoms, Role::head, Kind::arc, t), dep = seeded(atoms, Role::dep, Kind::arc, t);
            if (has(atoms, Role::between)) {
                check_between(atoms);
                betweens.push_back({head, dep});
            } else if (!has(atoms, Role::dep)) {
                heads.push_back(seeded(atoms, Role::head, Kind::arc, t));
            } else if (!has(atoms, Role::head)) {
                deps.push_back(dep);
            } else {
                pairs.push_back({head, dep});
            }
        }
        const auto triples = [](const std::vector<Template>& given, Role third, Kind kind, const char* name) {
            std::vector<TripleTemplate> compiled;
            for (std::size_t t = 0; t < given.size(); ++t) {
                check(given[t], {Role::head, Role::dep, third}, name);
                compiled.push_back({summand(given[t], Role::head, kind, t), seeded(given[t], Role::dep, kind, t), summand(given[t], third, kind, t)});
            }
            return compiled;
        };
        siblings = triples(spec.siblings, Role::sibling, Kind::sibling, "siblings");
        grandparents = triples(spec.grandparents, Role::grandparent, Kind::grandparent, "grandparents");
        guides = triples(spec.guides, Role::guide_head, Kind::guide, "guides");
        for (std::size_t t = 0; t < spec.labels.size(); ++t) {
            check(spec.labels[t], {Role::head, Role::dep, Role::sibling, Role::grandparent, Role::left_child, Role::right_child}, "labels");
            labels.push_back(label_template(spec.labels[t], Kind::label, t));
        }
        for (std::size_t t = 0; t < spec.guide_labels.size(); ++t) {
            check(spec.guide_labels[t], {Role::head, Role::dep, Role::sibling, Role::grandparent, Role::left_child, Role::right_child, Role::guide_head}, "guide labels");
            labels.push_back(label_template(spec.guide_labels[t], Kind::guide_label, t));
        }
        need_guide = !spec.guides.empty() || !spec.guide_labels.empty();
        for (const auto* kind : {&spec.arcs, &spec.siblings, &spec.grandparents, &spec.labels, &spec.guides, &spec.guide_labels})
            for (const Template& atoms : *kind)
                need_clusters = need_clusters || std::any_of(atoms.begin(), atoms.end(), [](const Atom& atom) { return is_cluster(atom.field); });
    }

    std::vector<Summand> heads, deps;  // of arcs, about one word
    std::vector<PairTemplate> pairs;
    std::vector<PairTemplate> betweens;  // with one weight per tag between
    std::vector<TripleTemplate> siblings, grandparents;
    std::vector<TripleTemplate> guides;
    std::vector<LabelTemplate> labels;  // those about the guide come last
    bool need_guide = false, need_clusters = false;
};

// Throws InputError if features read a guide's trees or word clusters that the sentence does not have.
inline void require_inputs(bool need_guide, bool need_clusters, const Sentence& sentence) {
    if (need_guide && sentence.guide_heads == nullptr)
        throw InputError("these features need the trees of a guide, but the sentences have none; a stacked parser adds them when it encodes");
    if (need_clusters && !sentence.has_clusters)
        throw InputError("these features need word clusters, but the sentences have none; train with vectors or text");
}
inline void require_inputs(const Templates& templates, const Sentence& sentence) { require_inputs(templates.need_guide, templates.need_clusters, sentence); }

}  // namespace arbora::feature
