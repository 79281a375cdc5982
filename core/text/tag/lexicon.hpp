// The words of a training treebank and the tags that each had: what a tagger knows of a word before it looks around.
//
// A word (in small letters, by its hash) has a class: its tags, the most frequent first, those below a twentieth of its
// occurrences left out, and roughly how often it occurred. In training each occurrence asks without counting itself, so that a
// word that occurs once is as unknown as new words will be; otherwise the class would give the answer away.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "conll/columns.hpp"

namespace arbora::tag {

// The columns of a treebank, as numbered in conll::text_columns.
enum Column : std::size_t { form_column, lemma_column, upos_column, xpos_column, feats_column };

inline constexpr std::uint32_t kUnknownClass = 7;

// What a lexicon knows a word by.
std::uint32_t lexicon_key(std::string_view form);

class Lexicon {
public:
    // Counts words by UPOS; `tags` are the names of tags 0, 1, ...
    Lexicon(const conll::Columns& columns, const std::vector<std::string>& tags);
    // As `keys()` and `classes()` gave it, for looking up alone. InputError unless keys ascend.
    Lexicon(std::vector<std::uint32_t> keys, std::vector<std::uint32_t> classes);

    std::uint32_t find(std::uint32_t key) const;
    // As if one occurrence of the word, with this tag, had not been there. InputError where counts are not known.
    std::uint32_t find_without(std::uint32_t key, int tag) const;

    const std::vector<std::uint32_t>& keys() const { return keys_; }
    const std::vector<std::uint32_t>& classes() const { return classes_; }

private:
    using Counts = std::vector<std::pair<int, int>>;  // tag, occurrences

    std::vector<std::uint32_t> keys_, classes_;
    std::unordered_map<std::uint32_t, Counts> counts_;
};

}  // namespace arbora::tag
