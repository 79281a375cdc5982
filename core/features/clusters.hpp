// Word clusters: leaves of a binary tree, so that words are similar at several depths [koo-2008].
//
// A cluster's code is a 1 followed by the branches from the root, one bit each: 0b1011 is left, right, right. The first k branches
// name a larger cluster that contains all below it. A word without a cluster has the code 0.
// Words are identified by a 32-bit hash, so a table takes six bytes per word. A lookup is a binary search.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/errors.hpp"
#include "base/text.hpp"
#include "features/hash.hpp"

namespace arbora::feature {

using ClusterCode = std::uint16_t;

// The first `bits` branches of a code; the whole code if it is shorter.
constexpr ClusterCode cluster_prefix(ClusterCode code, int bits) {
    const int length = std::bit_width(code) - 1;
    return length > bits ? static_cast<ClusterCode>(code >> (length - bits)) : code;
}

class Clusters {
public:
    // The code of each word; of two words with the same hash, the first counts.
    static Clusters of(const std::vector<std::string>& words, const std::vector<ClusterCode>& codes) {
        if (words.size() != codes.size()) throw InputError("clusters: expected a code for each word");
        std::vector<std::size_t> order(words.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::vector<std::uint32_t> hashes;
        for (const auto& word : words) hashes.push_back(key(word));
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return hashes[a] < hashes[b]; });
        order.erase(std::unique(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return hashes[a] == hashes[b]; }), order.end());
        std::vector<std::uint32_t> keys;
        std::vector<ClusterCode> sorted;
        for (const std::size_t i : order) {
            keys.push_back(hashes[i]);
            sorted.push_back(codes[i]);
        }
        return {std::move(keys), std::move(sorted)};
    }
    // The output of `keys()` and `codes()`. Throws InputError unless keys ascend and all codes are valid.
    Clusters(std::vector<std::uint32_t> keys, std::vector<ClusterCode> codes) : keys_(std::move(keys)), codes_(std::move(codes)) {
        if (keys_.size() != codes_.size()) throw InputError("clusters: expected a code for each key");
        if (std::adjacent_find(keys_.begin(), keys_.end(), [](auto a, auto b) { return a >= b; }) != keys_.end())
            throw InputError("clusters: expected ascending keys");
        if (std::find(codes_.begin(), codes_.end(), 0) != codes_.end()) throw InputError("clusters: expected codes above 0");
    }

    // The code of the word as written, else of the word in lower case; 0: both are unknown.
    ClusterCode find(std::string_view form) const {
        const ClusterCode code = find_key(key(form));
        return code != 0 ? code : find_key(key(text::lowered(form)));
    }

    const std::vector<std::uint32_t>& keys() const { return keys_; }
    const std::vector<ClusterCode>& codes() const { return codes_; }

private:
    static std::uint32_t key(std::string_view word) { return static_cast<std::uint32_t>(hash_text(word, 0x636c7573)); }
    ClusterCode find_key(std::uint32_t key) const {
        const auto found = std::lower_bound(keys_.begin(), keys_.end(), key);
        return found == keys_.end() || *found != key ? ClusterCode{0} : codes_[static_cast<std::size_t>(found - keys_.begin())];
    }

    std::vector<std::uint32_t> keys_;
    std::vector<ClusterCode> codes_;
};

}  // namespace arbora::feature
