// Whether a call raises InputError.
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
