#include "numeric/logistic_updates.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/errors.hpp"

namespace arbora {

namespace {

using Numbers = std::span<const double>;
constexpr double kSlack = 8.0 * std::numeric_limits<double>::epsilon();
constexpr double kRise = 1e-4;  // the minimum rise of a step, as a share of the rise that the gradient predicts
constexpr double kShortest = 1e-100, kLongest = 1e100;
constexpr double kGrowth = 100.0;  // of a step's length, at most
constexpr double kBeyond = 10.0;   // how far a step may lead past equal scores: P is near 1 there, and the gradient near 0
constexpr int kHalvings = 60;
constexpr std::size_t kMemory = 8;  // number of objectives that a step is compared with: a long step may lead down before it leads further up

class Gram {
public:
    Gram(Numbers entries, std::size_t m) : entries_(entries), m_(m) {
        shared_ = m > 1 ? entries[1] : 0.0;
        own_ = m > 0 ? entries[0] - shared_ : 0.0;
        for (std::size_t j = 0; j < m && is_uniform_; ++j)
            for (std::size_t k = 0; k < m; ++k) is_uniform_ &= entries[j * m + k] == (j == k ? entries[0] : shared_);
    }

    double largest() const {
        double largest = 0.0;
        for (std::size_t j = 0; j < m_; ++j) largest = std::max(largest, entries_[j * m_ + j]);
        return largest;
    }

    // out += G x.
    void add_product(Numbers x, std::span<double> out) const {
        if (is_uniform_) {
            double sum = 0.0;
            for (const double each : x) sum += each;
            for (std::size_t k = 0; k < m_; ++k) out[k] += shared_ * sum + own_ * x[k];
            return;
        }
        // Row by row, for vector registers; rows of multipliers that are zero are skipped.
        for (std::size_t j = 0; j < m_; ++j) {
            if (x[j] == 0.0) continue;
            const double* row = entries_.data() + j * m_;
            for (std::size_t k = 0; k < m_; ++k) out[k] += x[j] * row[k];
        }
    }

private:
    Numbers entries_;
    std::size_t m_;
    bool is_uniform_ = true;  // one value on the diagonal and one off it
    double shared_ = 0.0, own_ = 0.0;
};

double dot(Numbers a, Numbers b) {
    double sum = 0.0;
    for (std::size_t j = 0; j < a.size(); ++j) sum += a[j] * b[j];
    return sum;
}

// log(1 + Σ e^{-margin}); `probabilities` become those of the candidates.
double softmax(Numbers margins, std::span<double> probabilities) {
    double highest = 0.0;  // the gold answer's
    for (const double margin : margins) highest = std::max(highest, -margin);
    double sum = 0.0;
    for (std::size_t j = 0; j < margins.size(); ++j) sum += probabilities[j] = std::exp(-margins[j] - highest);
    const double total = std::exp(-highest) + sum;
    for (double& each : probabilities) each /= total;
    return highest == 0.0 ? std::log1p(sum) : highest + std::log(total);
}

// The values computed for one choice of multipliers.
struct Point {
    explicit Point(std::size_t m) : alpha(m), margins(m), probabilities(m), pull(m) {}

    std::vector<double> alpha, margins, probabilities;
    std::vector<double> pull;  // the gain's slope by each margin: its gradient is G pull
    double gain = 0.0;
};

// Everything computed from point.alpha.
void evaluate(const LogisticUpdate& update, const Gram& gram, Point& point) {
    std::copy(update.margins.begin(), update.margins.end(), point.margins.begin());
    gram.add_product(point.alpha, point.margins);
    const double log_sum = softmax(point.margins, point.probabilities);
    if (update.gain == Gain::kLikelihood) {
        point.gain = -log_sum;
        point.pull = point.probabilities;
        return;
    }
    const double expected = dot(update.costs, point.probabilities);
    point.gain = -std::log1p(expected);
    for (std::size_t j = 0; j < point.pull.size(); ++j)
        point.pull[j] = point.probabilities[j] * (update.costs[j] - expected) / (1.0 + expected);
}

void find_gradient(const Gram& gram, const Point& point, std::span<double> out) {
    std::fill(out.begin(), out.end(), 0.0);
    gram.add_product(point.pull, out);
}

class Ascent {
public:
    Ascent(const LogisticUpdate& update, const LogisticOptions& options)
        : update_(update), options_(options), gram_(update.gram, update.size()), here_(update.size()), there_(update.size()), gradient_(update.size()),
          before_(update.size()), bound_(options.tolerance * gram_.largest()) {}

