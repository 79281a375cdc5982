// Whether a call is refused as a caller's mistake.
#pragma once

#include "base/errors.hpp"

template <class Call>
bool refuses(Call call) {
    try {
        call();
    } catch (const arbora::InputError&) {
        return true;
    }
    return false;
}
