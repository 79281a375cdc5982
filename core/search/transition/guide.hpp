// What another parser, the guide, says about the words in focus [nivre-2008]: where the heads stand that it gives to them, and how many
// of the dependents that it gives to them are still to come, or wait on the stack.
//
// The head that the guide gives to one word in focus may be the other one: then it has that arc. Where it is still ahead, or below, the
// word must wait for it, or what is between must go; where it is gone, it cannot be had.
// O(depth of the stack + words put back into the buffer) per state.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "search/transition/state.hpp"

namespace arbora::transition {

enum class HeadPlace : std::uint8_t {
    none,   // no word, or the root, which has no head
    found,  // the word has that head already
    other,  // the other word in focus
    root,   // node 0, which is not in focus
    ahead,  // in the buffer
    below,  // on the stack
    gone,   // has left the stack
};
inline constexpr int kHeadPlaces = 7;
inline constexpr int kMostAwaited = 2;  // dependents; more are as this many

// Of one word in focus.
struct Guided {
    HeadPlace head = HeadPlace::none;
    int ahead = 0;   // dependents in the buffer
    int behind = 0;  // dependents on the stack that have no head; both without the words in focus
};

// guide: the tree of the guide. Of the left and the right word.
inline std::array<Guided, 2> guided(const Space& space, const State& s, const Focus& focus, const Gold& guide) {
    const std::array<const Item*, 2> items = {&focus.left, &focus.right};
    const std::array<int, 2> words = {focus.left.word, focus.right.word}, heads = {guide.head(words[0]), guide.head(words[1])};
    const auto is_in_focus = [&](int word) { return word == words[0] || word == words[1]; };
    std::array<Guided, 2> found;
    std::array<bool, 2> is_below{};
    for (int i = focus.under; i >= 0; i = space.item(i).below) {
        const Item& at = space.item(i);
        const int head = at.attached ? -1 : guide.head(at.word);
        for (std::size_t k = 0; k < 2; ++k) {
            is_below[k] = is_below[k] || at.word == heads[k];
            if (head >= 0 && head == words[k]) ++found[k].behind;
        }
    }
    for (int i = s.ahead; i >= 0; i = space.item(i).below) {
        const int word = space.item(i).word, head = guide.head(word);
        for (std::size_t k = 0; k < 2; ++k)
            if (head >= 0 && head == words[k] && !is_in_focus(word)) ++found[k].ahead;
    }
    for (std::size_t k = 0; k < 2; ++k) {
        if (words[k] < 0) continue;
        // Those that were never on the stack; from the last on, as far as they count.
        for (const int* d = guide.end(words[k]); d != guide.begin(words[k]) && *(d - 1) >= s.next && found[k].ahead < kMostAwaited; --d)
            if (!is_in_focus(*(d - 1))) ++found[k].ahead;
        found[k].ahead = std::min(found[k].ahead, kMostAwaited);
        found[k].behind = std::min(found[k].behind, kMostAwaited);
        const int head = heads[k];
        if (head < 0) continue;
        if (items[k]->attached && space.word(items[k]->below) == head) found[k].head = HeadPlace::found;
        else if (head == words[1 - k]) found[k].head = HeadPlace::other;
        else if (head == 0) found[k].head = HeadPlace::root;
        else if (space.is_in_buffer(s, head)) found[k].head = HeadPlace::ahead;
        else found[k].head = is_below[k] ? HeadPlace::below : HeadPlace::gone;
    }
    return found;
}

}  // namespace arbora::transition
