#include "numeric/qp.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/errors.hpp"

namespace arbora {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr double kRidge = 1e-13;  // relative to the largest diagonal entry: planes may repeat

// Solves A x = y in place of y; A (m × m) is overwritten by its Cholesky factor. Returns false if A is not positive definite.
bool cholesky_solve(std::vector<double>& a, std::size_t m, std::vector<double>& x) {
    for (std::size_t j = 0; j < m; ++j) {
        for (std::size_t i = j; i < m; ++i) {
            double sum = a[i * m + j];
            for (std::size_t k = 0; k < j; ++k) sum -= a[i * m + k] * a[j * m + k];
            if (i == j && !(sum > 0.0)) return false;
            a[i * m + j] = i == j ? std::sqrt(sum) : sum / a[j * m + j];
        }
    }
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t k = 0; k < i; ++k) x[i] -= a[i * m + k] * x[k];
        x[i] /= a[i * m + i];
    }
    for (std::size_t i = m; i-- > 0;) {
        for (std::size_t k = i + 1; k < m; ++k) x[i] -= a[k * m + i] * x[k];
        x[i] /= a[i * m + i];
    }
    return true;
}

class Solver {
public:
    Solver(std::span<const double> gram, std::span<const double> linear, double cap, std::span<const double> start)
        : gram_(gram), linear_(linear), cap_(cap), k_(linear.size()), alpha_(k_, 0.0), gradient_(k_), rest_(cap) {
        for (std::size_t i = 0; i < k_; ++i) {
            largest_ = std::max(largest_, gram_[i * k_ + i]);
            largest_linear_ = std::max(largest_linear_, std::abs(linear_[i]));
        }
        begin_from(start);
        refresh();
    }

    QpResult solve(const QpOptions& options) {
        QpResult result;
        for (int round = 0; round < options.rounds && !result.converged; ++round) {
            for (std::size_t step = 0; step < 10 * k_ + 10 && move(options.tolerance); ++step) {}
            for (std::size_t step = 0; step < k_ + 1 && newton(); ++step) {}
            refresh();
            result.violation = worst_pair().violation;
            result.converged = result.violation <= bound(options.tolerance);
        }
        for (std::size_t i = 0; i < k_; ++i) result.objective += 0.5 * alpha_[i] * (linear_[i] + gradient_[i]);
        result.multipliers = std::move(alpha_);
        return result;
    }

private:
    static constexpr std::size_t kRest = static_cast<std::size_t>(-1);

    struct Pair {
        std::size_t up = kRest, down = kRest;
        double violation = 0.0;
    };

    double entry(std::size_t i, std::size_t j) const { return i == kRest || j == kRest ? 0.0 : gram_[i * k_ + j]; }
    double gradient(std::size_t i) const { return i == kRest ? 0.0 : gradient_[i]; }
    // <d_i - d_g, d_j - d_g>: the curvature of moving mass from g to i and j.
    double exchange(std::size_t i, std::size_t j, std::size_t g) const {
        return (entry(i, j) - entry(i, g)) - (entry(g, j) - entry(g, g));
    }
    double& amount(std::size_t i) { return i == kRest ? rest_ : alpha_[i]; }
    bool is_flat(double curvature) const { return curvature <= kRidge * largest_; }

    // The rounding error of the gradient: it is a difference of sums of this size.
    double bound(double tolerance) const {
        double mass = 0.0;
        for (const double a : alpha_) mass += a;
        return tolerance * largest_linear_ + 8.0 * kEpsilon * (largest_linear_ + largest_ * mass);
    }

    void begin_from(std::span<const double> start) {
        double mass = 0.0;
        for (std::size_t i = 0; i < start.size(); ++i) mass += alpha_[i] = start[i];
        if (mass > cap_) {
            for (auto& a : alpha_) a *= cap_ / mass;
            mass = cap_;
        }
        if (cap_ != kInf) rest_ = cap_ - mass;
    }

    // Computed from scratch, so that rounding errors do not accumulate over moves.
    void refresh() {
        double mass = 0.0;
        for (std::size_t i = 0; i < k_; ++i) {
            double sum = 0.0;
            for (std::size_t j = 0; j < k_; ++j) sum += gram_[i * k_ + j] * alpha_[j];
            gradient_[i] = linear_[i] - sum;
            mass += alpha_[i];
        }
        if (cap_ != kInf && rest_ > 0.0) rest_ = std::max(0.0, cap_ - mass);
    }

    Pair worst_pair() const {
        Pair pair;
        double highest = 0.0, lowest = rest_ > 0.0 ? 0.0 : kInf;
        for (std::size_t i = 0; i < k_; ++i) {
            const bool unservable = cap_ == kInf && is_flat(gram_[i * k_ + i]);
            if (gradient_[i] > highest && !unservable) highest = gradient_[i], pair.up = i;
            if (gradient_[i] < lowest && alpha_[i] > 0.0) lowest = gradient_[i], pair.down = i;
        }
        pair.violation = lowest == kInf ? 0.0 : highest - lowest;
        return pair;
    }

