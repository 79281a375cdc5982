#include "search/transition/templates.hpp"

namespace arbora::transition {

void check(Kind kind, const std::vector<Atom>& atoms) {
    const int roles = kind == Kind::moves ? kMoveRoles : kRoles;
    feature::check_template("transitions", atoms, [&](const Atom& atom) { return atom.role >= 0 && atom.role < roles; });
    for (const Atom& atom : atoms) {
        if (atom.field < 0 || atom.field >= kAllFields) feature::refuse_template("transitions", "an atom has no such field");
        if (atom.field >= kWordFields && atom.offset != 0) feature::refuse_template("transitions", "only words have neighbours");
    }
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
