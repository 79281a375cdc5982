#include "parser/confidence.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "base/interrupt.hpp"
#include "parser/ranked_trees.hpp"
#include "parser/reattachment.hpp"
#include "trees/found_trees.hpp"

namespace arbora::graph {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
// Sums with siblings take O(n^2 k) space, like parsing with grandparents.
constexpr int kLongestSum = 600;

WeightView tempered(const WeightView& weights, double tree_temperature, double label_temperature) {
    WeightView view = weights;
    view.scale /= tree_temperature;
    view.label_factor = tree_temperature / label_temperature;
    return view;
}

// One sentence at a time; keeps its memory. One per thread.
class Judge {
public:
    Judge(const Model& model, const WeightView& weights, const Asked& asked)
        : model_(&model), weights_(weights), asked_(asked), parser_(model), expectations_(model), ranked_(model) {
        labelled_ = model.labels > 0 && weights.labels != nullptr;
        joint_ = labelled_ && !asked.staged;
    }

    Confidence judge(const feature::Sentence& sentence, const ArcSet* arcs) {
        sentence_ = sentence;
        out_ = {};
        heads_.assign(static_cast<std::size_t>(sentence.n) + 1, -1);
        labels_ = heads_;
        exact_ = !model_->siblings || (model_->trees == Trees::projective && sentence.n <= kLongestSum);
        by_search_ = model_->siblings && model_->trees == Trees::nonprojective;
        if (asked_.k > 0 && !exact_ && !by_search_) refuse_ranking();
        if (by_search_ || (asked_.k == 0 && asked_.decode != Decode::given && (asked_.decode == Decode::argmax || !exact_)))
            parser_.parse(sentence, arcs, weights_, asked_.staged, heads_.data(), labels_.data());
        own_ = heads_;
        if (asked_.k == 0 && asked_.decode == Decode::given) std::copy_n(sentence.heads + 1, sentence.n, heads_.begin() + 1);
        if (at_risk()) {
            load(sentence, arcs, asked_.risk_temperature);
            find_probabilities();
            find_minimum_risk();
        }
        if (!at_risk() || asked_.risk_temperature != asked_.tree_temperature) {
            load(sentence, arcs, asked_.tree_temperature);
            find_probabilities();
        }
        if (asked_.k > 0) {
            const auto trees = by_search_ ? best_found() : ranked_.best(expectations_, asked_.k);
            for (const Heads& heads : trees) add_tree(heads, false);
            out_.counts.assign(1, static_cast<std::int64_t>(trees.size()));
        } else {
            add_tree(heads_, asked_.decode == Decode::argmax);
            out_.counts.assign(1, 1);
        }
        if (asked_.arc_table) add_arc_table();
        return std::move(out_);
    }

    std::vector<double> scores(const feature::Sentence& sentence, const ArcSet* arcs) {
        load(sentence, arcs, asked_.tree_temperature);
        return dense(expectations_.arc_scores(), kMinusInfinity);
    }

private:
    bool at_risk() const { return asked_.decode == Decode::minimum_risk && asked_.k == 0; }

    void load(const feature::Sentence& sentence, const ArcSet* arcs, double temperature) {
        expectations_.load(sentence, arcs, tempered(weights_, temperature, asked_.label_temperature), joint_);
    }

    [[noreturn]] void refuse_ranking() const {
        throw InputError("k best trees: expected at most " + std::to_string(kLongestSum) + " words for a second-order parser, got " +
                         std::to_string(sentence_.n) + "; split the sentence, or train with order=1");
    }

    const ArcSet& arcs() const { return expectations_.arcs(); }

    std::vector<double> dense(const std::vector<double>& values, double other) const {
        std::vector<double> table;
        arcs().spread(values, other, table);
        return table;
    }

    // P(arc), the sum over trees and their entropy.
    void find_probabilities() {
        log_partition_ = kNone;
        double entropy = kNone;
        if (exact_) {
            Sums sums = expectations_.sums();
            log_partition_ = sums.log_partition;
            entropy = std::max(0.0, log_partition_ - expected_score(sums));
            probabilities_ = std::move(sums.arcs);
        } else if (by_search_) {
            find_trees();
            log_partition_ = found_->log_sum();
            entropy = std::max(0.0, log_partition_ - found_->mean_score());
        } else if (expectations_.tree_score(heads_.data()) == kMinusInfinity) {  // given, and with arcs that are not there
            probabilities_.assign(arcs().heads.size(), kNone);
        } else {
            probabilities_ = reattachment_probabilities(expectations_, model_->roots, heads_.data());
        }
        out_.entropies.assign(1, entropy);
    }

