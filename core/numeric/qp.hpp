// Small dense quadratic programs: the duals that k-best MIRA and the 1-slack structural SVM solve in each step.
//
//     maximize  f(α) = <b, α> - ½ <α, G α>   over  α >= 0,  Σ α <= cap          G = (<d_i, d_j>): positive semidefinite
//
// With d_i = f(gold) - f(tree i): for MIRA, the least Δw with <Δw, d_i> >= b_i for all i is Σ α_i d_i, where b_i is loss minus margin and
// cap is C, or infinite for hard constraints [crammer-2006, mcdonald-2005]. For the 1-slack SVM, w = Σ α_i d_i with b_i the loss of
// plane i and cap = C [joachims-2009].
//
// A slack multiplier with b = 0 and G = 0 makes the sum equal to the cap. Each move shifts weight from the positive multiplier with
// the lowest gradient to the one with the highest, as far as f rises: O(K) per move, as in SMO. Moves find the positive multipliers
// but converge slowly if planes are nearly parallel. So they alternate with Newton steps on the positive multipliers, O(K³) each,
// stopped at the border and at the maximum of f on the way. Every step raises f, so there are no cycles.
//
// Contradicting constraints have an unbounded dual if the cap is infinite: the moves alternate between them, α grows while Δw
// hardly changes, and the step limit ends the loop (`converged` is false). Without a cap, a d_i of zero with b_i > 0 gets 0. Ties
// go to the lowest index.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace arbora {

struct QpResult {
    std::vector<double> multipliers;  // K, feasible to the last bit but for rounding of their sum
    double objective = 0.0;           // f
    double violation = 0.0;           // how much f could rise per unit of mass moved; with a cap, f is within violation · cap of the best
    bool converged = false;
};

struct QpOptions {
    double tolerance = 1e-12;  // of the violation, relative to the largest |b|
    int rounds = 200;          // each of 10 K moves and at most K Newton steps
};

// gram is K × K and symmetric, linear is K; start is empty or K initial multipliers. Throws InputError otherwise.
QpResult solve_qp(std::span<const double> gram, std::span<const double> linear, double cap, std::span<const double> start = {},
                  const QpOptions& options = {});

}  // namespace arbora
