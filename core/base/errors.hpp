// The core's exceptions; bindings/module.cpp maps each to a Python class of arbora.errors.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace arbora {

// An argument has the wrong shape or an impossible value.
struct InputError : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

// Throws InputError with all arguments (texts and numbers) joined.
template <class... Parts>
[[noreturn]] void reject(const Parts&... parts) {
    std::string text;
    const auto add = [&](const auto& part) {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(part)>>) text += std::to_string(part);
        else text += part;
    };
    (add(parts), ...);
    throw InputError(text);
}

// Throws InputError unless `offsets` ascend from 0 to `count`.
inline void check_offsets(const char* what, std::span<const std::int64_t> offsets, std::size_t count) {
    const bool sound = !offsets.empty() && offsets.front() == 0 && std::is_sorted(offsets.begin(), offsets.end());
    if (!sound || static_cast<std::size_t>(offsets.back()) != count) reject(what, ": expected ascending offsets from 0 to ", count);
}

// The constraints leave no tree.
struct NoTreeError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace arbora
