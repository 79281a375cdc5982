// Logistic online updates for a list of candidates [johansson-2007]: how far the weights move towards the gold answer.
//
// The gold answer y_0 has the features ψ_0; candidate j of m has ψ_j and the cost c_j > 0. The update depends only on
//
//     d_j = ψ_0 - ψ_j      G_jk = <d_j, d_k>      u_j = <w, d_j>, the margin by which y_0 is ahead
//
// because the update is δw = Σ α_j d_j, after which margins are u + Gα and
//
//     P(y_j) = e^{-(u + Gα)_j} / (1 + Σ_k e^{-(u + Gα)_k})          the 1 stands for y_0
//
// The multipliers α, of any sign, maximize one of two gains, less a prior with the scale s_j: Σ s_j α_j² (Gauss) or Σ s_j |α_j| (Laplace).
//
//     likelihood      log P(y_0)                    scaled prior variance, SPV; the costs are in the s_j, which the caller chooses
//     expected cost   -log(1 + Σ_j c_j P(y_j))      minimum expected cost, MEC
//
// Method: gradient ascent on the gain, each step followed by a proximal step of the prior, which for both priors is a formula per
// α_j. The first step's length is that of a quadratic with the softmax's curvature along the gradient; later ones are Barzilai and
// Borwein's. A step is halved until the objective is above the lowest of the last few, so it never falls below its value at the
// start, α = 0. The ascent ends when the slope of the objective is zero, to a tolerance. The likelihood is concave, so this is its
// only maximum. The expected cost is not: it is flat if a wrong answer is far ahead, and the ascent finds a maximum uphill of α =
// 0.
//
// O(m²) per step; a few tens of steps suffice. O(m) if G has one value on its diagonal and one off it, as for classes that share
// one feature vector. O(m) space besides G.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace arbora {

enum class Gain { kLikelihood, kExpectedCost };
enum class Prior { kGauss, kLaplace };

// The input that determines the multipliers. Spans must outlive it.
struct LogisticUpdate {
    std::span<const double> gram;     // m × m, symmetric
    std::span<const double> margins;  // m
    std::span<const double> costs;    // m, at least 0; the likelihood does not look at them
    std::span<const double> scales;   // m, above 0
    Gain gain = Gain::kLikelihood;
    Prior prior = Prior::kGauss;

    std::size_t size() const { return margins.size(); }
};

struct LogisticOptions {
    double tolerance = 1e-5;  // of the gradient, relative to the largest entry of G's diagonal: the largest that it can be
    int steps = 2000;
};

struct LogisticResult {
    std::vector<double> multipliers;
    double objective = 0.0;  // gain less prior
    int steps = 0;
    bool converged = false;
};

// The gain at α and its gradient, written to `gradient` (m, or empty if not needed). Throws InputError if sizes do not match.
double logistic_gain(const LogisticUpdate& update, std::span<const double> alpha, std::span<double> gradient);
// Throws InputError for numbers that are not finite, negative costs, scales that are not above 0, and sizes that do not match.
LogisticResult maximize(const LogisticUpdate& update, const LogisticOptions& options = {});

}  // namespace arbora
