#include "text/exchange.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/errors.hpp"
#include "base/interrupt.hpp"

namespace arbora::classes {

namespace {

using Count = std::int64_t;

// n log n, from a table where n is small.
class Entropies {
public:
    Entropies() : table_(kSmall) {
        for (std::size_t n = 1; n < kSmall; ++n) table_[n] = plain(static_cast<Count>(n));
    }
    double operator()(Count n) const { return n < static_cast<Count>(kSmall) ? table_[static_cast<std::size_t>(n)] : plain(n); }

private:
    static constexpr std::size_t kSmall = 1 << 14;
    static double plain(Count n) { return static_cast<double>(n) * std::log(static_cast<double>(n)); }

    std::vector<double> table_;
};

struct Neighbour {
    std::uint32_t word;
    Count count;
};

// Adjacent words of each word, with counts: those of word w start at offsets[w].
struct Neighbours {
    std::vector<std::size_t> offsets;
    std::vector<Neighbour> all;

    std::span<const Neighbour> of(std::size_t word) const { return {all.data() + offsets[word], offsets[word + 1] - offsets[word]}; }
};

using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

// Sorts the pairs.
Neighbours neighbours(Pairs& pairs, std::size_t words) {
    std::sort(pairs.begin(), pairs.end());
    Neighbours found;
    found.offsets.reserve(words + 1);
    std::size_t at = 0;
    for (std::size_t word = 0; word < words; ++word) {
        found.offsets.push_back(found.all.size());
        while (at < pairs.size() && pairs[at].first == word) {
            const std::size_t from = at;
            while (at < pairs.size() && pairs[at] == pairs[from]) ++at;
            found.all.push_back({pairs[from].second, static_cast<Count>(at - from)});
        }
    }
    found.offsets.push_back(found.all.size());
    return found;
}

// For a word's neighbours: their classes, with counts.
class Tally {
public:
    explicit Tally(std::size_t classes) : counts_(classes) {}

    void add(std::size_t c, Count count) {
        if (counts_[c] == 0) touched_.push_back(c);
        counts_[c] += count;
    }
    void clear() {
        for (const std::size_t c : touched_) counts_[c] = 0;
        touched_.clear();
    }
    Count operator[](std::size_t c) const { return counts_[c]; }
    std::span<const std::size_t> touched() const { return touched_; }

private:
    std::vector<Count> counts_;
    std::vector<std::size_t> touched_;
};

class Exchange {
public:
    Exchange(std::span<const std::int32_t> text, std::vector<std::int32_t> start, std::size_t classes)
        : classes_(std::move(start)), count_(classes), width_(classes + 1), words_(classes_.size()), sizes_(words_ + 1),
          pairs_(width_ * width_), totals_(width_), before_(width_), after_(width_), gains_(classes) {
        Pairs following;
        following.reserve(text.size() + 2);
        std::size_t last = words_;  // the boundary
        const auto step = [&](std::size_t next) {
            if (last == words_ && next == words_) return;  // an empty sentence
            following.emplace_back(static_cast<std::uint32_t>(last), static_cast<std::uint32_t>(next));
            ++sizes_[next];
            last = next;
        };
        for (const std::int32_t word : text) step(word == kBoundary ? words_ : static_cast<std::size_t>(word));
        step(words_);
        after_words_ = neighbours(following, words_ + 1);
        for (auto& [left, right] : following) std::swap(left, right);
        before_words_ = neighbours(following, words_ + 1);
        for (std::size_t word = 0; word <= words_; ++word) {
            totals_[class_of(word)] += sizes_[word];
            for (const Neighbour& next : after_words_.of(word)) pair(class_of(word), class_of(next.word)) += next.count;
        }
    }

    double value() const {
        double sum = 0.0;
        for (const Count n : pairs_) sum += f_(n);
        for (const Count n : totals_) sum -= 2.0 * f_(n);
        return sum;
    }

    Count round() {
        Count moved = 0;
        for (std::size_t word = 0; word < words_; ++word) moved += visit(word) ? 1 : 0;
        return moved;
    }

