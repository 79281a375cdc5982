// States of transition parsers as plain lists, and their features from the definition; shares only the names of roles and fields
// with core/transition.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "slow_features.hpp"
#include "search/transition/templates.hpp"

namespace slow {

using arbora::transition::Extra;
using TransitionAtom = arbora::transition::Atom;
using TransitionRole = arbora::transition::Role;
using TransitionTemplate = std::vector<TransitionAtom>;

// Letters: S shift, L left, R right, D reduce, W swap, U unshift.
struct PlainState {
    bool is_eager;
    std::vector<int> stack, buffer;  // tops last, fronts first
    std::vector<int> heads, labels;  // -1: none yet

    PlainState(bool eager, int n) : is_eager(eager), heads(static_cast<std::size_t>(n) + 1, kNoNode), labels(heads.size(), -1) {
        for (int w = 1; w <= n; ++w) buffer.push_back(w);
        if (eager) buffer.push_back(0);
        else stack.push_back(0);
    }

    static int at(const std::vector<int>& list, std::size_t place) { return place < list.size() ? list[place] : kNoNode; }
    int from_top(std::size_t depth) const { return depth < stack.size() ? stack[stack.size() - 1 - depth] : kNoNode; }
    int left() const { return from_top(is_eager ? 0 : 1); }
    int right() const { return is_eager ? at(buffer, 0) : from_top(0); }

    void join(int head, int dep, int label) {
        heads[static_cast<std::size_t>(dep)] = head;
        labels[static_cast<std::size_t>(dep)] = label;
    }
    void shift() {
        stack.push_back(buffer.front());
        buffer.erase(buffer.begin());
    }
    void remove_left() { stack.erase(stack.end() - (is_eager ? 1 : 2)); }
    void make(char move, int label) {
        const int l = left(), r = right();
        if (move == 'L') join(r, l, label);
        if (move == 'R') join(l, r, label);
        if (move == 'S' || (move == 'R' && is_eager)) shift();
        if (move == 'D' || move == 'L') remove_left();
        if (move == 'R' && !is_eager) stack.pop_back();
        if (move == 'W' || move == 'U') {
            remove_left();
            buffer.insert(buffer.begin(), l);
        }
    }

