// From states to scores of arcs and siblings, and to trees.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>

#include "base/errors.hpp"
#include "base/interrupt.hpp"
#include "neural/blocks.hpp"
#include "neural/network.hpp"
#include "numeric/kernels/kernels.hpp"
#include "trees/queries.hpp"

namespace arbora::neural {

namespace {

// Rows [count, stride] as columns of a product's weights.
Dense columns_of(const float* rows, std::size_t stride, std::size_t count, std::size_t depth) {
    Dense made(depth, count);
    for (std::size_t r = 0; r < count; ++r)
        for (std::size_t i = 0; i < depth; ++i) made.weight(r, i) = rows[r * stride + i];
    return made;
}

// The class of an arc's length: arcs at least as long as the i-th bound and shorter than the next are i classes from the middle, to
// the left or to the right. arbora.neural.network has the same bounds.
constexpr int kBounds[] = {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64};
constexpr int kMiddle = static_cast<int>(std::size(kBounds));
static_assert(2 * kMiddle + 1 == kLengthClasses);

constexpr auto kClassOf = [] {  // by length, up to the last bound
    std::array<std::uint8_t, kBounds[kMiddle - 1] + 1> classes{};
    for (std::size_t length = 0; length < classes.size(); ++length)
        for (const int bound : kBounds) classes[length] += static_cast<int>(length) >= bound;
    return classes;
}();

std::size_t length_class(std::size_t head, std::size_t dep) {
    const std::size_t length = std::min(head < dep ? dep - head : head - dep, kClassOf.size() - 1);
    const int distance = kClassOf[length];
    return static_cast<std::size_t>(head < dep ? kMiddle + distance : kMiddle - distance);
}

// Finite weights may still overflow; such scores are invalid.
double finite(float score) {
    if (!std::isfinite(score)) reject("network: expected weights whose scores are finite, got a score of ", score);
    return double{score};
}

// A thread's memory between sentences.
struct TreeWork {
    Arena arena;
    std::vector<double> arcs;
    std::vector<int> heads;

