// Features of an arc's context in a tree: up to four nodes at once, with labels and numbers of dependents.
//
// Three kinds, by the moment at which bottom-up search knows the whole context:
//   chains     an arc h -> d is built: the next dependents towards the head, s and t, d's and s's labels, and the number of h's
//   dependents on this side including d
//   lineages   h gets its head g: each dependent d of h, with the next one towards h, s, and the labels of h, d and s
//   closings   d is complete under its head h: its outermost dependents l and r, labels, and the numbers of its left and right
//   dependents
// A template is a conjunction of atoms, as in templates.hpp. In addition, a role may have a `label` and some roles a `count`. Its
// place is a sum over roles and these, so the part that depends on one word is summed once per word.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include "features/extractor.hpp"

namespace arbora::feature {

enum class ContextKind : std::uint8_t { chain, lineage, closing };
inline constexpr int kSlots = 4;   // of nodes: chain h d s t; lineage g h d s; closing h d l r
inline constexpr int kLabelField = kAllFields, kCountField = kAllFields + 1;
inline constexpr int kMostCounted = 6;  // dependents; more are as this many

struct ContextAtom {
    int slot;
    int offset;
    int field;  // a Field, kLabelField or kCountField
};

struct ContextSpec {
    std::vector<std::vector<ContextAtom>> chains, lineages, closings;
};

// The nodes of a context (-1: none), their labels and counts (if any), and the directions of its arcs.
struct Context {
    std::array<int, kSlots> nodes{-1, -1, -1, -1};
    std::array<int, kSlots> labels{-1, -1, -1, -1};
    std::array<int, kSlots> counts{0, 0, 0, 0};
    std::uint32_t direction = 0;
};

inline constexpr std::array<const char*, 3> kKindNames = {"chains", "lineages", "closings"};
// Which slots have a label and a count, and in which slot a combination chooses the label.
inline constexpr std::array<std::array<bool, kSlots>, 3> kHasLabel = {{{false, true, true, false}, {false, true, true, true}, {false, true, true, true}}};
inline constexpr std::array<std::array<bool, kSlots>, 3> kHasCount = {{{true, false, false, false}, {false, false, false, false}, {false, false, true, true}}};
inline constexpr std::array<int, 3> kChosen = {1, 1, -1};

inline void check(const std::vector<ContextAtom>& atoms, ContextKind kind) {
    const auto k = static_cast<std::size_t>(kind);
    check_template(kKindNames[k], atoms, [](const ContextAtom& atom) { return atom.slot >= 0 && atom.slot < kSlots; });
    for (const ContextAtom& atom : atoms) {
        const auto slot = static_cast<std::size_t>(atom.slot);
        const auto require = [&](bool good, const char* what) {
            if (!good) refuse_template(kKindNames[k], what);
        };
        require(atom.field >= 0 && atom.field <= kCountField, "an atom has no such field");
        require(atom.field != kLabelField || kHasLabel[k][slot], "an atom's role has no label there");
        require(atom.field != kCountField || kHasCount[k][slot], "an atom's role has no count there");
        require(atom.field != static_cast<int>(Field::guide), "labels of a guide are for other templates");
        require(atom.field < kAllFields || atom.offset == 0, "labels and counts have no offset");
    }
}

inline std::uint32_t label_value(int label) { return number_value(0x6c6162656cULL, static_cast<std::uint64_t>(label + 1)); }
inline std::uint32_t count_value(int count) { return number_value(0x636f756e74ULL, static_cast<std::uint64_t>(std::min(count, kMostCounted))); }

// The compiled templates of one kind. Those that read the label chosen by a combination (d's in a chain, h's in a lineage) come
// last, so that the others are computed once for all labels.
struct ContextTemplates {
    // Throws InputError if an atom has no such slot, field or offset.
    ContextTemplates(ContextKind kind, const std::vector<std::vector<ContextAtom>>& templates) {
        const auto looks = [&](const std::vector<ContextAtom>& atoms) {
            return std::any_of(atoms.begin(), atoms.end(), [&](const ContextAtom& atom) {
                return atom.field == kLabelField && atom.slot == kChosen[static_cast<std::size_t>(kind)];
            });
        };
        std::vector<std::size_t> order(templates.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        chosen = static_cast<std::size_t>(std::stable_partition(order.begin(), order.end(), [&](std::size_t t) { return !looks(templates[t]); }) - order.begin());
        for (const std::size_t t : order) {
            check(templates[t], kind);
            const TemplateHash hash{static_cast<std::uint64_t>(kind) + 16, t};
            for (std::size_t slot = 0; slot < kSlots; ++slot) {
                slots[slot].emplace_back();
                label_factors[slot].push_back(0);
                count_factors[slot].push_back(0);
            }
            slots[0].back().seed = hash.seed();
            for (std::size_t a = 0; a < templates[t].size(); ++a) {
                const ContextAtom& atom = templates[t][a];
                const auto slot = static_cast<std::size_t>(atom.slot);
                const std::uint32_t factor = hash.factor(a);
                if (atom.field == kLabelField) {
                    label_factors[slot].back() += factor;
                    uses_label[slot] = true;
                } else if (atom.field == kCountField) {
                    count_factors[slot].back() += factor;
                    uses_count[slot] = true;
                } else {
                    need_clusters = need_clusters || is_cluster(static_cast<Field>(atom.field));
                    slots[slot].back().terms.push_back({atom.offset, static_cast<std::uint32_t>(atom.field), factor});
                }
            }
        }
    }

    std::size_t size() const { return slots[0].size(); }

    std::array<std::vector<Summand>, kSlots> slots;
    std::array<std::vector<std::uint32_t>, kSlots> label_factors, count_factors;  // 0: does not look at it
    std::array<bool, kSlots> uses_label{}, uses_count{};
    std::size_t chosen = 0;  // the first that looks at the chosen label
    bool need_clusters = false;
};

struct Contexts {
    Contexts() : Contexts(ContextSpec{}) {}
    explicit Contexts(const ContextSpec& spec)
        : chains(ContextKind::chain, spec.chains), lineages(ContextKind::lineage, spec.lineages), closings(ContextKind::closing, spec.closings) {}
    ContextTemplates chains, lineages, closings;
};

// The weight places of one kind of context in one sentence.
class ContextExtractor {
public:
    explicit ContextExtractor(const ContextTemplates& templates) : templates_(&templates) {}

