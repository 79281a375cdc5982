// Edit scripts: how a word becomes its lemma, in a form that applies to other words, too.
//
// A script states the case of the word (lower case; as it is; capitalized; upper case), the number of characters to remove at each
// end, and the replacements. "l\t0\t\t3\ty" turns "cities" into "city", and "Bodies" into "body". If form and lemma share nothing,
// the script is the lemma itself: "=\tgo".
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/errors.hpp"
#include "base/text.hpp"

namespace arbora::tag {

// The longest common run of bytes that starts and ends at character boundaries; of several, the first.
struct Common {
    std::size_t at_form = 0, at_lemma = 0, length = 0;
};

inline Common longest_common(std::string_view form, std::string_view lemma) {
    const auto is_boundary = [](std::string_view text, std::size_t at) { return at == text.size() || text::starts_character(text[at]); };
    Common best;
    for (std::size_t i = 0; i < form.size(); ++i) {
        if (!is_boundary(form, i)) continue;
        for (std::size_t j = 0; j < lemma.size(); ++j) {
            std::size_t same = 0;
            while (i + same < form.size() && j + same < lemma.size() && form[i + same] == lemma[j + same]) ++same;
            while (same > 0 && !(is_boundary(form, i + same) && is_boundary(lemma, j + same))) --same;
            if (same > best.length && is_boundary(lemma, j)) best = {i, j, same};
        }
    }
    return best;
}

[[noreturn]] inline void refuse(std::string_view text) { throw InputError("script: expected an edit script, got '" + std::string(text) + "'"); }

inline std::size_t number_of(std::string_view digits, std::string_view text) {
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size() || number > 1000) refuse(text);
    return number;
}

// A checked script. Throws InputError if the text is not a script.
class Script {
public:
    explicit Script(std::string_view text) {
        std::vector<std::string_view> parts;
        for (std::string_view rest = text;;) {
            const auto tab = rest.find('\t');
            parts.push_back(rest.substr(0, tab));
            if (tab == std::string_view::npos) break;
            rest.remove_prefix(tab + 1);
        }
        const bool is_whole = parts[0] == "=" && parts.size() == 2 && !parts[1].empty();
        if (!is_whole && (parts.size() != 5 || parts[0].size() != 1 || std::string_view("lktu").find(parts[0]) == std::string_view::npos)) refuse(text);
        letters_ = static_cast<Case>(parts[0][0]);
        before_ = parts[is_whole ? 1 : 2];
        if (is_whole) return;
        prefix_ = number_of(parts[1], text);
        suffix_ = number_of(parts[3], text);
        after_ = parts[4];
    }
    // Nothing if the word is too short, or if the result would be empty.
    std::optional<std::string> apply(std::string_view form) const {
        if (letters_ == Case::whole) return before_;
        const std::string written = Script::written(form, letters_);
        if (text::characters(written) < prefix_ + suffix_) return std::nullopt;
        std::string_view middle = written;
        middle.remove_prefix(text::first_characters(middle, prefix_).size());
        middle.remove_suffix(text::last_characters(middle, suffix_).size());
        std::string lemma = before_;
        lemma += middle;
        lemma += after_;
        if (lemma.empty()) return std::nullopt;
        return lemma;
    }

private:
    enum class Case : char { whole = '=', lower = 'l', keep = 'k', title = 't', upper = 'u' };

    static std::string written(std::string_view form, Case letters) {
        switch (letters) {
            case Case::lower: return text::lowered(form);
            case Case::upper: return text::raised(form);
            case Case::title: {
                const auto first = text::first_characters(form, 1);
                return text::raised(first) + text::lowered(form.substr(first.size()));
            }
            default: return std::string(form);
        }
    }
    friend std::string edit_script(std::string_view form, std::string_view lemma);

    Case letters_ = Case::keep;
    std::size_t prefix_ = 0, suffix_ = 0;  // characters to take off
    std::string before_, after_;
};

// O(|form| · |lemma|).
inline std::string edit_script(std::string_view form, std::string_view lemma) {
    using Case = Script::Case;
    Common best;
    Case letters = Case::lower;
    std::string source;
    for (const Case each : {Case::lower, Case::keep, Case::title, Case::upper}) {
        const std::string written = Script::written(form, each);
        if (const Common found = longest_common(written, lemma); found.length > best.length) {
            best = found;
            letters = each;
            source = written;
        }
    }
    if (best.length == 0) return "=\t" + std::string(lemma);
    const std::string_view end = std::string_view(source).substr(best.at_form + best.length);
    std::string script(1, static_cast<char>(letters));
    const auto add = [&](std::size_t dropped, std::string_view written) {
        ((script += '\t') += std::to_string(dropped)) += '\t';
        script += written;
    };
    add(text::characters(std::string_view(source).substr(0, best.at_form)), lemma.substr(0, best.at_lemma));
    add(text::characters(end), lemma.substr(best.at_lemma + best.length));
    return script;
}

}  // namespace arbora::tag
