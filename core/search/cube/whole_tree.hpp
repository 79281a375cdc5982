// A labelled tree as a whole, whether its arcs cross or not: its score, its cost and its features.
//
// The score is a sum over words. Each has the arcs to its dependents with their labels, siblings and chains, the lineages of these
// dependents under its own head, and its own closing. So when a word is re-attached, only three words score otherwise: its old head,
// its new one, and itself. For projective trees the sum is what search.hpp adds up from below.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "search/cube/parts.hpp"

namespace arbora::cube {

class WholeTree {
public:
    // Must come first: heads[0..n] and labels[0..n], all among the arcs and choices that the parts have loaded. The parts are looked at
    // until the next call.
    void set(Parts& parts, const int* heads, const int* labels) {
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

    int head(int dep) const { return heads_[static_cast<std::size_t>(dep)]; }
    int label(int dep) const { return choice(dep).label; }
    bool is_below(int node, int dep) const { return arbora::is_below(heads_.data(), node, dep); }

    // O(dependents of the head).
    void detach(int dep) {
        auto& dependents = side(head(dep), dep);
        dependents.erase(std::find(dependents.begin(), dependents.end(), dep));
    }
    // arc: among those of the dependent; choice: the number of its label there.
    void attach(int dep, int arc, int choice) {
        const auto d = static_cast<std::size_t>(dep);
        const int head = parts_->head(arc);
        heads_[d] = head;
        arcs_[d] = arc;
        choices_[d] = choice;
        auto& dependents = side(head, dep);
        const auto nearer = [&](int a, int b) { return std::abs(a - head) < std::abs(b - head); };
        dependents.insert(std::upper_bound(dependents.begin(), dependents.end(), dep, nearer), dep);
    }
    void relabel(int dep, int choice) { choices_[static_cast<std::size_t>(dep)] = choice; }
    int arc(int dep) const { return arcs_[static_cast<std::size_t>(dep)]; }
    int choice_number(int dep) const { return choices_[static_cast<std::size_t>(dep)]; }

    // What is summed for one word, which must be attached; the same number for the same surroundings. O(its dependents).
    double score_of(int word) const {
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
    double score() const {
        double sum = 0.0;
        for (int word = 0; word <= words(); ++word) sum += score_of(word);
        return sum;
    }
    double cost() const {
        double sum = 0.0;
        for (int word = 1; word <= words(); ++word) sum += static_cast<double>(choice(word).cost);
        return sum;
    }
    void add_features(float count, std::vector<SparseEntry>& entries) {
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
    void read(int* heads, int* labels) const {
        heads[0] = -1;
        if (labels != nullptr) labels[0] = -1;
        for (int word = 1; word <= words(); ++word) {
            heads[word] = head(word);
            if (labels != nullptr) labels[word] = choice(word).label;
        }
    }

private:
    const LabelChoice& choice(int dep) const {
        return parts_->choices(arcs_[static_cast<std::size_t>(dep)])[static_cast<std::size_t>(choices_[static_cast<std::size_t>(dep)])];
    }
    std::vector<int>& side(int head, int dep) { return sides_[2 * static_cast<std::size_t>(head) + (dep > head ? 1 : 0)]; }
    // visit(what is remembered before it, and with it) for each dependent on one side, nearest first; what is remembered in the end.
    template <class Visit>
    Memory walk(int word, bool right, Visit&& visit) const {
        Memory memory;
        memory.head = word;
        for (const int dep : sides_[2 * static_cast<std::size_t>(word) + (right ? 1 : 0)]) {
            const Memory outer = memory;
            memory.dep = dep;
            memory.arc = arcs_[static_cast<std::size_t>(dep)];
            memory.label = choice(dep).label;
            memory.before = outer.dep;
            memory.before_label = outer.label;
            memory.count = outer.count + 1;
            visit(outer, memory);
        }
        return memory;
    }
    // The closing of a word, given what is remembered of its sides.
    feature::Context closing(int word, const Memory& left, const Memory& right) const {
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
    int words() const { return static_cast<int>(heads_.size()) - 1; }

    Parts* parts_ = nullptr;
    std::vector<int> heads_, arcs_, choices_;  // per word
    std::vector<std::vector<int>> sides_;      // [node, left or right]: dependents, nearest first
};

}  // namespace arbora::cube