    // The trees around the parser's own, and the shares of them that have each arc.
    void find_trees() {
        const Worker& worker = expectations_.worker();
        const float* grand = model_->grandparents ? worker.grand_scores().data() : nullptr;
        const SparseParts<double> parts{arcs(), worker.sides(), expectations_.arc_scores().data(), worker.sibling_scores().data(), worker.grand_parts(), grand,
                                        model_->roots};
        const int width = std::max(kProbabilityWidth, 2 * asked_.k);
        found_ = std::make_unique<FoundTrees<SparseParts<double>>>(parts, own_.data(), expectations_.tree_score(own_.data()), width);
        const auto table = found_->arcs();
        probabilities_.resize(arcs().heads.size());
        arcs().each([&](int h, int d, int a) { probabilities_[a] = table[static_cast<std::size_t>(h) * own_.size() + static_cast<std::size_t>(d)]; });
    }

    // The parser's own tree, then the others, the best first.
    std::vector<Heads> best_found() const {
        std::vector<Heads> trees = found_->best(asked_.k);
        auto own = std::find(trees.begin(), trees.end(), own_);
        if (own == trees.end()) *--own = own_;
        std::rotate(trees.begin(), own, own + 1);
        return trees;
    }

    double log_probability(const Heads& heads, double score) const {
        if (by_search_ && !found_->has(heads.data())) return -std::log1p(std::exp(log_partition_ - score));  // it counts as found, too
        return std::min(0.0, score - log_partition_);
    }

    double expected_score(const Sums& sums) const {
        const Worker& worker = expectations_.worker();
        double sum = 0.0;
        const auto add = [&](const std::vector<double>& shares, const auto& scores) {
            for (std::size_t i = 0; i < shares.size(); ++i)
                if (shares[i] > 0.0) sum += shares[i] * double{scores[i]};
        };
        add(sums.arcs, expectations_.arc_scores());
        if (model_->siblings) add(sums.siblings, worker.sibling_scores());
        if (model_->grandparents) add(sums.grandparents, worker.grand_scores());
        return sum;
    }

    void find_minimum_risk() {
        if (model_->trees == Trees::nonprojective) {
            const auto table = dense(probabilities_, kMinusInfinity);
            return argmax({model_->trees, model_->roots, arcs().n, table.data()}, arena_, heads_.data());
        }
        sides_.build(arcs());
        risks_.assign(probabilities_.begin(), probabilities_.end());
        if (!best_tree_.find({&arcs(), &sides_, model_->roots, risks_.data()}, heads_.data()))
            throw NoTreeError("the arcs that were kept hold no projective tree");
    }

    double probability(int head, int dep) const {
        const int arc = arcs().find(head, dep);
        return arc < 0 ? 0.0 : found_share(dep) * probabilities_[arc];
    }

    // The share of words like this one whose gold head is among those considered; 1 for a given head.
    double found_share(int dep) const { return asked_.keep_heads && sentence_.heads[dep] >= 0 ? 1.0 : 1.0 - asked_.missed; }

    double entropy_of(int dep) const {
        double sum = 0.0;
        for (int a = arcs().first[dep]; a < arcs().first[dep + 1]; ++a)
            if (const double p = probabilities_[a]; p > 0.0) sum -= p * std::log(p);
        return std::max(0.0, sum);
    }

    // labels_chosen: labels_ belong to the tree; otherwise they are set to the most probable ones.
    void add_tree(const Heads& heads, bool labels_chosen) {
        check_stop();
        const bool has_sums = exact_ || by_search_;
        const double score = has_sums ? expectations_.tree_score(heads.data()) : kNone;
        out_.scores.push_back(score);
        double found = 1.0;  // a tree is no surer than any of its heads
        for (int d = 1; d <= sentence_.n; ++d) {
            found = std::min(found, found_share(d));
            out_.heads.push_back(heads[d]);
            out_.head_probabilities.push_back(probability(heads[d], d));
            out_.head_entropies.push_back(entropy_of(d));
            out_.known_head_probabilities.push_back(sentence_.heads[d] < 0 ? kNone : probability(sentence_.heads[d], d));
        }
        out_.log_probabilities.push_back(has_sums ? log_probability(heads, score) + std::log(found) : kNone);
        if (labelled_ && asked_.staged) expectations_.label_probabilities_on_tree(label_view(), heads.data(), on_tree_);
        for (int d = 1; d <= sentence_.n; ++d) add_label(heads[d], d, labels_chosen);
    }

    WeightView label_view() const { return {weights_.tree, weights_.labels, weights_.scale / asked_.label_temperature}; }

    std::vector<double> label_shares(int head, int dep) const {
        if (asked_.staged) return on_tree_[dep];
        const int arc = arcs().find(head, dep);
        return arc < 0 ? std::vector<double>() : expectations_.label_probabilities(arc);
    }

