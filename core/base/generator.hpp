// A small random generator whose stream is the same on every machine (std's distributions are not).
// State update: xoshiro256++ [blackman-2021], seeded by splitmix64.
#pragma once

#include <cstdint>

namespace arbora {

class Generator {
public:
    // One stream per (seed, stream): a batch gives each sentence its own, so results do not depend on the number of threads.
    Generator(std::uint64_t seed, std::uint64_t stream) {
        std::uint64_t mix = seed + 0x9e3779b97f4a7c15ULL * (2 * stream + 1);
        for (auto& word : state_) {
            mix += 0x9e3779b97f4a7c15ULL;
            std::uint64_t z = mix;
            z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
            z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
            word = z ^ (z >> 31);
        }
    }

    std::uint64_t next() {
        const std::uint64_t result = rotate(state_[0] + state_[3], 23) + state_[0];
        const std::uint64_t shifted = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= shifted;
        state_[3] = rotate(state_[3], 45);
        return result;
    }

    // In [0, 1).
    double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

private:
    static std::uint64_t rotate(std::uint64_t x, int by) { return (x << by) | (x >> (64 - by)); }

    std::uint64_t state_[4];
};

}  // namespace arbora
