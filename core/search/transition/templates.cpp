#include "search/transition/templates.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/errors.hpp"
#include "features/hash.hpp"

namespace arbora::transition {

namespace {

std::uint64_t code(Kind kind, std::size_t number, std::size_t atom) { return (static_cast<std::uint64_t>(kind) + 32) << 40 | number << 8 | atom; }

void check(Kind kind, const Atom& atom) {
    const auto fail = [](const std::string& what) { throw InputError("template of transitions: " + what); };
    const int roles = kind == Kind::moves ? kMoveRoles : kRoles;
    if (atom.role < 0 || atom.role >= roles) fail("an atom has a role that does not belong there");
    if (atom.field < 0 || atom.field >= kAllFields) fail("an atom has no such field");
    if (std::abs(atom.offset) > feature::kPadding) fail("expected an offset within 2 words, got " + std::to_string(atom.offset));
    if (atom.field >= kWordFields && atom.offset != 0) fail("only words have neighbours");
}

bool is_about_guide(const Atom& atom) {
    const auto role = static_cast<Role>(atom.role);
    return role == Role::left_guide || role == Role::right_guide || role == Role::dep_guide ||
           atom.field == static_cast<int>(feature::Field::guide) || atom.field >= static_cast<int>(Extra::head_place);
}

}  // namespace

std::uint32_t label_value(int label) {
    return static_cast<std::uint32_t>(feature::mix(0x6c6162656cULL + static_cast<std::uint64_t>(label - kNoArc) * 2654435761ULL));
}
std::uint32_t count_value(int count) {
    return static_cast<std::uint32_t>(feature::mix(0x636f756e74ULL + static_cast<std::uint64_t>(std::min(count, kMostCounted)) * 2654435761ULL));
}
std::uint32_t set_value(std::uint64_t labels) { return static_cast<std::uint32_t>(feature::mix(labels + 0x736574ULL)); }
std::uint32_t distance_value(unsigned bin) { return static_cast<std::uint32_t>(feature::mix(0x64697374ULL + std::uint64_t{bin} * 2654435761ULL)); }
std::uint32_t place_value(unsigned place) { return static_cast<std::uint32_t>(feature::mix(0x706c616365ULL + std::uint64_t{place} * 2654435761ULL)); }

Templates::Templates(Kind kind, const std::vector<std::vector<Atom>>& templates) {
    for (const auto& atoms : templates) {
        if (atoms.empty()) throw InputError("template of transitions: expected at least one atom, got none");
        for (const Atom& atom : atoms) {
            check(kind, atom);
            need_guide_ = need_guide_ || is_about_guide(atom);
            if (std::find(atoms_.begin(), atoms_.end(), atom) == atoms_.end()) atoms_.push_back(atom);
        }
    }
    // Those of words first, so that each kind is one loop.
    std::stable_partition(atoms_.begin(), atoms_.end(), [](const Atom& atom) { return atom.field < kWordFields; });
    for (const Atom& atom : atoms_) {
        const auto role = static_cast<std::uint32_t>(atom.role);
        if (atom.field < kWordFields)
            word_atoms_.push_back({role, atom.offset * kWordFields + atom.field});
        else
            extra_atoms_.push_back({role, static_cast<std::uint32_t>(atom.field - kWordFields)});
    }
    for (std::size_t t = 0; t < templates.size(); ++t) {
        seeds_.push_back(static_cast<std::uint32_t>(feature::mix(code(kind, t, 0))));
        first_.push_back(static_cast<std::uint32_t>(terms_.size()));
        for (std::size_t a = 0; a < templates[t].size(); ++a)
            terms_.push_back({number(templates[t][a]), static_cast<std::uint32_t>(feature::mix(code(kind, t, a + 1))) | 1});
    }
    first_.push_back(static_cast<std::uint32_t>(terms_.size()));
}

std::uint32_t Templates::number(const Atom& atom) {
    return static_cast<std::uint32_t>(std::find(atoms_.begin(), atoms_.end(), atom) - atoms_.begin());
}

void Templates::find(const Context& context, std::uint32_t* places, std::vector<std::uint32_t>& values) const {
    values.resize(atoms_.size());
    std::uint32_t* value = values.data();
    for (const WordAtom& atom : word_atoms_) *value++ = context.rows[atom.role][atom.at];
    for (const ExtraAtom& atom : extra_atoms_) *value++ = context.extras[atom.role][atom.field];
    const Term* term = terms_.data();
    for (std::size_t t = 0; t < seeds_.size(); ++t) {
        std::uint32_t sum = seeds_[t];
        for (const Term* end = terms_.data() + first_[t + 1]; term != end; ++term) sum += values[term->atom] * term->factor;
        places[t] = sum;
    }
}

}  // namespace arbora::transition
