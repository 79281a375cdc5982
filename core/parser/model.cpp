#include "parser/model.hpp"

namespace arbora::graph {

LabelSets::LabelSets(const std::vector<std::uint8_t>& seen, int labels) {
    using feature::kTags;
    const auto count = static_cast<std::size_t>(labels);
    std::vector<std::uint8_t> by_dep(kTags * count, 0);
    for (std::size_t pair = 0; pair < kTags * kTags; ++pair)
        for (std::size_t l = 0; l < count; ++l) by_dep[pair % kTags * count + l] |= seen[pair * count + l];
    const auto append = [&](const std::uint8_t* flags) {
        const std::size_t before = labels_.size();
        for (std::size_t l = 0; l < count; ++l)
            if (flags[l]) labels_.push_back(static_cast<std::uint16_t>(l));
        return labels_.size() > before;
    };
    const std::vector<std::uint8_t> every(count, 1);
    for (std::size_t pair = 0; pair < kTags * kTags; ++pair) {
        first_.push_back(static_cast<std::uint32_t>(labels_.size()));
        if (!append(seen.data() + pair * count) && !append(by_dep.data() + pair % kTags * count)) append(every.data());
    }
    first_.push_back(static_cast<std::uint32_t>(labels_.size()));
}

}  // namespace arbora::graph
