#include "trees/queries.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "trees/arborescence/kbest_arborescence.hpp"
#include "trees/arborescence/matrix_tree.hpp"
#include "trees/arborescence/max_arborescence.hpp"
#include "trees/arborescence/random_walk.hpp"
#include "trees/chart/dominant.hpp"
#include "trees/chart/kbest.hpp"
#include "trees/chart/sample.hpp"
#include "trees/chart/viterbi.hpp"
#include "base/errors.hpp"
#include "trees/reattach.hpp"
#include "numeric/kernels/denormals.hpp"
#include "numeric/kernels/kernels.hpp"

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

// The charts of a projective problem, filled. Each question below is asked of whichever factorization the problem needs.
Diagonals diagonals(const Problem& p) { return {p.n, p.roots == Roots::multi ? 0 : 1}; }

ArcScores arc_scores(const Problem& p, Diagonals layout, Arena& arena) {
    const ArcScores scores{arena.take<double>(layout.size()), arena.take<double>(layout.size()),
                           arena.take<double>(ArcScores::root_size(p.n))};
    if (!kernels().copy_diagonals(p.arcs, layout, scores.right, scores.left)) reject_arcs(p);
    for (int t = 1; t <= p.n; ++t) scores.root[t] = allowed(p.arc(0, t));
    return scores;
}

// In (max, +) weights are the scores themselves.
template <class Charts>
void weigh_max(Charts& charts, ArcScores scores) {
    charts.score_root = charts.arc_root.value = scores.root;
    charts.score_right = charts.arc_right.value = scores.right;
    charts.score_left = charts.arc_left.value = scores.left;
}

template <class Charts>
void weigh_log(Charts& charts, const ArcScores& scores, Arena& arena) {
    charts.take_weights(arena, scores);
    kernels().exponentiate(scores.right, charts.arc_right, charts.layout.size());
    kernels().exponentiate(scores.left, charts.arc_left, charts.layout.size());
    kernels().exponentiate(scores.root, charts.arc_root, ArcScores::root_size(charts.layout.n));
}

// False where the scores leave no room for plain doubles.
template <class Charts>
bool weigh_plain(Charts& charts, const ArcScores& scores, Arena& arena) {
    charts.take_weights(arena, scores);
    const std::size_t words = charts.layout.n + 9;
    return kernels().weigh_plain(charts, arena.take<double>(words), arena.take<double>(2 * words));
}

ArcCharts<MaxPlane> arc_max(const Problem& p, Arena& arena) {
    const Diagonals layout = diagonals(p);
    auto charts = ArcCharts<MaxPlane>::take(arena, layout, p.roots);
    weigh_max(charts, arc_scores(p, layout, arena));
    kernels().inside_arc_max(charts);
    return charts;
}

// ask(charts of sums): in plain doubles where the scores leave room for that, else in extended range.
template <class Ask>
auto with_arc_sums(const Problem& p, Arena& arena, Ask ask) {
    const Diagonals layout = diagonals(p);
    const ArcScores scores = arc_scores(p, layout, arena);
    auto plain = ArcCharts<PlainPlane>::take(arena, layout, p.roots);
    if (weigh_plain(plain, scores, arena) && kernels().inside_arc_plain(plain)) return ask(plain);
    auto charts = ArcCharts<LogPlane>::take(arena, layout, p.roots);
    weigh_log(charts, scores, arena);
    kernels().inside_arc_log(charts);
    return ask(charts);
}

SiblingCharts<MaxPlane> sibling_max(const Problem& p, Arena& arena) {
    const Diagonals layout = diagonals(p);
    auto charts = SiblingCharts<MaxPlane>::take(arena, layout, p.roots, p.siblings);
    weigh_max(charts, arc_scores(p, layout, arena));
    if (!kernels().inside_sibling_max(charts)) check_higher_order(p);
    return charts;
}

enum class Use { sums, marginals };

// The same with siblings.
template <class Ask>
auto with_sibling_sums(const Problem& p, Arena& arena, Use use, Ask ask) {
    const Diagonals layout = diagonals(p);
    const ArcScores scores = arc_scores(p, layout, arena);
    auto plain = SiblingCharts<PlainPlane>::take(arena, layout, p.roots, p.siblings);
    if (use == Use::marginals) plain.keep_shares(arena);
    if (weigh_plain(plain, scores, arena) && kernels().inside_sibling_plain(plain)) return ask(plain);
    auto charts = SiblingCharts<LogPlane>::take(arena, layout, p.roots, p.siblings);
    charts.shares = plain.shares;
    weigh_log(charts, scores, arena);
    if (!kernels().inside_sibling_log(charts)) check_higher_order(p);
    return ask(charts);
}

