// Text and enum conversion shared by bindings; arrays.hpp converts arrays.
#pragma once

#include <nanobind/nanobind.h>

#include <string_view>

#include "conll/string_table.hpp"

namespace arbora::bindings {

namespace nb = nanobind;

// A Python str of valid UTF-8.
inline nb::str to_str(std::string_view text) { return nb::str(text.data(), text.size()); }

// All strings of a table, in order of their numbers.
inline nb::list to_list(const conll::StringTable& table) {
    nb::list strings;
    for (std::size_t id = 0; id < table.size(); ++id) strings.append(to_str(table[id]));
    return strings;
}

}  // namespace arbora::bindings