    static TreeWork& mine() {
        static thread_local TreeWork work;
        return work;
    }
};

// The thread's memory while in use; released if it was very large, also after an exception.
struct BorrowedWork {
    static constexpr std::size_t kKeep = std::size_t{64} << 20;
    TreeWork& work = TreeWork::mine();
    ~BorrowedWork() {
        if (work.arena.reserved() + work.arcs.capacity() * sizeof(double) > kKeep) work = {};
    }
};

}  // namespace

// visit(sentence, scores [dep, stride] of heads, stride) for the sentences from `begin` to `end`.
template <class Visit>
void Network::score_arcs(const States& states, std::size_t begin, std::size_t end, Visit visit) const {
    const std::size_t top = states.first[begin], rows = states.first[end] - top, size = arc_product_.depth();
    const std::size_t width = arc_head_.width(), product = arc_product_.width(), classes = arc_lengths_.width();
    const UnsetVector<float> heads = arc_head_.rectified(states.of(top), states.stride, rows);
    const UnsetVector<float> deps = arc_dep_.rectified(states.of(top), states.stride, rows);
    UnsetVector<float> moved(rows * product), lengths(rows * classes), scores;
    arc_product_(deps.data(), width, rows, moved.data(), product);
    arc_lengths_(heads.data(), width, rows, lengths.data(), classes);
    for (std::size_t s = begin; s < end; ++s) {
        const std::size_t nodes = states.nodes(s), first = states.first[s] - top;
        const Dense by_head = columns_of(heads.data() + first * width, width, nodes, size);
        const std::size_t stride = by_head.width();
        scores.resize(nodes * stride);
        by_head(moved.data() + first * product, product, nodes, scores.data(), stride);
        for (std::size_t d = 1; d < nodes; ++d) {
            check_stop(4 * nodes);
            const float* of_dep = moved.data() + (first + d) * product + padded(size);
            for (std::size_t h = 0; h < nodes; ++h) {
                const std::size_t c = length_class(h, d);
                scores[d * stride + h] += lengths[(first + h) * classes + c] + of_dep[c];
            }
        }
        visit(s, scores.data(), stride);
    }
}

void Network::arcs(const States& states, int threads, std::span<double* const> out) const {
    check(states);
    each_block(states, threads, [&](std::size_t begin, std::size_t end) {
        score_arcs(states, begin, end, [&](std::size_t s, const float* scores, std::size_t stride) {
            const std::size_t nodes = states.nodes(s);
            for (std::size_t h = 0; h < nodes; ++h) {
                check_stop(8 * nodes);
                for (std::size_t d = 0; d < nodes; ++d) out[s][h * nodes + d] = d == 0 || d == h ? 0.0 : finite(scores[d * stride + h]);
            }
        });
    });
}

void Network::siblings(const States& states, int threads, std::span<double* const> out) const {
    if (!has_siblings()) reject("siblings: this network has none");
    check(states);
    const std::size_t width = sibling_head_.width();
    parallel_for(states.sentences(), threads, [&](int, std::size_t s) {
        const std::size_t nodes = states.nodes(s);
        const float* in = states.of(states.first[s]);
        const UnsetVector<float> heads = sibling_head_.rectified(in, states.stride, nodes), deps = sibling_dep_.rectified(in, states.stride, nodes);
        const UnsetVector<float> siblings = sibling_sib_.rectified(in, states.stride, nodes);
        const Dense by_sibling = columns_of(siblings.data(), width, nodes, sibling_rank_);
        UnsetVector<float> both(nodes * width), scores(nodes * by_sibling.width());
        for (std::size_t h = 0; h < nodes; ++h) {
            for (std::size_t i = 0; i < both.size(); ++i) both[i] = heads[h * width + i % width] * deps[i];
            by_sibling(both.data(), width, nodes, scores.data(), by_sibling.width());
            double* plane = out[s] + h * nodes * nodes;
            for (std::size_t d = 0; d < nodes; ++d)
                for (std::size_t i = 0; i < nodes; ++i) plane[d * nodes + i] = d == 0 || d == h ? 0.0 : finite(scores[d * by_sibling.width() + i]);
        }
    });
}

void Network::trees(const States& states, Trees trees, Roots roots, std::span<const std::int32_t> given, int threads, std::int32_t* out) const {
    check(states);
    if (!given.empty() && given.size() != states.words()) reject("given: expected one head per word, got ", given.size());
    each_block(states, threads, [&](std::size_t begin, std::size_t end) {
        const BorrowedWork borrowed;
        TreeWork& work = borrowed.work;
        score_arcs(states, begin, end, [&](std::size_t s, const float* scores, std::size_t stride) {
            const std::size_t nodes = states.nodes(s), words = states.first_word(s);
            work.arcs.resize(nodes * nodes);
            work.heads.resize(nodes);
            for (std::size_t d = 1; d < nodes; ++d) {
                check_stop(8 * nodes);
                const std::int32_t known = given.empty() ? -1 : given[words + d - 1];
                if (known < -1 || known >= static_cast<std::int64_t>(nodes) || known == static_cast<std::int64_t>(d))
                    reject("sentence ", s, ", word ", d, ": expected another node up to ", nodes - 1, " as head, or -1, got ", known);
                for (std::size_t h = 0; h < nodes; ++h) {
                    const bool allowed = known < 0 || h == static_cast<std::size_t>(known);
                    work.arcs[h * nodes + d] = !allowed ? kMinusInfinity : h == d ? 0.0 : finite(scores[d * stride + h]);
                }
            }
            Problem problem;
            problem.trees = trees;
            problem.roots = roots;
            problem.n = static_cast<int>(nodes) - 1;
            problem.arcs = work.arcs.data();
            try {
                argmax(problem, work.arena, work.heads.data());
            } catch (const NoTreeError& error) {
                throw NoTreeError("sentence " + std::to_string(s) + " of the batch: " + error.what());
            }
            std::copy_n(work.heads.begin() + 1, nodes - 1, out + words);
        });
    });
}

}  // namespace arbora::neural