GrandparentCharts<MaxPlane> grandparent_max(const Problem& p, Arena& arena) {
    const Square square(p.n);
    check_higher_order(p);
    auto charts = GrandparentCharts<MaxPlane>::take(arena, p, square, checked_scores(p, square, arena));
    kernels().inside_grandparent_max(charts);
    return charts;
}

GrandparentCharts<LogPlane> grandparent_log(const Problem& p, Arena& arena) {
    const Square square(p.n);
    check_higher_order(p);
    auto charts = GrandparentCharts<LogPlane>::take(arena, p, square, checked_scores(p, square, arena));
    kernels().inside_grandparent_log(charts);
    return charts;
}

// What each kind of problem answers; InputError for anything else, before any work is done.
void require_answer(const Problem& p, const char* query, bool grandparents_answer) {
    if (p.trees == Trees::nonprojective) {
        if (p.third_order()) unanswered(query, "non-projective trees with grandparents", "nothing; use trees=\"projective\"");
        if (p.second_order()) unanswered(query, "non-projective trees with siblings", "argmax (approximate)");
    } else if (p.third_order() && !grandparents_answer) {
        unanswered(query, "projective trees with grandparents", "argmax, log_partition, marginals");
    }
}

template <class Charts>
void viterbi(const Charts& charts, const Problem& p, int* heads) {
    if (charts.goal == kMinusInfinity) no_tree(p);
    best_tree(charts, heads);
}

template <class Charts>
void draw_trees(const Charts& charts, const Problem& p, int count, Generator& random, int* heads) {
    if (charts.total().is_zero()) no_tree(p);
    std::vector<Item> agenda;
    for (int i = 0; i < count; ++i) sample_tree(charts, random, agenda, heads + i * p.nodes());
}

// Rounding may leave a sum of probabilities a little above one.
void clip(double* probabilities, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) probabilities[i] = std::min(1.0, probabilities[i]);
}

// out[head, dep] from what is known of open items.
void arcs_of(const FlowPlanes& flow, Diagonals layout, double* out) {
    const std::ptrdiff_t nodes = layout.n + 1;
    for (int i = 0; i < nodes; ++i) {
        out[i * nodes + i] = out[i * nodes] = 0.0;
        if (layout.first == 1) out[i] = flow.root[i];
    }
    for (int s = layout.first; s < layout.n; ++s) {
        for (int t = s + 1; t <= layout.n; ++t) {
            out[s * nodes + t] = flow.open_right[layout.cell(s, t)];
            if (s > 0) out[t * nodes + s] = flow.open_left[layout.cell(s, t)];
        }
    }
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
        if (p.second_order()) {
            if (!best_by_reattachment(p, arena, heads)) {
                throw NoTreeError(
                    "the approximate search found no tree to start from: none is projective, and the best by arcs alone uses a "
                    "forbidden sibling; allow more siblings (scores above -inf)");
            }
            return;
        }
        const Square square(p.n);
        if (!max_arborescence(checked_scores(p, square, arena), square, p.roots, arena, heads)) no_tree(p);
    } else if (p.third_order()) {
        viterbi(grandparent_max(p, arena), p, heads);
    } else if (p.second_order()) {
        viterbi(sibling_max(p, arena), p, heads);
    } else {
        viterbi(arc_max(p, arena), p, heads);
    }
}

std::vector<Heads> kbest(const Problem& p, int k, Arena& arena) {
    const FlushDenormals flush;
    require_answer(p, "kbest", false);
    arena.reset();
    if (p.n == 0) return {Heads{-1}};
    std::vector<Heads> trees;
    if (p.trees == Trees::nonprojective) {
        const Square square(p.n);
        trees = kbest_arborescences(checked_scores(p, square, arena), square, p.roots, k, arena);
    } else if (p.second_order()) {
        trees = LazyKBest(sibling_max(p, arena)).run(k);
    } else {
        trees = LazyKBest(arc_max(p, arena)).run(k);
    }
    if (trees.empty()) no_tree(p);
    return trees;
}

