// Compiled templates of transition parsers.
//
// A template is a conjunction of atoms: a field of the node in a role, or of its neighbour. Besides word fields there are the label
// of a node's arc, the number of its dependents on a side, the labels of these, and the distance between the two words in focus.
// With another parser as guide, there are also the head and the label that it gives to a word, the position of that head, and how
// many of its dependents the word still waits for (features.hpp). Its place is seed + sum of factor * value (features/hash.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>
#include <vector>

#include "features/templates.hpp"

namespace arbora::transition {

enum class Role : std::uint8_t {
    left, right,                              // the words in focus; left.label: the label of its arc where it has a head
    under,                                    // the word on the stack below the left one
    next, after_next,                         // in the buffer
    head, grand,                              // of the left word, and its head's head
    left_left, left_left2, left_right, left_right2,      // outermost dependents of the left word, and the next ones inwards
    right_left, right_left2, right_right, right_right2,  // the same of the right word
    left_guide, right_guide,                  // the heads that a guide gives to the words in focus
    // Only for labels: the arc's head and dependent, the head's outermost dependent on that side, the dependent's outermost ones.
    arc_head, arc_dep, sibling, dep_left, dep_right,
    dep_guide,  // the head that a guide gives to the dependent
};
inline constexpr int kRoles = 23;
inline constexpr int kMoveRoles = static_cast<int>(Role::arc_head);

// Word fields are texts, clusters, and guide labels; later numbers are other fields.
inline constexpr int kWordFields = static_cast<int>(std::tuple_size_v<feature::Row>);
enum class Extra : std::uint8_t { label = kWordFields, lefts, rights, left_labels, right_labels, distance, head_place, ahead, behind };
inline constexpr int kExtras = 9;
inline constexpr int kAllFields = kWordFields + kExtras;

struct Atom {
    int role;
    int offset;
    int field;
    bool operator==(const Atom&) const = default;
};

enum class Kind : std::uint64_t { moves = 1, labels = 2 };

// The values of all roles in one state that templates may read.
struct Context {
    std::array<const std::uint32_t*, kRoles> rows;  // of words, as in feature::Sentence
    std::array<std::array<std::uint32_t, kExtras>, kRoles> extras;
};

void check(Kind kind, const std::vector<Atom>& atoms);

inline bool is_about_guide(const Atom& atom) {
    const auto role = static_cast<Role>(atom.role);
    return role == Role::left_guide || role == Role::right_guide || role == Role::dep_guide ||
           atom.field == static_cast<int>(feature::Field::guide) || atom.field >= static_cast<int>(Extra::head_place);
}

class Templates {
public:
    // Throws InputError if an atom has no such role, field or offset.
    Templates(Kind kind, const std::vector<std::vector<Atom>>& templates) {
        for (const auto& atoms : templates) {
            check(kind, atoms);
            for (const Atom& atom : atoms) {
                need_guide_ = need_guide_ || is_about_guide(atom);
                need_clusters_ = need_clusters_ || (atom.field < kWordFields && feature::is_cluster(static_cast<feature::Field>(atom.field)));
                if (std::find(atoms_.begin(), atoms_.end(), atom) == atoms_.end()) atoms_.push_back(atom);
            }
        }
        // Word atoms first, so that each kind is one loop.
        std::stable_partition(atoms_.begin(), atoms_.end(), [](const Atom& atom) { return atom.field < kWordFields; });
        for (const Atom& atom : atoms_) {
            const auto role = static_cast<std::uint32_t>(atom.role);
            if (atom.field < kWordFields)
                word_atoms_.push_back({role, atom.offset * kWordFields + atom.field});
            else
                extra_atoms_.push_back({role, static_cast<std::uint32_t>(atom.field - kWordFields)});
        }
        for (std::size_t t = 0; t < templates.size(); ++t) {
            const feature::TemplateHash hash{static_cast<std::uint64_t>(kind) + 32, t};
            seeds_.push_back(hash.seed());
            first_.push_back(static_cast<std::uint32_t>(terms_.size()));
            for (std::size_t a = 0; a < templates[t].size(); ++a) terms_.push_back({number(templates[t][a]), hash.factor(a)});
        }
        first_.push_back(static_cast<std::uint32_t>(terms_.size()));
    }

    std::size_t size() const { return seeds_.size(); }
    bool need_guide() const { return need_guide_; }
    bool need_clusters() const { return need_clusters_; }
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
    std::uint32_t number(const Atom& atom) {
        return static_cast<std::uint32_t>(std::find(atoms_.begin(), atoms_.end(), atom) - atoms_.begin());
    }

    // Atoms shared by templates are looked up once.
    std::vector<Atom> atoms_;
    std::vector<WordAtom> word_atoms_;
    std::vector<ExtraAtom> extra_atoms_;
    std::vector<std::uint32_t> seeds_, first_;
    std::vector<Term> terms_;
    bool need_guide_ = false, need_clusters_ = false;
};

inline constexpr int kMostCounted = 6;  // dependents; higher counts are equal
inline constexpr int kNoArc = -2;  // instead of a label; -1: an arc without one

// Values of fields that are not texts.
inline std::uint32_t label_value(int label) { return feature::number_value(0x6c6162656cULL, static_cast<std::uint64_t>(label - kNoArc)); }
inline std::uint32_t count_value(int count) { return feature::number_value(0x636f756e74ULL, static_cast<std::uint64_t>(std::min(count, kMostCounted))); }
inline std::uint32_t set_value(std::uint64_t labels) { return static_cast<std::uint32_t>(feature::mix(labels + 0x736574ULL)); }
inline std::uint32_t distance_value(unsigned bin) { return feature::number_value(0x64697374ULL, bin); }
inline std::uint32_t place_value(unsigned place) { return feature::number_value(0x706c616365ULL, place); }  // of HeadPlace

}  // namespace arbora::transition
