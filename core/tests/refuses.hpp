// Whether a call is refused as a caller's mistake.
#pragma once

#include "errors/errors.hpp"

template <class Call>
bool refuses(Call call) {
    try {
        call();
    } catch (const arbora::InputError&) {
        return true;
    }
    return false;
}
