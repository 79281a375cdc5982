#include "text/segment/trainer.hpp"

#include "base/interrupt.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace arbora::segment {

namespace {

std::size_t pair(std::size_t before, std::size_t after) { return before * kKinds + after; }

std::size_t coarse_pair(std::size_t p) {
    return pair(coarse(static_cast<std::uint8_t>(p / kKinds)), coarse(static_cast<std::uint8_t>(p % kKinds)));
}

// Two letters, or two digits.
bool within_word(std::size_t p) {
    using enum CharacterClass;
    const std::size_t similar = coarse_pair(p);
    for (const CharacterClass kind : {letter, digit})
        if (similar == pair(static_cast<std::size_t>(kind), static_cast<std::size_t>(kind))) return true;
    return false;
}

// Of the positions that a table answers, the classifier is also trained on one in so many: it must know them, to decide cases that
// the table has never seen.
constexpr std::uint64_t kSample = 16;

std::uint8_t answer_of(std::int64_t all, std::int64_t ends, std::int64_t least, double shortcut, bool may_always) {
    if (all < least) return static_cast<std::uint8_t>(Answer::ask);
    const double share = static_cast<double>(ends) / static_cast<double>(all);
    if (share <= shortcut) return static_cast<std::uint8_t>(Answer::never);
    return static_cast<std::uint8_t>(may_always && share >= 1 - shortcut ? Answer::always : Answer::ask);
}

double log1p_exp(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

std::vector<std::uint32_t> shuffled(std::size_t count, Generator& random) {
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0u);
    for (std::size_t i = count; i > 1; --i)
        std::swap(order[i - 1], order[static_cast<std::size_t>(random.uniform() * static_cast<double>(i))]);
    return order;
}

std::size_t table_size(int bits) {
    if (bits < kLeastBits || bits > kMostBits) throw InputError("bits: expected 8 to 24");
    return std::size_t{1} << bits;
}

void require_sound(const GoldText& gold) {
    const std::size_t count = gold.starts.size();
    if (gold.ends.size() != count || gold.last.size() != count || !(gold.words.empty() || gold.words.size() == count))
        throw InputError("gold text: expected as many ends, last and words as starts");
    if (gold.text.size() >= 0xFFFFFFFFULL || text::first_bad_utf8(gold.text) != gold.text.size())
        throw InputError("gold text: expected UTF-8 of less than 4 GiB");
}

}  // namespace

Trainer::Trainer(const std::vector<GoldText>& texts, TrainerOptions options)
    : options_(options), random_(options.seed, 0), token_(table_size(options.bits)), sentence_(token_), multiword_(token_) {
    model_.bits = options.bits;
    token_counts_.assign(2 * kKinds * kKinds, 0);
    gap_counts_ = token_counts_;
    sentence_counts_.assign(6 * kKinds * kKinds, 0);
    for (const GoldText& gold : texts) {
        require_sound(gold);
        count_rules(gold);
    }
    for (const GoldText& gold : texts) read(gold);
    for (const Paragraph& paragraph : paragraphs_) count_pairs(paragraph);
    decide_answers();
    tokens_.width = kTokenFeatures;
    sentences_.width = kSentenceFeatures;
    for (const Paragraph& paragraph : paragraphs_) collect(paragraph);
    learn_candidates();
    collect_choices();
    paragraphs_.clear();
    paragraphs_.shrink_to_fit();
}

void Trainer::read(const GoldText& gold) {
    Place place;
    std::size_t token = 0;
    for (;;) {
        Symbols symbols;
        read_paragraph(gold.text, place, symbols);
        if (symbols.empty()) break;
        take_paragraph(gold, std::move(symbols), token);
    }
}

void Trainer::take_paragraph(const GoldText& gold, Symbols&& symbols, std::size_t& token) {
    Paragraph paragraph;
    std::size_t k = symbols.first();
    const auto offset = [&](std::size_t at) { return static_cast<std::int64_t>(symbols.offsets[at]); };
    while (k < symbols.last()) {
        if (symbols.gap(k)) {
            ++k;
            continue;
        }
        while (token < gold.starts.size() && gold.ends[token] <= offset(k)) ++token;  // of gaps alone, or done
        if (token == gold.starts.size() || gold.starts[token] > offset(k))
            throw InputError("gold text: expected a token at character " + std::to_string(offset(k)));
        const std::size_t begin = k;
        std::size_t end = k;  // behind the last character that is no gap: a treebank's token may end in an odd one
        for (; k < symbols.last() && offset(k) < gold.ends[token]; ++k)
            if (!symbols.gap(k)) end = k + 1;
        k = end;
        paragraph.tokens.push_back(make_token(symbols, begin, end));
        paragraph.last.push_back(gold.last[token]);
        const bool split = !gold.words.empty() && gold.words[token].size() > 1;
        paragraph.rules.push_back(split ? rule_of(std::span(symbols.codes).subspan(begin, end - begin), gold.words[token]) : kPlain);
    }
    paragraph.symbols = std::move(symbols);
    paragraphs_.push_back(std::move(paragraph));
}

