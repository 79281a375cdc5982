// Exact random trees from the elimination of matrix_tree.hpp, by putting the words back one at a time.
//
// Let T be a random tree on the root and words 1..k-1 under the weights that remain after eliminating n..k. Each of its arcs h -> d
// is a sum of ways: direct, or through k with weight(h, k) weight(k, d) / D_k. Draw the way of each arc, cut those that went
// through k, and attach their dependents S to k. Then draw the head of k from the piece that still contains the root, in proportion
// to weight(h, k). This is exact: for a given forest and S, the trees T that lead to it are the ways to join |S| + 1 pieces to a
// tree, where each join costs the joined piece's share x of D_k. They sum to x_root * D_k^(|S| - 1) (Cayley's formula with
// weights), and D_k^|S| in the denominators and the pivot D_k leave exactly x_root, the sum over k's possible heads. With a single
// root, the root counts only if its piece contains nothing else. Time O(n^2) expected per tree, without rejection or walks whose
// length depends on the scores.
#include <algorithm>

#include "trees/arborescence/matrix_tree.hpp"

namespace arbora {

namespace {

// The numbers of an elimination, plain or extended, behind one interface.
struct PlainNumbers {
    using Number = double;
    const Elimination& e;
    const double* original;
    const double* inverse;  // 1 / pivot

    double direct(int h, int d) const { return original[e.square.cell(h, d)]; }
    double column(int k, int h) const { return e.columns[e.square.cell(k, h)]; }
    double row(int k, int d) const { return e.weights[e.square.cell(k, d)]; }
    // weight(h, k) weight(k, d) / D_k
    double through(int k, int h, int d) const { return column(k, h) * row(k, d) * inverse[k]; }
    double pivot(int k) const { return e.pivots[k]; }
    int hung() const { return 0; }
    bool root_outside(int k) const { return e.roots == Roots::single && k > 1; }
    static bool reached(double sum, double total, double u) { return sum > u * total; }
    static bool positive(double x) { return x > 0.0; }
};

struct ExtendedNumbers {
    using Number = Extended;
    const ExtendedElimination& e;
    const double* scores;

    Extended direct(int h, int d) const { return extended_exp(scores[e.square.cell(h, d)]); }
    Extended column(int k, int h) const { return e.columns.at(e.square.cell(k, h)); }
    Extended row(int k, int d) const { return e.weights.at(e.square.cell(k, d)); }
    Extended through(int k, int h, int d) const { return column(k, h) * row(k, d) / pivot(k); }
    Extended pivot(int k) const { return e.pivots.at(k); }
    int hung() const { return e.hung; }
    bool root_outside(int k) const { return e.root_outside(k); }
    static bool reached(Extended sum, Extended total, double u) { return ratio(sum, total) > u; }
    static bool positive(Extended x) { return !x.is_zero(); }
};

// The origin of the arc h -> d that remains at its level: 0 direct, else the word it went through.
template <class Numbers>
int draw_origin(const Numbers& numbers, int n, int h, int d, Generator& random) {
    const auto total = h > d ? numbers.row(h, d) : numbers.column(d, h);
    const double u = random.uniform();
    // Below the word that must attach to the root, the root's arcs are that word's.
    const bool replaced = h == 0 && d < numbers.hung();
    typename Numbers::Number sum{};
    if (!replaced) sum = numbers.direct(h, d);
    if (Numbers::positive(sum) && Numbers::reached(sum, total, u)) return 0;
    int last = 0;
    for (int k = std::max(h, d) + 1; k <= (replaced ? numbers.hung() : n); ++k) {
        const auto through = numbers.through(k, h, d);
        if (!Numbers::positive(through)) continue;
        sum = sum + through;
        last = k;
        if (Numbers::reached(sum, total, u)) return k;
    }
    return last;  // rounding: the sum was less than the total
}

// A head of k in proportion to weight(h, k), among first..k-1 where allowed(h); the allowed weights sum to `total`.
template <class Numbers, class Allowed>
int draw_head(const Numbers& numbers, int k, int first, typename Numbers::Number total, Allowed allowed, Generator& random) {
    typename Numbers::Number sum{};
    const double u = random.uniform();
    int last = first;
    for (int h = first; h < k; ++h) {
        if (!allowed(h) || !Numbers::positive(numbers.column(k, h))) continue;
        sum = sum + numbers.column(k, h);
        last = h;
        if (Numbers::reached(sum, total, u)) break;
    }
    return last;
}

template <class Numbers, class Allowed>
typename Numbers::Number allowed_weight(const Numbers& numbers, int k, int first, Allowed allowed) {
    typename Numbers::Number total{};
    for (int h = first; h < k; ++h)
        if (allowed(h)) total = total + numbers.column(k, h);
    return total;
}

enum Side { kUnknown, kWithRoot, kCut };

// Whether `word` is in the piece with the root. Marks every word on the way.
bool with_root(int word, const int* heads, int* side) {
    int top = word;
    while (side[top] == kUnknown) top = heads[top];
    const int found = side[top];
    for (int w = word; side[w] == kUnknown; w = heads[w]) side[w] = found;
    return found == kWithRoot;
}

}  // namespace

template <class Numbers>
void MatrixTree::draw(const Numbers& numbers, Generator& random, int* heads) {
    const int n = square_.n;
    std::fill_n(bucket_, n + 1, 0);
    const auto remember = [&](int h, int d) {
        heads[d] = h;
        const int origin = draw_origin(numbers, n, h, d, random);
        origin_[d] = origin;
        if (origin == 0) return;
        next_in_bucket_[d] = bucket_[origin];
        bucket_[origin] = d;
    };
    heads[0] = -1;
    remember(0, 1);
    for (int k = 2; k <= n; ++k) {
        const bool single = numbers.root_outside(k) || k == numbers.hung();
        int head = 0;
        if (bucket_[k] == 0) {
            head = draw_head(numbers, k, single ? 1 : 0, numbers.pivot(k), [](int) { return true; }, random);
        } else {
            std::fill_n(side_, k, static_cast<int>(kUnknown));
            side_[0] = kWithRoot;
            bool root_arc_cut = false;
            for (int d = bucket_[k]; d != 0; d = next_in_bucket_[d]) {
                side_[d] = kCut;
                root_arc_cut |= heads[d] == 0;
            }
            if (!(single && root_arc_cut)) {
                const auto allowed = [&](int h) { return with_root(h, heads, side_); };
                const auto total = allowed_weight(numbers, k, single ? 1 : 0, allowed);
                head = draw_head(numbers, k, single ? 1 : 0, total, allowed, random);
            }
            for (int d = bucket_[k], next = 0; d != 0; d = next) {
                next = next_in_bucket_[d];
                remember(k, d);
            }
        }
        remember(head, k);
    }
}

void MatrixTree::sample(Generator& random, int* heads) {
    if (square_.n == 0) {
        heads[0] = -1;
        return;
    }
    if (origin_ == nullptr) {
        if (!extended_) {
            inverse_ = arena_.take<double>(square_.n + 1);
            for (int k = 1; k <= square_.n; ++k) inverse_[k] = 1.0 / plain_.pivots[k];
        }
        for (int** list : {&origin_, &bucket_, &next_in_bucket_, &side_}) *list = arena_.take<int>(square_.n + 1);
    }
    if (extended_) {
        draw(ExtendedNumbers{wide_, scores_}, random, heads);
    } else {
        draw(PlainNumbers{plain_, original_, inverse_}, random, heads);
    }
}

}  // namespace arbora
