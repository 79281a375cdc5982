#include "search/cube/whole_tree.hpp"

namespace arbora::cube {

void WholeTree::set(Parts& parts, const int* heads, const int* labels) {
    parts_ = &parts;
    const auto nodes = static_cast<std::size_t>(parts_->sentence().n) + 1;
    heads_.assign(nodes, -1);
    arcs_.assign(nodes, -1);
    choices_.assign(nodes, 0);
    sides_.resize(std::max(sides_.size(), 2 * nodes));
    for (auto& dependents : sides_) dependents.clear();
    for (int d = 1; d < static_cast<int>(nodes); ++d) {
        const int a = parts_->arcs().find(heads[d], d);
        const auto choices = parts_->choices(a);
        const auto found = std::find_if(choices.begin(), choices.end(), [&](const LabelChoice& c) { return c.label < 0 || c.label == labels[d]; });
        attach(d, a, static_cast<int>(found - choices.begin()));
    }
}

void WholeTree::attach(int dep, int arc, int choice) {
    const auto d = static_cast<std::size_t>(dep);
    const int head = parts_->head(arc);
    heads_[d] = head;
    arcs_[d] = arc;
    choices_[d] = choice;
    auto& dependents = side(head, dep);
    const auto nearer = [&](int a, int b) { return std::abs(a - head) < std::abs(b - head); };
    dependents.insert(std::upper_bound(dependents.begin(), dependents.end(), dep, nearer), dep);
}

double WholeTree::score_of(int word) const {
    double sum = 0.0;
    const int grandparent = head(word), own = arc(word), label = word > 0 ? choice(word).label : -1;
    const auto add = [&](const Memory& outer, const Memory& memory) {
        const feature::Context chain = chain_of(word, memory.dep, memory.label, outer);
        sum += static_cast<double>(parts_->arc(memory.arc) + choice(memory.dep).score + parts_->sibling(memory.arc, outer.arc) +
                                   parts_->chain_free(chain) + parts_->chain_chosen(chain));
        if (word == 0) return;
        const feature::Context lineage = lineage_of(grandparent, label, memory);
        sum += static_cast<double>(parts_->grandparent(memory.arc, own, word) + parts_->lineage_free(lineage) + parts_->lineage_chosen(lineage));
    };
    const Memory left = walk(word, false, add), right = walk(word, true, add);
    return word == 0 ? sum : sum + static_cast<double>(parts_->closing(closing(word, left, right)));
}

void WholeTree::add_features(float count, std::vector<SparseEntry>& entries) {
    for (int word = 0; word <= words(); ++word) {
        const auto add = [&](const Memory& outer, const Memory& memory) {
            parts_->add_arc(word, memory.dep, memory.label, count, entries);
            parts_->add_sibling(word, memory.dep, outer.dep, count, entries);
            parts_->add_chain(chain_of(word, memory.dep, memory.label, outer), count, entries);
            if (word == 0) return;
            parts_->add_grandparent(head(word), word, memory.dep, count, entries);
            parts_->add_lineage(lineage_of(head(word), choice(word).label, memory), count, entries);
        };
        const Memory left = walk(word, false, add), right = walk(word, true, add);
        if (word > 0) parts_->add_closing(closing(word, left, right), count, entries);
    }
}

void WholeTree::read(int* heads, int* labels) const {
    heads[0] = -1;
    if (labels != nullptr) labels[0] = -1;
    for (int word = 1; word <= words(); ++word) {
        heads[word] = head(word);
        if (labels != nullptr) labels[word] = choice(word).label;
    }
}

feature::Context WholeTree::closing(int word, const Memory& left, const Memory& right) const {
    const Memory &near = head(word) < word ? left : right, &far = head(word) < word ? right : left;
    Memory arc;
    arc.head = head(word);
    arc.dep = word;
    arc.label = choice(word).label;
    arc.inner = near.dep;
    arc.inner_label = near.label;
    arc.inner_count = near.count;
    return closing_of(arc, far);
}

}  // namespace arbora::cube