std::uint16_t Trainer::rule_of(std::span<const std::uint32_t> token, const std::vector<Codes>& words) {
    // The cut that more words agree on: from the end or from the beginning.
    std::optional<Rule> best;
    std::size_t most = 0;
    for (const bool from_end : {true, false}) {
        auto rule = find_rule(token, words, from_end);
        if (!rule) continue;
        const std::size_t count = rule_splits_[*rule].size();
        if (!best || count > most) best = std::move(rule), most = count;
    }
    if (!best) return kPlain;
    const auto found = rule_numbers_.find(*best);
    if (found != rule_numbers_.end()) return found->second;
    if (model_.rules.size() >= kMostRules) return kPlain;
    const auto number = static_cast<std::uint16_t>(model_.rules.size());
    model_.rules.push_back(*best);
    rule_numbers_.emplace(*best, number);
    return number;
}

void Trainer::count_rules(const GoldText& gold) {
    Place place;
    Symbols symbols;
    std::size_t token = 0;
    for (;;) {
        read_paragraph(gold.text, place, symbols);
        if (symbols.empty() || gold.words.empty()) break;
        for (std::size_t k = symbols.first(); k < symbols.last(); ++k) {
            while (token < gold.starts.size() && gold.starts[token] < symbols.offsets[k]) ++token;
            if (token == gold.starts.size() || gold.starts[token] != symbols.offsets[k] || gold.words[token].empty()) continue;
            std::size_t end = k;
            while (end < symbols.last() && symbols.offsets[end] < gold.ends[token]) ++end;
            for (const bool from_end : {true, false})
                if (auto rule = find_rule(std::span(symbols.codes).subspan(k, end - k), gold.words[token], from_end))
                    rule_splits_[*rule].insert(gold.words[token]);
        }
    }
}

void Trainer::count_pairs(const Paragraph& paragraph) {
    const Symbols& symbols = paragraph.symbols;
    const auto& tokens = paragraph.tokens;
    for (std::size_t t = 0; t < tokens.size(); ++t) {
        const Token& token = tokens[t];
        for (std::size_t k = token.first + 1; k < token.last; ++k) {
            if (symbols.gap(k)) {
                ++gap_counts_[2 * pair(symbols.kinds[k - 1], symbols.kinds[k + 1])];
                ++k;
            } else {
                ++token_counts_[2 * pair(symbols.kinds[k - 1], symbols.kinds[k])];
            }
        }
        if (t + 1 == tokens.size()) break;
        const std::size_t at = 2 * pair(token.tail, tokens[t + 1].head);
        const Break gap = break_after(symbols, token);
        auto& counts = gap == Break::none ? token_counts_ : gap_counts_;
        ++counts[at];
        ++counts[at + 1];
        auto& sentence = sentence_counts_[static_cast<std::size_t>(gap) * 2 * kKinds * kKinds + at];
        ++sentence;
        (&sentence)[1] += paragraph.last[t] != 0;
    }
}

void Trainer::decide_answers() {
    std::int64_t joined = 0;
    std::vector<std::int64_t> coarse_counts(token_counts_.size(), 0);
    for (std::size_t p = 0; p < kKinds * kKinds; ++p) {
        joined += gap_counts_[2 * p] - gap_counts_[2 * p + 1];
        for (std::size_t i = 0; i < 2; ++i) coarse_counts[2 * coarse_pair(p) + i] += token_counts_[2 * p + i];
    }
    for (std::size_t p = 0; p < kKinds * kKinds; ++p) {
        const std::int64_t all = token_counts_[2 * p], ends = token_counts_[2 * p + 1];
        std::uint8_t answer = answer_of(all, ends, options_.least_seen, options_.shortcut, true);
        if (all < options_.least_seen) {
            // Rare or unseen symbols: for example, treat capitals like other letters.
            const std::int64_t alike = coarse_counts[2 * coarse_pair(p)], alike_ends = coarse_counts[2 * coarse_pair(p) + 1];
            if (alike == 0 && within_word(p)) answer = static_cast<std::uint8_t>(Answer::never);
            if (alike > 0 && (all == 0 || (ends == 0 && within_word(p))))
                answer = answer_of(alike, alike_ends, options_.least_seen, options_.shortcut, true);
        }
        model_.token_answers.push_back(answer);
        // If no token contains a space, none ever will; otherwise allow it wherever one did.
        const bool ask = joined > 0 && gap_counts_[2 * p] > gap_counts_[2 * p + 1];
        model_.gap_answers.push_back(static_cast<std::uint8_t>(ask ? Answer::ask : Answer::always));
    }
    for (std::size_t p = 0; p < 3 * kKinds * kKinds; ++p)
        model_.sentence_answers.push_back(answer_of(sentence_counts_[2 * p], sentence_counts_[2 * p + 1], options_.least_seen, options_.shortcut, false));
}

