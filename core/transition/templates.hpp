// Templates of transition parsers, compiled.
//
// A template is a conjunction of atoms: a field of the node that plays a role, or of a neighbour of it. Besides the fields of words
// there are the label of a node's arc, how many dependents it has on a side, which labels these have, and the distance between the
// two words in focus. Its place is seed + sum of factor * value, as everywhere (feature/hash.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "feature/encoded.hpp"

namespace arbora::transition {

enum class Role : std::uint8_t {
    left, right,                              // the words in focus; left.label: the label of its arc where it has a head
    under,                                    // the word on the stack below the left one
    next, after_next,                         // in the buffer
    head, grand,                              // of the left word, and its head's head
    left_left, left_left2, left_right, left_right2,      // outermost dependents of the left word, and the next ones inwards
    right_left, right_left2, right_right, right_right2,  // the same of the right word
    // Of labels only: the arc's head and dependent, the head's outermost dependent on that side, the dependent's outermost ones.
    arc_head, arc_dep, sibling, dep_left, dep_right,
};
inline constexpr int kRoles = 20;
inline constexpr int kMoveRoles = static_cast<int>(Role::arc_head);

// Fields beyond those of words.
enum class Extra : std::uint8_t { label = feature::kFields, lefts, rights, left_labels, right_labels, distance };
inline constexpr int kAllFields = feature::kFields + 6;

struct Atom {
    int role;
    int offset;
    int field;
    bool operator==(const Atom&) const = default;
};

enum class Kind : std::uint64_t { moves = 1, labels = 2 };

// The values of all roles in one state, as far as templates may ask for them.
struct Context {
    std::array<const std::uint32_t*, kRoles> rows;  // of words, as in feature::Sentence
    std::array<std::array<std::uint32_t, 6>, kRoles> extras;
};

class Templates {
public:
    // Throws InputError where an atom has no such role, field or offset.
    Templates(Kind kind, const std::vector<std::vector<Atom>>& templates);

    std::size_t size() const { return seeds_.size(); }
    // places[0 .. size): O(atoms).
    void find(const Context& context, std::uint32_t* places, std::vector<std::uint32_t>& values) const;

private:
    struct WordAtom {
        std::uint32_t role;
        std::int32_t at;  // from the row of the role's word
    };
    struct ExtraAtom {
        std::uint32_t role, field;
    };
    struct Term {
        std::uint32_t atom, factor;
    };
    std::uint32_t number(const Atom& atom);

    // Atoms that templates share are looked up once.
    std::vector<Atom> atoms_;
    std::vector<WordAtom> word_atoms_;
    std::vector<ExtraAtom> extra_atoms_;
    std::vector<std::uint32_t> seeds_, first_;
    std::vector<Term> terms_;
};

inline constexpr int kMostCounted = 6;  // dependents; more are as this many
inline constexpr int kNoArc = -2;  // instead of a label; -1: an arc without one

// Values of what is no text.
std::uint32_t label_value(int label);
std::uint32_t count_value(int count);
std::uint32_t set_value(std::uint64_t labels);
std::uint32_t distance_value(unsigned bin);

}  // namespace arbora::transition
