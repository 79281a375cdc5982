#include "text/segment/learned.hpp"

#include <cmath>

namespace arbora::segment {

void Learned::start(std::size_t size) {
    w.assign(size, 0.0f);
    squares.assign(size, 0.0f);
    u.assign(size, 0.0);
}

void Learned::step(std::span<const std::uint32_t> places, double gradient, double rate) {
    const auto square = static_cast<float>(gradient * gradient);
    for (const std::uint32_t place : places) {
        squares[place] += square;
        const float change = -static_cast<float>(rate * gradient) / std::sqrt(squares[place] + 1e-6f);
        w[place] += change;
        u[place] += (steps - 1.0) * static_cast<double>(change);
    }
}

double Learned::score(std::span<const std::uint32_t> places) const {
    double sum = 0.0;
    for (const std::uint32_t place : places) sum += static_cast<double>(w[place]);
    return sum;
}

std::vector<float> Learned::mean() const {
    std::vector<float> result(w);
    if (steps > 0)
        for (std::size_t i = 0; i < w.size(); ++i) result[i] = static_cast<float>(static_cast<double>(w[i]) - u[i] / steps);
    return result;
}

}  // namespace arbora::segment
