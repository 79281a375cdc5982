// Raw text to sentences, tokens and words, by a model that was learned from a treebank's own text (trainer.hpp).
//
// Per paragraph: (1) between two characters, or at a gap that tokens may reach over, does a token end? A table by the classes of
// both answers where training never differed, a linear classifier otherwise. (2) Which rule, if any, splits the token into words?
// (3) After which tokens does a sentence end? A blank line always ends one. O(length) time; memory of one paragraph besides the result.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "conll/columns.hpp"
#include "text/segment/multiword.hpp"

namespace arbora::segment {

enum class Answer : std::uint8_t { ask, never, always };

// What is stored. Tables by classes: [before * kKinds + after]; that of sentences: [(break * kKinds + before) * kKinds + after].
struct Model {
    int bits = 18;
    std::vector<float> token_weights;  // 2^bits each
    std::vector<float> sentence_weights;
    std::vector<float> multiword_weights;
    std::vector<std::uint8_t> token_answers;
    std::vector<std::uint8_t> gap_answers;  // of gaps: does a token end there (as a rule, always)
    std::vector<std::uint8_t> sentence_answers;
    std::vector<Rule> rules;
    std::vector<Candidate> candidates;
};

inline constexpr int kLeastBits = 8, kMostBits = 24;

struct Options {
    std::int64_t longest_sentence = 2000;  // in words; a longer one is cut
    bool lines = false;                    // every line end ends a sentence
    std::int64_t first_number = 1;         // of `# sent_id`
    bool continues = false;                // the text begins within a paragraph
};

// Words as a treebank, and where they stand, in characters of the text: [starts[w], ends[w]). The words of a multiword token have
// their own characters where the token is just cut, and all of its characters otherwise. Sentences likewise.
struct Segmented {
    conll::Columns columns;
    std::vector<std::int64_t> starts, ends;
    std::vector<std::int64_t> sentence_starts, sentence_ends;
};

class Segmenter {
public:
    explicit Segmenter(Model model);  // InputError where sizes, numbers or rules make no sense

    // `text` is UTF-8 of less than 4 GiB; else InputError, which names the first byte that is not.
    Segmented segment(std::string_view text, const Options& options) const;

    const Model& model() const { return model_; }

    // Steps of it, for training and for tests. Tokens of a paragraph:
    void find_tokens(const Symbols& symbols, std::vector<Token>& out) const;
    // The rule for token t; kPlain where there is none.
    std::uint16_t find_multiword(const Symbols& symbols, std::span<const Token> tokens, std::size_t t) const;
    // The score of "a sentence ends after token t", which does where it is above 0.
    double sentence_score(const Symbols& symbols, std::span<const Token> tokens, std::size_t t, const SentenceSoFar& so_far, std::size_t line_length) const;

private:
    bool token_ends(const Symbols& symbols, std::size_t k) const;

    Model model_;
    Candidates candidates_;
    bool gaps_asked_ = false;
};

// The characters of the line that token t ends, if it ends one. `line_start` is the offset of its first.
std::size_t line_length(const Symbols& symbols, const Token& token, std::uint32_t line_start);

}  // namespace arbora::segment
