// The core's exceptions; bindings/module.cpp maps each to a Python class of arbora.errors.
#pragma once

#include <stdexcept>

namespace arbora {

// An argument has the wrong shape or an impossible value.
struct InputError : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

// The constraints leave no tree.
struct NoTreeError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace arbora