    void add_label(int head, int dep, bool chosen) {
        const auto count = static_cast<std::size_t>(labelled_ && asked_.label_table ? model_->labels : 0);
        const std::size_t row = out_.label_table.size();
        out_.label_table.resize(row + count, 0.0);
        const std::vector<double> shares = labelled_ ? label_shares(head, dep) : std::vector<double>();
        if (shares.empty()) {
            out_.labels.push_back(chosen ? labels_[dep] : -1);
            out_.label_probabilities.push_back(kNone);
            out_.known_label_probabilities.push_back(kNone);
            return;
        }
        const auto labels = expectations_.allowed(head, dep);
        const auto share_of = [&](int label) {
            const auto found = std::find(labels.begin(), labels.end(), label);
            return found == labels.end() ? 0.0 : shares[static_cast<std::size_t>(found - labels.begin())];
        };
        const auto best = std::max_element(shares.begin(), shares.end()) - shares.begin();
        const int label = chosen ? labels_[dep] : labels[static_cast<std::size_t>(best)];
        out_.labels.push_back(label);
        out_.label_probabilities.push_back(share_of(label));
        out_.known_label_probabilities.push_back(sentence_.labels[dep] < 0 ? kNone : share_of(sentence_.labels[dep]));
        for (std::size_t i = 0; i < labels.size() && count > 0; ++i) out_.label_table[row + labels[i]] = shares[i];
    }

    void add_arc_table() {
        arcs().each([&](int, int d, int a) { probabilities_[a] *= found_share(d); });
        out_.arc_table = dense(probabilities_, 0.0);
    }

    const Model* model_;
    WeightView weights_;
    Asked asked_;
    Worker parser_;
    Expectations expectations_;
    RankedTrees ranked_;
    BestTree best_tree_;
    Sides sides_;
    Arena arena_;
    bool labelled_ = false, joint_ = false;
    bool exact_ = false, by_search_ = false;  // the sums: over all trees; over those found; else there are none
    std::unique_ptr<FoundTrees<SparseParts<double>>> found_;
    feature::Sentence sentence_;
    Confidence out_;
    double log_partition_ = 0.0;
    Heads heads_, labels_, own_;
    std::vector<double> probabilities_;
    std::vector<float> risks_;
    std::vector<std::vector<double>> on_tree_;
};

void check(const feature::Encoded& sentences, const Asked& asked) {
    for (const double temperature : {asked.tree_temperature, asked.risk_temperature, asked.label_temperature})
        if (!(temperature > 0.0) || !std::isfinite(temperature))
            throw InputError("temperature: expected a finite number above 0, got " + std::to_string(temperature));
    if (!(asked.missed >= 0.0 && asked.missed < 1.0)) throw InputError("missed: expected 0 to below 1, got " + std::to_string(asked.missed));
    for (std::size_t s = 0; asked.decode == Decode::given && s < sentences.size(); ++s) {
        const auto sentence = sentences.sentence(s);
        for (int d = 1; d <= sentence.n; ++d)
            if (sentence.heads[d] < 0)
                throw InputError("sentence " + std::to_string(s) + ", word " + std::to_string(d) + ": expected a head, got none");
    }
}

void append(Confidence& all, const Confidence& part) {
    const auto append_field = [&](auto... fields) {
        ((all.*fields).insert((all.*fields).end(), (part.*fields).begin(), (part.*fields).end()), ...);
    };
    append_field(&Confidence::counts, &Confidence::entropies, &Confidence::log_probabilities, &Confidence::scores, &Confidence::heads,
                 &Confidence::labels, &Confidence::head_probabilities, &Confidence::label_probabilities, &Confidence::head_entropies,
                 &Confidence::known_head_probabilities, &Confidence::known_label_probabilities, &Confidence::arc_table, &Confidence::label_table);
}

}  // namespace

Confidence judge(const feature::Encoded& sentences, const Model& model, const WeightView& weights, const Asked& asked, const Pruner* pruner,
                 int threads) {
    check(sentences, asked);
    auto workers = make_workers(threads, [&] { return PrunedWorker<Judge>{Judge(model, weights, asked), Candidates(model, pruner, asked.keep_heads)}; });
    std::vector<Confidence> found(sentences.size());
    parallel_for(sentences.size(), threads, [&](int worker, std::size_t s) {
        auto& own = workers[static_cast<std::size_t>(worker)];
        found[s] = own.parser.judge(sentences.sentence(s), own.candidates.find(sentences, s));
    });
    Confidence all;
    for (Confidence& part : found) {
        append(all, part);
        part = {};
    }
    return all;
}

std::vector<double> tempered_scores(const feature::Encoded& sentences, std::size_t s, const Model& model, const WeightView& weights, const Asked& asked,
                                    const Pruner* pruner) {
    if (model.siblings) throw InputError("arc scores alone: expected a first-order parser, got one of second order");
    Candidates candidates(model, pruner, asked.keep_heads);
    return Judge(model, weights, asked).scores(sentences.sentence(s), candidates.find(sentences, s));
}

}  // namespace arbora::graph
