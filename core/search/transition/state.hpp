// A parser's state within a sentence: a stack, a buffer, and for each word on them its dependents so far.
//
// States share memory: stack and buffer are linked lists of immutable items. So a new state costs O(1) time and space, whatever the
// sentence's length, and a beam copies nothing. The arcs of a state are found by following its previous states.
//
// Places: words 1 .. n are at their own places. Systems decide the place of node 0, the root: before them or, at place n + 1, after
// them.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace arbora::transition {

// The moves of all systems; each names the second one differently. `unshift` is always forced, so it has no weights.
enum class Move : std::uint8_t { shift, second, left, right, unshift };
inline constexpr int kScoredMoves = 4;

using Moves = std::uint8_t;  // a set: bit m for move m
constexpr Moves only(Move move) { return static_cast<Moves>(1U << static_cast<unsigned>(move)); }
constexpr Moves when(bool condition, Move move) { return condition ? only(move) : Moves{0}; }
constexpr bool has(Moves moves, Move move) { return (moves & only(move)) != 0; }
constexpr Move first(Moves moves) { return static_cast<Move>(std::countr_zero(moves)); }
constexpr bool makes_arc(Move move) { return move == Move::left || move == Move::right; }
// A move that needs no label: it is made without a score.
constexpr bool is_forced(Moves moves) { return (moves & (moves - 1)) == 0 && !has(moves, Move::left) && !has(moves, Move::right); }

struct Action {
    Move move = Move::shift;
    std::int16_t label = -1;  // of the arc that it makes; -1: none
    bool operator==(const Action&) const = default;
};

inline constexpr int kMostLabels = 32'767;  // the largest label that an action can hold

struct Arc {
    int head = -1, dep = -1;
};

// The dependents of a word on one side.
struct Dependents {
    std::array<std::int32_t, 2> words{-1, -1};  // the outermost, and the next one towards the head
    std::array<std::int16_t, 2> labels{-1, -1};
    std::int32_t count = 0;
    std::uint64_t label_set = 0;  // bit l mod 64 for each label l
};

// A word on the stack or in the buffer.
struct Item {
    std::int32_t word = -1;
    std::int32_t below = -1;   // the next item of the list; -1: none
    std::int16_t label = -1;   // of the arc to its head
    bool attached = false;     // its head is the item below
    Dependents left, right;
};

// `rank`: how many of the side's outermost dependents are further out than the new one.
inline void add_dependent(Dependents& side, int word, int label, int rank) {
    if (rank == 0) {
        side.words = {word, side.words[0]};
        side.labels = {static_cast<std::int16_t>(label), side.labels[0]};
    } else if (rank == 1) {
        side.words[1] = word;
        side.labels[1] = static_cast<std::int16_t>(label);
    }
    ++side.count;
    if (label >= 0) side.label_set |= std::uint64_t{1} << (label % 64);
}

struct State {
    std::int32_t stack = -1;     // its top item
    std::int32_t ahead = -1;     // items at the front of the buffer that were touched before
    std::int32_t next = 1;       // the place of the first word in the buffer that was not
    std::int32_t open = 0;       // words on the stack that have no head (arc-eager)
    std::int32_t previous = -1;  // the state it came from, by this action
    Action action;
    bool ended = false;          // all words have been on the stack, and one has come back (arc-eager)
    double score = 0.0;
};

// The context for features: the two words between which a state may make an arc, and the words around them; words -1: none.
struct Focus {
    Item left, right;
    int under = -1;  // the item on the stack below `left`
    int next = -1, after_next = -1;  // words in the buffer
};

// The states of one sentence. Keeps its memory between sentences.
class Space {
public:
    // `end`: one past the last place of the buffer.
    void reset(int n, int end) {
        n_ = n;
        end_ = end;
        items_.clear();
        states_.clear();
    }

    int n() const { return n_; }
    int end() const { return end_; }

