// Raw text to sentences, tokens and words, by a model trained on a treebank's own text (trainer.hpp).
//
// Per paragraph: (1) Does a token end between two characters, or at a gap that may be inside a token? A table by the classes of
// both characters answers if training was unambiguous, else a linear classifier. (2) Which rule, if any, splits the token into
// words? (3) After which tokens does a sentence end? A blank line always ends one. O(length) time; memory of one paragraph besides
// the result.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/interrupt.hpp"
#include "conll/columns.hpp"
#include "text/segment/multiword.hpp"

namespace arbora::segment {

enum class Answer : std::uint8_t { ask, never, always };

// The stored model. Tables by classes: [before * kKinds + after]; for sentences: [(break * kKinds + before) * kKinds + after].
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
    std::string document = {};             // the `# newdoc id` of the first sentence; empty: none
};

// Words as a treebank, with their offsets in characters of the text: [starts[w], ends[w]). Words of a multiword token have their
// own offsets if the token is only cut, and the whole token's otherwise. The same for sentences.
struct Segmented {
    conll::Columns columns;
    std::vector<std::int64_t> starts, ends;
    std::vector<std::int64_t> sentence_starts, sentence_ends;
};

enum Column { form_column = 0, misc_column = 7 };

template <std::size_t n>
inline double dot(const std::vector<float>& weights, const std::array<std::uint32_t, n>& places) {
    float sum = 0.0f;
    for (const std::uint32_t place : places) sum += weights[place];
    return sum;
}

