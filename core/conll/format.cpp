#include "conll/format.hpp"

#include "base/text.hpp"

namespace arbora::conll {

namespace {

constexpr std::size_t longest_quote = 40;

void append_escaped(std::string& out, unsigned char byte) {
    constexpr const char* digits = "0123456789abcdef";
    out += "\\x";
    out += digits[byte >> 4];
    out += digits[byte & 15];
}

}  // namespace

std::string quote(std::string_view text) {
    std::string out = "\"";
    std::size_t at = 0;
    while (at < text.size() && at < longest_quote) {
        const std::size_t length = text::utf8_length(text, at);
        const auto byte = static_cast<unsigned char>(text[at]);
        if (length == 0 || byte < 0x20 || byte == 0x7F) {
            append_escaped(out, byte);
            ++at;
        } else {
            out.append(text, at, length);
            at += length;
        }
    }
    out += at < text.size() ? "...\"" : "\"";
    return out;
}

}  // namespace arbora::conll
