// Trains a segmenter's model on texts with known tokens, sentences and words.
//
// Three linear classifiers by stochastic gradient steps on the log-loss, with adaptive step lengths per weight [duchi-2011],
// averaged. Those for tokens and sentences are binary; that for multiword tokens chooses among the possible rules of a form and
// none. If two classes of characters were unambiguous in training, a table answers instead. The same texts and seed give the same
// model.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/generator.hpp"
#include "numeric/adagrad.hpp"
#include "text/segment/segmenter.hpp"

namespace arbora::segment {

// Tokens [starts[t], ends[t]) in characters, ascending; last[t]: a sentence ends with it. `words`: for multiword tokens, empty for
// others; empty as a whole if this text has no examples of them.
struct GoldText {
    std::string text;
    std::vector<std::int64_t> starts, ends;
    std::vector<std::uint8_t> last;
    std::vector<std::vector<Codes>> words;
};

struct TrainerOptions {
    int bits = 18;
    double rate = 0.1;
    double shortcut = 2e-4;        // share of exceptions that a table's answer may have
    std::int64_t least_seen = 50;  // times that two classes must have met
    double least_precision = 0.7;  // of an ending among forms: how many of those with it are split
    std::uint64_t seed = 1;
};

// Examples of one kind: the features of each, in a row, and the answer.
struct Examples {
    std::size_t width = 0;
    std::vector<std::uint32_t> places;
    std::vector<std::uint8_t> answers;
};

class Trainer {
public:
    // Throws InputError if a text is not UTF-8, or a character other than a gap belongs to no token.
    Trainer(const std::vector<GoldText>& texts, TrainerOptions options);

    // One pass over all examples in random order; returns their mean loss. O(examples).
    double epoch();

    // The model so far: the mean of the weights over all steps.
    Model model() const;
    std::size_t token_examples() const { return tokens_.answers.size(); }
    std::size_t sentence_examples() const { return sentences_.answers.size(); }

private:
    struct Choice {  // a token's rules: places of each one's features, and the right one
        std::vector<std::uint32_t> places;
        std::size_t right = 0;  // 0 none, else 1 + number in order
        std::size_t count = 0;
    };
    struct Paragraph {
        Symbols symbols;
        std::vector<Token> tokens;
        std::vector<std::uint8_t> last;
        std::vector<std::uint16_t> rules;  // per token
    };

    void count_rules(const GoldText& gold);
    void read(const GoldText& gold);
    void take_paragraph(const GoldText& gold, Symbols&& symbols, std::size_t& token);
    void count_pairs(const Paragraph& paragraph);
    void decide_answers();
    void collect(const Paragraph& paragraph);
    void learn_candidates();
    void collect_choices();
    std::uint16_t rule_of(std::span<const std::uint32_t> token, const std::vector<Codes>& words);
    double pass(const Examples& examples, BinaryAdagrad& learned);
    double pass_choices();

    TrainerOptions options_;
    Model model_;
    Generator random_;
    std::vector<Paragraph> paragraphs_;
    std::map<Rule, std::set<std::vector<Codes>>> rule_splits_;  // the distinct words that each rule makes
    std::map<Rule, std::uint16_t> rule_numbers_;
    std::vector<std::int64_t> token_counts_, gap_counts_, sentence_counts_;  // two per pair: all, and where it ends
    Examples tokens_, sentences_;
    std::vector<Choice> choices_;
    BinaryAdagrad token_, sentence_, multiword_;
};

}  // namespace arbora::segment
