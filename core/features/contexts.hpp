// Features of what surrounds an arc in a tree: up to four nodes at once, with labels and numbers of dependents.
//
// Three kinds, by the moment at which bottom-up search knows all that they look at:
//   chains     an arc h -> d is made: the next dependents towards the head, s and t, d's and s's labels, and how many dependents
//              h has on this side with d
//   lineages   h is given its head g: each dependent d of h, with the next one towards h, s, and the labels of h, d and s
//   closings   d is complete, under its head h: its outermost dependents l and r, labels, and how many d has on the left and right
// A template is a conjunction of atoms, as in templates.hpp, besides which a role may have a `label` and some a `count`. Its place
// is a sum over roles and these, so that all that depends on one word alone is added up once per word.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "features/extractor.hpp"
#include "features/templates.hpp"

namespace arbora::feature {

enum class ContextKind : std::uint8_t { chain, lineage, closing };
inline constexpr int kSlots = 4;   // of nodes: chain h d s t; lineage g h d s; closing h d l r
inline constexpr int kLabelField = kFields, kCountField = kFields + 1;
inline constexpr int kMostCounted = 6;  // dependents; more are as this many

struct ContextAtom {
    int slot;
    int offset;
    int field;  // a Field, kLabelField or kCountField
};

struct ContextSpec {
    std::vector<std::vector<ContextAtom>> chains, lineages, closings;
};

// The nodes of a context (-1: nobody), their labels and counts (where they have one), and the directions of its arcs.
struct Context {
    std::array<int, kSlots> nodes{-1, -1, -1, -1};
    std::array<int, kSlots> labels{-1, -1, -1, -1};
    std::array<int, kSlots> counts{0, 0, 0, 0};
    std::uint32_t direction = 0;
};

// What an arc adds to `direction`.
constexpr std::uint32_t turn(int head, int dep) { return head < dep ? 0U : 0x5bd1e995U; }

// One kind's templates, compiled. Those that look at the label which a combination chooses (d's of a chain, h's of a lineage) stand
// last, so that the rest need not be computed anew for each label.
struct ContextTemplates {
    // Throws InputError where an atom has no such slot, field or offset.
    ContextTemplates(ContextKind kind, const std::vector<std::vector<ContextAtom>>& templates);

    std::size_t size() const { return slots[0].size(); }

    std::array<std::vector<Summand>, kSlots> slots;
    std::array<std::vector<std::uint32_t>, kSlots> label_factors, count_factors;  // 0: does not look at it
    std::array<bool, kSlots> uses_label{}, uses_count{};
    std::size_t chosen = 0;  // the first that looks at the chosen label
};

struct Contexts {
    Contexts() : Contexts(ContextSpec{}) {}
    explicit Contexts(const ContextSpec& spec)
        : chains(ContextKind::chain, spec.chains), lineages(ContextKind::lineage, spec.lineages), closings(ContextKind::closing, spec.closings) {}
    ContextTemplates chains, lineages, closings;
};

// The places of one kind of context in one sentence.
class ContextExtractor {
public:
    explicit ContextExtractor(const ContextTemplates& templates) : templates_(&templates) {}

    void load(const Sentence& sentence, const Table& table);

    // Of the templates begin .. end.
    float sum(const Context& context, std::size_t begin, std::size_t end) const;
    template <class Visit>
    void visit(const Context& context, Visit&& visit) const;

    const ContextTemplates& templates() const { return *templates_; }

private:
    const std::uint32_t* at(int slot, int node) const {
        // The row past the last node stands for nobody.
        return sums_[static_cast<std::size_t>(slot)].data() + static_cast<std::size_t>(node < 0 ? n_ + 1 : node) * templates_->size();
    }
    std::uint32_t place(const Context& context, std::size_t t) const;

    const ContextTemplates* templates_;
    Table table_{nullptr, 0};
    int n_ = 0;
    std::array<std::vector<std::uint32_t>, kSlots> sums_;
};

std::uint32_t label_value(int label);
std::uint32_t count_value(int count);

template <class Visit>
void ContextExtractor::visit(const Context& context, Visit&& visit) const {
    for (std::size_t t = 0; t < templates_->size(); ++t) visit(place(context, t));
}

}  // namespace arbora::feature
