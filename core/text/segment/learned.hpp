// Weights while they are learned: steps adapted per weight [duchi-2011], and their mean over time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace arbora::segment {

// Weights on their way. The mean over steps 1 .. t is w - u / t, where a change d at step s adds (s - 1) d to u.
struct Learned {
    std::vector<float> w, squares;
    std::vector<double> u;
    double steps = 0.0;

    void start(std::size_t size);
    // w_j -= rate g / sqrt(G_j), after G_j += g², for the places of an example.
    void step(std::span<const std::uint32_t> places, double gradient, double rate);
    double score(std::span<const std::uint32_t> places) const;
    std::vector<float> mean() const;
};

}  // namespace arbora::segment
