// The features of states and actions, and the sums of their weights.
//
// A feature of a state has a row of four weights, one per move, so one read scores all moves. A feature of an arc has a row with
// one weight per label, of which only labels allowed by the tags of head and dependent are read. The rows of a state's moves are
// summed at once; labels are scored for the arcs that search considers. float32 sums in a fixed order.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "numeric/sparse.hpp"
#include "parser/model.hpp"
#include "search/beam.hpp"
#include "search/transition/arc_eager.hpp"
#include "search/transition/swap.hpp"
#include "search/transition/templates.hpp"

namespace arbora::transition {

// The parts of a transition parser other than its weights, and the layout of the weights.
using System = std::variant<ArcEager, ArcStandard, Swap>;

struct Model {
    Model(System chosen, Templates of_moves, Templates of_labels) : system(chosen), moves(std::move(of_moves)), label_templates(std::move(of_labels)) {}

    System system;
    Templates moves, label_templates;
    int labels = 0;  // 0: trees without labels
    graph::LabelSets label_sets;
    std::uint32_t move_size = 0;   // weights of moves, a power of two: rows with one for each move
    std::uint32_t label_size = 0;  // weights of labels, a power of two: rows with one for each label
    int beam = 1;         // 1: greedy
    int most_labels = 1;  // of an arc, in a beam

    std::size_t weight_count() const { return move_size + (labels > 0 ? label_size : 0); }
    graph::WeightView view(const float* data, double scale) const { return {data, data + move_size, scale}; }
};

// What another parser, the guide, says about the words in focus [nivre-2008]: the positions of their guide heads, and how many of
// their guide dependents are still in the buffer, or on the stack.
//
// The guide head of one word in focus may be the other one: then they should be joined. If it is in the buffer or lower on the
// stack, the word must wait for it, or the words between must be removed; if it has left the stack, the arc is impossible.
// O(depth of the stack + words put back into the buffer) per state.
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
inline constexpr int kMostAwaited = 2;  // dependents; higher counts are equal

// For one word in focus.
struct Guided {
    HeadPlace head = HeadPlace::none;
    int ahead = 0;   // dependents in the buffer
    int behind = 0;  // dependents on the stack that have no head; both without the words in focus
};

// guide: the guide's tree. For the left and the right word.
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
        // Those that were never on the stack; from the last one, as far as the count matters.
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

inline constexpr std::uint32_t kLeftward = 0x27d4eb2fU;

// Feature rows for a missing word and its neighbours.
const std::uint32_t* absent_words();

constexpr std::size_t at(Role role) { return static_cast<std::size_t>(role); }
constexpr std::size_t at(Extra extra) { return static_cast<std::size_t>(extra) - kWordFields; }

class Features {
public:
    explicit Features(const Model& model)
        : model_(&model),
          is_guided_(model.moves.need_guide() || model.label_templates.need_guide()),
          has_clusters_(model.moves.need_clusters() || model.label_templates.need_clusters()),
          move_rows_(model.moves.size()),
          label_rows_(model.label_templates.size()) {
        for (int label = kNoArc; label < model.labels; ++label) label_values_.push_back(label_value(label));
        for (int count = 0; count <= kMostCounted; ++count) count_values_.push_back(count_value(count));
        for (unsigned bin = 0; bin <= feature::kDistances; ++bin) distance_values_.push_back(distance_value(bin));
        for (unsigned place = 0; place < kHeadPlaces; ++place) place_values_.push_back(place_value(place));
    }

    // Call first. Throws InputError if the templates read a guide's trees or clusters that the sentence does not have.
    void load(const feature::Sentence& sentence, const graph::WeightView& weights);
    // The features of a state's moves, before they are mapped into the table: one hash per template. Reads no weights.
    std::span<const std::uint32_t> hashes(const Space& space, const State& state, const Focus& focus);
    // Sets the current state.
    void look(const Space& space, const State& state, const Focus& focus) {
        hashes(space, state, focus);
        add_up_moves();
    }

    double move(Move move) const { return scale_ * sums_[static_cast<std::size_t>(move)]; }
    // The best labels of the arc that a move makes, best first, ties to the lowest; {-1, 0} if there are no labels.
    std::span<const search::LabelScore> labels(const Arc& arc, Move move, int most);
    double label(const Arc& arc, Move move, int label);

    // The features of an action in the current state, each `count` times: of the move, and of the label if it has one.
    void add(const Action& action, const Arc& arc, float count, std::vector<SparseEntry>& entries) {
        for (const std::uint32_t row : move_rows_) entries.emplace_back(row + static_cast<std::uint32_t>(action.move), count);
        if (makes_arc(action.move)) add_label(action.move, arc, action.label, count, entries);
    }
    void add_label(Move move, const Arc& arc, int label, float count, std::vector<SparseEntry>& entries) {
        if (label < 0 || model_->labels == 0) return;
        find_label_rows(arc, move);
        for (const std::uint32_t row : label_rows_) entries.emplace_back(model_->move_size + row + static_cast<std::uint32_t>(label), count);
    }

private:
    void set_word(Role role, int word) { context_.rows[static_cast<std::size_t>(role)] = row(word); }
    void set_label(Role role, int label) { context_.extras[static_cast<std::size_t>(role)][0] = label_values_[static_cast<std::size_t>(label - kNoArc)]; }
    const std::uint32_t* row(int word) const { return word < 0 ? absent_words() : sentence_.rows[word].data(); }
    void set_dependent(Role role, const Dependents& side, std::size_t rank) {
        set_word(role, side.words[rank]);
        set_label(role, side.words[rank] < 0 ? kNoArc : side.labels[rank]);
    }
    // the outermost, and the next one inwards
    void set_dependents(Role outermost, const Dependents& side) {
        set_dependent(outermost, side, 0);
        set_dependent(static_cast<Role>(at(outermost) + 1), side, 1);
    }
    void set_above(const Space& space, const Focus& focus);
    void set_guide(const Space& space, const State& state, const Focus& focus);
    void add_up_moves();
    void set_item(Role role, const Item& item);
    void find_label_rows(const Arc& arc, Move move);

    const Model* model_;
    feature::Sentence sentence_;
    graph::WeightView weights_;
    double scale_ = 1.0;
    Focus focus_;
    bool is_guided_, has_clusters_;  // what templates look at
    Gold guide_;  // the guide's tree, where templates look at it
    Context context_{};  // roles that are absent stay 0
    std::vector<std::uint32_t> label_values_, count_values_, distance_values_, place_values_;
    std::vector<std::uint32_t> values_, move_rows_, label_rows_;
    std::array<float, kScoredMoves> sums_{};
    Move rows_of_ = Move::shift;  // whose label rows are found: left, right, or none
    std::vector<float> label_sums_;
    std::vector<search::LabelScore> scored_;
};

// Features of the states of one system, in the form that search uses.
template <class System>
class Scorer {
public:
    Scorer(const System& system, Features& features) : system_(&system), features_(&features) {}

    void look(const Space& space, const State& state) { features_->look(space, state, system_->focus(space, state)); }
    double move(Move move) const { return features_->move(move); }
    std::span<const search::LabelScore> labels(const Arc& arc, Move move, int most) { return features_->labels(arc, move, most); }
    double label(const Arc& arc, Move move, int label) { return features_->label(arc, move, label); }

private:
    const System* system_;
    Features* features_;
};

}  // namespace arbora::transition
