// What another parser, the guide, says about an arc [nivre-2008]: how its tree stands to it, as one value of a feature.
//
// Whether the guide has the arc is what matters most; where it has not, its errors are mostly near: the head's own head, a sibling, the
// arc turned round. O(1) per arc.
#pragma once

#include <array>
#include <cstdint>

#include "features/encoded.hpp"
#include "features/hash.hpp"

namespace arbora::feature {

enum class Agreement : std::uint8_t {
    same,        // the guide has h -> d
    turned,      // it has d -> h
    above,       // h is the head of its head of d
    beside,      // h and d have the same head
    same_side,   // its head of d is another, on h's side of d
    other_side,  // and on the other side
};
inline constexpr int kAgreements = 6;

// sentence: with a guide's heads. head: -1 where it is not known.
inline Agreement agreement(const Sentence& sentence, int head, int dep) {
    const std::int32_t* guide = sentence.guide_heads;
    const std::int32_t theirs = guide[dep];
    if (theirs == head) return Agreement::same;
    if (head > 0 && guide[head] == dep) return Agreement::turned;
    if (theirs > 0 && guide[theirs] == head) return Agreement::above;
    if (head > 0 && guide[head] == theirs) return Agreement::beside;
    return (theirs < dep) == (head < dep) ? Agreement::same_side : Agreement::other_side;
}

namespace detail {

constexpr std::array<std::uint32_t, kAgreements> agreement_values() {
    std::array<std::uint32_t, kAgreements> values{};
    for (std::size_t a = 0; a < values.size(); ++a) values[a] = static_cast<std::uint32_t>(mix(0x6775696465ULL + (a + 1) * 2654435761ULL));
    return values;
}
inline constexpr auto kAgreementValues = agreement_values();

}  // namespace detail

// What it adds to the places of templates about the guide.
inline std::uint32_t agreement_value(const Sentence& sentence, int head, int dep) {
    return detail::kAgreementValues[static_cast<std::size_t>(agreement(sentence, head, dep))];
}

}  // namespace arbora::feature