void Trainer::collect(const Paragraph& paragraph) {
    const Symbols& symbols = paragraph.symbols;
    const auto& tokens = paragraph.tokens;
    std::array<std::uint32_t, kTokenFeatures> token_places;
    std::array<std::uint32_t, kSentenceFeatures> sentence_places;
    const auto add = [](Examples& examples, const auto& places, bool answer) {
        examples.places.insert(examples.places.end(), places.begin(), places.end());
        examples.answers.push_back(answer);
    };
    const auto ask_token = [&](std::size_t k, bool ends) {
        const bool gap = symbols.gap(k);
        if (gap ? symbols.kind(k) == CharacterClass::newline : symbols.glued(k)) return;
        const auto& answers = gap ? model_.gap_answers : model_.token_answers;
        const bool asked = answers[pair(symbols.kinds[k - 1], symbols.kinds[gap ? k + 1 : k])] == static_cast<std::uint8_t>(Answer::ask);
        if (!asked && (gap || random_.next() % kSample != 0)) return;
        token_features(symbols, k, options_.bits, token_places);
        add(tokens_, token_places, ends);
    };
    SentenceSoFar so_far;
    std::uint32_t line_start = symbols.offsets[symbols.first()];
    for (std::size_t t = 0; t < tokens.size(); ++t) {
        const Token& token = tokens[t];
        for (std::size_t k = token.first + 1; k < token.last; ++k) {
            ask_token(k, false);
            if (symbols.gap(k)) ++k;
        }
        so_far.take(token);
        if (t + 1 == tokens.size()) break;
        ask_token(token.last, true);
        const Break gap = break_after(symbols, token);
        const std::size_t which = static_cast<std::size_t>(gap) * kKinds * kKinds + pair(token.tail, tokens[t + 1].head);
        if (model_.sentence_answers[which] == static_cast<std::uint8_t>(Answer::ask) || random_.next() % kSample == 0) {
            sentence_features(symbols, tokens, t, so_far, line_length(symbols, token, line_start), options_.bits, sentence_places);
            add(sentences_, sentence_places, paragraph.last[t] != 0);
        }
        if (gap == Break::line) line_start = symbols.offsets[tokens[t + 1].first];
        if (paragraph.last[t]) so_far = {t + 1};
    }
}

namespace {

struct FormCounts {
    std::map<std::uint16_t, std::int64_t> rules;
    bool split() const { return rules.size() > 1 || rules.begin()->first != kPlain; }
};

}  // namespace

// Forms that a rule splits, before it may split unknown ones with the same ending: dont and wont are too few for font.
constexpr std::int64_t kFewestForms = 3;

void Trainer::learn_candidates() {
    if (model_.rules.empty()) return;
    std::map<Codes, FormCounts> forms;
    for (const Paragraph& paragraph : paragraphs_)
        for (std::size_t t = 0; t < paragraph.tokens.size(); ++t) {
            const Token& token = paragraph.tokens[t];
            const auto begin = paragraph.symbols.lowered.begin();
            ++forms[Codes(begin + token.first, begin + token.last)].rules[paragraph.rules[t]];
        }
    // Per affix: how many forms have it, and how many each rule splits.
    std::map<std::uint64_t, std::map<std::uint16_t, std::int64_t>> affixes;
    for (const auto& [form, counts] : forms)
        for (const auto& [number, count] : counts.rules) {
            if (number == kPlain) continue;
            const Rule& rule = model_.rules[number];
            for (std::size_t length = 1; length <= kLongestAffix && length < form.size(); ++length) {
                const auto part = rule.from_end ? std::span(form).last(length) : std::span(form).first(length);
                ++affixes[affix_key(part, rule.from_end)][number];
            }
        }
    for (const auto& [form, counts] : forms)
        for (std::size_t length = 1; length <= kLongestAffix && length < form.size(); ++length)
            for (const bool from_end : {true, false}) {
                if (counts.split()) continue;
                const auto found = affixes.find(affix_key(from_end ? std::span(form).last(length) : std::span(form).first(length), from_end));
                if (found != affixes.end()) ++found->second[kPlain];
            }
    std::vector<Candidate>& candidates = model_.candidates;
    for (const auto& [key, rules] : affixes) {
        std::int64_t all = 0;
        for (const auto& [rule, count] : rules) all += count;
        for (const auto& [rule, count] : rules)
            if (rule != kPlain && count >= kFewestForms && static_cast<double>(count) >= options_.least_precision * static_cast<double>(all))
                candidates.push_back({key, rule});
    }
    std::sort(candidates.begin(), candidates.end());
    const Candidates by_affix(candidates);
    for (const auto& [form, counts] : forms) {
        if (counts.split()) {
            for (const auto& [rule, count] : counts.rules)
                if (rule != kPlain) candidates.push_back({form_key(form), rule});
        } else if (!by_affix.of_affix(form).empty()) {
            candidates.push_back({form_key(form), kPlain});
        }
    }
    std::sort(candidates.begin(), candidates.end());
    candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
}

