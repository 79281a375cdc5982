#include "parser/worker.hpp"

#include "base/interrupt.hpp"

namespace arbora::graph {

void Worker::parse(const feature::Sentence& sentence, const ArcSet* arcs, const WeightView& weights, bool staged, int* heads, int* labels) {
    score(sentence, arcs, weights);
    const bool labelled = model_->labels > 0 && weights.labels != nullptr && labels != nullptr;
    if (labelled && !staged) score_labels(weights, false);
    decode(heads);
    if (labelled && staged) return label_tree(weights, false, heads, labels);
    if (!labelled) return;
    labels[0] = -1;
    for (int d = 1; d <= sentence.n; ++d) labels[d] = arc_labels_[arcs_->find(heads[d], d)];
}

std::vector<Answer> Worker::answers(const feature::Sentence& sentence, const ArcSet* arcs, const WeightView& weights, Task task,
                                    bool cost_augmented, int k) {
    sentence_ = sentence;
    const auto nodes = static_cast<std::size_t>(sentence.n) + 1;
    gold_.assign(sentence.heads, sentence.heads + nodes);
    heads_.resize(nodes);
    labels_.resize(nodes);
    if (task == Task::labels) {
        label_tree(weights, cost_augmented, gold_.data(), labels_.data());
        return {label_answer(labels_.data())};
    }
    gold_inner_.resize(nodes);
    adjacent_siblings(gold_.data(), sentence.n, gold_inner_.data());
    score(sentence, arcs, weights);
    if (cost_augmented) add_costs();
    if (task == Task::joint) score_labels(weights, cost_augmented);
    const auto answer = [&](const int* heads) {
        for (int d = 1; task == Task::joint && d <= sentence.n; ++d) labels_[d] = arc_labels_[arcs_->find(heads[d], d)];
        return tree_answer(task, heads, labels_.data());
    };
    if (k == 1) {
        decode(heads_.data());
        return {answer(heads_.data())};
    }
    std::vector<Answer> all;
    for (const Heads& heads : kbest(dense_problem(model_->siblings), k, arena_)) all.push_back(answer(heads.data()));
    return all;
}

void Worker::prune(const feature::Sentence& sentence, const ArcSet* among, const WeightView& weights, int keep, double within,
                   ArcSet& kept) {
    score(sentence, among, weights);
    kept.start(sentence.n);
    std::vector<int> order;
    for (int d = 1; d <= sentence.n; ++d) {
        const float* scores = &arc_scores_[arcs_->first[d]];
        const auto heads = arcs_->heads_of(d);
        order.resize(heads.size());
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
        const auto count = std::min(order.size(), static_cast<std::size_t>(keep));
        std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                          [&](int a, int b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
        const std::size_t begin = kept.heads.size();
        for (std::size_t i = 0; i < count && scores[order[i]] >= scores[order[0]] - within; ++i) kept.heads.push_back(heads[order[i]]);
        const bool has_before = arcs_->find(d - 1, d) >= 0;
        if (has_before && std::find(kept.heads.begin() + static_cast<std::ptrdiff_t>(begin), kept.heads.end(), d - 1) == kept.heads.end())
            kept.heads.push_back(d - 1);
        std::sort(kept.heads.begin() + static_cast<std::ptrdiff_t>(begin), kept.heads.end());
        kept.end_word();
    }
}

void Worker::score(const feature::Sentence& sentence, const ArcSet* arcs, const WeightView& weights) {
    sentence_ = sentence;
    if (arcs == nullptr) {
        if (every_arc_.n != sentence.n) every_arc_.set_all(sentence.n);
        arcs = &every_arc_;
    }
    arcs_ = arcs;
    extractor_.load(sentence, {weights.tree, model_->tree_size - 1}, model_->siblings, model_->grandparents);
    const auto scale = static_cast<float>(weights.scale);
    arc_scores_.resize(arcs_->heads.size());
    arcs_->each([&](int h, int d, int a) { arc_scores_[a] = scale * extractor_.arc(h, d); });
    require_finite(arc_scores_);
    if (model_->siblings) score_siblings(scale);
    if (model_->grandparents) score_grandparents(scale);
}

void Worker::score_siblings(float scale) {
    sides_.build(*arcs_);
    require_room(sides_.parts(), arcs_->n);
    sibling_scores_.resize(sides_.parts());
    for (const Side& side : sides_.all())
        for (int b = 0; b < side.count; ++b) {
            check_stop(64 * static_cast<std::size_t>(b + 1));
            float* scores = &sibling_scores_[sides_.part(side, b, -1)];
            const int d = sides_.dep(side, b);
            scores[0] = scale * extractor_.sibling(side.head, d, side.head);
            for (int a = 0; a < b; ++a) scores[a + 1] = scale * extractor_.sibling(side.head, d, sides_.dep(side, a));
        }
    require_finite(sibling_scores_);
}

void Worker::score_grandparents(float scale) {
    grand_parts_.build(*arcs_);
    require_room(grand_parts_.size(), arcs_->n);
    grand_scores_.resize(grand_parts_.size());
    arcs_->each([&](int h, int d, int a) {
        for (int b = arcs_->first[h]; h > 0 && b < arcs_->first[h + 1]; ++b)
            grand_scores_[grand_parts_.part(a, b, arcs_->first[h])] = scale * extractor_.grandparent(arcs_->heads[b], h, d);
    });
    require_finite(grand_scores_);
}

void Worker::score_labels(const WeightView& weights, bool cost_augmented) {
    labeler_.load(sentence_, weights.labels);
    arc_labels_.resize(arcs_->heads.size());
    arcs_->each([&](int h, int d, int a) {
        label_rows_.clear();
        labeler_.find_rows(d, {h}, false, label_rows_);
        const auto best = labeler_.best(label_rows_, weights.scale, h, d, cost_augmented ? sentence_.labels[d] : -1, cost_.label);
        arc_labels_[a] = best.label;
        arc_scores_[a] += static_cast<float>(best.score);
    });
    require_finite(arc_scores_);
}

void Worker::decode(int* heads) {
    const bool every_arc = arcs_ == &every_arc_;
    // Dense charts are faster if all arcs are kept; without siblings, non-projective trees need no chart.
    if (!model_->siblings && (every_arc || model_->trees == Trees::nonprojective)) return decode_dense(heads);
    if (!decode_sparse(heads)) {
        if (model_->trees == Trees::projective) throw NoTreeError("no projective tree exists among the kept arcs");
        decode_dense(heads);  // given heads may cross: then start hill climbing from the best first-order tree
    }
    if (model_->trees == Trees::nonprojective) {
        const float* grand = model_->grandparents ? grand_scores_.data() : nullptr;
        const SparseParts<float> parts{*arcs_, sides_, arc_scores_.data(), sibling_scores_.data(), grand_parts_, grand, model_->roots};
        climb(parts, heads);
    }
}

bool Worker::decode_sparse(int* heads) {
    if (!model_->siblings) sides_.build(*arcs_);
    const float* siblings = model_->siblings ? sibling_scores_.data() : nullptr;
    const float* grand = model_->grandparents && arcs_->n <= kLongestWithGrandparents ? grand_scores_.data() : nullptr;
    return best_tree_.find({arcs_, &sides_, model_->roots, arc_scores_.data(), siblings, &grand_parts_, grand}, heads);
}

Problem Worker::dense_problem(bool siblings) {
    const auto nodes = static_cast<std::size_t>(arcs_->n) + 1;
    arcs_->spread(arc_scores_, static_cast<double>(kNever), dense_arcs_);
    Problem problem{model_->trees, model_->roots, arcs_->n, dense_arcs_.data()};
    if (!siblings) return problem;
    dense_siblings_.assign(nodes * nodes * nodes, static_cast<double>(kNever));
    sides_.each_part([&](int h, int d, int inner, std::size_t part) {
        const auto row = static_cast<std::size_t>(h) * nodes + static_cast<std::size_t>(d);
        dense_siblings_[row * nodes + static_cast<std::size_t>(inner)] = sibling_scores_[part];
    });
    problem.siblings = dense_siblings_.data();
    return problem;
}

void Worker::label_tree(const WeightView& weights, bool cost_augmented, const int* heads, int* labels) {
    labeler_.load(sentence_, weights.labels);
    find_surroundings(heads, sentence_.n, surroundings_);
    label_rows_.clear();
    for (int d = 1; d <= sentence_.n; ++d) labeler_.find_rows(d, surroundings_[d], true, label_rows_);
    const std::size_t each = model_->templates.labels.size();
    labels[0] = -1;
    label_scores_.assign(static_cast<std::size_t>(sentence_.n) + 1, 0.0F);
    for (int d = 1; d <= sentence_.n; ++d) {
        const std::span rows(label_rows_.data() + static_cast<std::size_t>(d - 1) * each, each);
        const int gold = cost_augmented ? sentence_.labels[d] : -1;
        const auto best = labeler_.best(rows, weights.scale, heads[d], d, gold, cost_.label);
        labels[d] = best.label;
        label_scores_[static_cast<std::size_t>(d)] = static_cast<float>(best.score);
    }
    require_finite(label_scores_);
}

Answer Worker::tree_answer(Task task, const int* heads, const int* labels) {
    Answer answer;
    inner_.resize(gold_.size());
    if (model_->siblings) adjacent_siblings(heads, sentence_.n, inner_.data());
    for (int d = 1; d <= sentence_.n; ++d) {
        const bool other_head = heads[d] != gold_[d];
        if (other_head) {
            answer.loss += cost_.head;
            add_arc(gold_[d], d, 1.0F, answer.difference);
            add_arc(heads[d], d, -1.0F, answer.difference);
        }
        // "None" is represented by the head, so equal names mean equal parts only under equal heads.
        if (model_->siblings && (other_head || inner_[d] != gold_inner_[d])) {
            add_sibling(gold_[d], d, gold_inner_[d], 1.0F, answer.difference);
            add_sibling(heads[d], d, inner_[d], -1.0F, answer.difference);
        }
        const int gold_head = gold_[d], head = heads[d];
        if (model_->grandparents && (other_head || (head > 0 && gold_[head] != heads[head]))) {
            if (gold_head > 0) add_grandparent(gold_[gold_head], gold_head, d, 1.0F, answer.difference);
            if (head > 0) add_grandparent(heads[head], head, d, -1.0F, answer.difference);
        }
        if (task != Task::joint) continue;
        const int gold_label = sentence_.labels[d];
        if (gold_label != labels[d]) answer.loss += cost_.label;
        if (other_head || gold_label != labels[d]) {
            add_labels(d, {gold_[d]}, false, gold_label, 1.0F, answer.difference);
            add_labels(d, {heads[d]}, false, labels[d], -1.0F, answer.difference);
        }
    }
    return answer;
}

Answer Worker::label_answer(const int* labels) {
    Answer answer;
    for (int d = 1; d <= sentence_.n; ++d) {
        if (labels[d] == sentence_.labels[d]) continue;
        answer.loss += cost_.label;
        add_labels(d, surroundings_[d], true, sentence_.labels[d], 1.0F, answer.difference);
        add_labels(d, surroundings_[d], true, labels[d], -1.0F, answer.difference);
    }
    return answer;
}

void Worker::add_labels(int dep, const Surroundings& around, bool whole_tree, int label, float count, std::vector<SparseEntry>& entries) {
    label_rows_.clear();
    labeler_.find_rows(dep, around, whole_tree, label_rows_);
    const std::uint32_t start = (whole_tree ? 0 : model_->tree_size) + static_cast<std::uint32_t>(label);
    for (const std::uint32_t row : label_rows_) entries.emplace_back(start + row, count);
}

}  // namespace arbora::graph
