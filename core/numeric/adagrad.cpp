#include "numeric/adagrad.hpp"

#include <utility>

#include "base/errors.hpp"

namespace arbora {

Adagrad::Adagrad(std::size_t size, double rate, double penalty, double floor)
    : Adagrad(AdagradState{LargeVector<float>(size, 0.0F), LargeVector<std::uint32_t>(size, 0), 0}, rate, penalty, floor) {}

Adagrad::Adagrad(AdagradState state, double rate, double penalty, double floor)
    : state_(std::move(state)), rate_(rate), penalty_(penalty), floor_(floor) {
    if (!(rate > 0.0 && std::isfinite(rate) && penalty >= 0.0 && std::isfinite(penalty) && floor > 0.0 && std::isfinite(floor)))
        reject("Adagrad: expected a rate and a floor above 0 and a penalty of at least 0, got ", rate, ", ", floor, " and ", penalty);
    if (state_.squares.size() != state_.paid.size())
        reject("Adagrad: a state has as many squares as steps paid, got ", state_.squares.size(), " and ", state_.paid.size());
}

void Adagrad::require_size(const Weights& w) const {
    if (w.size() != state_.squares.size()) reject("Adagrad: expected ", state_.squares.size(), " weights, got ", w.size());
}

void Adagrad::step(Weights& w, const SparseVector& ascent, double factor) {
    require_size(w);
    if (ascent.size() > 0 && ascent.indices.back() >= w.size())
        reject("Adagrad: a gradient with index ", ascent.indices.back(), ", but there are only ", w.size(), " weights");
    ++state_.steps;
    SparseVector moves{ascent.indices, std::vector<float>(ascent.size())};
    for (std::size_t i = 0; i < ascent.size(); ++i) {
        const std::uint32_t j = ascent.indices[i];
        const double up = factor * double{ascent.values[i]};
        state_.squares[j] = static_cast<float>(state_.squares[j] + up * up);
        const auto [height, owed] = denominator(j);
        const double before = w.scale() * double{w.data()[j]};
        moves.values[i] = static_cast<float>((height * before + rate_ * up) / (height + owed) - before);
        state_.paid[j] = state_.steps;
    }
    w.add(moves, 1.0);
}

void Adagrad::settle(Weights& w) {
    require_size(w);
    SparseVector moves;
    for (std::size_t j = 0; j < w.size(); ++j) {
        const double before = w.scale() * double{w.data()[j]};
        if (before != 0.0 && penalty_ > 0.0 && state_.paid[j] != state_.steps) {
            const auto [height, owed] = denominator(j);
            moves.indices.push_back(static_cast<std::uint32_t>(j));
            moves.values.push_back(static_cast<float>(-before * owed / (height + owed)));
        }
        state_.paid[j] = state_.steps;
    }
    w.add(moves, 1.0);
}

double BinaryAdagrad::score(std::span<const std::uint32_t> places) const {
    double sum = 0.0;
    for (const std::uint32_t place : places) sum += double{w_[place]};
    return sum;
}

void BinaryAdagrad::step(std::span<const std::uint32_t> places, double gradient, double rate) {
    const auto square = static_cast<float>(gradient * gradient);
    for (const std::uint32_t place : places) {
        squares_[place] += square;
        const float change = -static_cast<float>(rate * gradient) / std::sqrt(squares_[place] + 1e-6F);
        w_[place] += change;
        u_[place] += (steps_ - 1.0) * double{change};
    }
}

std::vector<float> BinaryAdagrad::mean() const {
    std::vector<float> result(w_);
    for (std::size_t i = 0; steps_ > 0 && i < w_.size(); ++i) result[i] = static_cast<float>(double{w_[i]} - u_[i] / steps_);
    return result;
}

}  // namespace arbora
