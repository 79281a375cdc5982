#include "conll/utf8.hpp"

#include <cstdint>

namespace arbora::conll {

namespace {

bool is_continuation(unsigned char byte) { return (byte & 0xC0) == 0x80; }

}  // namespace

std::size_t utf8_length(std::string_view text, std::size_t at) {
    const std::size_t left = text.size() - at;
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
    const unsigned char lead = byte(0);
    if (lead < 0x80) return 1;
    if (lead < 0xC2) return 0;  // a continuation byte, or an overlong form of ASCII
    if (lead < 0xE0) return left >= 2 && is_continuation(byte(1)) ? 2 : 0;
    if (lead < 0xF0) {
        if (left < 3 || !is_continuation(byte(1)) || !is_continuation(byte(2))) return 0;
        if (lead == 0xE0 && byte(1) < 0xA0) return 0;   // overlong
        if (lead == 0xED && byte(1) >= 0xA0) return 0;  // surrogate
        return 3;
    }
    if (lead > 0xF4 || left < 4) return 0;
    if (!is_continuation(byte(1)) || !is_continuation(byte(2)) || !is_continuation(byte(3))) return 0;
    if (lead == 0xF0 && byte(1) < 0x90) return 0;   // overlong
    if (lead == 0xF4 && byte(1) >= 0x90) return 0;  // above U+10FFFF
    return 4;
}

std::size_t first_bad_utf8(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t length = utf8_length(text, at);
        if (length == 0) return at;
        at += length;
    }
    return at;
}

}  // namespace arbora::conll