    int head(int word) const { return word < 0 ? kNoNode : heads[static_cast<std::size_t>(word)]; }
    // From the outermost one inwards. Node 0 comes before all words, or after them.
    std::vector<int> dependents(int word, bool on_left) const {
        std::vector<int> found;
        const int place = word == 0 && is_eager ? static_cast<int>(heads.size()) : word;
        for (int w = 1; w < static_cast<int>(heads.size()) && word >= 0; ++w)
            if (head(w) == word && (w < place) == on_left) found.push_back(w);
        if (!on_left) std::reverse(found.begin(), found.end());
        return found;
    }
};

inline int guide_head(const Sentence& sentence, int word) { return word > 0 ? sentence.guide_heads[static_cast<std::size_t>(word)] : kNoNode; }

inline bool is_in(const std::vector<int>& list, int word) { return std::find(list.begin(), list.end(), word) != list.end(); }

// The position of the guide's head of a word in focus: 0 it has none, 1 the word has it already, 2 it is the other word in focus, 3
// the root, 4 in the buffer, 5 on the stack, 6 gone.
inline int head_place(const Sentence& sentence, const PlainState& s, int word) {
    const int theirs = guide_head(sentence, word);
    if (theirs < 0) return 0;
    if (s.head(word) == theirs) return 1;
    if (theirs == (word == s.left() ? s.right() : s.left())) return 2;
    if (theirs == 0) return 3;
    if (is_in(s.buffer, theirs)) return 4;
    return is_in(s.stack, theirs) ? 5 : 6;
}

// The number of words in a list, other than those in focus, that have no head and are the guide's dependents of a word; 2 for more.
inline int waiting(const Sentence& sentence, const PlainState& s, const std::vector<int>& list, int word) {
    int count = 0;
    for (const int w : list)
        if (word >= 0 && w != s.left() && w != s.right() && s.head(w) < 0 && guide_head(sentence, w) == word) ++count;
    return std::min(count, 2);
}

// The word in a role; arcs, of labels only: 'L' or 'R'.
inline int node(const Sentence& sentence, const PlainState& s, TransitionRole role, char arc) {
    using enum arbora::transition::Role;  // clang 14 takes no alias here
    const std::size_t below = s.is_eager ? 1 : 2, next_in_buffer = s.is_eager ? 1 : 0;
    const int h = arc == 'L' ? s.right() : s.left(), d = arc == 'L' ? s.left() : s.right();
    const auto dependent = [&](int word, bool on_left, std::size_t rank) { return PlainState::at(s.dependents(word, on_left), rank); };
    switch (role) {
        case left: return s.left();
        case right: return s.right();
        case under: return s.from_top(below);
        case next: return PlainState::at(s.buffer, next_in_buffer);
        case after_next: return PlainState::at(s.buffer, next_in_buffer + 1);
        case head: return s.head(s.left());
        case grand: return s.head(s.head(s.left()));
        case left_left: return dependent(s.left(), true, 0);
        case left_left2: return dependent(s.left(), true, 1);
        case left_right: return dependent(s.left(), false, 0);
        case left_right2: return dependent(s.left(), false, 1);
        case right_left: return dependent(s.right(), true, 0);
        case right_left2: return dependent(s.right(), true, 1);
        case right_right: return dependent(s.right(), false, 0);
        case right_right2: return dependent(s.right(), false, 1);
        case arc_head: return h;
        case arc_dep: return d;
        case sibling: return dependent(h, arc == 'L', 0);
        case dep_left: return dependent(d, true, 0);
        case dep_right: return dependent(d, false, 0);
        case left_guide: return guide_head(sentence, s.left());
        case right_guide: return guide_head(sentence, s.right());
        case dep_guide: return guide_head(sentence, d);
    }
    return kNoNode;
}

inline std::uint32_t numbered(std::uint64_t kind, int number) { return static_cast<std::uint32_t>(mix(kind + static_cast<std::uint64_t>(number) * 2654435761ULL)); }

// Values that are not texts.
inline std::uint32_t extra_value(const Sentence& sentence, const PlainState& s, int word, Extra field) {
    const bool on_left = field == Extra::lefts || field == Extra::left_labels;
    switch (field) {
        case Extra::label: return numbered(0x6c6162656cULL, s.head(word) < 0 ? 0 : s.labels[static_cast<std::size_t>(word)] + 2);
        case Extra::lefts:
        case Extra::rights: return numbered(0x636f756e74ULL, std::min(static_cast<int>(s.dependents(word, on_left).size()), 6));
        case Extra::left_labels:
        case Extra::right_labels: {
            std::uint64_t set = 0;
            for (const int w : s.dependents(word, on_left)) set |= std::uint64_t{1} << (s.labels[static_cast<std::size_t>(w)] % 64);
            return static_cast<std::uint32_t>(mix(set + 0x736574ULL));
        }
        case Extra::head_place: return numbered(0x706c616365ULL, head_place(sentence, s, word));
        case Extra::ahead: return numbered(0x636f756e74ULL, waiting(sentence, s, s.buffer, word));
        case Extra::behind: return numbered(0x636f756e74ULL, waiting(sentence, s, s.stack, word));
        case Extra::distance: {
            if (s.left() < 0) return numbered(0x64697374ULL, 0);
            const int to = s.right() == 0 ? sentence.n() + 1 : s.right();
            return numbered(0x64697374ULL, static_cast<int>(distance_bin(s.left(), to)));
        }
    }
    return 0;
}

// One sum per template; kind: 1 moves, 2 labels.
inline Places transition_sums(const Sentence& sentence, const PlainState& s, const std::vector<TransitionTemplate>& templates, int kind, char arc = 0) {
    Places sums;
    for (std::size_t t = 0; t < templates.size(); ++t) {
        const std::uint64_t base = (static_cast<std::uint64_t>(kind + 32) << 40) + t * 256;
        auto total = static_cast<std::uint32_t>(mix(base));
        for (std::size_t a = 0; a < templates[t].size(); ++a) {
            const auto& atom = templates[t][a];
            const int word = node(sentence, s, static_cast<TransitionRole>(atom.role), arc);
            const bool is_text = atom.field < static_cast<int>(Extra::label);
            const std::uint32_t value = is_text ? sentence.value(word, atom.offset, static_cast<Field>(atom.field))
                                                : extra_value(sentence, s, word, static_cast<Extra>(atom.field));
            total += value * (static_cast<std::uint32_t>(mix(base + a + 1)) | 1U);
        }
        sums.push_back(total);
    }
    return sums;
}

}  // namespace slow
