#include "trees/problem.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "base/errors.hpp"
#include "base/interrupt.hpp"
#include "numeric/kernels/kernels.hpp"

namespace arbora {

namespace {

std::string place(std::initializer_list<int> index) {
    std::string text = "[";
    for (int i : index) text += (text.size() > 1 ? ", " : "") + std::to_string(i);
    return text + "]";
}

bool valid(double x) { return x <= kLargestScore; }

void check_score(const char* name, std::initializer_list<int> index, double value) {
    if (!valid(value)) reject(name, ": expected numbers up to 1e300 (-inf forbids a part), got ", value, " at ", place(index));
}

// One row of siblings: the nearest-dependent entry and those strictly between head and dep.
void check_sibling_row(const char* name, const double* row, int head, int dep, Roots roots) {
    const bool only_child = head == 0 && roots == Roots::single;
    const int low = (head < dep ? head : dep) + 1, count = only_child ? 0 : (head < dep ? dep : head) - low;
    if (valid(row[head]) && (count <= 0 || kernels().all_valid(row + low, count))) return;
    for (int s = low; s < low + count; ++s) check_score(name, {head, dep, s}, row[s]);
    check_score(name, {head, dep, head}, row[head]);
}

}  // namespace

void reject_arcs(const Problem& problem) {
    each_arc(problem.n, [&](int h, int d) { check_score("scores", {h, d}, problem.arc(h, d)); });
    throw InputError("scores: not a number");
}

const double* checked_scores(const Problem& problem, Square square, Arena& arena) {
    auto* copy = arena.take<double>(square.size());
    if (!kernels().copy_scores(problem.arcs, square, copy)) reject_arcs(problem);
    return copy;
}

void check(const Problem& problem) {
    each_arc(problem.n, [&](int h, int d) { check_score("scores", {h, d}, problem.arc(h, d)); });
    check_higher_order(problem);
}

void check_higher_order(const Problem& problem) {
    const auto nodes = problem.nodes();
    const auto check_rows = [&](const char* name, const double* rows, int h, int d) {
        if (rows != nullptr) check_sibling_row(name, rows + (h * nodes + d) * nodes, h, d, problem.roots);
    };
    each_arc(problem.n, [&](int h, int d) {
        check_stop(static_cast<std::size_t>(problem.n));
        check_rows("siblings", problem.siblings, h, d);
    });
    for (int g = 0; g <= problem.n && problem.third_order(); ++g) {
        each_arc(problem.n, [&](int h, int d) {
            if (h == 0 || g == h || g == d) return;
            check_stop(static_cast<std::size_t>(problem.n));
            const auto of_g = g * nodes * nodes;
            if (problem.grandparents != nullptr) check_score("grandparents", {g, h, d}, problem.grandparents[of_g + h * nodes + d]);
            check_rows("grandsiblings", problem.grandsiblings == nullptr ? nullptr : problem.grandsiblings + of_g * nodes, h, d);
        });
    }
}

void adjacent_siblings(const int* heads, int n, int* siblings) {
    std::vector<int> last(n + 1);
    for (int h = 0; h <= n; ++h) last[h] = h;
    for (int d = 1; d <= n; ++d)
        if (heads[d] >= 0 && heads[d] < d) siblings[d] = last[heads[d]], last[heads[d]] = d;
    for (int h = 0; h <= n; ++h) last[h] = h;
    for (int d = n; d >= 1; --d)
        if (heads[d] > d) siblings[d] = last[heads[d]], last[heads[d]] = d;
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
    std::vector<double> words(problem.nodes());
    word_scores(problem, heads, words.data());
    return std::accumulate(words.begin(), words.end(), 0.0);
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
    for (int d = 1; d <= n; ++d)
        if (waiting[d] == 0) leaves.push_back(d);
    // From the leaves up: nodes of a cycle are never reached, and a subtree is projective iff it fills its span.
    int reached = 0;
    while (!leaves.empty()) {
        const int d = leaves.back(), h = heads[d];
        leaves.pop_back();
        ++reached;
        if (trees == Trees::projective && high[d] - low[d] + 1 != size[d]) return false;
        if (h == 0) continue;
        size[h] += size[d];
        low[h] = std::min(low[h], low[d]);
        high[h] = std::max(high[h], high[d]);
        if (--waiting[h] == 0) leaves.push_back(h);
    }
    return reached == n;
}

}  // namespace arbora
