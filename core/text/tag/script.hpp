// Edit scripts: how a word becomes its lemma, said so that it fits other words, too.
//
// A script says how to write the word (small letters; as it is; a capital first; capitals), how many characters to take off at
// each end, and what to put there instead. "l\t0\t\t3\ty" makes "cities" "city", and "Bodies" "body". Where form and lemma have
// nothing in common, the script is the lemma itself: "=\tgo".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace arbora::tag {

// O(|form| · |lemma|).
std::string edit_script(std::string_view form, std::string_view lemma);

// A script that was checked: InputError where the text is none.
class Script {
public:
    explicit Script(std::string_view text);
    // Nothing where the word is too short for it, or where nothing would be left.
    std::optional<std::string> apply(std::string_view form) const;

private:
    enum class Case : char { whole = '=', lower = 'l', keep = 'k', title = 't', upper = 'u' };

    static std::string written(std::string_view form, Case letters);
    friend std::string edit_script(std::string_view form, std::string_view lemma);

    Case letters_ = Case::keep;
    std::size_t prefix_ = 0, suffix_ = 0;  // characters to take off
    std::string before_, after_;
};

}  // namespace arbora::tag
