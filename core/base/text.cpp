#include "base/text.hpp"

namespace arbora::text {

namespace {

char kind_of(char c) {
    if (c >= 'A' && c <= 'Z') return 'X';
    if ((c >= 'a' && c <= 'z') || (c & 0x80)) return 'x';
    return c >= '0' && c <= '9' ? 'd' : c;
}

unsigned small_letter(unsigned letter) {
    if ((letter >= 0xc0 && letter <= 0xde && letter != 0xd7) || (letter >= 0x391 && letter <= 0x3a9) || (letter >= 0x410 && letter <= 0x42f))
        return letter + 0x20;
    if (letter >= 0x400 && letter <= 0x40f) return letter + 0x50;
    if ((letter >= 0x100 && letter <= 0x137) || (letter >= 0x14a && letter <= 0x177)) return letter | 1;
    return letter;
}

unsigned capital_letter(unsigned letter) {
    if ((letter >= 0xe0 && letter <= 0xfe && letter != 0xf7) || (letter >= 0x3b1 && letter <= 0x3c9 && letter != 0x3c2) ||
        (letter >= 0x430 && letter <= 0x44f))
        return letter - 0x20;
    if (letter >= 0x450 && letter <= 0x45f) return letter - 0x50;
    if ((letter >= 0x100 && letter <= 0x137) || (letter >= 0x14a && letter <= 0x177)) return letter & ~1U;
    return letter;
}

// Letters of two bytes, U+00C0 to U+043F and beyond, stay two bytes long.
template <class One, class Two>
std::string with_letters(std::string_view text, One one, Two two) {
    std::string result(text);
    for (std::size_t i = 0; i < result.size(); ++i) {
        const auto first = static_cast<unsigned char>(result[i]);
        if (first < 0x80) result[i] = one(result[i]);
        if (first < 0xc3 || first > 0xd1 || i + 1 >= result.size()) continue;
        const unsigned letter = two((first & 0x1fU) << 6 | (static_cast<unsigned char>(result[i + 1]) & 0x3fU));
        result[i] = static_cast<char>(0xc0 | letter >> 6);
        result[++i] = static_cast<char>(0x80 | (letter & 0x3f));
    }
    return result;
}

}  // namespace

std::size_t utf8_length(std::string_view text, std::size_t at) {
    const std::size_t left = text.size() - at;
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
    const auto continues = [&](std::size_t i) { return !starts_character(text[at + i]); };
    const unsigned char lead = byte(0);
    if (lead < 0x80) return 1;
    if (lead < 0xC2) return 0;  // a continuation byte, or an overlong form of ASCII
    if (lead < 0xE0) return left >= 2 && continues(1) ? 2 : 0;
    if (lead < 0xF0) {
        if (left < 3 || !continues(1) || !continues(2)) return 0;
        if (lead == 0xE0 && byte(1) < 0xA0) return 0;   // overlong
        if (lead == 0xED && byte(1) >= 0xA0) return 0;  // surrogate
        return 3;
    }
    if (lead > 0xF4 || left < 4) return 0;
    if (!continues(1) || !continues(2) || !continues(3)) return 0;
    if (lead == 0xF0 && byte(1) < 0x90) return 0;   // overlong
    if (lead == 0xF4 && byte(1) >= 0x90) return 0;  // above U+10FFFF
    return 4;
}

std::size_t first_bad_utf8(std::string_view text) {
    std::size_t at = 0;
    for (std::size_t length = 1; at < text.size() && (length = utf8_length(text, at)) > 0;) at += length;
    return at;
}

void append(std::uint32_t code, std::string& out) {
    const int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    constexpr std::uint32_t kLead[] = {0, 0xC0, 0xE0, 0xF0};
    out += static_cast<char>(kLead[more] | code >> (6 * more));
    for (int left = more - 1; left >= 0; --left) out += static_cast<char>(0x80 | (code >> (6 * left) & 0x3F));
}

std::size_t characters(std::string_view text) {
    std::size_t count = 0;
    for (const char c : text) count += starts_character(c);
    return count;
}

std::string_view first_characters(std::string_view text, std::size_t count) {
    std::size_t at = 0;
    for (; at < text.size(); ++at)
        if (starts_character(text[at]) && count-- == 0) break;
    return text.substr(0, at);
}

std::string_view last_characters(std::string_view text, std::size_t count) {
    std::size_t at = text.size();
    while (at > 0 && count > 0)
        if (starts_character(text[--at])) --count;
    return text.substr(at);
}

std::string lowered(std::string_view text) {
    return with_letters(text, [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }, small_letter);
}

std::string raised(std::string_view text) {
    return with_letters(text, [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; }, capital_letter);
}

std::string shape(std::string_view text) {
    std::string result;
    for (const char c : text) result.push_back(kind_of(c));
    return result;
}

std::string short_shape(std::string_view text) {
    std::string result;
    for (const char c : text)
        if (const char kind = kind_of(c); result.empty() || result.back() != kind) result.push_back(kind);
    return result;
}

std::string quote(std::string_view text) {
    constexpr std::size_t longest_quote = 40;
    constexpr const char* digits = "0123456789abcdef";
    std::string out = "\"";
    std::size_t at = 0;
    while (at < text.size() && at < longest_quote) {
        const std::size_t length = utf8_length(text, at);
        const auto byte = static_cast<unsigned char>(text[at]);
        const bool escaped = length == 0 || byte < 0x20 || byte == 0x7F;
        out += escaped ? std::string("\\x") + digits[byte >> 4] + digits[byte & 15] : std::string(text.substr(at, length));
        at += escaped ? 1 : length;
    }
    return out += at < text.size() ? "...\"" : "\"";
}

}  // namespace arbora::text
