#include "search/cube/search.hpp"

#include "base/interrupt.hpp"

namespace arbora::cube {

bool Search::run(Keys keys, int beam, int root_beam) {
    keys_ = keys;
    prepare();
    const int n = parts_.sentence().n;
    const bool single = model_->graph.roots == Roots::single;
    for (int length = 1; length <= n; ++length) {
        for (const int a : by_length_[static_cast<std::size_t>(length)]) make_arc(a, beam);
        for (int head = 0; head + length <= n; ++head) {
            if (head == 0 && single && length < n) continue;
            make_half(parts_.sides().right(head), head + length, head == 0 && length == n ? root_beam : beam);
        }
        for (int head = length + 1; head <= n; ++head) make_half(parts_.sides().left(head), head - length, beam);
    }
    return root() >= 0;
}

void Search::read(int derivation, int* heads, int* labels) const {
    heads[0] = -1;
    if (labels != nullptr) labels[0] = -1;
    forest_.visit(derivation, [&](const Item& item) {
        if (!item.context.is_arc) return;
        heads[item.context.dep] = item.context.head;
        if (labels != nullptr) labels[item.context.dep] = item.context.label;
    });
}

Search::Gold& Search::derive_gold() {
    const auto words = static_cast<std::size_t>(parts_.sentence().n) + 1;
    gold_ = {};
    find_gold_sides();
    gold_halves_.assign(2 * words, -1);
    std::vector<int> order{0};  // heads before their dependents
    for (std::size_t i = 0; i < order.size(); ++i)
        for (const auto* side : {&gold_left_, &gold_right_})
            for (const int dep : (*side)[static_cast<std::size_t>(order[i])]) order.push_back(dep);
    // All words below a word are contiguous, and so are those below its dependents.
    std::vector<bool> is_derived(words);
    std::vector<int> first(words), last(words), size(words);
    for (auto word = order.rbegin(); word != order.rend(); ++word) {
        const auto w = static_cast<std::size_t>(*word);
        first[w] = last[w] = *word;
        size[w] = 1;
        bool is_projective = true;
        for (const auto* side : {&gold_left_, &gold_right_})
            for (const int dep : (*side)[w]) {
                const auto d = static_cast<std::size_t>(dep);
                first[w] = std::min(first[w], first[d]);
                last[w] = std::max(last[w], last[d]);
                size[w] += size[d];
                is_projective = is_projective && is_derived[d];
            }
        is_derived[w] = is_projective && last[w] - first[w] + 1 == size[w];
        if (!is_derived[w]) continue;
        if (*word > 0) gold_halves_[2 * w] = gold_side(*word, gold_left_[w]);
        gold_halves_[2 * w + 1] = gold_side(*word, gold_right_[w]);
    }
    if (!is_derived[0]) join_projective_subtrees(is_derived);
    return gold_;
}

void Search::add_features(int derivation, float count, std::vector<SparseEntry>& entries) {
    forest_.visit(derivation, [&](const Item& item) {
        const Memory& memory = item.context;
        if (memory.count == 0) return;
        const Item& beyond = forest_.at(item.right);
        each_lineage(beyond, memory.head, memory.label, [&](const Context& c, const Memory& half) {
            parts_.add_grandparent(memory.head, half.head, half.dep, count, entries);
            parts_.add_lineage(c, count, entries);
        });
        if (!memory.is_arc) return parts_.add_closing(closing_of(forest_.at(item.left).context, beyond.context), count, entries);
        parts_.add_arc(memory.head, memory.dep, memory.label, count, entries);
        parts_.add_sibling(memory.head, memory.dep, memory.before, count, entries);
        parts_.add_chain(chain_of(memory.head, memory.dep, memory.label, forest_.at(item.left).context), count, entries);
    });
}

void Search::prepare() {
    const auto nodes = static_cast<std::size_t>(parts_.sentence().n) + 1;
    width_ = nodes;
    forest_.clear();
    first_lineage_.clear();
    lineages_.clear();
    halves_.assign(nodes * nodes, -1);
    arc_nodes_.assign(static_cast<std::size_t>(parts_.arcs().size()), -1);
    right_ends_.assign(nodes, {});
    left_ends_.assign(nodes, {});
    by_length_.assign(nodes, {});
    for (int a = 0; a < parts_.arcs().size(); ++a) by_length_[static_cast<std::size_t>(std::abs(parts_.head(a) - parts_.dep(a)))].push_back(a);
    for (int word = 0; word < static_cast<int>(nodes); ++word) {
        Item leaf;
        leaf.context.head = word;
        leaf.key = static_cast<std::uint64_t>(word);
        half(word, word) = forest_.leaf(leaf);
        right_ends_[static_cast<std::size_t>(word)].push_back(word);
        left_ends_[static_cast<std::size_t>(word)].push_back(word);
    }
}

void Search::make_arc(int a, int beam) {
    const int head = parts_.head(a), dep = parts_.dep(a), step = head < dep ? 1 : -1;
    edges_.clear();
    chains_.clear();
    first_chain_.clear();
    const int choices = static_cast<int>(parts_.choices(a).size());
    for (const int end : (step > 0 ? right_ends_ : left_ends_)[static_cast<std::size_t>(head)]) {
        const int inner = half(dep, end + step);
        if (inner < 0) continue;
        edges_.push_back({half(head, end), inner, choices});
        first_chain_.push_back(chains_.size());
        chains_.resize(chains_.size() + static_cast<std::size_t>(forest_.count(edges_.back().left)), kUnknown);
    }
    if (edges_.empty()) return;
    check_stop(256 * edges_.size());
    arc_nodes_[static_cast<std::size_t>(a)] =
        forest_.grow(edges_, beam, [&](int e, int i, const Item& outer, int j, const Item&, int choice) {
            float& chain = chains_[first_chain_[static_cast<std::size_t>(e)] + static_cast<std::size_t>(i)];
            if (std::isnan(chain))
                chain = parts_.sibling(a, outer.context.arc) + parts_.chain_free(chain_of(head, dep, -1, outer.context));
            return combine_arc(a, parts_.choices(a)[static_cast<std::size_t>(choice)], outer,
                               forest_.ranked(edges_[static_cast<std::size_t>(e)].right, j), chain);
        });
}

void Search::make_half(const Side& side, int end, int beam) {
    edges_.clear();
    for (int b = 0; b < side.count; ++b) {
        const int dep = parts_.sides().dep(side, b);
        if (side.head < end ? dep > end : dep < end) break;
        const int arc = arc_nodes_[static_cast<std::size_t>(parts_.sides().arc(side, b))], far = half(dep, end);
        if (arc >= 0 && far >= 0) edges_.push_back({arc, far, 1});
    }
    if (edges_.empty()) return;
    check_stop(256 * edges_.size());
    half(side.head, end) = forest_.grow(edges_, beam, [&](int e, int, const Item& arc, int j, const Item&, int) {
        return combine_half(arc, forest_.ranked(edges_[static_cast<std::size_t>(e)].right, j));
    });
    (side.head < end ? right_ends_ : left_ends_)[static_cast<std::size_t>(side.head)].push_back(end);
}

Search::Item Search::combine_arc(int a, const LabelChoice& choice, const Item& outer, int inner, float chain_free) {
    const int head = parts_.head(a), dep = parts_.dep(a);
    const Item& inside = forest_.at(inner);
    Item item;
    Memory& memory = item.context;
    memory.head = head;
    memory.dep = dep;
    memory.arc = a;
    memory.label = choice.label;
    memory.before = outer.context.dep;
    memory.before_label = outer.context.label;
    memory.count = outer.context.count + 1;
    memory.inner = inside.context.dep;
    memory.inner_label = inside.context.label;
    memory.inner_count = inside.context.count;
    memory.cost = outer.context.cost + inside.context.cost + choice.cost;
    memory.is_arc = true;
    memory.list = with(outer.context.list, dep, keys_ == Keys::loose ? -1 : choice.label);
    item.key = is_whole(keys_)
                   ? with(with(outer.key, a, keys_ == Keys::trees ? -1 : choice.label), static_cast<int>(inside.key), static_cast<int>(inside.key >> 32))
                   : with(half_key(memory), memory.inner, keys_ == Keys::loose ? -1 : memory.inner_label) + static_cast<std::uint64_t>(memory.inner_count);
    const float local = parts_.arc(a) + choice.score + chain_free + parts_.chain_chosen(chain_of(head, dep, choice.label, outer.context)) +
                        lineages_free(inner, a) + lineages_chosen(inside, head, choice.label);
    item.score = outer.score + inside.score + static_cast<double>(local);
    return item;
}

Search::Item Search::combine_half(const Item& arc, int far) {
    Item item;
    item.context = arc.context;
    item.context.is_arc = false;
    const Item& beyond = forest_.at(far);
    item.context.cost += beyond.context.cost;
    item.key = is_whole(keys_) ? with(arc.key, static_cast<int>(beyond.key), static_cast<int>(beyond.key >> 32)) : half_key(arc.context);
    const float local = lineages_free(far, arc.context.arc) + lineages_chosen(beyond, arc.context.head, arc.context.label) +
                        parts_.closing(closing_of(arc.context, beyond.context));
    item.score = arc.score + beyond.score + static_cast<double>(local);
    return item;
}

float Search::lineages_free(int half, int b) {
    if (forest_.at(half).context.count == 0) return 0.0F;
    const int head = forest_.at(half).context.head, grandparent = parts_.head(b);
    const auto own = static_cast<std::size_t>(b - parts_.arcs().first[static_cast<std::size_t>(head)]);
    const auto place = [&](int derivation) -> float& {
        const auto d = static_cast<std::size_t>(derivation);
        if (first_lineage_.size() <= d) first_lineage_.resize(static_cast<std::size_t>(forest_.size()), -1);
        if (first_lineage_[d] < 0) {
            first_lineage_[d] = static_cast<std::ptrdiff_t>(lineages_.size());
            lineages_.resize(lineages_.size() + parts_.arcs().heads_of(head).size(), kUnknown);
        }
        return lineages_[static_cast<std::size_t>(first_lineage_[d]) + own];
    };
    if (const float known = place(half); !std::isnan(known)) return known;
    chain_.clear();
    float sum = 0.0F;
    for (int d = half; forest_.at(d).context.count > 0; d = forest_.at(forest_.at(d).left).left) {
        if (const float known = place(d); !std::isnan(known)) {
            sum = known;
            break;
        }
        chain_.push_back(d);
    }
    for (auto d = chain_.rbegin(); d != chain_.rend(); ++d) {
        const Memory& memory = forest_.at(*d).context;
        sum += parts_.grandparent(memory.arc, b, head) + parts_.lineage_free(lineage_of(grandparent, -1, memory));
        place(*d) = sum;
    }
    return sum;
}

float Search::lineages_chosen(const Item& half, int grandparent, int label) const {
    if (!parts_.has_chosen_lineages()) return 0.0F;
    float sum = 0.0F;
    each_lineage(half, grandparent, label, [&](const Context& c, const Memory&) { sum += parts_.lineage_chosen(c); });
    return sum;
}

int Search::gold_leaf(int word) {
    gold_.nodes.push_back({});
    const int leaf = forest_.ranked(half(word, word), 0);
    gold_.derivations.push_back(leaf);
    gold_.best.push_back(leaf);
    return static_cast<int>(gold_.nodes.size()) - 1;
}

int Search::gold_side(int word, const std::vector<int>& dependents) {
    const auto add = [&](int left, int right, int node, int derivation) {
        const int best = forest_.ranked(node, 0);
        gold_.nodes.push_back({{left, right}, forest_.at(best).score - forest_.at(derivation).score, forest_.at(best).context.cost > 0.0F});
        gold_.derivations.push_back(derivation);
        gold_.best.push_back(best);
        return static_cast<int>(gold_.nodes.size()) - 1;
    };
    int current = gold_leaf(word);
    for (const int dep : dependents) {
        const int a = parts_.arcs().find(word, dep), label = parts_.sentence().labels[dep];
        const auto choices = parts_.choices(a);
        const auto choice = std::find_if(choices.begin(), choices.end(), [&](const LabelChoice& c) { return c.label < 0 || c.label == label; });
        const auto of = [&](int side) { return gold_halves_[2 * static_cast<std::size_t>(dep) + static_cast<std::size_t>(side)]; };
        const int near = of(word < dep ? 0 : 1), far = of(word < dep ? 1 : 0);
        const int near_half = gold_.derivations[static_cast<std::size_t>(near)], far_half = gold_.derivations[static_cast<std::size_t>(far)];
        const int arc = forest_.derive(gold_.derivations[static_cast<std::size_t>(current)], near_half, [&](const Item& outer, const Item&) {
            const float chain = parts_.sibling(a, outer.context.arc) + parts_.chain_free(chain_of(word, dep, -1, outer.context));
            return combine_arc(a, *choice, outer, near_half, chain);
        });
        current = add(current, near, arc_nodes_[static_cast<std::size_t>(a)], arc);
        const int whole = forest_.derive(arc, far_half, [&](const Item& made, const Item&) { return combine_half(made, far_half); });
        // A half ends where its outermost dependent's half does.
        int end = dep;
        for (const auto& further = word < dep ? gold_right_ : gold_left_; !further[static_cast<std::size_t>(end)].empty();)
            end = further[static_cast<std::size_t>(end)].back();
        current = add(current, far, half(word, end), whole);
    }
    return current;
}

void Search::find_gold_sides() {
    const int n = parts_.sentence().n;
    const auto words = static_cast<std::size_t>(n) + 1;
    gold_left_.assign(words, {});
    gold_right_.assign(words, {});
    for (int d = 1; d <= n; ++d)
        if (const int h = parts_.sentence().heads[d]; h < d) gold_right_[static_cast<std::size_t>(h)].push_back(d);
    for (int d = n; d >= 1; --d)
        if (const int h = parts_.sentence().heads[d]; h > d) gold_left_[static_cast<std::size_t>(h)].push_back(d);
}

void Search::join_projective_subtrees(const std::vector<bool>& is_derived) {
    int joined = -1;
    for (int d = 1; d <= parts_.sentence().n; ++d) {
        if (!is_derived[static_cast<std::size_t>(d)] || is_derived[static_cast<std::size_t>(parts_.sentence().heads[d])]) continue;
        for (const int side : {0, 1}) {
            const int half = gold_halves_[2 * static_cast<std::size_t>(d) + static_cast<std::size_t>(side)];
            joined = joined < 0 ? half : gold_.join(joined, half);
        }
    }
}

}  // namespace arbora::cube
