// Sums over trees of scores whose exponentials would be clamped: the same distribution with smaller scores.
#pragma once

#include <array>
#include <vector>

#include "base/errors.hpp"
#include "trees/problem.hpp"

namespace arbora {

// Thrown where parts of higher order are so large; see Centred.
struct LargeParts {};

void find_large_parts(const Problem& p);
// Whether scores of arcs are so large that their exponentials would be clamped.
bool has_large_arcs(const Problem& p);

// The same distribution with scores that are small where they matter. A masked root row is raised, as each tree has one root. If that is
// not enough, scores are made relative to the best tree: each word's lack what it adds to that tree. Parts whose trees all are far
// worse have no probability, and are left out. InputError if large scores are left: in trees near the best they cancel, and their last
// digits with them.
class Centred {
public:
    // O(n^2) and a search for the best tree; one more for each of a few large arcs.
    Centred(const Problem& p, Arena& arena);
    Centred(const Centred&) = delete;

    Problem problem;

    [[noreturn]] static void reject_large(double score);
    // log Z of the original, from that of the problem: with n words there are at most (n + 1)^n trees.
    double log_partition(double sum) const;

private:
    void raise_root();
    bool has_one_root(Arena& arena);
    void leave_out_by_bound();
    void leave_out_by_search(Arena& arena);
    void copy_higher();
    void leave_out_higher();
    double& at(int head, int dep) { return arcs_[static_cast<std::size_t>(head * problem.nodes() + dep)]; }

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

}  // namespace arbora
