// Interning: every distinct string gets one number, in order of first appearance.
//
// One arena for the text, one open-addressing table with linear probing. A slot holds the length and a key. Strings of up to eight
// bytes are their own key, so looking one up touches one slot. For longer strings the key is a hash, and the strings are compared.
// O(length) per call, O(distinct text) space. Id 0 is always "_", the empty value of CoNLL, which needs no lookup.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace arbora::conll {

class StringTable {
public:
    StringTable();

    // The number of `text`, which is added if it is new. Throws std::length_error past 2^31 - 1 strings.
    std::int32_t intern(std::string_view text) {
        if (text.size() == 1 && text[0] == '_') return 0;
        return find_or_add(text);
    }

    std::size_t size() const { return ends_.size(); }

    // The string with this number; valid until the next intern().
    std::string_view operator[](std::size_t id) const {
        const std::size_t begin = id == 0 ? 0 : ends_[id - 1];
        return std::string_view(text_).substr(begin, ends_[id] - begin);
    }

private:
    struct Slot {
        std::uint64_t key = 0;
        std::uint32_t length = 0;
        std::int32_t id = -1;  // -1: free
    };

    std::int32_t find_or_add(std::string_view text);
    std::int32_t add(std::string_view text);
    void grow();

    std::string text_;
    std::vector<std::size_t> ends_;
    std::vector<Slot> slots_;  // size is a power of two, at most half full
};

}  // namespace arbora::conll