    LogisticResult run() {
        evaluate(update_, gram_, here_);
        find_gradient(gram_, here_, gradient_);
        LogisticResult result;
        double length = violation() <= bound_ ? 0.0 : first_length();
        for (; violation() > bound_ && result.steps < options_.steps; ++result.steps) {
            if (!climb(length)) break;
            length = next_length(length);
        }
        result.converged = violation() <= bound_;
        result.objective = here_.gain - penalty(here_.alpha);
        result.multipliers = std::move(here_.alpha);
        return result;
    }

private:
    bool is_gauss() const { return update_.prior == Prior::kGauss; }

    double penalty(Numbers alpha) const {
        double sum = 0.0;
        for (std::size_t j = 0; j < alpha.size(); ++j) sum += update_.scales[j] * (is_gauss() ? alpha[j] * alpha[j] : std::abs(alpha[j]));
        return sum;
    }

    // The largest slope of the objective in any α_j; at |α_j| = 0, the part that exceeds the prior's.
    double violation() const {
        double worst = 0.0;
        for (std::size_t j = 0; j < gradient_.size(); ++j) {
            const double a = here_.alpha[j], s = update_.scales[j];
            double slope = gradient_[j];
            if (is_gauss()) slope -= 2.0 * s * a;
            else if (a != 0.0) slope -= std::copysign(s, a);
            else slope = std::max(0.0, std::abs(slope) - s);
            worst = std::max(worst, std::abs(slope));
        }
        return worst;
    }

    // The maximum of the prior less the distance from `a` that a step of this length allows.
    double proximal(double a, double scale, double length) const {
        if (is_gauss()) return a / (1.0 + 2.0 * length * scale);
        return std::copysign(std::max(0.0, std::abs(a) - length * scale), a);
    }

    // |g|² / <Gg, (diag(p) - pp') Gg>: the maximum along g of a quadratic with the softmax's curvature, if it is within reach.
    double first_length() const {
        std::vector<double> along(gradient_.size());
        gram_.add_product(gradient_, along);
        double mean = 0.0, square = 0.0, fastest = 0.0;
        for (std::size_t j = 0; j < along.size(); ++j) {
            mean += here_.probabilities[j] * along[j];
            square += here_.probabilities[j] * along[j] * along[j];
            fastest = std::max(fastest, std::abs(along[j]));
        }
        const double curvature = square - mean * mean, most = reach() / fastest;
        return std::clamp(curvature > 0.0 ? std::min(most, dot(gradient_, gradient_) / curvature) : most, kShortest, kLongest);
    }

    // The limit on a step's change of any margin: the end of a far too long step would look like a maximum.
    double reach() const {
        double lowest = 0.0;
        for (const double margin : here_.margins) lowest = std::min(lowest, margin);
        return kBeyond - lowest;
    }

    bool is_within_reach() const {
        const double most = reach();
        for (std::size_t j = 0; j < here_.margins.size(); ++j)
            if (!(std::abs(there_.margins[j] - here_.margins[j]) <= most)) return false;
        return true;
    }

