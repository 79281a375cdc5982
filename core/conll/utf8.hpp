// UTF-8 validation after the Unicode standard (no overlong forms, no surrogates, nothing above U+10FFFF).
#pragma once

#include <cstddef>
#include <string_view>

namespace arbora::conll {

// Length in bytes of the well-formed character that starts at text[at]; 0 if there is none. O(1).
std::size_t utf8_length(std::string_view text, std::size_t at);

// Position of the first byte that is not part of a well-formed character; text.size() if all is well. O(size).
std::size_t first_bad_utf8(std::string_view text);

}  // namespace arbora::conll
