#include "trees/arborescence/max_arborescence.hpp"

#include "base/interrupt.hpp"

#include <algorithm>
#include <cmath>

namespace arbora {

namespace {

enum State { kUnseen, kOnPath, kAttached };

// Whether the heads form a tree (with one root arc, if required). O(n).
bool is_tree(const int* heads, int n, Roots roots, int* mark) {
    std::fill_n(mark, n + 1, 0);
    mark[0] = -1;
    int root_arcs = 0;
    for (int start = 1; start <= n; ++start) {
        root_arcs += heads[start] == 0;
        int node = start;
        while (mark[node] == 0) {
            mark[node] = start;
            node = heads[node];
        }
        if (mark[node] == start) return false;
        for (node = start; mark[node] == start; node = heads[node]) mark[node] = -1;
    }
    return roots == Roots::multi || root_arcs == 1;
}

}  // namespace

Contraction::Contraction(Arena& arena, Square square, Roots roots, bool runners_up)
    : square_(square), roots_(roots), kernels_(kernels()), runners_up_(runners_up) {
    const std::size_t nodes = 2 * static_cast<std::size_t>(square.n) + 2;
    lines_ = arena.take<double*>(nodes);
    words_ = arena.take<double*>(nodes);
    seconds_ = arena.take<double*>(nodes);
    identity_words_ = arena.take<double>(square.size());
    second_memory_ = runners_up ? arena.take<double>(square.size()) : nullptr;
    for (int** list : {&union_parent_, &tree_parent_, &first_word_, &last_word_, &next_word_, &source_, &word_, &state_, &path_})
        *list = arena.take<int>(nodes);
    value_ = arena.take<double>(nodes);
}

void Contraction::prepare(double* entering) {
    const int n = square_.n;
    for (int d = 0; d <= n; ++d) {
        lines_[d] = entering + square_.line(d);
        words_[d] = identity_words_ + square_.line(d);
        union_parent_[d] = first_word_[d] = last_word_[d] = d;
        tree_parent_[d] = next_word_[d] = -1;
        state_[d] = kUnseen;
        if (runners_up_) seconds_[d] = second_memory_ + square_.line(d);
    }
    state_[0] = kAttached;
    nodes_ = n + 1;
    root_arcs_ = 0;
    std::fill_n(source_, 2 * n + 2, -1);
}

int Contraction::component(int node) {
    while (union_parent_[node] != node) {
        union_parent_[node] = union_parent_[union_parent_[node]];
        node = union_parent_[node];
    }
    return node;
}

bool Contraction::best_entering(int node) {
    double* scores = lines_[node];
    const int length = square_.n + 1;
    const double from_root = scores[0];
    if (roots_ == Roots::single) scores[0] = kMinusInfinity;
    int source = kernels_.line_best(scores, length, &value_[node]);
    scores[0] = from_root;
    if (source < 0 && from_root > kMinusInfinity) {
        source = 0;
        value_[node] = from_root;
    }
    if (source < 0) return false;
    source_[node] = source;
    word_[node] = node <= square_.n ? node : static_cast<int>(words_[node][source]);
    entered(node, source, word_[node]);
    return true;
}

// Contracts the part of the path from component `repeated` on; its line merges the lines of the parts.
int Contraction::contract(int repeated) {
    const int made = nodes_++, length = square_.n + 1;
    check_stop(static_cast<std::size_t>(length));
    int at = path_length_;
    while (path_[at - 1] != repeated) --at;
    --at;
    const int first = path_[at];
    lines_[made] = lines_[first];
    words_[made] = words_[first];
    if (first <= square_.n) std::fill_n(words_[first], square_.stride, static_cast<double>(first));
    double* line = lines_[made];
    if (runners_up_) {
        seconds_[made] = seconds_[first];
        if (first <= square_.n) std::fill_n(seconds_[first], square_.stride, kMinusInfinity);
        for (int u = 0; u < length; ++u) seconds_[made][u] -= value_[first];
    }
    for (int u = 0; u < length; ++u) line[u] -= value_[first];
    union_parent_[made] = made;
    first_word_[made] = first_word_[first];
    last_word_[made] = last_word_[first];
    tree_parent_[made] = -1;
    union_parent_[first] = tree_parent_[first] = made;
    for (int i = at + 1; i < path_length_; ++i) {
        const int part = path_[i];
        if (runners_up_) {
            if (part <= square_.n) std::fill_n(seconds_[part], square_.stride, kMinusInfinity);
            kernels_.line_merge_two(line, seconds_[made], lines_[part], seconds_[part], value_[part], length);
        }
        const double* words = part <= square_.n ? nullptr : words_[part];
        kernels_.line_merge(line, words_[made], lines_[part], words, part, value_[part], length);
        next_word_[last_word_[made]] = first_word_[part];
        last_word_[made] = last_word_[part];
        union_parent_[part] = tree_parent_[part] = made;
    }
    for (int w = first_word_[made]; w >= 0; w = next_word_[w]) {
        line[w] = kMinusInfinity;
        if (runners_up_) seconds_[made][w] = kMinusInfinity;
    }
    path_length_ = at;
    return made;
}

// Newest first: an entering arc decides the head of the word it enters, and of no other. The components around that word are then
// entered, and the other parts of each cycle keep their own entering arcs.
void Contraction::expand(int* heads) {
    for (int node = nodes_ - 1; node >= 1; --node) {
        if (source_[node] < 0) continue;
        heads[word_[node]] = source_[node];
        for (int inner = word_[node]; inner != node; inner = tree_parent_[inner]) source_[inner] = -1;
    }
}

bool Contraction::run(double* entering, int* heads) {
    prepare(entering);
    for (int start = 1; start <= square_.n; ++start) {
        if (state_[component(start)] == kAttached) continue;
        path_length_ = 0;
        for (int node = start;;) {
            state_[node] = kOnPath;
            path_[path_length_++] = node;
            if (!best_entering(node)) return false;
            const int next = component(source_[node]);
            if (state_[next] == kAttached) {
                root_arcs_ += source_[node] == 0;
                break;
            }
            node = state_[next] == kOnPath ? contract(next) : next;
        }
        for (int i = 0; i < path_length_; ++i) state_[path_[i]] = kAttached;
    }
    if (roots_ == Roots::single && root_arcs_ != 1) return false;
    expand(heads);
    return true;
}

const double* without_soft_masks(const double* scores, Square square, Arena& arena) {
    constexpr double kSoftMask = 1e15;
    if (kernels().largest_magnitude(scores, square) <= kSoftMask) return scores;
    // Magnitudes far apart are masks of different strength; each level outweighs all lower ones.
    double ordinary = 0.0;
    std::vector<double> levels;
    for (std::size_t i = 0; i < square.size(); ++i) {
        const double size = std::abs(scores[i]);
        if (size <= kSoftMask) ordinary = std::max(ordinary, size);
        else if (size <= kLargestScore) levels.push_back(size);
    }
    const double outweighs = 4.0 * (square.n + 1) * (ordinary + 1.0);
    std::sort(levels.begin(), levels.end());
    levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
    // Not masks, but scores of that size, unless each level outweighs what is below it.
    if (levels.size() > 3) return scores;
    for (std::size_t i = 0; i < levels.size(); ++i)
        if (levels[i] < (i == 0 ? outweighs : 4.0 * (square.n + 1) * levels[i - 1])) return scores;
    auto* copy = arena.take<double>(square.size());
    std::copy_n(scores, square.size(), copy);
    for (std::size_t i = 0; i < square.size(); ++i) {
        const double size = std::abs(copy[i]);
        if (!(size > kSoftMask && size <= kLargestScore)) continue;
        const auto level = std::lower_bound(levels.begin(), levels.end(), size) - levels.begin();
        copy[i] = std::copysign(outweighs * std::pow(4.0 * (square.n + 1), level), copy[i]);
    }
    return copy;
}

bool max_arborescence(const double* scores, Square square, Roots roots, Arena& arena, int* heads) {
    const Kernels& k = kernels();
    const int n = square.n;
    heads[0] = -1;
    auto* best = arena.take<double>(2 * static_cast<std::size_t>(square.stride));
    double* row = best + square.stride;
    k.column_best(scores, square, 0, best, row);
    for (int d = 1; d <= n; ++d) {
        if (best[d] == kMinusInfinity) return false;
        heads[d] = static_cast<int>(row[d]);
    }
    if (is_tree(heads, n, roots, arena.take<int>(n + 1))) return true;
    auto* entering = arena.take<double>(square.size());
    k.transpose(without_soft_masks(scores, square, arena), square, entering);
    return Contraction(arena, square, roots, false).run(entering, heads);
}

}  // namespace arbora
