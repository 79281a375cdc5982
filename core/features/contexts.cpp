#include "features/contexts.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/errors.hpp"
#include "features/hash.hpp"

namespace arbora::feature {

namespace {

constexpr std::array<const char*, 3> kKindNames = {"chains", "lineages", "closings"};
// Which slots have a label and a count, and whose label a combination chooses.
constexpr std::array<std::array<bool, kSlots>, 3> kHasLabel = {{{false, true, true, false}, {false, true, true, true}, {false, true, true, true}}};
constexpr std::array<std::array<bool, kSlots>, 3> kHasCount = {{{true, false, false, false}, {false, false, false, false}, {false, false, true, true}}};
constexpr std::array<int, 3> kChosen = {1, 1, -1};

std::uint64_t code(ContextKind kind, std::size_t number, std::size_t atom) {
    return (static_cast<std::uint64_t>(kind) + 16) << 40 | number << 8 | atom;
}

void check(const ContextAtom& atom, ContextKind kind) {
    const auto fail = [&](const std::string& what) { throw InputError(std::string("template of ") + kKindNames[static_cast<std::size_t>(kind)] + ": " + what); };
    if (atom.slot < 0 || atom.slot >= kSlots) fail("an atom has a role that does not belong there");
    if (std::abs(atom.offset) > kPadding) fail("expected an offset within 2 words, got " + std::to_string(atom.offset));
    if (atom.field < 0 || atom.field > kCountField) fail("an atom has no such field");
    const auto k = static_cast<std::size_t>(kind), slot = static_cast<std::size_t>(atom.slot);
    if (atom.field == kLabelField && !kHasLabel[k][slot]) fail("an atom's role has no label there");
    if (atom.field == kCountField && !kHasCount[k][slot]) fail("an atom's role has no count there");
    if (atom.field >= kFields && atom.offset != 0) fail("labels and counts have no offset");
}

}  // namespace

std::uint32_t label_value(int label) { return static_cast<std::uint32_t>(mix(0x6c6162656cULL + static_cast<std::uint64_t>(label + 1) * 2654435761ULL)); }
std::uint32_t count_value(int count) {
    return static_cast<std::uint32_t>(mix(0x636f756e74ULL + static_cast<std::uint64_t>(std::min(count, kMostCounted)) * 2654435761ULL));
}

ContextTemplates::ContextTemplates(ContextKind kind, const std::vector<std::vector<ContextAtom>>& templates) {
    const auto looks = [&](const std::vector<ContextAtom>& atoms) {
        return std::any_of(atoms.begin(), atoms.end(), [&](const ContextAtom& atom) {
            return atom.field == kLabelField && atom.slot == kChosen[static_cast<std::size_t>(kind)];
        });
    };
    std::vector<std::size_t> order(templates.size());
    for (std::size_t t = 0; t < order.size(); ++t) order[t] = t;
    chosen = static_cast<std::size_t>(std::stable_partition(order.begin(), order.end(), [&](std::size_t t) { return !looks(templates[t]); }) - order.begin());
    for (const std::size_t t : order) {
        if (templates[t].empty()) throw InputError(std::string("template of ") + kKindNames[static_cast<std::size_t>(kind)] + ": expected at least one atom, got none");
        for (std::size_t slot = 0; slot < kSlots; ++slot) {
            slots[slot].emplace_back();
            label_factors[slot].push_back(0);
            count_factors[slot].push_back(0);
        }
        slots[0].back().seed = static_cast<std::uint32_t>(mix(code(kind, t, 0)));
        for (std::size_t a = 0; a < templates[t].size(); ++a) {
            const ContextAtom& atom = templates[t][a];
            check(atom, kind);
            const auto slot = static_cast<std::size_t>(atom.slot);
            const std::uint32_t factor = static_cast<std::uint32_t>(mix(code(kind, t, a + 1))) | 1;
            if (atom.field == kLabelField) {
                label_factors[slot].back() += factor;
                uses_label[slot] = true;
            } else if (atom.field == kCountField) {
                count_factors[slot].back() += factor;
                uses_count[slot] = true;
            } else {
                slots[slot].back().terms.push_back({atom.offset, static_cast<std::uint32_t>(atom.field), factor});
            }
        }
    }
}

void ContextExtractor::load(const Sentence& sentence, const Table& table) {
    table_ = table;
    n_ = sentence.n;
    for (std::size_t slot = 0; slot < kSlots; ++slot) {
        auto& sums = sums_[slot];
        sums.clear();
        for (int node = 0; node <= n_ + 1; ++node)
            for (const Summand& summand : templates_->slots[slot]) sums.push_back(summand(sentence, node <= n_ ? node : -1));
    }
}

std::uint32_t ContextExtractor::place(const Context& context, std::size_t t) const {
    std::uint32_t sum = context.direction;
    for (int slot = 0; slot < kSlots; ++slot) {
        const auto s = static_cast<std::size_t>(slot);
        sum += at(slot, context.nodes[s])[t];
        if (templates_->uses_label[s]) sum += templates_->label_factors[s][t] * label_value(context.labels[s]);
        if (templates_->uses_count[s]) sum += templates_->count_factors[s][t] * count_value(context.counts[s]);
    }
    return sum & table_.mask;
}

float ContextExtractor::sum(const Context& context, std::size_t begin, std::size_t end) const {
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

}  // namespace arbora::feature