    // One step of at most this length; false if none is good enough. before_ keeps the gradient before it.
    bool climb(double& length) {
        recent_[turn_++ % kMemory] = here_.gain - penalty(here_.alpha);
        const double lowest = *std::min_element(recent_.begin(), recent_.begin() + static_cast<std::ptrdiff_t>(std::min(turn_, kMemory)));
        const double slack = kSlack * (1.0 + std::abs(lowest));
        for (int halving = 0; halving < kHalvings; ++halving, length *= 0.5) {
            double distance = 0.0;
            for (std::size_t j = 0; j < gradient_.size(); ++j) {
                there_.alpha[j] = proximal(here_.alpha[j] + length * gradient_[j], update_.scales[j], length);
                distance += (there_.alpha[j] - here_.alpha[j]) * (there_.alpha[j] - here_.alpha[j]);
            }
            if (!std::isfinite(distance)) continue;
            evaluate(update_, gram_, there_);
            if (!is_within_reach()) continue;
            // Written so that a NaN gain does not count as a rise.
            if (there_.gain - penalty(there_.alpha) >= lowest + kRise * distance / length - slack) {
                std::swap(here_, there_);
                std::swap(before_, gradient_);
                find_gradient(gram_, here_, gradient_);
                return distance > 0.0;
            }
        }
        return false;
    }

    // Barzilai and Borwein's length: |Δα|² / -<Δα, Δg>; if the gain is not concave on the way, the longest allowed.
    double next_length(double last) const {
        double square = 0.0, curvature = 0.0;
        for (std::size_t j = 0; j < gradient_.size(); ++j) {
            const double moved = here_.alpha[j] - there_.alpha[j];
            square += moved * moved;
            curvature -= moved * (gradient_[j] - before_[j]);
        }
        const double most = std::min(kLongest, kGrowth * last);
        return curvature > 0.0 ? std::clamp(square / curvature, kShortest, most) : most;
    }

    const LogisticUpdate& update_;
    const LogisticOptions& options_;
    Gram gram_;
    Point here_, there_;
    std::vector<double> gradient_, before_;
    double bound_;  // of the violation
    std::array<double, kMemory> recent_{};  // objectives
    std::size_t turn_ = 0;
};

void require_size(std::size_t got, std::size_t expected, const char* what) {
    if (got != expected) reject("logistic update: ", what, ": expected ", expected, " numbers, got ", got);
}

void require_sizes(const LogisticUpdate& update) {
    const std::size_t m = update.size();
    require_size(update.gram.size(), m * m, "gram");
    require_size(update.costs.size(), m, "costs");
    require_size(update.scales.size(), m, "scales");
}

template <class Holds>
void require_all(Numbers numbers, const char* what, const char* expected, Holds holds) {
    for (const double number : numbers)
        if (!std::isfinite(number) || !holds(number)) reject("logistic update: ", what, ": expected ", expected, ", got ", number);
}

}  // namespace

double logistic_gain(const LogisticUpdate& update, std::span<const double> alpha, std::span<double> gradient) {
    require_sizes(update);
    require_size(alpha.size(), update.size(), "multipliers");
    const Gram gram(update.gram, update.size());
    Point point(update.size());
    std::copy(alpha.begin(), alpha.end(), point.alpha.begin());
    evaluate(update, gram, point);
    if (!gradient.empty()) {
        require_size(gradient.size(), update.size(), "gradient");
        find_gradient(gram, point, gradient);
    }
    return point.gain;
}

LogisticResult maximize(const LogisticUpdate& update, const LogisticOptions& options) {
    require_sizes(update);
    require_all(update.gram, "gram", "finite numbers", [](double) { return true; });
    require_all(update.margins, "margins", "finite numbers", [](double) { return true; });
    require_all(update.costs, "costs", "finite numbers of at least 0", [](double cost) { return cost >= 0.0; });
    require_all(update.scales, "scales", "finite numbers above 0", [](double scale) { return scale > 0.0; });
    return Ascent(update, options).run();
}

}  // namespace arbora
