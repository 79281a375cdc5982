// Loops over the sentences of a batch in blocks, so that layers see many rows at once while memory stays bounded.
#pragma once

#include <cstddef>
#include <vector>

#include "base/parallel.hpp"
#include "neural/network.hpp"

namespace arbora::neural {

// body(begin, end): sentences from `begin` to `end`, consecutive ones with about kBlockRows rows in total.
template <class Body>
void each_block(const States& states, int threads, Body body) {
    constexpr std::size_t kBlockRows = 256;
    std::vector<std::size_t> starts{0};
    for (std::size_t s = 0; s < states.sentences(); ++s)
        if (states.first[s + 1] - states.first[starts.back()] >= kBlockRows || s + 1 == states.sentences()) starts.push_back(s + 1);
    parallel_for(starts.size() - 1, threads, [&](int, std::size_t block) { body(starts[block], starts[block + 1]); });
}

}  // namespace arbora::neural
