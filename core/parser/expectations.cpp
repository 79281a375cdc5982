#include "parser/expectations.hpp"

#include "base/interrupt.hpp"

namespace arbora::graph {

namespace {

// Throws InputError if a score is so large that rounding of sums, whose logs the chart holds, would change probabilities.
template <class Score>
void require_room_for_sums(const std::vector<Score>& scores) {
    constexpr double kMost = 1e8;
    for (const double score : scores)
        if (score != kMinusInfinity && !(std::abs(score) <= kMost))
            throw InputError("scores: expected numbers up to 1e8 for probabilities, got others; the weights are damaged, or learning diverged");
}

}  // namespace

std::vector<double> softmax(const double* scores, std::size_t count) {
    const double sum = log_sum_exp({scores, count});
    std::vector<double> result(count);
    for (std::size_t i = 0; i < count; ++i) result[i] = std::exp(scores[i] - sum);
    return result;
}

Answer Expectations::answer(const feature::Sentence& sentence, const ArcSet* arcs, const WeightView& weights, Task task,
                            bool cost_augmented) {
    sentence_ = sentence;
    if (task == Task::labels) return label_answer(weights, cost_augmented);
    load(sentence, arcs, weights, task == Task::joint);
    if (cost_augmented) add_costs();
    const Sums all = sums();
    Sums known;
    if (is_known(task)) {
        gold_.assign(sentence.heads, sentence.heads + sentence.n + 1);
        known.log_partition = tree_score(gold_.data());
        for (int d = 1; task == Task::joint && d <= sentence.n; ++d) {
            const int a = this->arcs().find(sentence.heads[d], d);
            known.log_partition += label_score(a, sentence.labels[d]) - labels_.sums[a];
        }
        count_gold(known);
    } else {
        known = sums_of(scores_of_known(task));
    }
    Answer answer;
    answer.loss = std::max(0.0, all.log_partition - known.log_partition);
    Sums difference = known;
    for (std::size_t i = 0; i < all.arcs.size(); ++i) difference.arcs[i] -= all.arcs[i];
    for (std::size_t i = 0; i < all.siblings.size(); ++i) difference.siblings[i] -= all.siblings[i];
    for (std::size_t i = 0; i < all.grandparents.size(); ++i) difference.grandparents[i] -= all.grandparents[i];
    add_parts(difference, answer);
    if (task == Task::joint) add_arc_labels(all, known, answer);
    return answer;
}

void Expectations::load(const feature::Sentence& sentence, const ArcSet* arcs, const WeightView& weights, bool joint_labels) {
    sentence_ = sentence;
    worker_.score(sentence, arcs, weights);
    arc_scores_.assign(worker_.arc_scores().begin(), worker_.arc_scores().end());
    labels_ = {};
    if (!joint_labels) return;
    score_labels(weights);
    for (std::size_t a = 0; a < arc_scores_.size(); ++a) arc_scores_[a] += labels_.sums[a];
}

Sums Expectations::sums_of(const std::vector<double>& arc_scores) {
    const ArcSet& arcs = worker_.arcs();
    Sums result;
    if (model_->siblings) {
        if (model_->trees == Trees::nonprojective)
            throw InputError("no exact sums over second-order non-projective trees; use projective trees or order=1");
        if (!model_->grandparents) no_grandparents_.build(arcs);
        const GrandParts& parts = model_->grandparents ? worker_.grand_parts() : no_grandparents_;
        const float* grand = model_->grandparents ? worker_.grand_scores().data() : nullptr;
        require_room_for_sums(arc_scores);
        require_room_for_sums(worker_.sibling_scores());
        if (model_->grandparents) require_room_for_sums(worker_.grand_scores());
        result.log_partition =
            chart_.inside({&arcs, &worker_.sides(), model_->roots, arc_scores.data(), worker_.sibling_scores().data(), &parts, grand});
        if (result.log_partition == kMinusInfinity) throw NoTreeError("no projective tree exists among the kept arcs");
        chart_.flow_from_total();
        result.arcs = chart_.arc_flow();
        result.siblings = chart_.sibling_flow();
        if (model_->grandparents) result.grandparents.assign(chart_.grand_flow().begin(), chart_.grand_flow().end());
        return result;
    }
    const auto nodes = static_cast<std::size_t>(arcs.n) + 1;
    arcs.spread(arc_scores, kMinusInfinity, dense_scores_);
    dense_marginals_.resize(nodes * nodes);
    const Problem problem{model_->trees, model_->roots, arcs.n, dense_scores_.data()};
    result.log_partition = log_partition(problem, arena_);
    MarginalArrays out;
    out.arcs = dense_marginals_.data();
    marginals(problem, arena_, out);
    result.arcs.resize(arcs.heads.size());
    arcs.each([&](int h, int d, int a) { result.arcs[a] = dense_marginals_[static_cast<std::size_t>(h) * nodes + static_cast<std::size_t>(d)]; });
    return result;
}

double Expectations::tree_score(const int* heads) {
    const ArcSet& set = arcs();
    inner_.resize(static_cast<std::size_t>(set.n) + 1);
    if (model_->siblings) adjacent_siblings(heads, set.n, inner_.data());
    double score = 0.0;
    for (int d = 1; d <= set.n; ++d) {
        const int h = heads[d], a = set.find(h, d);
        if (a < 0) return kMinusInfinity;
        score += arc_scores_[a];
        // For an inner sibling whose arc is not in the set, this adds another part's score, and the loop ends at that sibling.
        if (model_->siblings) score += worker_.sibling_scores()[worker_.sides().part_of(h, d, inner_[d])];
        if (!model_->grandparents || h == 0) continue;
        const int b = set.find(heads[h], h);
        if (b < 0) return kMinusInfinity;
        score += worker_.grand_scores()[worker_.grand_parts().part(a, b, set.first[h])];
    }
    return score;
}

void Expectations::label_probabilities_on_tree(const WeightView& weights, const int* heads, std::vector<std::vector<double>>& out) {
    std::vector<Surroundings> around;
    find_surroundings(heads, sentence_.n, around);
    labeler_.load(sentence_, weights.labels);
    out.assign(static_cast<std::size_t>(sentence_.n) + 1, {});
    std::vector<double> scores;
    for (int d = 1; d <= sentence_.n; ++d) {
        rows_.clear();
        scores.clear();
        labeler_.find_rows(d, around[d], true, rows_);
        labeler_.scores(rows_, weights.scale, allowed(heads[d], d), scores);
        out[d] = softmax(scores.data(), scores.size());
    }
}

std::vector<SparseEntry> Expectations::pull_back(const std::vector<double>& coefficients) const {
    std::vector<SparseEntry> entries;
    arcs().each([&](int h, int d, int a) {
        if (coefficients[a] != 0.0) worker_.add_arc(h, d, static_cast<float>(coefficients[a]), entries);
    });
    return entries;
}

void Expectations::score_labels(const WeightView& weights) {
    const ArcSet& arcs = worker_.arcs();
    labeler_.load(sentence_, weights.labels);
    labels_.first.assign(1, 0);
    for (int d = 1; d <= arcs.n; ++d)
        for (const int h : arcs.heads_of(d)) {
            check_stop(512);
            rows_.clear();
            labeler_.find_rows(d, {h}, false, rows_);
            const auto labels = allowed(h, d);
            const std::size_t begin = labels_.scores.size();
            labeler_.scores(rows_, weights.scale * weights.label_factor, labels, labels_.scores);
            labels_.first.push_back(labels_.scores.size());
            labels_.sums.push_back(log_sum_exp({labels_.scores.data() + begin, labels.size()}));
        }
}

void Expectations::add_costs() {
    const ArcSet& arcs = worker_.arcs();
    for (int d = 1; d <= arcs.n; ++d)
        for (int a = arcs.first[d]; a < arcs.first[d + 1]; ++a) {
            const int h = arcs.heads[a];
            if (!labels_.first.empty() && sentence_.labels[d] >= 0) {
                const auto labels = allowed(h, d);
                double* scores = labels_.scores.data() + labels_.first[a];
                for (std::size_t i = 0; i < labels.size(); ++i)
                    if (labels[i] != sentence_.labels[d]) scores[i] += cost_.label;
                const double sum = log_sum_exp({scores, labels.size()});
                arc_scores_[a] += sum - labels_.sums[a];
                labels_.sums[a] = sum;
            }
            if (sentence_.heads[d] >= 0 && h != sentence_.heads[d]) arc_scores_[a] += cost_.head;
        }
}

std::vector<double> Expectations::scores_of_known(Task task) const {
    std::vector<double> scores = arc_scores_;
    for (int d = 1; d <= sentence_.n; ++d)
        for (int a = arcs().first[d]; a < arcs().first[d + 1]; ++a) {
            if (sentence_.heads[d] >= 0 && arcs().heads[a] != sentence_.heads[d]) scores[a] = kMinusInfinity;
            if (task == Task::joint && sentence_.labels[d] >= 0) scores[a] += label_score(a, sentence_.labels[d]) - labels_.sums[a];
        }
    return scores;
}

double Expectations::label_score(int arc, int label) const {
    const int d = static_cast<int>(std::upper_bound(arcs().first.begin() + 1, arcs().first.end(), arc) - arcs().first.begin()) - 1;
    const auto labels = allowed(arcs().heads[arc], d);
    const auto found = std::find(labels.begin(), labels.end(), label);
    return found == labels.end() ? kMinusInfinity : labels_.scores[labels_.first[arc] + static_cast<std::size_t>(found - labels.begin())];
}

void Expectations::count_gold(Sums& counts) {
    const ArcSet& set = arcs();
    counts.arcs.assign(set.heads.size(), 0.0);
    counts.siblings.assign(model_->siblings ? worker_.sides().parts() : 0, 0.0);
    counts.grandparents.assign(model_->grandparents ? worker_.grand_parts().size() : 0, 0.0);
    inner_.resize(static_cast<std::size_t>(set.n) + 1);
    if (model_->siblings) adjacent_siblings(gold_.data(), set.n, inner_.data());
    for (int d = 1; d <= set.n; ++d) {
        const int h = gold_[d], a = set.find(h, d);
        counts.arcs[a] = 1.0;
        if (model_->siblings) counts.siblings[worker_.sides().part_of(h, d, inner_[d])] = 1.0;
        if (model_->grandparents && h > 0) counts.grandparents[worker_.grand_parts().part(a, set.find(gold_[h], h), set.first[h])] = 1.0;
    }
}

Answer Expectations::label_answer(const WeightView& weights, bool cost_augmented) {
    Answer answer;
    std::vector<Surroundings> around;
    find_surroundings(sentence_.heads, sentence_.n, around);
    labeler_.load(sentence_, weights.labels);
    std::vector<double> scores;
    for (int d = 1; d <= sentence_.n; ++d) {
        const int gold = sentence_.labels[d];
        if (gold < 0 || sentence_.heads[d] < 0) continue;
        const auto labels = allowed(sentence_.heads[d], d);
        rows_.clear();
        scores.clear();
        labeler_.find_rows(d, around[d], true, rows_);
        labeler_.scores(rows_, weights.scale, labels, scores);
        for (std::size_t i = 0; cost_augmented && i < labels.size(); ++i) scores[i] += labels[i] == gold ? 0.0 : cost_.label;
        const auto found = std::find(labels.begin(), labels.end(), gold);
        if (found == labels.end()) continue;
        const double sum = log_sum_exp(scores);
        answer.loss += sum - scores[static_cast<std::size_t>(found - labels.begin())];
        for (std::size_t i = 0; i < labels.size(); ++i) {
            const auto count = static_cast<float>((labels[i] == gold ? 1.0 : 0.0) - std::exp(scores[i] - sum));
            for (const std::uint32_t row : rows_) answer.difference.emplace_back(row + labels[i], count);
        }
    }
    return answer;
}

void Expectations::add_parts(const Sums& counts, Answer& answer) {
    const ArcSet& set = arcs();
    for (int d = 1; d <= set.n; ++d)
        for (int a = set.first[d]; a < set.first[d + 1]; ++a) {
            const int h = set.heads[a];
            check_stop(512);
            if (std::abs(counts.arcs[a]) > kNegligible) worker_.add_arc(h, d, static_cast<float>(counts.arcs[a]), answer.difference);
            for (int b = set.first[h]; model_->grandparents && h > 0 && b < set.first[h + 1]; ++b)
                if (const double count = counts.grandparents[worker_.grand_parts().part(a, b, set.first[h])]; std::abs(count) > kNegligible)
                    worker_.add_grandparent(set.heads[b], h, d, static_cast<float>(count), answer.difference);
        }
    if (!model_->siblings) return;
    worker_.sides().each_part([&](int h, int d, int inner, std::size_t part) {
        if (std::abs(counts.siblings[part]) > kNegligible)
            worker_.add_sibling(h, d, inner, static_cast<float>(counts.siblings[part]), answer.difference);
    });
}

void Expectations::add_arc_labels(const Sums& all, const Sums& known, Answer& answer) {
    const ArcSet& set = arcs();
    for (int d = 1; d <= set.n; ++d)
        for (int a = set.first[d]; a < set.first[d + 1]; ++a) {
            if (all.arcs[a] <= kNegligible && known.arcs[a] <= kNegligible) continue;
            check_stop(512);
            rows_.clear();
            labeler_.find_rows(d, {set.heads[a]}, false, rows_);
            const auto labels = allowed(set.heads[a], d);
            for (std::size_t i = 0; i < labels.size(); ++i) {
                const double share = std::exp(labels_.scores[labels_.first[a] + i] - labels_.sums[a]);
                const int gold = sentence_.labels[d];
                const double right = gold < 0 ? share : labels[i] == gold ? 1.0 : 0.0;
                const auto count = static_cast<float>(known.arcs[a] * right - all.arcs[a] * share);
                if (std::abs(count) <= kNegligible) continue;
                for (const std::uint32_t row : rows_) answer.difference.emplace_back(model_->tree_size + row + labels[i], count);
            }
        }
}

}  // namespace arbora::graph
