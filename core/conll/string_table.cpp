#include "conll/string_table.hpp"

#include <cstring>
#include <limits>
#include <stdexcept>

namespace arbora::conll {

namespace {

constexpr std::size_t first_capacity = 64;

std::uint64_t load8(const char* at) {
    std::uint64_t value;
    std::memcpy(&value, at, 8);
    return value;
}

std::uint64_t load4(const char* at) {
    std::uint32_t value;
    std::memcpy(&value, at, 4);
    return value;
}

// One to seven bytes, each of them used at least once.
std::uint64_t load_tail(const char* at, std::size_t size) {
    if (size >= 4) return load4(at) | load4(at + size - 4) << 32;
    const auto byte = [&](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(at[i])}; };
    return byte(0) | byte(size / 2) << 8 | byte(size - 1) << 16;
}

// Multiplication to 128 bits, folded: every input bit reaches every output bit.
std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = Wide{a} * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// Never stored, so it need not be the same on every machine.
std::uint32_t hash_of(std::string_view text) {
    constexpr std::uint64_t odd1 = 0x9E3779B97F4A7C15, odd2 = 0xD6E8FEB86659FD93;
    const char* at = text.data();
    std::size_t left = text.size();
    std::uint64_t hash = odd1 ^ left;
    for (; left >= 8; at += 8, left -= 8) hash = mix(hash ^ load8(at), odd2);
    if (left > 0) hash = mix(hash ^ load_tail(at, left), odd1);
    return static_cast<std::uint32_t>(hash ^ hash >> 32);
}

}  // namespace

StringTable::StringTable() : slots_(first_capacity, Slot{0, -1}) { find_or_add("_"); }

std::int32_t StringTable::find_or_add(std::string_view text) {
    const std::uint32_t hash = hash_of(text);
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash & mask;
    while (slots_[at].id >= 0) {
        if (slots_[at].hash == hash && (*this)[static_cast<std::size_t>(slots_[at].id)] == text) return slots_[at].id;
        at = (at + 1) & mask;
    }
    const std::int32_t id = add(text);
    slots_[at] = {hash, id};
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
    std::vector<Slot> bigger(2 * slots_.size(), Slot{0, -1});
    const std::size_t mask = bigger.size() - 1;
    for (const Slot& slot : slots_) {
        if (slot.id < 0) continue;
        std::size_t at = slot.hash & mask;
        while (bigger[at].id >= 0) at = (at + 1) & mask;
        bigger[at] = slot;
    }
    slots_.swap(bigger);
}

}  // namespace arbora::conll
