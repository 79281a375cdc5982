#include "trees/queries.hpp"

#include <algorithm>
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
#include "trees/centred.hpp"
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
