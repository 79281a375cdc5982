// Shared by the bindings of graph parsers.
#pragma once

#include <optional>
#include <tuple>

#include "parser/batch.hpp"
#include "questions.hpp"

namespace arbora {

// A table of 2^bits weights.
inline std::uint32_t table_size(int bits, const char* name) {
    if (bits < 10 || bits > 28) throw InputError(std::string(name) + ": expected 10 to 28, got " + std::to_string(bits));
    return std::uint32_t{1} << bits;
}

// The costs of a wrong head and a wrong label, checked.
inline graph::Cost cost_of(const std::tuple<double, double>& given) {
    const auto [head, label] = given;
    if (!(head > 0.0 && head <= 1e6 && label >= 0.0 && label <= 1e6))
        throw InputError("cost: expected a head's cost above 0 and a label's of at least 0, both at most 1e6, got " + std::to_string(head) + " and " +
                         std::to_string(label));
    return {head, label};
}

inline nb::object tuple_of(const graph::Parsed& parsed) { return nb::make_tuple(copied(parsed.heads), copied(parsed.labels)); }

// The number of trees of each sentence, their scores, and the heads and labels of all of them in a row.
inline nb::object tuple_of(const std::vector<std::vector<graph::Ranked>>& found) {
    std::vector<std::int64_t> counts;
    std::vector<double> scores;
    std::vector<std::int32_t> heads, names;
    for (const auto& trees : found) {
        counts.push_back(static_cast<std::int64_t>(trees.size()));
        for (const auto& ranked : trees) {
            scores.push_back(ranked.score);
            heads.insert(heads.end(), ranked.heads.begin() + 1, ranked.heads.end());
            names.insert(names.end(), ranked.labels.begin() + 1, ranked.labels.end());
        }
    }
    return nb::make_tuple(copied(counts), copied(scores), copied(heads), copied(names));
}

using AtomTuple = std::tuple<int, int, int>;  // role, offset, field
using TemplateList = std::vector<std::vector<AtomTuple>>;
using Floats = std::optional<Line<float>>;

// Templates' atoms in the core's types.
template <class Atom>
std::vector<std::vector<Atom>> atoms_of(const TemplateList& given) {
    std::vector<std::vector<Atom>> result;
    for (const auto& atoms : given) {
        auto& compiled = result.emplace_back();
        for (const auto& [role, offset, field] : atoms) compiled.push_back({role, offset, field});
    }
    return result;
}

// The arcs kept by a pruner, one set per sentence.
struct KeptArcs {
    std::vector<graph::ArcSet> sets;
};

// The pruning settings from Python.
struct PruningSettings {
    graph::PruningRule rule = graph::PruningRule::margin;
    int keep = 1;
    double within = 0.0;
    double alpha = 0.0;
};

inline graph::Pruner pruner_of(const graph::Model& model, const Line<float>& weights, const PruningSettings& settings) {
    check_size(weights.size(), graph::weight_count(model, graph::Task::tree), "pruner");
    if (model.siblings) throw InputError("pruner: expected a first-order model");
    return {&model, {weights.data(), nullptr, 1.0}, settings.keep, settings.within, settings.rule, settings.alpha};
}

}  // namespace arbora
