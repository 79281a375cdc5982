// A template set, compiled: what to add up for each node, in which role.
//
// A template is a conjunction of atoms; an atom is a field of the node that plays a role, or of a neighbour of it ("the tag of
// the word before the head"). The sum of an arc's feature falls apart by roles:
//     place(h, d) = seed + sum over atoms of factor * value  =  at_head[h] + at_dep[d]
// so the two summands are made once per word. A template with the tag of a word between the two has one weight per tag from
// that place on.
//
// Templates about a guide look at another parser's tree, too: at the label that it gives to a node, and at the head that it gives to the
// dependent. How it stands to the arc (guide.hpp) is part of each of them.
#pragma once

#include <cstdint>
#include <vector>

#include "features/encoded.hpp"

namespace arbora::feature {

enum class Role : std::uint8_t { head, dep, sibling, between, grandparent, left_child, right_child, guide_head };
inline constexpr int kRoles = 8;

struct Atom {
    Role role;
    int offset;
    Field field;
};
using Template = std::vector<Atom>;

// A template set as it is written down.
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
// About three nodes: a sibling, a grandparent or the guide's head beside the arc.
struct TripleTemplate {
    Summand head, dep, third;
};
struct LabelTemplate {
    std::vector<std::pair<Role, Summand>> summands;
    bool of_arc;   // only head, dep and the guide's head: can be scored before the tree is known
    bool guided = false;  // about the guide
};

struct Templates {
    // Throws InputError where an atom's role does not fit its kind or its offset is out of range.
    explicit Templates(const TemplateSpec& spec);

    std::vector<Summand> heads, deps;  // of arcs, about one word
    std::vector<PairTemplate> pairs;
    std::vector<PairTemplate> betweens;  // with one weight per tag between
    std::vector<TripleTemplate> siblings, grandparents;
    std::vector<TripleTemplate> guides;
    std::vector<LabelTemplate> labels;  // those about the guide come last
    bool need_guide = false;
};

// InputError where the templates look at a guide's trees and the sentence has none.
void require_guide(const Templates& templates, const Sentence& sentence);

}  // namespace arbora::feature
