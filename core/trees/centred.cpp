#include "trees/centred.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/interrupt.hpp"
#include "numeric/extended.hpp"
#include "numeric/planes.hpp"
#include "trees/chart/layout.hpp"
#include "trees/queries.hpp"

namespace arbora {

namespace {

// visit(array of the problem, index, dep) for each part of higher order.
template <class Visit>
void each_higher_part(const Problem& p, Visit visit) {
    const auto nodes = p.nodes();
    const auto each_sibling = [&](auto array, std::ptrdiff_t row, int h, int d) {
        visit(array, row + h, d);
        if (h == 0 && p.roots == Roots::single) return;
        for (int s = std::min(h, d) + 1; s < std::max(h, d); ++s) visit(array, row + s, d);
    };
    each_arc(p.n, [&](int h, int d) {
        check_stop(static_cast<std::size_t>(p.n) * (p.third_order() ? p.nodes() : 1));
        if (p.siblings != nullptr) each_sibling(&Problem::siblings, (h * nodes + d) * nodes, h, d);
        for (int g = 0; h > 0 && p.third_order() && g <= p.n; ++g) {
            if (g == h || g == d) continue;
            const auto arc = (g * nodes + h) * nodes + d;
            if (p.grandparents != nullptr) visit(&Problem::grandparents, arc, d);
            if (p.grandsiblings != nullptr) each_sibling(&Problem::grandsiblings, arc * nodes, h, d);
        }
    });
}

// Whether the exponential of an allowed score might be clamped; at most four scores are added before.
bool is_large(double x, double limit = kScoreLimit) { return (x > limit) | ((x < -limit) & (x >= -kLargestScore)); }
double limit_of(const Problem& p) { return p.second_order() || p.third_order() ? kScoreLimit / 4 : kScoreLimit; }

constexpr double kFar = -1e6;  // e^kFar is nothing, even times the number of trees
bool is_far(double score) { return score < kFar; }

constexpr std::array kHigher{&Problem::siblings, &Problem::grandparents, &Problem::grandsiblings};
std::size_t place_of(const double* Problem::*array) { return static_cast<std::size_t>(std::ranges::find(kHigher, array) - kHigher.begin()); }

}  // namespace

void find_large_parts(const Problem& p) {
    each_higher_part(p, [&](auto array, std::ptrdiff_t i, int) {
        if (is_large((p.*array)[i], limit_of(p))) throw LargeParts{};
    });
}

bool has_large_arcs(const Problem& p) {
    int count = 0;
    const double limit = limit_of(p);
    for (int h = 0; h <= p.n; ++h) {
        const double* row = p.arcs + h * p.nodes();
        for (int d = 1; d <= p.n; ++d) count += is_large(row[d], limit);
        count -= h > 0 && is_large(row[h], limit);
    }
    return count > 0;
}

Centred::Centred(const Problem& p, Arena& arena) : problem(p), heads_(p.nodes()), own_(p.nodes()), arcs_(p.arcs, p.arcs + p.nodes() * p.nodes()) {
    const bool is_higher = p.second_order() || p.third_order();
    problem.arcs = arcs_.data();
    if (p.roots == Roots::single || has_one_root(arena)) raise_root();
    if (!is_higher && !has_large_arcs(problem)) return;
    argmax(problem, arena, heads_.data());
    word_scores(problem, heads_.data(), own_.data());
    taken_out_ += std::accumulate(own_.begin(), own_.end(), 0.0);
    is_relative_ = true;
    if (is_higher) copy_higher();
    each_arc(p.n, [&](int h, int d) { at(h, d) = std::min(allowed(at(h, d)) - own_[d], kLargestScore); });
    if (is_higher) {
        leave_out_higher();
        return;
    }
    leave_out_by_bound();
    leave_out_by_search(arena);
    each_arc(p.n, [&](int h, int d) {
        if (is_large(at(h, d))) reject_large(at(h, d));
    });
}

void Centred::reject_large(double score) {
    reject("scores: sums over trees need scores within 2^38 (about 2.7e11) of those of the best tree, got ", score,
           "; use -inf to forbid parts, or smaller scores");
}

double Centred::log_partition(double sum) const {
    return taken_out_ + (is_relative_ ? std::clamp(sum, 0.0, problem.n * std::log(problem.nodes())) : sum);
}

// What all scores of roots have in common.
void Centred::raise_root() {
    double low = kLargestScore, high = kMinusInfinity;
    for (int d = 1; d <= problem.n; ++d)
        if (const double score = allowed(at(0, d)); score != kMinusInfinity) low = std::min(low, score), high = std::max(high, score);
    const double shift = low > 0.0 ? low : std::min(high, 0.0);
    if (shift == kMinusInfinity) return;
    for (int d = 1; d <= problem.n; ++d) at(0, d) = allowed(at(0, d)) - shift;
    taken_out_ = shift;
}

// Several roots: whether a second one costs so much that only trees with one matter. Then the problem is made one of those.
bool Centred::has_one_root(Arena& arena) {
    double top = kMinusInfinity;
    for (int d = 1; d <= problem.n; ++d) top = std::max(top, allowed(at(0, d)));
    if (!(top < 0.0 && is_large(top, limit_of(problem)))) return false;
    const std::vector<double> given = arcs_;
    for (int d = 1; d <= problem.n; ++d) at(0, d) = allowed(at(0, d)) - top;
    const auto best_score = [&] {
        argmax(problem, arena, heads_.data());
        return tree_score(problem, heads_.data());
    };
    const double any = best_score();  // a tree with k roots has k times the top less
    problem.roots = Roots::single;
    bool is_single = false;
    try {
        is_single = is_far(any + top - best_score());
    } catch (const NoTreeError&) {}
    if (!is_single) problem.roots = Roots::multi;
    arcs_ = given;
    return is_single;
}

// A tree is no better than all words' best arcs together.
void Centred::leave_out_by_bound() {
    std::vector<double> top(problem.nodes());
    each_arc(problem.n, [&](int h, int d) { top[d] = std::max(top[d], at(h, d)); });
    const double all = std::accumulate(top.begin(), top.end(), 0.0);
    each_arc(problem.n, [&](int h, int d) {
        if (is_far(at(h, d) + all - top[d])) at(h, d) = kMinusInfinity;
    });
}

// By the best tree with the arc, for a few arcs.
void Centred::leave_out_by_search(Arena& arena) {
    std::vector<std::pair<int, int>> large;
    each_arc(problem.n, [&](int h, int d) {
        if (is_large(at(h, d))) large.emplace_back(h, d);
    });
    constexpr std::size_t kMostPerWord = 16;
    if (large.size() > kMostPerWord * problem.nodes()) return;
    std::vector<double> all = arcs_;
    Problem with_arc = problem;
    with_arc.arcs = all.data();
    for (const auto& [head, dep] : large) {
        for (int h = 0; h <= problem.n; ++h)
            if (h != head) all[static_cast<std::size_t>(h * problem.nodes() + dep)] = kMinusInfinity;
        bool is_near = false;
        try {
            argmax(with_arc, arena, heads_.data());
            is_near = !is_far(tree_score(with_arc, heads_.data()));
        } catch (const NoTreeError&) {}
        if (!is_near) at(head, dep) = kMinusInfinity;
        for (int h = 0; h <= problem.n; ++h) all[static_cast<std::size_t>(h * problem.nodes() + dep)] = at(h, dep);
    }
}

// Each word has one sibling part, so it may lack the word's own part of the best tree, too.
void Centred::copy_higher() {
    for (const auto array : kHigher)
        if (problem.*array != nullptr) {
            const auto size = static_cast<std::size_t>(std::pow(problem.nodes(), array == &Problem::grandsiblings ? 4 : 3));
            auto& copy = higher_[place_of(array)];
            copy.assign(problem.*array, problem.*array + size);
            problem.*array = copy.data();
        }
    if (problem.siblings == nullptr) return;
    const std::ptrdiff_t nodes = problem.nodes();
    std::vector<int> siblings(nodes);
    adjacent_siblings(heads_.data(), problem.n, siblings.data());
    std::vector<double> own(nodes);
    for (int d = 1; d <= problem.n; ++d) own[d] = problem.siblings[(heads_[d] * nodes + d) * nodes + siblings[d]];
    Problem others = problem;
    others.siblings = nullptr;
    word_scores(others, heads_.data(), own_.data());
    for (double& score : higher_[0]) {
        const auto d = (&score - higher_[0].data()) / nodes % nodes;
        score = std::min(allowed(score) - own[d], kLargestScore);
    }
}

// A tree is no better than the best part of each kind for all words.
void Centred::leave_out_higher() {
    const auto nodes = static_cast<std::size_t>(problem.nodes());
    std::array<std::vector<double>, 4> top;
    top.fill(std::vector<double>(nodes, kMinusInfinity));
    const auto raise = [&](std::size_t kind, int d, double score) { top[kind][d] = std::max(top[kind][d], allowed(score)); };
    each_arc(problem.n, [&](int h, int d) { raise(3, d, at(h, d)); });
    each_higher_part(problem, [&](auto array, std::ptrdiff_t i, int d) { raise(place_of(array), d, (problem.*array)[i]); });
    for (const auto array : {&Problem::grandparents, &Problem::grandsiblings})  // words below the root have none
        for (double& each : top[place_of(array)]) each = std::max(each, 0.0);
    double all = 0.0, largest = 0.0;
    for (int d = 1; d <= problem.n; ++d)
        for (const auto& each : top)
            if (each[d] != kMinusInfinity) all += each[d], largest += std::abs(each[d]);
    const double rounding = 1e-14 * largest;
    const auto is_far_below = [&](std::size_t kind, int d, double score) { return is_far(score + all - top[kind][d] + rounding); };
    each_arc(problem.n, [&](int h, int d) {
        if (is_far_below(3, d, at(h, d))) at(h, d) = kMinusInfinity;
        if (is_large(at(h, d), limit_of(problem))) reject_large(at(h, d));
    });
    each_higher_part(problem, [&](auto array, std::ptrdiff_t i, int d) {
        double& score = higher_[place_of(array)][static_cast<std::size_t>(i)];
        if (is_far_below(place_of(array), d, score)) score = kMinusInfinity;
        if (is_large(score, limit_of(problem))) reject_large(score);
    });
}

}  // namespace arbora
