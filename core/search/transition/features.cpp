#include "search/transition/features.hpp"

namespace arbora::transition {

const std::uint32_t* absent_words() {
    static const auto rows = [] {
        std::array<feature::Row, 2 * feature::kPadding + 1> all;
        all.fill(feature::absent_row());
        return all;
    }();
    return rows[feature::kPadding].data();
}

void Features::load(const feature::Sentence& sentence, const graph::WeightView& weights) {
    sentence_ = sentence;
    weights_ = weights;
    scale_ = weights.scale;
    feature::require_inputs(is_guided_, has_clusters_, sentence);
    if (is_guided_) guide_ = Gold(sentence.n, sentence.guide_heads, nullptr);
}

std::span<const std::uint32_t> Features::hashes(const Space& space, const State& state, const Focus& focus) {
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

std::span<const search::LabelScore> Features::labels(const Arc& arc, Move move, int most) {
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
    // The best few by insertion: there are rarely more than two or three.
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

double Features::label(const Arc& arc, Move move, int label) {
    if (model_->labels == 0 || label < 0) return 0.0;
    find_label_rows(arc, move);
    float sum = 0.0F;
    for (const std::uint32_t row : label_rows_) sum += weights_.labels[row + static_cast<std::uint32_t>(label)];
    return scale_ * sum;
}

void Features::set_above(const Space& space, const Focus& focus) {
    const Item none;
    const Item& under = focus.under >= 0 ? space.item(focus.under) : none;
    // If the left word has a head, it is the word below it on the stack.
    const bool has_head = focus.left.attached, has_grand = has_head && under.attached;
    set_word(Role::under, under.word);
    set_label(Role::under, under.attached ? under.label : kNoArc);
    set_word(Role::head, has_head ? under.word : -1);
    set_label(Role::head, has_grand ? under.label : kNoArc);
    set_word(Role::grand, has_grand ? space.word(under.below) : -1);
}

void Features::set_guide(const Space& space, const State& state, const Focus& focus) {
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

void Features::add_up_moves() {
    const int shift = 32 - std::countr_zero(model_->move_size / kScoredMoves);
    for (auto& place : move_rows_) {
        place = (place >> shift) * kScoredMoves;
        __builtin_prefetch(weights_.tree + place);
    }
    // Two running sums, so that additions do not wait for each other.
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

void Features::set_item(Role role, const Item& item) {
    auto& extras = context_.extras[at(role)];
    const auto count = [&](const Dependents& side) { return count_values_[static_cast<std::size_t>(std::min(side.count, kMostCounted))]; };
    set_word(role, item.word);
    set_label(role, item.attached ? item.label : kNoArc);
    extras[at(Extra::lefts)] = count(item.left);
    extras[at(Extra::rights)] = count(item.right);
    extras[at(Extra::left_labels)] = set_value(item.left.label_set);
    extras[at(Extra::right_labels)] = set_value(item.right.label_set);
}

void Features::find_label_rows(const Arc& arc, Move move) {
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
        // Labels are numbered by frequency, so reads nearly always touch only the first line of a row.
        __builtin_prefetch(weights_.labels + place);
    }
}

}  // namespace arbora::transition
