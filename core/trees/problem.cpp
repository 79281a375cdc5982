#include "trees/problem.hpp"

#include <string>

#include "base/errors.hpp"
#include "numeric/kernels/kernels.hpp"

namespace arbora {

namespace {

[[noreturn]] void reject(const std::string& what, const std::string& where, double value) {
    throw InputError(what + ": expected numbers up to 1e300 (-inf forbids a part), got " + std::to_string(value) + " at " + where);
}

std::string place(std::initializer_list<int> index) {
    std::string text = "[";
    for (int i : index) text += (text.size() > 1 ? ", " : "") + std::to_string(i);
    return text + "]";
}

bool valid(double x) { return x <= kLargestScore; }

// One row of siblings: the nearest-dependent entry and those strictly between head and dep.
void check_sibling_row(const char* name, const double* row, int head, int dep, Roots roots) {
    const bool only_child = head == 0 && roots == Roots::single;
    const int low = (head < dep ? head : dep) + 1, count = only_child ? 0 : (head < dep ? dep : head) - low;
    if (valid(row[head]) && (count <= 0 || kernels().all_valid(row + low, count))) return;
    for (int s = low; s < low + count; ++s) {
        if (!valid(row[s])) reject(name, place({head, dep, s}), row[s]);
    }
    reject(name, place({head, dep, head}), row[head]);
}

template <class Visit>
void each_arc(int n, Visit visit) {
    for (int h = 0; h <= n; ++h) {
        for (int d = 1; d <= n; ++d) {
            if (h != d) visit(h, d);
        }
    }
}

}  // namespace

void reject_arcs(const Problem& problem) {
    for (int h = 0; h <= problem.n; ++h) {
        for (int d = 1; d <= problem.n; ++d) {
            if (h != d && !valid(problem.arc(h, d))) reject("scores", place({h, d}), problem.arc(h, d));
        }
    }
    throw InputError("scores: not a number");
}

const double* checked_scores(const Problem& problem, Square square, Arena& arena) {
    auto* copy = arena.take<double>(square.size());
    if (!kernels().copy_scores(problem.arcs, square, copy)) reject_arcs(problem);
    return copy;
}

void check(const Problem& problem) {
    each_arc(problem.n, [&](int h, int d) {
        if (!valid(problem.arc(h, d))) reject_arcs(problem);
    });
    check_higher_order(problem);
}

void check_higher_order(const Problem& problem) {
    const auto nodes = problem.nodes();
    if (problem.siblings != nullptr) {
        each_arc(problem.n, [&](int h, int d) { check_sibling_row("siblings", problem.siblings + (h * nodes + d) * nodes, h, d, problem.roots); });
    }
    if (!problem.third_order()) return;
    for (int g = 0; g <= problem.n; ++g) {
        each_arc(problem.n, [&](int h, int d) {
            if (h == 0 || g == h || g == d) return;
            const auto arc = (g * nodes + h) * nodes + d;
            if (problem.grandparents != nullptr && !valid(problem.grandparents[arc])) {
                reject("grandparents", place({g, h, d}), problem.grandparents[arc]);
            }
            if (problem.grandsiblings != nullptr) check_sibling_row("grandsiblings", problem.grandsiblings + arc * nodes, h, d, problem.roots);
        });
    }
}

void adjacent_siblings(const int* heads, int n, int* siblings) {
    std::vector<int> last(n + 1);
    for (int h = 0; h <= n; ++h) last[h] = h;
    for (int d = 1; d <= n; ++d) {
        if (heads[d] >= 0 && heads[d] < d) siblings[d] = last[heads[d]], last[heads[d]] = d;
    }
    for (int h = 0; h <= n; ++h) last[h] = h;
    for (int d = n; d >= 1; --d) {
        if (heads[d] > d) siblings[d] = last[heads[d]], last[heads[d]] = d;
    }
}

void word_scores(const Problem& problem, const int* heads, double* out) {
    out[0] = 0.0;
    for (int d = 1; d <= problem.n; ++d) out[d] = problem.arc(heads[d], d);
    if (!problem.second_order() && !problem.third_order()) return;
    std::vector<int> siblings(problem.n + 1);
    adjacent_siblings(heads, problem.n, siblings.data());
    const auto nodes = problem.nodes();
    for (int d = 1; d <= problem.n; ++d) {
        const int h = heads[d];
        if (problem.siblings != nullptr) out[d] += problem.siblings[(h * nodes + d) * nodes + siblings[d]];
        if (h == 0 || !problem.third_order()) continue;
        const auto arc = (heads[h] * nodes + h) * nodes + d;
        if (problem.grandparents != nullptr) out[d] += problem.grandparents[arc];
        if (problem.grandsiblings != nullptr) out[d] += problem.grandsiblings[arc * nodes + siblings[d]];
    }
}

double tree_score(const Problem& problem, const int* heads) {
    double score = 0.0;
    if (!problem.second_order() && !problem.third_order()) {
        for (int d = 1; d <= problem.n; ++d) score += problem.arc(heads[d], d);
        return score;
    }
    std::vector<double> words(problem.nodes());
    word_scores(problem, heads, words.data());
    for (double word : words) score += word;
    return score;
}

bool in_family(const std::vector<int>& heads, Trees trees, Roots roots) {
    const int n = static_cast<int>(heads.size()) - 1;
    int root_arcs = 0;
    std::vector<int> waiting(n + 1, 0), size(n + 1, 1), low(n + 1), high(n + 1), leaves;
    for (int d = 1; d <= n; ++d) {
        root_arcs += heads[d] == 0;
        ++waiting[heads[d]];
        low[d] = high[d] = d;
    }
    if (roots == Roots::single && n > 0 && root_arcs != 1) return false;
    for (int d = 1; d <= n; ++d) {
        if (waiting[d] == 0) leaves.push_back(d);
    }
    // From the leaves up: what a cycle holds is never reached, and a subtree is projective iff it fills its span.
    int reached = 0;
    while (!leaves.empty()) {
        const int d = leaves.back(), h = heads[d];
        leaves.pop_back();
        ++reached;
        if (trees == Trees::projective && high[d] - low[d] + 1 != size[d]) return false;
        if (h == 0) continue;
        size[h] += size[d];
        low[h] = low[d] < low[h] ? low[d] : low[h];
        high[h] = high[d] > high[h] ? high[d] : high[h];
        if (--waiting[h] == 0) leaves.push_back(h);
    }
    return reached == n;
}

}  // namespace arbora
