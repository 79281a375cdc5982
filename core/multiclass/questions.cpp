#include "multiclass/questions.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace arbora::multiclass {

namespace {

constexpr std::size_t kAtOnce = 1024;  // examples whose shares wait for their turn
constexpr std::size_t kFew = 64;       // up to here sums are made of sparse vectors, beyond in an array of all weights

// Σ shares[c] · x at the place of class c.
SparseVector blocks(const Row& row, std::span<const double> shares) {
    std::vector<std::uint32_t> used;
    for (std::size_t c = 0; c < shares.size(); ++c)
        if (shares[c] != 0.0) used.push_back(static_cast<std::uint32_t>(c));
    SparseVector result;
    result.indices.reserve(row.columns.size() * used.size());
    result.values.reserve(row.columns.size() * used.size());
    for (std::size_t f = 0; f < row.columns.size(); ++f) {
        const auto begin = row.columns[f] * static_cast<std::uint32_t>(shares.size());
        for (const std::uint32_t c : used) {
            const auto value = static_cast<float>(shares[c] * double{row.values[f]});
            if (value == 0.0F) continue;
            result.indices.push_back(begin + c);
            result.values.push_back(value);
        }
    }
    return result;
}

SparseVector difference(const Row& row, std::size_t classes, std::size_t right, std::size_t other) {
    std::vector<double> shares(classes);
    shares[right] += 1.0;
    shares[other] -= 1.0;
    return blocks(row, shares);
}

}  // namespace

Reply Candidates::best() const { return {first_loss_, first_margin_, difference(row_, classes_, right_, first_)}; }

std::vector<double> Candidates::gram() const {
    const std::size_t m = wrong_.size();
    double norm2 = 0.0;
    for (const float value : row_.values) norm2 += double{value} * double{value};
    std::vector<double> result(m * m, norm2);
    for (std::size_t j = 0; j < m; ++j) result[j * m + j] += norm2;
    return result;
}

void Candidates::add_to(Weights& w, std::span<const double> multipliers) const {
    if (multipliers.size() != wrong_.size())
        reject("multipliers: expected ", wrong_.size(), ", got ", multipliers.size());
    std::vector<double> shares(classes_);
    for (std::size_t j = 0; j < wrong_.size(); ++j) {
        shares[right_] += multipliers[j];
        shares[wrong_[j]] -= multipliers[j];
    }
    w.add(blocks(row_, shares), 1.0);
}

Questions::Questions(const Examples& examples, std::vector<std::int32_t> right, std::vector<double> costs, int threads)
    : examples_(&examples), right_(std::move(right)), costs_(std::move(costs)),
      classes_(static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(costs_.size()))))), threads_(threads) {
    if (classes_ == 0 || classes_ * classes_ != costs_.size()) reject("costs: expected a square matrix, got ", costs_.size(), " numbers");
    if (right_.size() != examples.size()) reject("classes: expected one for each of ", examples.size(), " examples, got ", right_.size());
    for (const std::int32_t c : right_)
        if (c < 0 || static_cast<std::size_t>(c) >= classes_) reject("classes: expected numbers from 0 to ", classes_ - 1, ", got ", c);
    for (std::size_t e = 0; e < costs_.size(); ++e) {
        const bool diagonal = e / classes_ == e % classes_;
        if (!std::isfinite(costs_[e]) || costs_[e] < 0.0 || (diagonal && costs_[e] != 0.0))
            reject("costs: expected finite numbers of at least 0, and 0 for the right class, got ", costs_[e]);
    }
    if (weight_count() > std::size_t{1} << 32)
        reject("examples: expected at most 2^32 weights, got ", examples.width(), " columns for ", classes_,
               " classes; hash features to fewer columns");
}

std::vector<double> Questions::scores(std::size_t i, const Weights& w, bool cost_augmented) const {
    std::vector<double> result(classes_);
    score(examples_->row(i), w.data(), w.scale(), result);
    if (cost_augmented)
        for (std::size_t c = 0; c < classes_; ++c) result[c] += cost(i, c);
    return result;
}

std::vector<std::size_t> Questions::ranked(std::span<const double> scores, std::size_t k) const {
    std::vector<std::size_t> order(classes_);
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(std::min(k, classes_));
    const auto better = [&](std::size_t a, std::size_t b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; };
    std::partial_sort(order.begin(), end, order.end(), better);
    order.erase(end, order.end());
    return order;
}