    // One exchange of mass between the worst pair; false if nothing can be gained.
    bool move(double tolerance) {
        const auto [up, down, violation] = worst_pair();
        if (violation <= bound(tolerance) || up == down) return false;
        const double curvature = exchange(up, up, down);
        const double step = is_flat(curvature) ? amount(down) : std::min(amount(down), violation / curvature);
        if (step == kInf || step <= 0.0) return false;
        amount(up) += step;
        amount(down) = step == amount(down) ? 0.0 : amount(down) - step;
        for (std::size_t i = 0; i < k_; ++i) gradient_[i] -= step * (entry(i, up) - entry(i, down));
        return true;
    }

    // One step towards the maximum over the positive multipliers; true if it reached a border, so that another may follow. One of
    // them, `giver`, balances the others, so that the sum cannot drift: the slack, or, if that is used up, the largest.
    bool newton() {
        std::vector<std::size_t> takers;
        std::size_t giver = kRest;
        for (std::size_t i = 0; i < k_; ++i)
            if (alpha_[i] > 0.0) takers.push_back(i);
        if (!(rest_ > 0.0) && !takers.empty()) {
            const auto largest = std::max_element(takers.begin(), takers.end(), [&](auto a, auto b) { return alpha_[a] < alpha_[b]; });
            giver = *largest;
            takers.erase(largest);
        }
        const std::size_t m = takers.size();
        if (m == 0) return false;
        std::vector<double> matrix(m * m), direction(m);
        double largest = 0.0;
        for (std::size_t i = 0; i < m; ++i) {
            for (std::size_t j = 0; j < m; ++j) matrix[i * m + j] = exchange(takers[i], takers[j], giver);
            largest = std::max(largest, matrix[i * m + i]);
            direction[i] = gradient(takers[i]) - gradient(giver);
        }
        for (std::size_t i = 0; i < m; ++i) matrix[i * m + i] += kRidge * largest;
        return cholesky_solve(matrix, m, direction) && advance(takers, direction, giver);
    }

    // Moves along the direction as far as f rises or the border allows; true if it reached the border.
    bool advance(const std::vector<std::size_t>& takers, const std::vector<double>& direction, std::size_t giver) {
        const std::size_t m = takers.size();
        double rise = 0.0, curvature = 0.0, given = 0.0, limit = kInf;
        std::size_t blocking = giver;
        const auto meet = [&](std::size_t which, double change) {
            const double room = change < 0.0 ? amount(which) / -change : kInf;
            if (room < limit) limit = room, blocking = which;
        };
        for (std::size_t i = 0; i < m; ++i) {
            rise += (gradient(takers[i]) - gradient(giver)) * direction[i];
            for (std::size_t j = 0; j < m; ++j) curvature += direction[i] * exchange(takers[i], takers[j], giver) * direction[j];
            given += direction[i];
            meet(takers[i], direction[i]);
        }
        meet(giver, -given);
        const double top = curvature > 0.0 ? rise / curvature : kInf;
        const double step = std::min(limit, top);
        // Far beyond the Newton point only if f is flat; without a cap that has no end.
        if (!(rise > 0.0) || !std::isfinite(step) || (cap_ == kInf && step > 2.0)) return false;
        for (std::size_t i = 0; i < m; ++i) amount(takers[i]) = std::max(0.0, amount(takers[i]) + step * direction[i]);
        amount(giver) = std::max(0.0, amount(giver) - step * given);
        if (limit <= top) amount(blocking) = 0.0;
        refresh();
        return limit <= top;
    }

    std::span<const double> gram_, linear_;
    double cap_;
    std::size_t k_;
    std::vector<double> alpha_, gradient_;
    double rest_;  // of the cap
    double largest_ = 0.0, largest_linear_ = 0.0;
};

void require(std::span<const double> numbers, const char* what, double least) {
    for (const double number : numbers)
        if (!std::isfinite(number) || number < least)
            reject("quadratic program: ", what, " must hold finite numbers", least == 0.0 ? " of at least 0" : "", ", got ", number);
}

}  // namespace

QpResult solve_qp(std::span<const double> gram, std::span<const double> linear, double cap, std::span<const double> start,
                  const QpOptions& options) {
    const std::size_t k = linear.size();
    if (gram.size() != k * k)
        reject("quadratic program: the matrix must have ", k, " x ", k, " entries, as there are linear terms, got ", gram.size());
    if (!start.empty() && start.size() != k) reject("quadratic program: start must have ", k, " entries, got ", start.size());
    if (!(cap > 0.0)) reject("quadratic program: the cap must be above 0, got ", cap);
    require(gram, "the matrix", -kInf);
    require(linear, "the linear term", -kInf);
    require(start, "start", 0.0);
    return Solver(gram, linear, cap, start).solve(options);
}

}  // namespace arbora