void Trainer::collect_choices() {
    if (model_.candidates.empty()) return;
    const Candidates candidates(model_.candidates);
    std::map<std::uint64_t, bool> met;
    std::array<std::uint32_t, kMultiwordFeatures> places;
    for (const Paragraph& paragraph : paragraphs_)
        for (std::size_t t = 0; t < paragraph.tokens.size(); ++t) {
            const Token& token = paragraph.tokens[t];
            const std::span<const std::uint32_t> lowered(paragraph.symbols.lowered.data() + token.first, token.last - token.first);
            const auto add = [&](std::span<const Candidate> found, bool known) {
                Choice choice;
                for (const Candidate& candidate : found) {
                    if (candidate.rule == kPlain) continue;
                    multiword_features(paragraph.symbols, paragraph.tokens, t, candidate.rule, known, options_.bits, places);
                    choice.places.insert(choice.places.end(), places.begin(), places.end());
                    ++choice.count;
                    if (candidate.rule == paragraph.rules[t]) choice.right = choice.count;
                }
                if (choice.count > 0) choices_.push_back(std::move(choice));
            };
            add(candidates.of_form(lowered), true);
            // Train on each form once as if it were unknown, from its affixes alone.
            bool& seen = met[form_key(lowered)];
            if (!seen) add(candidates.of_affix(lowered), false);
            seen = true;
        }
}

double Trainer::pass(const Examples& examples, BinaryAdagrad& learned) {
    double loss = 0.0;
    for (const std::uint32_t e : shuffled(examples.answers.size(), random_)) {
        check_stop(256);
        const std::span<const std::uint32_t> places(examples.places.data() + std::size_t{e} * examples.width, examples.width);
        learned.tick();
        const double sign = examples.answers[e] ? 1.0 : -1.0;
        const double margin = sign * learned.score(places);
        loss += log1p_exp(-margin);
        const double gradient = -sign / (1.0 + std::exp(margin));
        if (std::abs(gradient) > 1e-4) learned.step(places, gradient, options_.rate);
    }
    return loss;
}

double Trainer::pass_choices() {
    double loss = 0.0;
    std::vector<double> scores;
    for (const std::uint32_t c : shuffled(choices_.size(), random_)) {
        check_stop(256);
        const Choice& choice = choices_[c];
        const auto places = [&](std::size_t r) { return std::span(choice.places).subspan(r * kMultiwordFeatures, kMultiwordFeatures); };
        multiword_.tick();
        scores.assign(1, 0.0);
        for (std::size_t r = 0; r < choice.count; ++r) scores.push_back(multiword_.score(places(r)));
        const double most = *std::max_element(scores.begin(), scores.end());
        double sum = 0.0;
        for (const double score : scores) sum += std::exp(score - most);
        loss += std::log(sum) + most - scores[choice.right];
        for (std::size_t r = 0; r < choice.count; ++r) {
            const double gradient = std::exp(scores[r + 1] - most) / sum - (choice.right == r + 1 ? 1.0 : 0.0);
            if (std::abs(gradient) > 1e-4) multiword_.step(places(r), gradient, options_.rate);
        }
    }
    return loss;
}

double Trainer::epoch() {
    const double loss = pass(tokens_, token_) + pass(sentences_, sentence_) + pass_choices();
    const std::size_t count = tokens_.answers.size() + sentences_.answers.size() + choices_.size();
    return count == 0 ? 0.0 : loss / static_cast<double>(count);
}

Model Trainer::model() const {
    Model model = model_;
    model.token_weights = token_.mean();
    model.sentence_weights = sentence_.mean();
    model.multiword_weights = multiword_.mean();
    return model;
}

}  // namespace arbora::segment