inline void append_number(std::int64_t number, std::string& out) {
    char digits[20];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

// Collects sentences and writes each with its last token, because `# text` comes first.
class Output {
public:
    Output(std::string_view text, const Options& options, Segmented& out)
        : text_(text), options_(options), out_(out), number_(options.first_number), document_(options.document),
          no_space_(out.columns.tables[misc_column].intern("SpaceAfter=No")) {}

    void paragraph() { paragraph_ = true; }

    // `rule`: nullptr for a plain token.
    void token(const Symbols& symbols, const Token& token, const Rule* rule) {
        auto words = rule == nullptr ? std::nullopt : split_token(*rule, std::span(symbols.codes).subspan(token.first, token.last - token.first));
        const auto count = static_cast<std::int64_t>(words ? words->size() : 1);
        if (words_ > 0 && words_ + count > options_.longest_sentence) end();
        if (tokens_ == 0) start_ = symbols.offsets[token.first];
        const bool gap = symbols.gap(token.last) || symbols.kinds[token.last] == kEdge;
        form_.clear();
        append_form(symbols, token);
        sentence_ += form_;
        if (gap) sentence_ += ' ';
        spaced_ = gap;
        const std::int64_t begin = symbols.offsets[token.first];
        end_ = symbols.offsets[token.last - 1] + 1;
        if (words) {
            range(count, gap);
            for (const Word& word : *words) {
                form_.clear();
                for (const std::uint32_t code : word.form) text::append(code, form_);
                const bool own = word.verbatim && word.last > word.first;
                const std::int64_t first = own ? symbols.offsets[token.first + word.first] : begin;
                const std::int64_t last = own ? symbols.offsets[token.first + word.last - 1] + 1 : end_;
                this->word(form_, 0, first, last);
            }
        } else {
            word(form_, gap ? 0 : no_space_, begin, end_);
        }
        ++tokens_;
    }

    void end() {
        if (tokens_ == 0) return;
        conll::Columns& columns = out_.columns;
        std::string line;
        std::int64_t comments = 0;
        const auto comment = [&](std::string_view what) {
            columns.add_extra(conll::ExtraKind::comment, 0, what);
            ++comments;
        };
        if (!document_.empty()) comment("# newdoc id = " + document_);
        document_.clear();
        if (paragraph_) comment("# newpar");
        line = "# sent_id = ";
        append_number(number_++, line);
        comment(line);
        if (spaced_) sentence_.pop_back();
        comment("# text = " + sentence_);
        columns.sentence_lines.push_back(line_);
        line_ += comments;
        std::size_t range = 0;
        for (std::int64_t w = 0; w < words_; ++w) {
            for (; range < ranges_.size() && ranges_[range].first == w; ++range) {
                columns.add_extra(conll::ExtraKind::multiword, static_cast<std::int32_t>(w), ranges_[range].second);
                ++line_;
            }
            columns.lines.push_back(line_++);
        }
        ++line_;  // the blank line
        columns.sentence_offsets.push_back(static_cast<std::int64_t>(columns.heads.size()));
        columns.extra_offsets.push_back(static_cast<std::int64_t>(columns.extra_kinds.size()));
        columns.blank_lines.push_back(1);
        columns.carriage_returns.push_back(0);
        out_.sentence_starts.push_back(start_);
        out_.sentence_ends.push_back(end_);
        words_ = tokens_ = 0;
        ranges_.clear();
        sentence_.clear();
        paragraph_ = false;
    }

private:
    void append_form(const Symbols& symbols, const Token& token) {
        const std::size_t first = symbols.bytes[token.first];
        const std::size_t last = symbols.bytes[token.last - 1] + text::utf8_length(text_, symbols.bytes[token.last - 1]);
        bool gaps = false;
        for (std::size_t k = token.first; k < token.last; ++k) gaps = gaps || symbols.gap(k);
        if (!gaps) {
            form_.append(text_.substr(first, last - first));
            return;
        }
        for (std::size_t k = token.first; k < token.last; ++k) text::append(symbols.gap(k) ? ' ' : symbols.codes[k], form_);
    }

    void range(std::int64_t count, bool gap) {
        std::string line;
        append_number(words_ + 1, line);
        line += '-';
        append_number(words_ + count, line);
        line += '\t';
        line += form_;
        line += "\t_\t_\t_\t_\t_\t_\t_\t";
        line += gap ? "_" : "SpaceAfter=No";
        ranges_.emplace_back(words_, std::move(line));
    }

    void word(std::string_view form, std::int32_t misc, std::int64_t first, std::int64_t last) {
        conll::Columns& columns = out_.columns;
        columns.ids[form_column].push_back(columns.tables[form_column].intern(form));
        for (int column = form_column + 1; column < misc_column; ++column) columns.ids[static_cast<std::size_t>(column)].push_back(0);
        columns.ids[misc_column].push_back(misc);
        columns.heads.push_back(conll::no_head);
        out_.starts.push_back(first);
        out_.ends.push_back(last);
        ++words_;
    }

    std::string_view text_;
    const Options& options_;
    Segmented& out_;
    std::int64_t number_;
    std::string document_;
    std::int32_t no_space_;
    std::int64_t line_ = 1, words_ = 0, tokens_ = 0, start_ = 0, end_ = 0;
    bool paragraph_ = false, spaced_ = false;
    std::string sentence_, form_;
    std::vector<std::pair<std::int64_t, std::string>> ranges_;
};

inline void require(bool good, const char* what) {
    if (!good) throw InputError(what);
}

inline void require_weights(const std::vector<float>& weights, int bits) {
    require(weights.size() == std::size_t{1} << bits, "weights: expected 2^bits of each kind");
    require(std::all_of(weights.begin(), weights.end(), [](float w) { return std::isfinite(w); }), "weights: expected finite numbers");
}

inline void require_answers(const std::vector<std::uint8_t>& answers, std::size_t size) {
    require(answers.size() == size, "answers: expected one for each two classes");
    require(std::all_of(answers.begin(), answers.end(), [](std::uint8_t a) { return a <= 2; }), "answers: expected 0, 1 or 2");
}

// The characters of the line that token t ends, if any. `line_start` is the offset of its first character.
inline std::size_t line_length(const Symbols& symbols, const Token& token, std::uint32_t line_start) {
    return symbols.offsets[token.last - 1] + 1 - line_start;
}

class Segmenter {
public:
    // Throws InputError for invalid sizes, numbers or rules.
    explicit Segmenter(Model model) : model_(std::move(model)) {
        require(model_.bits >= kLeastBits && model_.bits <= kMostBits, "bits: expected 8 to 24");
        for (const auto* weights : {&model_.token_weights, &model_.sentence_weights, &model_.multiword_weights}) require_weights(*weights, model_.bits);
        require_answers(model_.token_answers, kKinds * kKinds);
        require_answers(model_.gap_answers, kKinds * kKinds);
        require_answers(model_.sentence_answers, 3 * kKinds * kKinds);
        require(model_.rules.size() <= kMostRules, "rules: expected 4096 at most");
        for (const Rule& rule : model_.rules) require_valid(rule);
        for (const Candidate& candidate : model_.candidates)
            require(candidate.rule == kPlain || candidate.rule < model_.rules.size(), "candidates: expected numbers of rules");
        candidates_ = Candidates(model_.candidates);
        for (const std::uint8_t answer : model_.gap_answers) gaps_asked_ = gaps_asked_ || answer != static_cast<std::uint8_t>(Answer::always);
    }

    // `text` is UTF-8 of less than 4 GiB; otherwise throws InputError, which names the first bad byte.
    Segmented segment(std::string_view text, const Options& options) const {
        require(text.size() < 0xFFFFFFFFULL, "text: expected less than 4 GiB at a time");
        if (const std::size_t bad = text::first_bad_utf8(text); bad < text.size())
            throw InputError("text: expected UTF-8, got something else at byte " + std::to_string(bad));
        Segmented result;
        Output output(text, options, result);
        Symbols symbols;
        std::vector<Token> tokens;
        Place place;
        for (bool first = true;; first = false) {
            read_paragraph(text, place, symbols);
            if (symbols.empty()) break;
            find_tokens(symbols, tokens);
            if (!first || !options.continues) output.paragraph();
            SentenceSoFar so_far;
            std::uint32_t line_start = symbols.offsets[symbols.first()];
            for (std::size_t t = 0; t < tokens.size(); ++t) {
                check_stop(256);
                const Token& token = tokens[t];
                const std::uint16_t rule = find_multiword(symbols, tokens, t);
                output.token(symbols, token, rule == kPlain ? nullptr : &model_.rules[rule]);
                so_far.take(token);
                if (t + 1 == tokens.size()) break;
                const Break gap = break_after(symbols, token);
                const std::size_t which = (static_cast<std::size_t>(gap) * kKinds + token.tail) * kKinds + tokens[t + 1].head;
                const auto answer = static_cast<Answer>(model_.sentence_answers[which]);
                bool ends = answer == Answer::always || (options.lines && gap == Break::line);
                if (answer == Answer::ask && !ends)
                    ends = sentence_score(symbols, tokens, t, so_far, line_length(symbols, token, line_start)) > 0;
                if (gap == Break::line) line_start = symbols.offsets[tokens[t + 1].first];
                if (ends) {
                    output.end();
                    so_far = {t + 1};
                }
            }
            output.end();
        }
        return result;
    }

    const Model& model() const { return model_; }

    // Single steps, for training and tests. Tokens of a paragraph:
    void find_tokens(const Symbols& symbols, std::vector<Token>& out) const {
        out.clear();
        if (symbols.empty()) return;
        std::size_t begin = symbols.first();
        for (std::size_t k = begin + 1; k < symbols.last(); ++k) {
            check_stop(64);
            if (symbols.gap(k)) {
                // A line end is never inside a token.
                const bool ends = !gaps_asked_ || symbols.kind(k) == CharacterClass::newline || token_ends(symbols, k);
                if (ends) {
                    out.push_back(make_token(symbols, begin, k));
                    begin = k + 1;
                }
                ++k;  // the symbol after a gap begins a token, or continues this one
            } else if (!symbols.glued(k) && token_ends(symbols, k)) {
                out.push_back(make_token(symbols, begin, k));
                begin = k;
            }
        }
        out.push_back(make_token(symbols, begin, symbols.last()));
    }
    // The rule for token t; kPlain if none.
    std::uint16_t find_multiword(const Symbols& symbols, std::span<const Token> tokens, std::size_t t) const {
        if (model_.candidates.empty()) return kPlain;
        const Token& token = tokens[t];
        const std::span<const std::uint32_t> lowered(symbols.lowered.data() + token.first, token.last - token.first);
        std::span<const Candidate> found = candidates_.of_form(lowered);
        const bool known = !found.empty();
        if (!known) found = candidates_.of_affix(lowered);
        std::uint16_t best = kPlain;
        double best_score = 0.0;
        for (const Candidate& candidate : found) {
            if (candidate.rule == kPlain) continue;
            std::array<std::uint32_t, kMultiwordFeatures> places;
            multiword_features(symbols, tokens, t, candidate.rule, known, model_.bits, places);
            const double score = dot(model_.multiword_weights, places);
            if (score > best_score) best_score = score, best = candidate.rule;
        }
        return best;
    }
    // The score of "a sentence ends after token t"; it does if the score is above 0.
    double sentence_score(const Symbols& symbols, std::span<const Token> tokens, std::size_t t, const SentenceSoFar& so_far, std::size_t length) const {
        std::array<std::uint32_t, kSentenceFeatures> places;
        sentence_features(symbols, tokens, t, so_far, length, model_.bits, places);
        return dot(model_.sentence_weights, places);
    }

private:
    bool token_ends(const Symbols& symbols, std::size_t k) const {
        const bool gap = symbols.gap(k);
        const auto& answers = gap ? model_.gap_answers : model_.token_answers;
        const std::size_t after = gap ? k + 1 : k;
        const auto answer = static_cast<Answer>(answers[symbols.kinds[k - 1] * kKinds + symbols.kinds[after]]);
        if (answer != Answer::ask) return answer == Answer::always;
        std::array<std::uint32_t, kTokenFeatures> places;
        token_features(symbols, k, model_.bits, places);
        return dot(model_.token_weights, places) > 0;
    }

    Model model_;
    Candidates candidates_;
    bool gaps_asked_ = false;
};

}  // namespace arbora::segment
