// Beam search: the best `width` states after each step go on; finished ones stay with their scores until all are finished.
//
// Of actions with equal scores the one from the better state goes first, then the one that comes first in the state: results are the
// same everywhere. O(steps * width) states.
//
// Learning compares the right sequence of actions with the best one found after so many steps; after how many, the update says:
//   early          when the right one has fallen out of the beam, else at the end [collins-2004]
//   max_violation  where the best one found beats the right one by most [huang-2012]
//   standard       at the end
#pragma once

#include <algorithm>
#include <vector>

#include "base/interrupt.hpp"
#include "search/greedy.hpp"

namespace arbora::search {

enum class Update { early, max_violation, standard };

// Nothing is added to the scores of arcs.
struct NoCosts {
    double operator()(const transition::Arc&, int) const { return 0.0; }
};

template <class System, class Scorer>
class Beam {
public:
    using Space = transition::Space;
    using State = transition::State;
    using Action = transition::Action;

    // most_labels: how many of an arc go into the beam.
    Beam(const System& system, Space& space, Scorer& scorer, int width, int most_labels)
        : system_(&system), space_(&space), scorer_(&scorer), width_(static_cast<std::size_t>(width)), most_labels_(most_labels) {}

    // The finished states, best first; none where the restriction left none.
    template <class Restriction = Unrestricted>
    const std::vector<int>& run(int n, const Restriction& allowed = {}) {
        begin(n);
        while (advance(allowed, NoCosts{})) {}
        return level_;
    }

    struct Comparison {
        int right = -1, found = -1;  // states after equally many steps
    };
    // The right sequence, by the system's oracle, and what was found. costs(arc, label): added to the score of what makes an arc.
    template <class Costs>
    Comparison compare(int n, const transition::Gold& gold, Update update, const Costs& costs) {
        begin(n);
        const auto plan = system_->plan(n, gold);
        int right = level_[0], at = 0;  // `at`: of the right one in the beam
        Comparison chosen{right, right};
        double largest = 0.0;
        const auto compare_now = [&] {
            const double violation = score(level_[0]) - score(right);
            if (at == 0 || violation < largest) return;
            largest = violation;
            chosen = {right, level_[0]};
        };
        while (true) {
            const Action action = right_action(right, gold, plan);
            const bool is_done = is_finished(right);
            if (!advance(Unrestricted{}, costs)) break;
            if (!is_done) right = follow(right, action);
            at = at < 0 ? -1 : find(at, action, is_done);
            compare_now();
            if (update == Update::early && at < 0) return {right, level_[0]};
        }
        // Where sequences differ in length, the right one may be longer than all that were found.
        while (!is_finished(right)) right = follow(right, right_action(right, gold, plan));
        compare_now();
        return update == Update::max_violation ? chosen : Comparison{right, level_[0]};
    }

    // The right sequence to its end.
    int right_sequence(const transition::Gold& gold, int start) {
        const auto plan = system_->plan(space_->n(), gold);
        int right = start;
        while (!is_finished(right)) right = follow(right, right_action(right, gold, plan));
        return right;
    }

private:
    struct Candidate {
        double score;
        int from;  // rank of the state it comes from
        int order;
        Action action;
        bool stays;
    };

    double score(int state) const { return space_->state(state).score; }
    bool is_finished(int state) const { return system_->valid(*space_, space_->state(state)) == 0; }

    void begin(int n) {
        const State start = system_->start(*space_, n);
        level_.assign(1, space_->add(start));
    }

    template <class Plan>
    Action right_action(int right, const transition::Gold& gold, const Plan& plan) const {
        if (is_finished(right)) return {};
        const State& state = space_->state(right);
        Action action{system_->oracle(*space_, state, gold, plan), -1};
        if (transition::makes_arc(action.move))
            action.label = static_cast<std::int16_t>(gold.label(system_->arc(*space_, state, action.move).dep));
        return action;
    }

    int follow(int right, const Action& action) {
        const State state = space_->state(right);
        scorer_->look(*space_, state);
        return step(*system_, *space_, right, action, action_score(*system_, *space_, state, *scorer_, action));
    }

    // Where in the beam the state is that came from the state at `before` by an action; -1: nowhere.
    int find(int before, const Action& action, bool stays) const {
        for (std::size_t i = 0; i < chosen_.size(); ++i)
            if (chosen_[i].from == before && chosen_[i].stays == stays && (stays || chosen_[i].action == action)) return static_cast<int>(i);
        return -1;
    }

    // False: all states are finished.
    template <class Restriction, class Costs>
    bool advance(const Restriction& allowed, const Costs& costs) {
        check_stop(256 * level_.size());
        candidates_.clear();
        bool going = false;
        for (std::size_t rank = 0; rank < level_.size(); ++rank) going = expand(static_cast<int>(rank), allowed, costs) || going;
        if (!going) return false;
        choose();
        before_.swap(level_);
        level_.clear();
        for (const Candidate& c : chosen_) {
            const int from = before_[static_cast<std::size_t>(c.from)];
            level_.push_back(c.stays ? from : step(*system_, *space_, from, c.action, c.score - score(from)));
        }
        return true;
    }

    template <class Restriction, class Costs>
    bool expand(int rank, const Restriction& allowed, const Costs& costs) {
        const State state = space_->state(level_[static_cast<std::size_t>(rank)]);
        const transition::Moves valid = system_->valid(*space_, state);
        const auto add = [&](const Action& action, double more, bool stays) {
            candidates_.push_back({state.score + more, rank, static_cast<int>(candidates_.size()), action, stays});
        };
        if (valid == 0) {
            add({}, 0.0, true);
            return false;
        }
        const bool is_forced = transition::is_forced(valid);
        if (!is_forced) scorer_->look(*space_, state);
        each_move(allowed(*space_, state, valid), [&](transition::Move move) {
            if (is_forced || !transition::makes_arc(move)) return add({move, -1}, is_forced ? 0.0 : scorer_->move(move), false);
            const transition::Arc arc = system_->arc(*space_, state, move);
            const double more = scorer_->move(move);
            for (const LabelScore& label : scorer_->labels(arc, move, most_labels_))
                add({move, static_cast<std::int16_t>(label.label)}, more + label.score + costs(arc, label.label), false);
        });
        return true;
    }

    void choose() {
        const auto better = [](const Candidate& a, const Candidate& b) { return a.score != b.score ? a.score > b.score : a.order < b.order; };
        if (candidates_.size() > width_) {
            std::nth_element(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(width_), candidates_.end(), better);
            candidates_.resize(width_);
        }
        std::sort(candidates_.begin(), candidates_.end(), better);
        chosen_.swap(candidates_);
    }

    const System* system_;
    Space* space_;
    Scorer* scorer_;
    std::size_t width_;
    int most_labels_;
    std::vector<int> level_, before_;  // states, best first
    std::vector<Candidate> candidates_, chosen_;
};

}  // namespace arbora::search