namespace {

// log Z from the charts, never below the best tree's score. Rounding could put it there only where one tree holds nearly all
// probability, and then following the likeliest edges from the top finds that tree.
template <class Charts>
double log_goal(const Charts& charts, const Problem& p) {
    const Extended total = charts.total();
    if (total.is_zero()) no_tree(p);
    const double result = log(total);
    // Rounding cannot matter where the best tree lacks more than rounding could cost. In plain doubles all scores are near the shifts; where
    // those are small, that is far less than 1e-5 for any length.
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

}  // namespace

double log_partition(const Problem& p, Arena& arena) {
    const FlushDenormals flush;
    require_answer(p, "log_partition", true);
    arena.reset();
    if (p.n == 0) return 0.0;
    if (p.trees == Trees::nonprojective) return log_partition_nonprojective(p, arena);
    if (p.third_order()) return log_goal(grandparent_log(p, arena), p);
    const auto ask = [&](const auto& charts) { return log_goal(charts, p); };
    return p.second_order() ? with_sibling_sums(p, arena, Use::sums, ask) : with_arc_sums(p, arena, ask);
}

namespace {

void marginals_arc(const ArcCharts<PlainPlane>& charts, FlowPlanes flow) { kernels().marginals_arc_plain(charts, flow); }
void marginals_arc(const ArcCharts<LogPlane>& charts, FlowPlanes flow) { kernels().marginals_arc(charts, flow); }

void marginals_sibling(const SiblingCharts<PlainPlane>& charts, FlowPlanes flow, double* siblings) {
    kernels().marginals_sibling_plain(charts, flow, siblings);
}
void marginals_sibling(const SiblingCharts<LogPlane>& charts, FlowPlanes flow, double* siblings) {
    kernels().marginals_sibling(charts, flow, siblings);
}

}  // namespace

void marginals(const Problem& p, Arena& arena, MarginalArrays out) {
    const FlushDenormals flush;
    require_answer(p, "marginals", true);
    arena.reset();
    const Square square(p.n);
    const auto nodes = static_cast<std::size_t>(p.nodes()), cells = nodes * nodes;
    const auto clear_siblings = [&] { std::memset(out.siblings, 0, cells * nodes * sizeof(double)); };
    if (p.siblings != nullptr && (p.n == 0 || p.third_order())) clear_siblings();
    if (p.grandparents != nullptr) std::fill_n(out.grandparents, cells * nodes, 0.0);
    if (p.grandsiblings != nullptr) std::fill_n(out.grandsiblings, cells * cells, 0.0);
    if (p.n == 0 || p.third_order()) std::fill_n(out.arcs, cells, 0.0);
    if (p.n == 0) return;
    if (p.trees == Trees::nonprojective) {
        MatrixTree sums(checked_scores(p, square, arena), square, p.roots, arena);
        if (!sums.any_tree()) no_tree(p);
        sums.marginals(out.arcs);
        return;
    }
    if (p.third_order()) {
        const auto charts = grandparent_log(p, arena);
        if (charts.goal.is_zero()) no_tree(p);
        kernels().marginals_grandparent(
            charts, GrandparentMemory::take(arena, square),
            {out.arcs, p.siblings ? out.siblings : nullptr, p.grandparents ? out.grandparents : nullptr,
             p.grandsiblings ? out.grandsiblings : nullptr});
        clip(out.arcs, cells);
        if (p.siblings != nullptr) clip(out.siblings, cells * nodes);
        if (p.grandparents != nullptr) clip(out.grandparents, cells * nodes);
        if (p.grandsiblings != nullptr) clip(out.grandsiblings, cells * cells);
        return;
    }
    const Diagonals layout = diagonals(p);
    FlowPlanes flow;
    if (p.second_order()) {
        with_sibling_sums(p, arena, Use::marginals, [&](const auto& charts) {
            if (charts.total().is_zero()) no_tree(p);
            flow = FlowPlanes::take(arena, layout);
            clear_siblings();  // late, so that it is still in the cache when it is filled
            marginals_sibling(charts, flow, out.siblings);
        });
    } else {
        with_arc_sums(p, arena, [&](const auto& charts) {
            if (charts.total().is_zero()) no_tree(p);
            flow = FlowPlanes::take(arena, layout);
            marginals_arc(charts, flow);
        });
    }
    arcs_of(flow, layout, out.arcs);
    clip(out.arcs, cells);
}

namespace {

// A direction: its values where arcs are allowed, 0 elsewhere, divided by the largest of them so that no product overflows.
class Direction {
public:
    Direction(const Problem& p, const double* values) : p_(p), values_(values) {
        double largest = 0.0;
        for (int h = 0; h <= p.n; ++h) {
            for (int d = 1; d <= p.n; ++d) {
                if (!counts(h, d)) continue;
                const double size = std::abs(values[h * p.nodes() + d]);
                if (!(size <= kLargestScore)) {
                    throw InputError("direction[" + std::to_string(h) + ", " + std::to_string(d) + "] must be a finite number, got " +
                                     std::to_string(values[h * p.nodes() + d]));
                }
                largest = std::max(largest, size);
            }
        }
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

void slopes_arc(const ArcCharts<PlainPlane>& charts, const ArcScores& direction, FlowPlanes rate, FlowPlanes flow, FlowPlanes slope) {
    kernels().slopes_arc_plain(charts, direction, rate, flow, slope);
}
void slopes_arc(const ArcCharts<LogPlane>& charts, const ArcScores& direction, FlowPlanes rate, FlowPlanes flow, FlowPlanes slope) {
    kernels().slopes_arc(charts, direction, rate, flow, slope);
}

void slopes_projective(const Problem& p, const Direction& direction, Arena& arena, double* out) {
    const Diagonals layout = diagonals(p);
    const ArcScores along{arena.take<double>(layout.size()), arena.take<double>(layout.size()),
                          arena.take<double>(ArcScores::root_size(p.n))};
    for (int t = 1; t <= p.n; ++t) along.root[t] = direction.at(0, t);
    for (int s = layout.first; s < p.n; ++s) {
        for (int t = s + 1; t <= p.n; ++t) {
            along.right[layout.cell(s, t)] = direction.at(s, t);
            along.left[layout.cell(s, t)] = direction.at(t, s);
        }
    }
    with_arc_sums(p, arena, [&](const auto& charts) {
        if (charts.total().is_zero()) no_tree(p);
        const FlowPlanes slope = FlowPlanes::take(arena, layout), flow = FlowPlanes::take(arena, layout);
        slopes_arc(charts, along, FlowPlanes::take(arena, layout), flow, slope);
        arcs_of(slope, layout, out);
    });
}

void slopes_nonprojective(const Problem& p, const Direction& direction, Arena& arena, double* out) {
    const Square square(p.n);
    const double* scores = checked_scores(p, square, arena);
    auto* along = arena.take<double>(square.size());
    std::fill_n(along, square.size(), 0.0);
    for (int h = 0; h <= p.n; ++h) {
        for (int d = 1; d <= p.n; ++d) along[square.cell(h, d)] = direction.at(h, d);
    }
    MatrixTree sums(scores, square, p.roots, arena);
    if (!sums.any_tree()) no_tree(p);
    sums.marginals_along(along, out);
}

}  // namespace

void marginals_along(const Problem& p, const double* values, Arena& arena, double* out) {
    const FlushDenormals flush;
    if (p.second_order() || p.third_order()) throw InputError("marginals_along takes first-order scores only");
    arena.reset();
    const Direction direction(p, values);
    if (p.n == 0) {
        out[0] = 0.0;
    } else if (p.trees == Trees::nonprojective) {
        slopes_nonprojective(p, direction, arena, out);
    } else {
        slopes_projective(p, direction, arena, out);
    }
    for (std::ptrdiff_t i = 0; i < p.nodes() * p.nodes(); ++i) out[i] *= direction.scale();
}

namespace {

void sample_nonprojective(const Problem& p, int count, Generator& random, Arena& arena, int* heads) {
    const Square square(p.n);
    const double* scores = checked_scores(p, square, arena);
    int done = 0;
    if (p.roots == Roots::multi) {
        RandomWalk walk(scores, square, arena);
        while (done < count && walk.draw(random, heads + done * p.nodes())) ++done;
    }
    if (done == count) return;
    MatrixTree sums(scores, square, p.roots, arena);
    if (!sums.any_tree()) no_tree(p);
    for (; done < count; ++done) sums.sample(random, heads + done * p.nodes());
}

}  // namespace

void sample(const Problem& p, int count, Generator& random, Arena& arena, int* heads) {
    const FlushDenormals flush;
    require_answer(p, "sample", false);
    arena.reset();
    if (p.n == 0) {
        std::fill_n(heads, count, -1);
        return;
    }
    if (p.trees == Trees::nonprojective) {
        sample_nonprojective(p, count, random, arena, heads);
        return;
    }
    const auto draw = [&](const auto& charts) { draw_trees(charts, p, count, random, heads); };
    if (p.second_order()) {
        with_sibling_sums(p, arena, Use::sums, draw);
    } else {
        with_arc_sums(p, arena, draw);
    }
}

}  // namespace arbora
