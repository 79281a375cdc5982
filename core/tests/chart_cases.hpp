// Projective charts and marginals from a kernel table, in any semiring.
#pragma once

#include <optional>

#include "kernel_cases.hpp"

namespace kernel_cases {

template <class Plane>
inline constexpr bool kIsMax = std::is_same_v<Plane, MaxPlane>;
template <class Plane>
inline constexpr bool kIsPlain = std::is_same_v<Plane, PlainPlane>;

// Returns false if plain doubles do not suffice.
template <class Charts>
bool weigh(const Kernels& k, const Case& c, Charts& charts) {
    const Diagonals d = c.layout();
    const std::size_t roots = ArcScores::root_size(d.n);
    const ArcScores scores{c.arena.take<double>(d.size()), c.arena.take<double>(d.size()), c.arena.take<double>(roots)};
    // exponentiate reads whole vectors: what no span fills must be numbers too.
    std::fill_n(scores.right, d.size(), 0.0);
    std::fill_n(scores.left, d.size(), 0.0);
    std::fill_n(scores.root, roots, 0.0);
    CHECK(k.copy_diagonals(c.owned.arcs.data(), d, scores.right, scores.left));
    for (int t = 1; t <= d.n; ++t) scores.root[t] = allowed(c.owned.arcs[t]);
    charts.take_weights(c.arena, scores);
    if constexpr (kIsMax<typename Charts::Plane>) {
        charts.arc_right.value = scores.right;
        charts.arc_left.value = scores.left;
        charts.arc_root.value = scores.root;
    } else if constexpr (kIsPlain<typename Charts::Plane>) {
        return k.weigh_plain(charts, c.arena.take<double>(d.n + 9), c.arena.take<double>(2 * (d.n + 9)));
    } else {
        k.exponentiate(scores.right, charts.arc_right, d.size());
        k.exponentiate(scores.left, charts.arc_left, d.size());
        k.exponentiate(scores.root, charts.arc_root, roots);
    }
    return true;
}

// Empty if plain doubles do not suffice.
template <class Plane>
std::optional<ArcCharts<Plane>> arc_charts(const Kernels& k, const Case& c) {
    auto charts = ArcCharts<Plane>::take(c.arena, c.layout(), c.roots);
    if (!weigh(k, c, charts)) return {};
    const bool filled = k.inside(charts);
    CHECK(filled || kIsPlain<Plane>);
    if (!filled) return {};
    return charts;
}

template <class Plane>
std::optional<SiblingCharts<Plane>> sibling_charts(const Kernels& k, const Case& c, bool for_marginals = false) {
    auto charts = SiblingCharts<Plane>::take(c.arena, c.layout(), c.roots, c.owned.siblings.data());
    if (for_marginals) charts.keep_shares(c.arena);
    if (!weigh(k, c, charts)) return {};
    const bool filled = k.inside(charts);
    CHECK(filled || kIsPlain<Plane>);
    if (!filled) return {};
    return charts;
}

inline Numbers flow_values(const FlowPlanes& flow, Diagonals d) {
    Numbers out;
    for (int s = d.first; s <= d.n; ++s) {
        if (d.first == 1) put(out, flow.root[s]);
        for (int t = s + 1; t <= d.n; ++t) {
            put(out, flow.open_right[d.cell(s, t)]);
            if (s > 0) put(out, flow.open_left[d.cell(s, t)]);
        }
    }
    return out;
}

// Empty if plain doubles do not suffice, or no tree is allowed.
template <class Plane>
Numbers arc_marginals(const Kernels& k, const Case& c) {
    const auto charts = arc_charts<Plane>(k, c);
    if (!charts || charts->total().is_zero()) return {};
    const auto flow = FlowPlanes::take(c.arena, c.layout());
    k.marginals_arc(*charts, flow);
    return flow_values(flow, c.layout());
}

// A direction that is the same for every table: from -1 to 1, and 0 for forbidden arcs.
inline double direction_at(const Case& c, int h, int d) {
    return allowed(c.owned.arcs[c.owned.at(h, d)]) == kMinusInfinity ? 0.0 : (h * 37 + d * 11) % 21 / 10.0 - 1.0;
}

// The derivative of the same marginals along that direction.
template <class Plane>
Numbers arc_slopes(const Kernels& k, const Case& c) {
    const auto charts = arc_charts<Plane>(k, c);
    if (!charts || charts->total().is_zero()) return {};
    const Diagonals d = c.layout();
    const ArcScores along{c.arena.take<double>(d.size()), c.arena.take<double>(d.size()), c.arena.take<double>(ArcScores::root_size(d.n))};
    for (int t = 1; t <= d.n; ++t) along.root[t] = direction_at(c, 0, t);
    for (int s = d.first; s < d.n; ++s) {
        for (int t = s + 1; t <= d.n; ++t) {
            along.right[d.cell(s, t)] = direction_at(c, s, t);
            along.left[d.cell(s, t)] = s == 0 ? 0.0 : direction_at(c, t, s);
        }
    }
    const auto rate = FlowPlanes::take(c.arena, d), flow = FlowPlanes::take(c.arena, d), slope = FlowPlanes::take(c.arena, d);
    k.slopes_arc(*charts, along, rate, flow, slope);
    return flow_values(slope, d);
}

// Arcs, then siblings.
template <class Plane>
Numbers sibling_marginals(const Kernels& k, const Case& c) {
    const auto charts = sibling_charts<Plane>(k, c, true);
    if (!charts || charts->total().is_zero()) return {};
    Numbers siblings(c.owned.siblings.size(), 0.0);
    const auto flow = FlowPlanes::take(c.arena, c.layout());
    k.marginals_sibling(*charts, flow, siblings.data());
    Numbers out = flow_values(flow, c.layout());
    out.insert(out.end(), siblings.begin(), siblings.end());
    return out;
}

}  // namespace kernel_cases
