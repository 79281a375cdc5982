// The features of states and actions, and the sums of their weights.
//
// A feature of a state has a row of four weights, one per move, so that one read scores all moves; a feature of an arc has a row with
// one weight per label, of which those are read that the tags of head and dependent allow. A state that is looked at has the rows of
// its moves added up at once; labels are scored for the arcs that search asks about. float32 sums in a fixed order.
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

// What a transition parser knows besides its weights, and where the weights lie.
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

// What another parser, the guide, says about the words in focus [nivre-2008]: where the heads stand that it gives to them, and how many
// of the dependents that it gives to them are still to come, or wait on the stack.
//
// The head that the guide gives to one word in focus may be the other one: then it has that arc. Where it is still ahead, or below, the
// word must wait for it, or what is between must go; where it is gone, it cannot be had.
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

inline constexpr std::uint32_t kLeftward = 0x27d4eb2fU;

// Feature rows for a missing word and its neighbours.
inline const std::uint32_t* absent_words() {
    static const auto rows = [] {
        std::array<feature::Row, 2 * feature::kPadding + 1> all;
        all.fill(feature::absent_row());
        return all;
    }();
    return rows[feature::kPadding].data();
}

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

    // Must come first. InputError where the templates look at a guide's trees or at clusters, and the sentence has none.
    void load(const feature::Sentence& sentence, const graph::WeightView& weights) {
        sentence_ = sentence;
        weights_ = weights;
        scale_ = weights.scale;
        feature::require_inputs(is_guided_, has_clusters_, sentence);
        if (is_guided_) guide_ = Gold(sentence.n, sentence.guide_heads, nullptr);
    }
    // The features of a state's moves, before they are folded into the table: one hash per template. Reads no weights.
    std::span<const std::uint32_t> hashes(const Space& space, const State& state, const Focus& focus) {
        focus_ = focus;
        rows_of_ = Move::shift;
        set_item(Role::left, focus.left);
        set_item(Role::right, focus.right);
        set_dependents(Role::left_left, focus.left.left);
        set_dependents(Role::left_right, focus.left.right);
        set_dependents(Role::right_left, focus.right.left);
        set_dependents(Role::right_right, focus.right.right);
        set_above(space, focus);
        set_word(Role::next, focus.next);
        set_word(Role::after_next, focus.after_next);
        const int from = focus.left.word, to = focus.right.word == 0 && from > 0 ? sentence_.n + 1 : focus.right.word;
        const std::uint32_t distance = distance_values_[from < 0 ? 0 : feature::distance_bin(from, to)];
        context_.extras[at(Role::left)][at(Extra::distance)] = distance;
        context_.extras[at(Role::arc_head)][at(Extra::distance)] = distance;
        if (is_guided_) set_guide(space, state, focus);
        model_->moves.find(context_, move_rows_.data(), values_);
        return move_rows_;
    }
    // The state to be asked about.
    void look(const Space& space, const State& state, const Focus& focus) {
        hashes(space, state, focus);
        add_up_moves();
    }

    double move(Move move) const { return scale_ * sums_[static_cast<std::size_t>(move)]; }
    // The best labels of the arc that a move makes, best first, ties to the lowest; {-1, 0} where there are no labels.
    std::span<const search::LabelScore> labels(const Arc& arc, Move move, int most) {
        scored_.clear();
        if (model_->labels == 0) {
            scored_.push_back({-1, 0.0});
            return scored_;
        }
        find_label_rows(arc, move);
        const auto allowed = model_->label_sets.of(sentence_.tags[arc.head], sentence_.tags[arc.dep]);
        label_sums_.assign(allowed.size(), 0.0F);
        for (const std::uint32_t row : label_rows_)
            for (std::size_t i = 0; i < allowed.size(); ++i) label_sums_[i] += weights_.labels[row + allowed[i]];
        // The best few by insertion: there are hardly ever more than two or three to keep.
        for (std::size_t i = 0; i < allowed.size(); ++i) {
            const search::LabelScore found{allowed[i], scale_ * label_sums_[i]};
            if (scored_.size() == static_cast<std::size_t>(most)) {
                if (!(found.score > scored_.back().score)) continue;
                scored_.pop_back();
            }
            auto place = scored_.end();
            while (place != scored_.begin() && found.score > (place - 1)->score) --place;
            scored_.insert(place, found);
        }
        return scored_;
    }
    double label(const Arc& arc, Move move, int label) {
        if (model_->labels == 0 || label < 0) return 0.0;
        find_label_rows(arc, move);
        float sum = 0.0F;
        for (const std::uint32_t row : label_rows_) sum += weights_.labels[row + static_cast<std::uint32_t>(label)];
        return scale_ * sum;
    }

    // The features of an action in the state that is looked at, each `count` times: of the move, and of the label if it has one.
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
    void set_above(const Space& space, const Focus& focus) {
        const Item none;
        const Item& under = focus.under >= 0 ? space.item(focus.under) : none;
        // Where the left word has a head, that is the word under it.
        const bool has_head = focus.left.attached, has_grand = has_head && under.attached;
        set_word(Role::under, under.word);
        set_label(Role::under, under.attached ? under.label : kNoArc);
        set_word(Role::head, has_head ? under.word : -1);
        set_label(Role::head, has_grand ? under.label : kNoArc);
        set_word(Role::grand, has_grand ? space.word(under.below) : -1);
    }
    void set_guide(const Space& space, const State& state, const Focus& focus) {
        const auto said = guided(space, state, focus, guide_);
        const std::array<Role, 2> roles = {Role::left, Role::right}, above = {Role::left_guide, Role::right_guide};
        const std::array<int, 2> words = {focus.left.word, focus.right.word};
        for (std::size_t k = 0; k < 2; ++k) {
            auto& extras = context_.extras[at(roles[k])];
            extras[at(Extra::head_place)] = place_values_[static_cast<std::size_t>(said[k].head)];
            extras[at(Extra::ahead)] = count_values_[static_cast<std::size_t>(said[k].ahead)];
            extras[at(Extra::behind)] = count_values_[static_cast<std::size_t>(said[k].behind)];
            set_word(above[k], guide_.head(words[k]));
        }
    }
    void add_up_moves() {
        const int shift = 32 - std::countr_zero(model_->move_size / kScoredMoves);
        for (auto& place : move_rows_) {
            place = (place >> shift) * kScoredMoves;
            __builtin_prefetch(weights_.tree + place);
        }
        // Two sums side by side, so that additions need not wait for each other.
        std::array<float, kScoredMoves> even{}, odd{};
        const auto add = [&](std::array<float, kScoredMoves>& sums, std::uint32_t row) {
            for (std::size_t m = 0; m < kScoredMoves; ++m) sums[m] += weights_.tree[row + m];
        };
        for (std::size_t t = 0; t + 1 < move_rows_.size(); t += 2) {
            add(even, move_rows_[t]);
            add(odd, move_rows_[t + 1]);
        }
        if (move_rows_.size() % 2 == 1) add(even, move_rows_.back());
        for (std::size_t m = 0; m < kScoredMoves; ++m) sums_[m] = even[m] + odd[m];
    }
    void set_item(Role role, const Item& item) {
        auto& extras = context_.extras[at(role)];
        const auto count = [&](const Dependents& side) { return count_values_[static_cast<std::size_t>(std::min(side.count, kMostCounted))]; };
        set_word(role, item.word);
        set_label(role, item.attached ? item.label : kNoArc);
        extras[at(Extra::lefts)] = count(item.left);
        extras[at(Extra::rights)] = count(item.right);
        extras[at(Extra::left_labels)] = set_value(item.left.label_set);
        extras[at(Extra::right_labels)] = set_value(item.right.label_set);
    }
    void find_label_rows(const Arc& arc, Move move) {
        if (rows_of_ == move) return;
        rows_of_ = move;
        const Item& head = arc.head == focus_.right.word ? focus_.right : focus_.left;
        const Item& dep = arc.head == focus_.right.word ? focus_.left : focus_.right;
        set_item(Role::arc_head, head);
        set_item(Role::arc_dep, dep);
        set_dependent(Role::sibling, move == Move::left ? head.left : head.right, 0);
        set_dependent(Role::dep_left, dep.left, 0);
        set_dependent(Role::dep_right, dep.right, 0);
        if (is_guided_) {
            const bool is_left = arc.head == focus_.right.word;
            for (const Extra extra : {Extra::head_place, Extra::ahead, Extra::behind}) {
                context_.extras[at(Role::arc_head)][at(extra)] = context_.extras[at(is_left ? Role::right : Role::left)][at(extra)];
                context_.extras[at(Role::arc_dep)][at(extra)] = context_.extras[at(is_left ? Role::left : Role::right)][at(extra)];
            }
            set_word(Role::dep_guide, guide_.head(dep.word));
        }
        model_->label_templates.find(context_, label_rows_.data(), values_);
        const std::uint32_t direction = move == Move::left ? kLeftward : 0;
        const std::uint64_t starts = model_->label_size - static_cast<std::uint32_t>(model_->labels);
        for (auto& place : label_rows_) {
            place = static_cast<std::uint32_t>((place + direction) * starts >> 32) & ~std::uint32_t{feature::kLine - 1};
            // Labels are numbered by how common they are: the first line of a row, nearly always, is what is read.
            __builtin_prefetch(weights_.labels + place);
        }
    }

    const Model* model_;
    feature::Sentence sentence_;
    graph::WeightView weights_;
    double scale_ = 1.0;
    Focus focus_;
    bool is_guided_, has_clusters_;  // what templates look at
    Gold guide_;  // the guide's tree, where templates look at it
    Context context_{};  // what a role does not have stays 0
    std::vector<std::uint32_t> label_values_, count_values_, distance_values_, place_values_;
    std::vector<std::uint32_t> values_, move_rows_, label_rows_;
    std::array<float, kScoredMoves> sums_{};
    Move rows_of_ = Move::shift;  // whose label rows are found: left, right, or none
    std::vector<float> label_sums_;
    std::vector<search::LabelScore> scored_;
};

// Features of the states of one system, as search asks for them.
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
