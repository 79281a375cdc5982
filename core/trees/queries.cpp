#include "trees/queries.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>

#include "base/errors.hpp"
#include "base/interrupt.hpp"
#include "numeric/kernels/denormals.hpp"
#include "numeric/kernels/kernels.hpp"
#include "trees/arborescence/matrix_tree.hpp"
#include "trees/arborescence/max_arborescence.hpp"
#include "trees/arborescence/random_walk.hpp"
#include "trees/chart/descend.hpp"
#include "trees/chart/kbest.hpp"
#include "trees/found_trees.hpp"
#include "trees/hill_climbing.hpp"

namespace arbora {

namespace {

[[noreturn]] void no_tree(const Problem& problem) {
    throw NoTreeError(std::string("the allowed arcs leave no ") + (problem.trees == Trees::projective ? "projective " : "non-projective ") +
                      (problem.roots == Roots::single ? "tree with exactly one root" : "tree") +
                      "; allow more arcs (scores above -inf), require fewer, or allow several roots");
}

[[noreturn]] void unanswered(const char* query, const char* family, const char* answered) {
    throw InputError(std::string(query) + " is not available for " + family + "; available: " + answered);
}

// Where sums are over the trees that a search finds.
bool is_searched(const Problem& p) { return p.width > 0 && p.trees == Trees::nonprojective && p.second_order() && !p.third_order(); }

// What each kind of problem answers; InputError for anything else, before any work is done.
void require_answer(const Problem& p, const char* query, bool grandparents_answer) {
    if (p.trees == Trees::nonprojective) {
        if (p.third_order()) unanswered(query, "non-projective trees with grandparents", "nothing; use trees=\"projective\"");
        if (p.second_order() && !is_searched(p)) unanswered(query, "non-projective trees with siblings", "argmax and kbest (approximate)");
    } else if (p.third_order() && !grandparents_answer) {
        unanswered(query, "projective trees with grandparents", "argmax, log_partition, marginals");
    }
}

Diagonals diagonals(const Problem& p) { return {p.n, p.roots == Roots::multi ? 0 : 1}; }

ArcScores take_scores(const Problem& p, Arena& arena) {
    const std::size_t size = diagonals(p).size();
    return {arena.take<double>(size), arena.take<double>(size), arena.take<double>(ArcScores::root_size(p.n))};
}

ArcScores arc_scores(const Problem& p, Arena& arena) {
    const ArcScores scores = take_scores(p, arena);
    if (!kernels().copy_diagonals(p.arcs, diagonals(p), scores.right, scores.left)) reject_arcs(p);
    for (int t = 1; t <= p.n; ++t) scores.root[t] = allowed(p.arc(0, t));
    return scores;
}

// Charts of maxima, filled. In (max, +) weights are the scores themselves.
template <template <class> class Charts>
Charts<MaxPlane> span_maxima(const Problem& p, Arena& arena) {
    auto charts = Charts<MaxPlane>::take(arena, diagonals(p), p.roots, p.siblings);
    const ArcScores scores = arc_scores(p, arena);
    charts.score_root = charts.arc_root.value = scores.root;
    charts.score_right = charts.arc_right.value = scores.right;
    charts.score_left = charts.arc_left.value = scores.left;
    if (!kernels().inside(charts)) check_higher_order(p);
    return charts;
}

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

// Thrown where parts of higher order are so large; see Centred.
struct LargeParts {};

void find_large_parts(const Problem& p) {
    each_higher_part(p, [&](auto array, std::ptrdiff_t i, int) {
        if (is_large((p.*array)[i], limit_of(p))) throw LargeParts{};
    });
}

enum class Use { sums, marginals };

// ask(charts of sums): in plain doubles where the scores fit, else in extended range.
template <template <class> class Charts, class Ask>
auto with_span_sums(const Problem& p, Arena& arena, Use use, Ask ask) {
    const Kernels& k = kernels();
    const Diagonals layout = diagonals(p);
    const ArcScores scores = arc_scores(p, arena);
    auto plain = Charts<PlainPlane>::take(arena, layout, p.roots, p.siblings);
    constexpr bool kSiblings = requires { plain.shares; };
    if constexpr (kSiblings)
        if (use == Use::marginals) plain.keep_shares(arena);
    plain.take_weights(arena, scores);
    const std::size_t words = layout.n + 9;
    auto *shift = arena.take<double>(words), *scratch = arena.take<double>(2 * words);
    if (k.weigh_plain(plain, shift, scratch) && k.inside(plain)) return ask(plain);
    if constexpr (kSiblings) find_large_parts(p);
    auto charts = Charts<LogPlane>::take(arena, layout, p.roots, p.siblings);
    if constexpr (kSiblings) charts.shares = plain.shares;
    charts.take_weights(arena, scores);
    k.exponentiate(scores.right, charts.arc_right, layout.size());
    k.exponentiate(scores.left, charts.arc_left, layout.size());
    k.exponentiate(scores.root, charts.arc_root, ArcScores::root_size(layout.n));
    if (!k.inside(charts)) check_higher_order(p);
    return ask(charts);
}

template <class Plane>
GrandparentCharts<Plane> grandparent_charts(const Problem& p, Arena& arena) {
    const Square square(p.n);
    check_higher_order(p);
    auto charts = GrandparentCharts<Plane>::take(arena, p, square, checked_scores(p, square, arena));
    kernels().inside(charts);
    return charts;
}

// ask(charts) of the factorization that the problem needs; NoTreeError where they hold no tree.
template <class Ask>
auto with_sums(const Problem& p, Arena& arena, Use use, Ask ask) {
    const auto checked = [&](const auto& charts) {
        if (charts.total().is_zero()) no_tree(p);
        return ask(charts);
    };
    if (p.third_order()) {
        find_large_parts(p);
        return checked(grandparent_charts<LogPlane>(p, arena));
    }
    return p.second_order() ? with_span_sums<SiblingCharts>(p, arena, use, checked) : with_span_sums<ArcCharts>(p, arena, use, checked);
}

// Rounding may leave a sum of probabilities a little above one.
void clip(double* probabilities, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) probabilities[i] = std::min(1.0, probabilities[i]);
}

// out[head, dep] from the open items.
void arcs_of(const FlowPlanes& flow, Diagonals layout, double* out) {
    const std::ptrdiff_t nodes = layout.n + 1;
    for (int i = 0; i < nodes; ++i) {
        out[i * nodes + i] = out[i * nodes] = 0.0;
        if (layout.first == 1) out[i] = flow.root[i];
    }
    for (int s = layout.first; s < layout.n; ++s)
        for (int t = s + 1; t <= layout.n; ++t) {
            out[s * nodes + t] = flow.open_right[layout.cell(s, t)];
            if (s > 0) out[t * nodes + s] = flow.open_left[layout.cell(s, t)];
        }
}

// The dense arrays of a Problem, as parts of hill climbing.
struct DenseParts {
    const Problem& p;

