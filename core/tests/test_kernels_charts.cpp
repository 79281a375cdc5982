// The kernels of projective charts on every instruction set of this CPU.
#include "chart_cases.hpp"

namespace kernels_charts_tests {

using namespace kernel_cases;

namespace {

// The values of every span's items.
template <class Charts>
Numbers span_values(const Charts& charts, int kinds) {
    Numbers out;
    put(out, charts.goal);
    for (int s = charts.layout.first; s <= charts.layout.n; ++s) {
        for (int t = s + 1; t <= charts.layout.n; ++t) {
            for (int kind = 0; kind < kinds; ++kind) {
                // No arc enters the root, and there is nothing to its left.
                const bool leftwards = kind == Charts::kLeft || kind == Charts::kOpenLeft;
                if (s == 0 && (leftwards || kind >= 4)) continue;
                put(out, charts.value({static_cast<std::int16_t>(kind), s, t}));
            }
        }
    }
    return out;
}

template <class Plane>
GrandparentCharts<Plane> grandparent_charts(const Kernels& k, const Case& c) {
    auto charts = GrandparentCharts<Plane>::take(c.arena, c.problem(), c.square(), checked_copy(k, c));
    CHECK(k.inside(charts));
    return charts;
}

template <class Plane>
Numbers grandparent_values(const GrandparentCharts<Plane>& charts) {
    Numbers out;
    put(out, charts.goal);
    const int n = charts.square.n;
    for (int g = 0; g <= n; ++g) {
        for (int h = 1; h <= n; ++h) {
            for (int m = 1; m <= n; ++m) {
                if (h == m || (std::min(h, m) <= g && g <= std::max(h, m))) continue;
                put(out, charts.open.at(g, h, m));
                put(out, charts.complete.at(g, h, m));
            }
        }
    }
    return out;
}

// Empty if plain doubles do not suffice, which test_plain_sums.cpp tests.
template <class Charts>
Numbers values_if_any(const std::optional<Charts>& charts, int kinds) {
    return charts ? span_values(*charts, kinds) : Numbers{};
}

Numbers grandparent_marginals(const Kernels& k, const Case& c) {
    const auto charts = grandparent_charts<LogPlane>(k, c);
    if (charts.goal.is_zero()) return {};
    const auto zeros = [](const Numbers& like) { return Numbers(like.size(), 0.0); };
    Numbers arcs = zeros(c.owned.arcs), siblings = zeros(c.owned.siblings), grandparents = zeros(c.owned.grandparents),
            grandsiblings = zeros(c.owned.grandsiblings);
    const auto data = [](Numbers& v) { return v.empty() ? nullptr : v.data(); };
    k.marginals_grandparent(charts, GrandparentMemory::take(c.arena, c.square()),
                            {arcs.data(), data(siblings), data(grandparents), data(grandsiblings)});
    for (const Numbers* more : {&siblings, &grandparents, &grandsiblings}) arcs.insert(arcs.end(), more->begin(), more->end());
    return arcs;
}

const Program kFirstOrder[] = {
    {"inside_arc_max", 0.0, [](const Kernels& k, const Case& c) { return values_if_any(arc_charts<MaxPlane>(k, c), 4); }},
    {"inside_arc_log", kRounding, [](const Kernels& k, const Case& c) { return values_if_any(arc_charts<LogPlane>(k, c), 4); }},
    {"inside_arc_plain", kRounding, [](const Kernels& k, const Case& c) { return values_if_any(arc_charts<PlainPlane>(k, c), 4); }},
    {"marginals_arc", kRounding, arc_marginals<LogPlane>},
    {"marginals_arc_plain", kRounding, arc_marginals<PlainPlane>},
    {"slopes_arc", kRounding, arc_slopes<LogPlane>},
    {"slopes_arc_plain", kRounding, arc_slopes<PlainPlane>},
};
const Program kSecondOrder[] = {
    {"inside_sibling_max", 0.0, [](const Kernels& k, const Case& c) { return values_if_any(sibling_charts<MaxPlane>(k, c), 5); }},
    {"inside_sibling_log", kRounding, [](const Kernels& k, const Case& c) { return values_if_any(sibling_charts<LogPlane>(k, c), 5); }},
    {"inside_sibling_plain", kRounding, [](const Kernels& k, const Case& c) { return values_if_any(sibling_charts<PlainPlane>(k, c), 5); }},
    {"marginals_sibling", kRounding, sibling_marginals<LogPlane>},
    {"marginals_sibling_plain", kRounding, sibling_marginals<PlainPlane>},
};
const Program kThirdOrder[] = {
    {"inside_grandparent_max", 0.0, [](const Kernels& k, const Case& c) { return grandparent_values(grandparent_charts<MaxPlane>(k, c)); }},
    {"inside_grandparent_log", kRounding,
     [](const Kernels& k, const Case& c) { return grandparent_values(grandparent_charts<LogPlane>(k, c)); }},
    {"marginals_grandparent", kRounding, grandparent_marginals},
};

}  // namespace

TEST(kernels_agree_first_order) {
    problems::Random random(11);
    for (const int n : kLengths) {
        for (const Kind kind : kKinds) {
            if (is_asked(n, kind)) compare(kFirstOrder, Owned(n, {}, kind, random));
        }
    }
}

TEST(kernels_agree_second_order) {
    problems::Random random(12);
    for (const int n : kLengths) {
        for (const Kind kind : kKinds) {
            if (is_asked(n, kind)) compare(kSecondOrder, Owned(n, {true, false, false}, kind, random));
        }
    }
}

TEST(kernels_agree_third_order) {
    problems::Random random(13);
    constexpr Order kEach[] = {{false, true, false}, {true, true, false}, {false, false, true}};
    // O(n^4), several times, under sanitizers: so fewer lengths, and spans of all lengths in each.
    for (const int n : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 17, 20, 25}) {
        const Kind kind = n % 2 == 0 ? Kind::normal : Kind::masked;
        for (const Order order : kEach) {
            if (n <= 9) compare(kThirdOrder, Owned(n, order, kind, random));
        }
        // (n+1)^4 scores of grand-siblings are too many for the longest.
        compare(kThirdOrder, Owned(n, {n <= 20, true, n <= 20}, kind, random));
    }
}

}  // namespace kernels_charts_tests
