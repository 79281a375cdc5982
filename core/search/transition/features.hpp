// The features of states and actions, and the sums of their weights.
//
// A feature of a state has a row of four weights, one per move, so that one read scores all moves; a feature of an arc has a row with
// one weight per label, of which those are read that the tags of head and dependent allow. A state that is looked at has the rows of
// its moves added up at once; labels are scored for the arcs that search asks about. float32 sums in a fixed order.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "numeric/sparse.hpp"
#include "search/steps.hpp"
#include "search/transition/model.hpp"

namespace arbora::transition {

class Features {
public:
    explicit Features(const Model& model);

    // Must come first. InputError where the templates look at a guide's trees and the sentence has none.
    void load(const feature::Sentence& sentence, const graph::WeightView& weights);
    // The features of a state's moves, before they are folded into the table: one hash per template. Reads no weights.
    std::span<const std::uint32_t> hashes(const Space& space, const State& state, const Focus& focus);
    // The state to be asked about.
    void look(const Space& space, const State& state, const Focus& focus);

    double move(Move move) const { return scale_ * sums_[static_cast<std::size_t>(move)]; }
    // The best labels of the arc that a move makes, best first, ties to the lowest; {-1, 0} where there are no labels.
    std::span<const search::LabelScore> labels(const Arc& arc, Move move, int most);
    double label(const Arc& arc, Move move, int label);

    // The features of an action in the state that is looked at, each `count` times: of the move, and of the label if it has one.
    void add(const Action& action, const Arc& arc, float count, std::vector<SparseEntry>& entries);
    void add_label(Move move, const Arc& arc, int label, float count, std::vector<SparseEntry>& entries);

private:
    void set_word(Role role, int word) { context_.rows[static_cast<std::size_t>(role)] = row(word); }
    void set_label(Role role, int label) { context_.extras[static_cast<std::size_t>(role)][0] = label_values_[static_cast<std::size_t>(label - kNoArc)]; }
    const std::uint32_t* row(int word) const;
    void set_dependent(Role role, const Dependents& side, std::size_t rank);
    void set_dependents(Role outermost, const Dependents& side);  // the outermost, and the next one inwards
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
    bool is_guided_;
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
