// The hash for features. It locates weights in saved models, so it never changes: a better one gets a new version.
//
// Texts become 32-bit values once, when a sentence is encoded. A feature is a conjunction of such values, one per atom of its
// template. Its place in the table is a sum of value x odd factor over the atoms (multilinear hashing), so the part that depends on
// one word is summed once per word.
#pragma once

#include <cstdint>
#include <string_view>

namespace arbora::feature {

inline constexpr int kHashVersion = 1;

// A bijection in which every input bit affects every output bit.
constexpr std::uint64_t mix(std::uint64_t x) {
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93ULL;
    x ^= x >> 29;
    x *= 0xa0761d6478bd642fULL;
    x ^= x >> 32;
    return x;
}

// Little-endian words of eight bytes, the last one padded with zeros; includes the length. O(length).
inline std::uint64_t hash_text(std::string_view text, std::uint64_t seed) {
    std::uint64_t state = mix(seed ^ (text.size() * 0x9e3779b97f4a7c15ULL));
    while (!text.empty()) {
        const std::size_t count = text.size() < 8 ? text.size() : 8;
        std::uint64_t word = 0;
        for (std::size_t i = 0; i < count; ++i) word |= std::uint64_t{static_cast<unsigned char>(text[i])} << (8 * i);
        state = mix(state ^ word) + word;
        text.remove_prefix(count);
    }
    return mix(state);
}

// A number as the value of an atom: a label, a count, a distance; `name` distinguishes the kinds.
constexpr std::uint32_t number_value(std::uint64_t name, std::uint64_t number) {
    return static_cast<std::uint32_t>(mix(name + number * 2654435761ULL));
}

// The constants of one template, by its kind and its number within the kind.
struct TemplateHash {
    std::uint64_t kind, number;

    constexpr std::uint32_t seed() const { return static_cast<std::uint32_t>(mix(kind << 40 | number << 8)); }
    // Odd, and different for every atom.
    constexpr std::uint32_t factor(std::size_t atom) const { return static_cast<std::uint32_t>(mix(kind << 40 | number << 8 | (atom + 1))) | 1; }
};

}  // namespace arbora::feature