    // Throws InputError if the templates read clusters and the sentence has none.
    void load(const Sentence& sentence, const Table& table) {
        require_inputs(false, templates_->need_clusters, sentence);
        table_ = table;
        n_ = sentence.n;
        for (std::size_t slot = 0; slot < kSlots; ++slot) {
            auto& sums = sums_[slot];
            sums.clear();
            for (int node = 0; node <= n_ + 1; ++node)
                for (const Summand& summand : templates_->slots[slot]) sums.push_back(summand(sentence, node <= n_ ? node : -1));
        }
    }

    // Of templates begin .. end.
    float sum(const Context& context, std::size_t begin, std::size_t end) const {
        if (begin == end) return 0.0F;
        constexpr std::size_t kMost = 64;  // templates at a time
        std::uint32_t places[kMost];
        float sums[4] = {0, 0, 0, 0};
        for (; begin < end; begin += kMost) {
            const std::size_t count = std::min(kMost, end - begin);
            const std::uint32_t* first = at(0, context.nodes[0]) + begin;
            const std::uint32_t* second = at(1, context.nodes[1]) + begin;
            const std::uint32_t* third = at(2, context.nodes[2]) + begin;
            const std::uint32_t* fourth = at(3, context.nodes[3]) + begin;
            for (std::size_t t = 0; t < count; ++t) places[t] = context.direction + first[t] + second[t] + third[t] + fourth[t];
            for (std::size_t slot = 0; slot < kSlots; ++slot) {
                if (templates_->uses_label[slot]) {
                    const std::uint32_t value = label_value(context.labels[slot]);
                    const std::uint32_t* factors = templates_->label_factors[slot].data() + begin;
                    for (std::size_t t = 0; t < count; ++t) places[t] += factors[t] * value;
                }
                if (templates_->uses_count[slot]) {
                    const std::uint32_t value = count_value(context.counts[slot]);
                    const std::uint32_t* factors = templates_->count_factors[slot].data() + begin;
                    for (std::size_t t = 0; t < count; ++t) places[t] += factors[t] * value;
                }
            }
            std::size_t t = 0;
            for (; t + 4 <= count; t += 4)
                for (std::size_t k = 0; k < 4; ++k) sums[k] += table_.weights[places[t + k] & table_.mask];
            for (; t < count; ++t) sums[0] += table_.weights[places[t] & table_.mask];
        }
        return (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
    template <class Visit>
    void visit(const Context& context, Visit&& visit) const {
        for (std::size_t t = 0; t < templates_->size(); ++t) visit(place(context, t));
    }

    const ContextTemplates& templates() const { return *templates_; }

private:
    const std::uint32_t* at(int slot, int node) const {
        // The row past the last node stands for "no node".
        return sums_[static_cast<std::size_t>(slot)].data() + static_cast<std::size_t>(node < 0 ? n_ + 1 : node) * templates_->size();
    }
    std::uint32_t place(const Context& context, std::size_t t) const {
        std::uint32_t sum = context.direction;
        for (int slot = 0; slot < kSlots; ++slot) {
            const auto s = static_cast<std::size_t>(slot);
            sum += at(slot, context.nodes[s])[t];
            if (templates_->uses_label[s]) sum += templates_->label_factors[s][t] * label_value(context.labels[s]);
            if (templates_->uses_count[s]) sum += templates_->count_factors[s][t] * count_value(context.counts[s]);
        }
        return sum & table_.mask;
    }

    const ContextTemplates* templates_;
    Table table_{nullptr, 0};
    int n_ = 0;
    std::array<std::vector<std::uint32_t>, kSlots> sums_;
};

}  // namespace arbora::feature
