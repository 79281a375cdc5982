// The words of a training treebank and the tags of each: a tagger's knowledge of a word without context.
//
// A word (its hash in lower case) has a class: its tags by frequency, without those below a twentieth of its occurrences, and
// roughly its number of occurrences. In training each occurrence is left out of its own lookup, so a word that occurs once is as
// unknown as new words are. Otherwise the class would reveal the answer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/errors.hpp"
#include "base/text.hpp"
#include "conll/columns.hpp"
#include "features/hash.hpp"

namespace arbora::tag {

// The columns of a treebank, as numbered in conll::text_columns.
enum Column : std::size_t { form_column, lemma_column, upos_column, xpos_column, feats_column };

inline constexpr std::uint32_t kUnknownClass = 7;

inline constexpr std::uint64_t kKeySeed = 0x6c6578;
inline constexpr int kRare = 20;      // a tag of fewer than one in so many occurrences is left out
inline constexpr int kCountedTo = 5;  // higher counts are equal

inline std::uint32_t class_of(std::vector<std::pair<int, int>> counts) {
    int total = 0;
    for (const auto& [tag, count] : counts) total += count;
    if (total <= 0) return kUnknownClass;
    std::sort(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second != b.second ? a.second > b.second : a.first < b.first; });
    std::uint64_t state = feature::mix(static_cast<std::uint64_t>(std::min(total, kCountedTo)));
    for (const auto& [tag, count] : counts)
        if (count > 0 && count * kRare >= total) state = feature::mix(state + static_cast<std::uint64_t>(tag) + 1);
    return static_cast<std::uint32_t>(state);
}

// The key of a word in a lexicon.
inline std::uint32_t lexicon_key(std::string_view form) { return static_cast<std::uint32_t>(feature::hash_text(text::lowered(form), kKeySeed)); }

class Lexicon {
public:
    // Counts words by UPOS; `tags` are the names of tags 0, 1, ...
    Lexicon(const conll::Columns& columns, const std::vector<std::string>& tags) {
        std::unordered_map<std::string_view, int> numbers;
        for (std::size_t t = 0; t < tags.size(); ++t) numbers.emplace(tags[t], static_cast<int>(t));
        const auto& forms = columns.tables[form_column];
        std::vector<std::uint32_t> keys(forms.size());
        for (std::size_t id = 0; id < forms.size(); ++id) keys[id] = lexicon_key(forms[id]);
        const auto& names = columns.tables[upos_column];
        std::vector<int> tag_of(names.size(), -1);
        for (std::size_t id = 0; id < names.size(); ++id)
            if (const auto found = numbers.find(names[id]); found != numbers.end()) tag_of[id] = found->second;
        for (std::size_t w = 0; w < columns.word_count(); ++w) {
            const int tag = tag_of[static_cast<std::size_t>(columns.ids[upos_column][w])];
            if (tag < 0) continue;
            Counts& counts = counts_[keys[static_cast<std::size_t>(columns.ids[form_column][w])]];
            const auto found = std::find_if(counts.begin(), counts.end(), [&](const auto& pair) { return pair.first == tag; });
            if (found == counts.end())
                counts.emplace_back(tag, 1);
            else
                ++found->second;
        }
        for (const auto& [key, counts] : counts_) keys_.push_back(key);
        std::sort(keys_.begin(), keys_.end());
        for (const std::uint32_t key : keys_) classes_.push_back(class_of(counts_.at(key)));
    }
    // Restores the output of `keys()` and `classes()`, for lookups only. Throws InputError unless keys ascend.
    Lexicon(std::vector<std::uint32_t> keys, std::vector<std::uint32_t> classes) : keys_(std::move(keys)), classes_(std::move(classes)) {
        if (keys_.size() != classes_.size()) throw InputError("lexicon: expected a class for each key");
        if (std::adjacent_find(keys_.begin(), keys_.end(), [](auto a, auto b) { return a >= b; }) != keys_.end())
            throw InputError("lexicon: expected ascending keys");
    }

    std::uint32_t find(std::uint32_t key) const {
        const auto found = std::lower_bound(keys_.begin(), keys_.end(), key);
        return found == keys_.end() || *found != key ? kUnknownClass : classes_[static_cast<std::size_t>(found - keys_.begin())];
    }
    // The class without one occurrence of the word with this tag. Throws InputError if counts are unknown.
    std::uint32_t find_without(std::uint32_t key, int tag) const {
        if (counts_.empty()) throw InputError("lexicon: expected a lexicon with counts, got one read from a file");
        const auto found = counts_.find(key);
        if (found == counts_.end()) return kUnknownClass;
        Counts counts = found->second;
        for (auto& [of_tag, count] : counts) count -= of_tag == tag;
        return class_of(std::move(counts));
    }

    const std::vector<std::uint32_t>& keys() const { return keys_; }
    const std::vector<std::uint32_t>& classes() const { return classes_; }

private:
    using Counts = std::vector<std::pair<int, int>>;  // tag, occurrences

    std::vector<std::uint32_t> keys_, classes_;
    std::unordered_map<std::uint32_t, Counts> counts_;
};

}  // namespace arbora::tag