    std::vector<std::int32_t> take() { return std::move(classes_); }

private:
    std::size_t class_of(std::size_t word) const { return word == words_ ? count_ : static_cast<std::size_t>(classes_[word]); }
    Count& pair(std::size_t g, std::size_t h) { return pairs_[g * width_ + h]; }

    bool visit(std::size_t word) {
        if (sizes_[word] == 0) return false;
        check_stop(8 * count_);
        const std::size_t old = class_of(word);
        tally(word);
        shift(word, old, -1);
        std::size_t best = old;
        for (std::size_t c = 0; c < count_; ++c) gains_[c] = gain(word, c);
        for (std::size_t c = 0; c < count_; ++c)
            // Sums of some hundred terms that are mathematically equal differ by less.
            if (gains_[c] > gains_[best] + 1e-9) best = c;
        shift(word, best, 1);
        classes_[word] = static_cast<std::int32_t>(best);
        return best != old;
    }

    // Classes of the word's neighbours other than the word itself.
    void tally(std::size_t word) {
        before_.clear();
        after_.clear();
        itself_ = 0;
        for (const Neighbour& other : before_words_.of(word))
            if (other.word != word) before_.add(class_of(other.word), other.count);
        for (const Neighbour& other : after_words_.of(word)) {
            if (other.word != word) after_.add(class_of(other.word), other.count);
            else itself_ = other.count;
        }
    }

    // Adds the word to class c (sign 1), or removes it (-1).
    void shift(std::size_t word, std::size_t c, Count sign) {
        for (const std::size_t g : before_.touched()) pair(g, c) += sign * before_[g];
        for (const std::size_t h : after_.touched()) pair(c, h) += sign * after_[h];
        pair(c, c) += sign * itself_;
        totals_[c] += sign * sizes_[word];
    }

    // The growth of F when the word, now in no class, enters class c.
    double gain(std::size_t word, std::size_t c) {
        const auto growth = [&](Count n, Count more) { return f_(n + more) - f_(n); };
        double sum = -2.0 * growth(totals_[c], sizes_[word]);
        for (const std::size_t g : before_.touched())
            if (g != c) sum += growth(pair(g, c), before_[g]);
        for (const std::size_t h : after_.touched())
            if (h != c) sum += growth(pair(c, h), after_[h]);
        return sum + growth(pair(c, c), before_[c] + after_[c] + itself_);
    }

    std::vector<std::int32_t> classes_;
    std::size_t count_, width_, words_;
    std::vector<Count> sizes_;   // of words, the boundary's last
    std::vector<Count> pairs_;   // [class, next class], the boundary's last
    std::vector<Count> totals_;  // of classes
    Neighbours before_words_, after_words_;
    Tally before_, after_;
    Count itself_ = 0;
    std::vector<double> gains_;
    Entropies f_;
};

void check(std::span<const std::int32_t> text, std::span<const std::int32_t> start, std::size_t classes) {
    constexpr std::size_t kMost = std::size_t{1} << 15;
    if (classes < 1 || classes > kMost)
        throw InputError("classes must be from 1 to " + std::to_string(kMost) + ", got " + std::to_string(classes));
    for (const std::int32_t c : start)
        if (c < 0 || static_cast<std::size_t>(c) >= classes)
            throw InputError("start: expected classes below " + std::to_string(classes) + ", got " + std::to_string(c));
    for (const std::int32_t word : text)
        if (word != kBoundary && (word < 0 || static_cast<std::size_t>(word) >= start.size()))
            throw InputError("text: expected words below " + std::to_string(start.size()) + " or -1, got " + std::to_string(word));
}

}  // namespace

Exchanged exchange(std::span<const std::int32_t> text, std::vector<std::int32_t> start, std::size_t classes, std::size_t rounds) {
    check(text, start, classes);
    Exchange state(text, std::move(start), classes);
    Exchanged found;
    found.values.push_back(state.value());
    while (found.moved.size() < rounds && (found.moved.empty() || found.moved.back() > 0)) {
        found.moved.push_back(state.round());
        found.values.push_back(state.value());
    }
    found.classes = state.take();
    return found;
}

}  // namespace arbora::classes
