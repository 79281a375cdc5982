#include "conll/string_table.hpp"

#include <cstring>
#include <limits>
#include <stdexcept>

namespace arbora::conll {

namespace {

constexpr std::size_t first_capacity = 64;
constexpr std::size_t packed_length = 8;  // strings up to here are their own key

template <class Word>
std::uint64_t load(const char* at) {
    Word value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

// Up to eight bytes as a number; with the length it determines them.
std::uint64_t pack(const char* at, std::size_t size) {
    if (size == 8) return load<std::uint64_t>(at);
    if (size >= 4) return load<std::uint32_t>(at) | load<std::uint32_t>(at + size - 4) << 32;
    if (size == 0) return 0;
    const auto byte = [&](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(at[i])}; };
    return byte(0) | byte(size / 2) << 8 | byte(size - 1) << 16;
}

// Multiplication to 128 bits, folded: every input bit reaches every output bit.
std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = Wide{a} * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

constexpr std::uint64_t odd1 = 0x9E3779B97F4A7C15, odd2 = 0xD6E8FEB86659FD93;

// Never stored, so it may differ between machines.
std::uint64_t key_of(std::string_view text) {
    if (text.size() <= packed_length) return pack(text.data(), text.size());
    const char* at = text.data();
    std::size_t left = text.size();
    std::uint64_t hash = odd1;
    for (; left > 8; at += 8, left -= 8) hash = mix(hash ^ load<std::uint64_t>(at), odd2);
    return mix(hash ^ pack(at, left), odd1);
}

std::size_t place_of(std::uint64_t key, std::uint32_t length) {
    return static_cast<std::size_t>(mix(key ^ (std::uint64_t{length} << 56), odd2));
}

}  // namespace

StringTable::StringTable() : slots_(first_capacity) { find_or_add("_"); }

std::int32_t StringTable::find_or_add(std::string_view text) {
    const std::uint64_t key = key_of(text);
    const auto length = static_cast<std::uint32_t>(text.size());
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = place_of(key, length) & mask;
    for (; slots_[at].id >= 0; at = (at + 1) & mask) {
        const Slot& slot = slots_[at];
        if (slot.key != key || slot.length != length) continue;
        if (length <= packed_length || (*this)[static_cast<std::size_t>(slot.id)] == text) return slot.id;
    }
    const std::int32_t id = add(text);
    slots_[at] = {key, length, id};
    if (2 * ends_.size() > slots_.size()) grow();
    return id;
}

std::int32_t StringTable::add(std::string_view text) {
    if (ends_.size() >= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
        throw std::length_error("more than 2^31 - 1 distinct strings in one column");
    text_.append(text);
    ends_.push_back(text_.size());
    return static_cast<std::int32_t>(ends_.size() - 1);
}

void StringTable::grow() {
    std::vector<Slot> bigger(2 * slots_.size());
    const std::size_t mask = bigger.size() - 1;
    for (const Slot& slot : slots_) {
        if (slot.id < 0) continue;
        std::size_t at = place_of(slot.key, slot.length) & mask;
        while (bigger[at].id >= 0) at = (at + 1) & mask;
        bigger[at] = slot;
    }
    slots_.swap(bigger);
}

}  // namespace arbora::conll