    int n() const { return p.n; }
    Roots roots() const { return p.roots; }
    double arc(int head, int dep) const { return p.arc(head, dep); }
    double sibling(int head, int dep, int inner) const { return allowed(p.siblings[(head * p.nodes() + dep) * p.nodes() + inner]); }
    template <class Visit>
    void each_head(int dep, Visit visit) const {
        for (int h = 0; h <= p.n; ++h)
            if (allowed(p.arc(h, dep)) != kMinusInfinity) visit(h);
    }
};

// Second-order non-projective trees, approximately [mcdonald-2006]: hill climbing over single head changes from the best projective
// tree, O(n^2) a step. No single head change improves the result, which is never worse than the best projective tree but need not be the
// best. With a single root, the root's dependent keeps its place.
void argmax_by_hill_climbing(const Problem& p, Arena& arena, int* heads) {
    Problem start = p;
    start.trees = Trees::projective;
    try {
        argmax(start, arena, heads);
    } catch (const NoTreeError&) {
        // No projective tree: start from the best tree by arcs alone.
        start = p;
        start.siblings = nullptr;
        argmax(start, arena, heads);
        if (tree_score(p, heads) == kMinusInfinity)
            throw NoTreeError("the approximate search found no tree to start from: none is projective, and the best by arcs alone uses a "
                              "forbidden sibling; allow more siblings (scores above -inf)");
    }
    climb(DenseParts{p}, heads);
}

// The trees around the best one that hill climbing finds.
template <class Ask>
auto with_found_trees(const Problem& p, int width, Arena& arena, Ask ask) {
    std::vector<int> start(p.nodes());
    argmax_by_hill_climbing(p, arena, start.data());
    return ask(FoundTrees(DenseParts{p}, start.data(), tree_score(p, start.data()), width));
}

void marginals_of_found(const FoundTrees<DenseParts>& trees, const Problem& p, const MarginalArrays& out) {
    const auto arcs = trees.arcs();
    std::copy(arcs.begin(), arcs.end(), out.arcs);
    std::vector<int> siblings(p.nodes());
    trees.each([&](const Heads& heads, double probability) {
        check_stop(static_cast<std::size_t>(p.nodes()));
        adjacent_siblings(heads.data(), p.n, siblings.data());
        for (int d = 1; d <= p.n; ++d) out.siblings[(heads[d] * p.nodes() + d) * p.nodes() + siblings[d]] += probability;
    });
    clip(out.siblings, static_cast<std::size_t>(p.nodes() * p.nodes() * p.nodes()));
}

// log Z from the charts, never below the best tree's score. Rounding could put it there only where one tree holds nearly all
// probability, and then following the likeliest edges from the top finds that tree.
template <class Charts>
double log_goal(const Charts& charts, const Problem& p) {
    const double result = log(charts.total());
    // Rounding cannot matter where the best tree lacks more than rounding could cost. In plain doubles all scores are near the shifts;
    // where those are small, that is far less than 1e-5 for any length.
    double least = kMoreThanHalf;
    if constexpr (std::is_same_v<typename Charts::Plane, PlainPlane>) {
        const auto small = [](double shift) { return std::abs(shift) < 1e4; };
        if (std::all_of(charts.shift + 1, charts.shift + p.nodes(), small)) least = 1.0 - 1e-5;
    }
    std::vector<int> heads(p.nodes());
    return dominant_tree(charts, heads.data(), least) ? std::max(result, tree_score(p, heads.data())) : result;
}

// Whether scores of arcs are so large that their exponentials would be clamped.
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

// The same distribution with scores that are small where they matter. A masked root row is raised, as each tree has one root. If that is
// not enough, scores are made relative to the best tree: each word's lack what it adds to that tree. Parts whose trees all are far
// worse have no probability, and are left out. InputError if large scores are left: in trees near the best they cancel, and their last
// digits with them.
class Centred {
    static constexpr double kFar = -1e6;  // e^kFar is nothing, even times the number of trees

public:
    Centred(const Problem& p, Arena& arena) : problem(p), heads_(p.nodes()), own_(p.nodes()), arcs_(p.arcs, p.arcs + p.nodes() * p.nodes()) {
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
    Centred(const Centred&) = delete;

    Problem problem;

    [[noreturn]] static void reject_large(double score) {
        reject("scores: sums over trees need scores within 2^38 (about 2.7e11) of those of the best tree, got ", score,
               "; use -inf to forbid parts, or smaller scores");
    }

    // log Z of the original, from that of the problem: with n words there are at most (n + 1)^n trees.
    double log_partition(double sum) const {
        return taken_out_ + (is_relative_ ? std::clamp(sum, 0.0, problem.n * std::log(problem.nodes())) : sum);
    }

private:
    // What all scores of roots have in common.
    void raise_root() {
        double low = kLargestScore, high = kMinusInfinity;
        for (int d = 1; d <= problem.n; ++d)
            if (const double score = allowed(at(0, d)); score != kMinusInfinity) low = std::min(low, score), high = std::max(high, score);
        const double shift = low > 0.0 ? low : std::min(high, 0.0);
        if (shift == kMinusInfinity) return;
        for (int d = 1; d <= problem.n; ++d) at(0, d) = allowed(at(0, d)) - shift;
        taken_out_ = shift;
    }

    // Several roots: whether a second one costs so much that only trees with one matter. Then the problem is made one of those.
    bool has_one_root(Arena& arena) {
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

    static bool is_far(double score) { return score < kFar; }
    double& at(int head, int dep) { return arcs_[static_cast<std::size_t>(head * problem.nodes() + dep)]; }

    // A tree is no better than all words' best arcs together.
    void leave_out_by_bound() {
        std::vector<double> top(problem.nodes());
        each_arc(problem.n, [&](int h, int d) { top[d] = std::max(top[d], at(h, d)); });
        const double all = std::accumulate(top.begin(), top.end(), 0.0);
        each_arc(problem.n, [&](int h, int d) {
            if (is_far(at(h, d) + all - top[d])) at(h, d) = kMinusInfinity;
        });
    }

    // Each word has one sibling part, so it may lack the word's own part of the best tree, too.
    void copy_higher() {
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
    void leave_out_higher() {
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

    static constexpr std::array kHigher{&Problem::siblings, &Problem::grandparents, &Problem::grandsiblings};
    static std::size_t place_of(const double* Problem::*array) { return static_cast<std::size_t>(std::ranges::find(kHigher, array) - kHigher.begin()); }

    // By the best tree with the arc, for a few arcs.
    void leave_out_by_search(Arena& arena) {
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

    double taken_out_ = 0.0;
    bool is_relative_ = false;
    std::vector<int> heads_;
    std::vector<double> own_, arcs_;
    std::array<std::vector<double>, 3> higher_;
};

// ask(p, null), or ask(a problem of the same distribution, its Centred) if the scores are too large.
template <class Ask>
auto with_small_scores(const Problem& p, Arena& arena, Ask ask) {
    if (!has_large_arcs(p)) {
        try {
            return ask(p, nullptr);
        } catch (const LargeParts&) {
            arena.reset();
        }
    }
    const Centred centred(p, arena);
    arena.reset();
    try {
        return ask(centred.problem, &centred);
    } catch (const NoTreeError&) {
        if (p.second_order() || p.third_order()) Centred::reject_large(kLargestScore);  // the best tree is one
        throw;
    }
}

double log_partition_nonprojective(const Problem& p, Arena& arena) {
    const Square square(p.n);
    const double* scores = checked_scores(p, square, arena);
    const MatrixTree sums(scores, square, p.roots, arena, MatrixTree::For::log_partition);
    if (!sums.any_tree()) no_tree(p);
    if (sums.at_least_best()) return sums.log_partition();
    std::vector<int> heads(p.nodes());
    max_arborescence(scores, square, p.roots, arena, heads.data());
    return std::max(sums.log_partition(), tree_score(p, heads.data()));
}

// A direction: its values where arcs are allowed, 0 elsewhere, divided by the largest of them so that no product overflows.
class Direction {
public:
    Direction(const Problem& p, const double* values) : p_(p), values_(values) {
        double largest = 0.0;
        each_arc(p.n, [&](int h, int d) {
            if (!counts(h, d)) return;
            const double value = values[h * p.nodes() + d], size = std::abs(value);
            if (!(size <= kLargestScore)) reject("direction[", h, ", ", d, "] must be a finite number, got ", value);
            largest = std::max(largest, size);
        });
        if (largest > 1e-290) scale_ = largest;
    }
    double at(int head, int dep) const { return counts(head, dep) ? values_[head * p_.nodes() + dep] / scale_ : 0.0; }
    double scale() const { return scale_; }

private:
    bool counts(int head, int dep) const { return head != dep && dep != 0 && allowed(p_.arc(head, dep)) > kMinusInfinity; }

    const Problem& p_;
    const double* values_;
    double scale_ = 1.0;
};

void slopes_projective(const Problem& p, const Direction& direction, Arena& arena, double* out) {
    const Diagonals layout = diagonals(p);
    const ArcScores along = take_scores(p, arena);
    for (int t = 1; t <= p.n; ++t) along.root[t] = direction.at(0, t);
    for (int s = layout.first; s < p.n; ++s)
        for (int t = s + 1; t <= p.n; ++t) {
            along.right[layout.cell(s, t)] = direction.at(s, t);
            along.left[layout.cell(s, t)] = direction.at(t, s);
        }
    with_span_sums<ArcCharts>(p, arena, Use::sums, [&](const auto& charts) {
        if (charts.total().is_zero()) no_tree(p);
        const FlowPlanes slope = FlowPlanes::take(arena, layout), flow = FlowPlanes::take(arena, layout);
        kernels().slopes_arc(charts, along, FlowPlanes::take(arena, layout), flow, slope);
        arcs_of(slope, layout, out);
    });
}

void slopes_nonprojective(const Problem& p, const Direction& direction, Arena& arena, double* out) {
    const Square square(p.n);
    const double* scores = checked_scores(p, square, arena);
    auto* along = arena.take<double>(square.size());
    std::fill_n(along, square.size(), 0.0);
    each_arc(p.n, [&](int h, int d) { along[square.cell(h, d)] = direction.at(h, d); });
    MatrixTree sums(scores, square, p.roots, arena);
    if (!sums.any_tree()) no_tree(p);
    sums.marginals_along(along, out);
}

void sample_nonprojective(const Problem& p, int count, Generator& random, Arena& arena, int* heads) {
    const Square square(p.n);
    const double* scores = checked_scores(p, square, arena);
    int done = 0;
    if (p.roots == Roots::multi) {
        RandomWalk walk(scores, square, arena);
        while (done < count && walk.draw(random, heads + done * p.nodes())) {
            check_stop(square.size());
            ++done;
        }
    }
    if (done == count) return;
    MatrixTree sums(scores, square, p.roots, arena);
    if (!sums.any_tree()) no_tree(p);
    for (; done < count; ++done) {
        check_stop(square.size());
        sums.sample(random, heads + done * p.nodes());
    }
}

// The sums of `marginals`, for at least one word.
void sum_marginals(const Problem& p, Arena& arena, MarginalArrays out) {
    const Square square(p.n);
    const Diagonals layout = diagonals(p);
    const auto nodes = static_cast<std::size_t>(p.nodes()), cells = nodes * nodes;
    if (p.trees == Trees::nonprojective) {
        MatrixTree sums(checked_scores(p, square, arena), square, p.roots, arena);
        if (!sums.any_tree()) no_tree(p);
        return sums.marginals(out.arcs);
    }
    with_sums(p, arena, Use::marginals, [&](const auto& charts) {
        if constexpr (!requires { charts.layout; }) {
            GrandparentMarginals grand{out.arcs, p.siblings ? out.siblings : nullptr, p.grandparents ? out.grandparents : nullptr,
                                       p.grandsiblings ? out.grandsiblings : nullptr};
            kernels().marginals_grandparent(charts, GrandparentMemory::take(arena, square), grand);
            if (grand.siblings != nullptr) clip(out.siblings, cells * nodes);
            if (grand.grandparents != nullptr) clip(out.grandparents, cells * nodes);
            if (grand.grandsiblings != nullptr) clip(out.grandsiblings, cells * cells);
        } else {
            const FlowPlanes flow = FlowPlanes::take(arena, layout);
            if constexpr (requires { charts.shares; }) {
                std::memset(out.siblings, 0, cells * nodes * sizeof(double));  // late, so that it is still in the cache when it is filled
                kernels().marginals_sibling(charts, flow, out.siblings);
            } else {
                kernels().marginals_arc(charts, flow);
            }
            arcs_of(flow, layout, out.arcs);
        }
    });
}

void draw_trees(const Problem& p, int count, Generator& random, Arena& arena, int* heads) {
    if (p.trees == Trees::nonprojective) return sample_nonprojective(p, count, random, arena, heads);
    with_sums(p, arena, Use::sums, [&](const auto& charts) {
        std::vector<Item> agenda;
        for (int i = 0; i < count; ++i) {
            check_stop(static_cast<std::size_t>(p.nodes()) * p.nodes());
            sample_tree(charts, random, agenda, heads + i * p.nodes());
        }
    });
}

}  // namespace

void argmax(const Problem& p, Arena& arena, int* heads) {
    const FlushDenormals flush;
    arena.reset();
    if (p.n == 0) {
        heads[0] = -1;
        return;
    }
    if (p.trees == Trees::nonprojective) {
        if (p.third_order()) require_answer(p, "argmax", true);
        if (p.second_order()) return argmax_by_hill_climbing(p, arena, heads);
        const Square square(p.n);
        if (!max_arborescence(checked_scores(p, square, arena), square, p.roots, arena, heads)) no_tree(p);
        return;
    }
    const auto read = [&](const auto& charts) {
        if (charts.goal == kMinusInfinity) no_tree(p);
        best_tree(charts, heads);
    };
    if (p.third_order()) return read(grandparent_charts<MaxPlane>(p, arena));
    p.second_order() ? read(span_maxima<SiblingCharts>(p, arena)) : read(span_maxima<ArcCharts>(p, arena));
}

std::vector<Heads> kbest(const Problem& p, int k, Arena& arena) {
    const FlushDenormals flush;
    if (p.trees == Trees::projective || !p.second_order() || p.third_order()) require_answer(p, "kbest", false);
    arena.reset();
    if (p.n == 0) return {Heads{-1}};
    std::vector<Heads> trees;
    if (p.trees == Trees::nonprojective && p.second_order())
        return with_found_trees(p, std::max(k, kProbabilityWidth), arena, [&](const auto& found) { return found.best(k); });
    if (p.trees == Trees::nonprojective) {
        const Square square(p.n);
        trees = kbest_arborescences(checked_scores(p, square, arena), square, p.roots, k, arena);
    } else {
        trees = p.second_order() ? LazyKBest(span_maxima<SiblingCharts>(p, arena)).run(k) : LazyKBest(span_maxima<ArcCharts>(p, arena)).run(k);
    }
    if (trees.empty()) no_tree(p);
    return trees;
}

double log_partition(const Problem& p, Arena& arena) {
    const FlushDenormals flush;
    require_answer(p, "log_partition", true);
    arena.reset();
    if (p.n == 0) return 0.0;
    if (is_searched(p)) return with_found_trees(p, p.width, arena, [](const auto& found) { return found.log_sum(); });
    return with_small_scores(p, arena, [&](const Problem& of, const Centred* centred) {
        const double sum = of.trees == Trees::nonprojective
                               ? log_partition_nonprojective(of, arena)
                               : with_sums(of, arena, Use::sums, [&](const auto& charts) { return log_goal(charts, of); });
        return centred == nullptr ? sum : centred->log_partition(sum);
    });
}

void marginals(const Problem& p, Arena& arena, MarginalArrays out) {
    const FlushDenormals flush;
    require_answer(p, "marginals", true);
    arena.reset();
    const auto nodes = static_cast<std::size_t>(p.nodes()), cells = nodes * nodes;
    const auto clear_siblings = [&] { std::memset(out.siblings, 0, cells * nodes * sizeof(double)); };
    if (p.siblings != nullptr && (p.n == 0 || p.third_order())) clear_siblings();
    if (p.grandparents != nullptr) std::fill_n(out.grandparents, cells * nodes, 0.0);
    if (p.grandsiblings != nullptr) std::fill_n(out.grandsiblings, cells * cells, 0.0);
    if (p.n == 0 || p.third_order()) std::fill_n(out.arcs, cells, 0.0);
    if (p.n == 0) return;
    if (is_searched(p)) {
        clear_siblings();
        return with_found_trees(p, p.width, arena, [&](const auto& found) { marginals_of_found(found, p, out); });
    }
    with_small_scores(p, arena, [&](const Problem& small, const Centred*) { sum_marginals(small, arena, out); });
    clip(out.arcs, cells);
}

void marginals_along(const Problem& p, const double* values, Arena& arena, double* out) {
    const FlushDenormals flush;
    if (p.second_order() || p.third_order()) throw InputError("marginals_along takes first-order scores only");
    arena.reset();
    const Direction checked(p, values);
    if (p.n == 0) {
        out[0] = 0.0;
        return;
    }
    with_small_scores(p, arena, [&](const Problem& small, const Centred*) {
        const Direction direction(small, values);
        (p.trees == Trees::nonprojective ? slopes_nonprojective : slopes_projective)(small, direction, arena, out);
        for (std::ptrdiff_t i = 0; i < p.nodes() * p.nodes(); ++i) out[i] *= direction.scale();
    });
}

void sample(const Problem& p, int count, Generator& random, Arena& arena, int* heads) {
    const FlushDenormals flush;
    require_answer(p, "sample", false);
    arena.reset();
    if (p.n == 0) {
        std::fill_n(heads, count, -1);
        return;
    }
    with_small_scores(p, arena, [&](const Problem& small, const Centred*) { draw_trees(small, count, random, arena, heads); });
}

}  // namespace arbora