Questions::Shares Questions::shares(std::size_t i, const Weights& w, bool sums, bool cost_augmented) const {
    Shares result{0.0, scores(i, w, cost_augmented)};
    std::vector<double>& found = result.of_classes;
    const auto right = static_cast<std::size_t>(right_[i]);
    const auto best = static_cast<std::size_t>(std::max_element(found.begin(), found.end()) - found.begin());
    if (sums) {
        const double highest = found[best], of_right = found[right];
        double sum = 0.0;
        for (double& each : found) sum += each = std::exp(each - highest);
        for (double& each : found) each /= -sum;
        result.loss = highest + std::log(sum) - of_right;
    } else {
        std::fill(found.begin(), found.end(), 0.0);
        found[best] -= 1.0;
        result.loss = cost(i, best);
    }
    found[right] += 1.0;
    return result;
}

Reply Questions::ask(std::size_t i, const Weights& w, bool sums, bool cost_augmented) const {
    const auto one = static_cast<std::int64_t>(i);
    return total({&one, 1}, w, sums, cost_augmented);
}

std::vector<Reply> Questions::candidates(std::size_t i, const Weights& w, std::size_t k) const {
    check_weights(w, weight_count());
    const auto found = scores(i, w, false);
    const auto right = static_cast<std::size_t>(right_[i]);
    std::vector<Reply> replies;
    for (const std::size_t c : ranked(found, k))
        replies.push_back({cost(i, c), found[right] - found[c], difference(examples_->row(i), classes_, right, c)});
    return replies;
}

Candidates Questions::wrong_candidates(std::size_t i, const Weights& w, std::size_t k) const {
    check_weights(w, weight_count());
    const auto found = scores(i, w, false);
    const auto order = ranked(found, std::max<std::size_t>(k, 1));
    Candidates result;
    result.row_ = examples_->row(i);
    result.classes_ = classes_;
    result.right_ = static_cast<std::size_t>(right_[i]);
    result.first_ = order.front();
    result.first_loss_ = cost(i, order.front());
    result.first_margin_ = found[result.right_] - found[order.front()];
    for (const std::size_t c : order) {
        if (!(cost(i, c) > 0.0)) continue;
        result.wrong_.push_back(c);
        result.losses_.push_back(cost(i, c));
        result.margins_.push_back(found[result.right_] - found[c]);
    }
    return result;
}

// take(row, shares of classes) for each example, in order; returns the sum of losses.
template <class Take>
double Questions::each_of(std::span<const std::int64_t> chosen, const Weights& w, bool sums, bool cost_augmented, Take take) const {
    check_weights(w, weight_count());
    double loss = 0.0;
    each_piece<Shares>(chosen, threads_, kAtOnce, [&](std::size_t, std::size_t i) { return shares(i, w, sums, cost_augmented); },
                       [&](const std::vector<Shares>& found, std::size_t begin) {
                           for (std::size_t e = 0; e < found.size(); ++e) {
                               loss += found[e].loss;
                               take(examples_->row(static_cast<std::size_t>(chosen[begin + e])), found[e].of_classes);
                           }
                       });
    return loss;
}

Reply Questions::total(std::span<const std::int64_t> chosen, const Weights& w, bool sums, bool cost_augmented) const {
    Reply reply;
    if (chosen.size() <= kFew) {
        reply.loss = each_of(chosen, w, sums, cost_augmented, [&](const Row& row, std::span<const double> shares) {
            SparseVector one = blocks(row, shares);
            reply.difference = reply.difference.size() == 0 ? std::move(one) : add(reply.difference, one);
        });
    } else {
        std::vector<double> all(weight_count());
        reply.loss = each_of(chosen, w, sums, cost_augmented, [&](const Row& row, std::span<const double> shares) {
            for (std::size_t f = 0; f < row.columns.size(); ++f)
                for (std::size_t c = 0; c < classes_; ++c) all[row.columns[f] * classes_ + c] += shares[c] * double{row.values[f]};
        });
        for (std::size_t place = 0; place < all.size(); ++place) {
            const auto value = static_cast<float>(all[place]);
            if (value == 0.0F) continue;
            reply.difference.indices.push_back(static_cast<std::uint32_t>(place));
            reply.difference.values.push_back(value);
        }
    }
    reply.margin = w.dot(reply.difference);
    return reply;
}

double Questions::gradient(std::span<const std::int64_t> chosen, const Weights& w, double* gradient, bool sums, bool cost_augmented) const {
    return each_of(chosen, w, sums, cost_augmented, [&](const Row& row, std::span<const double> shares) {
        for (std::size_t f = 0; f < row.columns.size(); ++f)
            for (std::size_t c = 0; c < classes_; ++c) gradient[row.columns[f] * classes_ + c] -= shares[c] * double{row.values[f]};
    });
}

}  // namespace arbora::multiclass
