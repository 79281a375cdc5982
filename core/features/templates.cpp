#include "features/templates.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/errors.hpp"
#include "features/hash.hpp"

namespace arbora::feature {

namespace {

enum class Kind : std::uint64_t { arc = 1, sibling = 2, label = 3, grandparent = 4, guide = 5, guide_label = 6 };

// Odd, and different for every atom of every template.
std::uint32_t factor(Kind kind, std::size_t number, std::size_t atom) {
    return static_cast<std::uint32_t>(mix(static_cast<std::uint64_t>(kind) << 40 | number << 8 | (atom + 1))) | 1;
}

std::uint32_t seed(Kind kind, std::size_t number) {
    return static_cast<std::uint32_t>(mix(static_cast<std::uint64_t>(kind) << 40 | number << 8));
}

void check(const Template& atoms, std::initializer_list<Role> roles, const char* kind) {
    if (atoms.empty()) throw InputError(std::string("template of ") + kind + ": expected at least one atom, got none");
    for (const Atom& atom : atoms) {
        if (std::find(roles.begin(), roles.end(), atom.role) == roles.end())
            throw InputError(std::string("template of ") + kind + ": an atom has a role that does not belong there");
        const bool guided = std::find(roles.begin(), roles.end(), Role::guide_head) != roles.end();
        if (atom.field == Field::guide && !guided) throw InputError(std::string("template of ") + kind + ": labels of a guide are for templates about one");
        if (std::abs(atom.offset) > kPadding)
            throw InputError("atom: expected an offset within 2 words, got " + std::to_string(atom.offset));
    }
}

bool has(const Template& atoms, Role role) {
    return std::any_of(atoms.begin(), atoms.end(), [&](const Atom& atom) { return atom.role == role; });
}

Summand summand(const Template& atoms, Role role, Kind kind, std::size_t number) {
    Summand result;
    for (std::size_t a = 0; a < atoms.size(); ++a)
        if (atoms[a].role == role)
            result.terms.push_back({atoms[a].offset, static_cast<std::uint32_t>(atoms[a].field), factor(kind, number, a)});
    return result;
}

// The same, with the template's seed in it: given to one role of each template.
Summand seeded(const Template& atoms, Role role, Kind kind, std::size_t number) {
    Summand result = summand(atoms, role, kind, number);
    result.seed = seed(kind, number);
    return result;
}

LabelTemplate label_template(const Template& atoms, Kind kind, std::size_t number) {
    LabelTemplate compiled{{{Role::dep, seeded(atoms, Role::dep, kind, number)}}, true, kind == Kind::guide_label};
    for (const Role role : {Role::head, Role::sibling, Role::grandparent, Role::left_child, Role::right_child, Role::guide_head}) {
        if (!has(atoms, role)) continue;
        compiled.summands.emplace_back(role, summand(atoms, role, kind, number));
        compiled.of_arc = compiled.of_arc && (role == Role::head || role == Role::guide_head);
    }
    return compiled;
}

void check_between(const Template& atoms) {
    int found = 0;
    for (const Atom& atom : atoms) {
        if (atom.role != Role::between) continue;
        if (atom.field != Field::tag || atom.offset != 0)
            throw InputError("template of arcs: of the words between, only the tag can be an atom");
        if (++found > 1) throw InputError("template of arcs: expected at most one atom about the words between, got more");
    }
}

}  // namespace

Templates::Templates(const TemplateSpec& spec) {
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
}

void require_guide(const Templates& templates, const Sentence& sentence) {
    if (templates.need_guide && sentence.guide_heads == nullptr)
        throw InputError("expected sentences with the trees of a guide, which these features look at, got some without; a stacked parser encodes them itself");
}

}  // namespace arbora::feature