    int add(const Item& item) {
        items_.push_back(item);
        return static_cast<int>(items_.size()) - 1;
    }
    int add(const State& state) {
        states_.push_back(state);
        return static_cast<int>(states_.size()) - 1;
    }
    const Item& item(int i) const { return items_[static_cast<std::size_t>(i)]; }
    const State& state(int s) const { return states_[static_cast<std::size_t>(s)]; }

    int word_at(int place) const { return place > n_ ? 0 : place; }
    int word(int item_number) const { return item_number < 0 ? -1 : item(item_number).word; }
    bool is_buffer_empty(const State& s) const { return s.ahead < 0 && s.next >= end_; }

    // The k-th word of the buffer, -1: none. O(k).
    int buffer_word(const State& s, int k) const {
        int i = s.ahead;
        for (; i >= 0 && k > 0; --k) i = item(i).below;
        if (i >= 0) return item(i).word;
        return s.next + k < end_ ? word_at(s.next + k) : -1;
    }
    bool is_in_buffer(const State& s, int word) const {
        for (int i = s.ahead; i >= 0; i = item(i).below)
            if (item(i).word == word) return true;
        const int place = word == 0 ? end_ - 1 : word;
        return place >= s.next && place < end_;
    }
    // The item at the front of the buffer, existing or new. The buffer must not be empty.
    Item front(const State& s) const {
        if (s.ahead >= 0) return item(s.ahead);
        Item fresh;
        fresh.word = word_at(s.next);
        return fresh;
    }

    void drop_front(State& s) const {
        if (s.ahead >= 0)
            s.ahead = item(s.ahead).below;
        else
            ++s.next;
    }
    void put_front(State& s, Item item) {
        item.below = s.ahead;
        s.ahead = add(item);
    }
    void push(State& s, Item item) {
        item.below = s.stack;
        s.stack = add(item);
    }
    void pop(State& s) const { s.stack = item(s.stack).below; }

private:
    int n_ = 0, end_ = 0;
    std::vector<Item> items_;
    std::vector<State> states_;
};

// A gold tree, possibly partial: heads[1 .. n], -1 for unknown heads. Holds no copy of it.
class Gold {
public:
    Gold() = default;
    // O(n).
    Gold(int n, const std::int32_t* heads, const std::int32_t* labels) : heads_(heads), labels_(labels) {
        const auto size = static_cast<std::size_t>(n) + 2;
        first_.assign(size, 0);
        children_.resize(size);
        for (int d = 1; d <= n; ++d)
            if (heads[d] >= 0) ++first_[static_cast<std::size_t>(heads[d]) + 1];
        for (std::size_t h = 1; h < size; ++h) first_[h] += first_[h - 1];
        std::vector<int> at(first_.begin(), first_.end() - 1);
        for (int d = 1; d <= n; ++d)
            if (heads[d] >= 0) children_[static_cast<std::size_t>(at[static_cast<std::size_t>(heads[d])]++)] = d;
    }

    int head(int word) const { return word > 0 ? heads_[word] : -1; }
    int label(int word) const { return labels_ == nullptr ? -1 : labels_[word]; }
    bool is_right(const Arc& arc) const { return head(arc.dep) == arc.head; }
    const int* begin(int head) const { return children_.data() + first_[static_cast<std::size_t>(head)]; }
    const int* end(int head) const { return children_.data() + first_[static_cast<std::size_t>(head) + 1]; }

private:
    const std::int32_t* heads_ = nullptr;
    const std::int32_t* labels_ = nullptr;
    std::vector<int> first_, children_;
};

// heads[0 .. n] and labels[0 .. n] of a finished state: the arcs of all its previous states. O(n).
template <class System>
void read_tree(const System& system, const Space& space, int state, int* heads, int* labels) {
    heads[0] = labels[0] = -1;
    for (int s = state; space.state(s).previous >= 0; s = space.state(s).previous) {
        const Action action = space.state(s).action;
        if (!makes_arc(action.move)) continue;
        const Arc arc = system.arc(space, space.state(space.state(s).previous), action.move);
        heads[arc.dep] = arc.head;
        labels[arc.dep] = action.label;
    }
}

}  // namespace arbora::transition
