// The features of the parts of one sentence: their places in the weight table, and the sums of the weights there.
//
// load() adds up what depends on one word alone; a feature of a part is then one or two additions away. Directions and distances:
//   - a template about one word owns a line of 16 weights: for each direction one, and one per distance; the whole line is
//     added up once per word, so that such templates cost an arc nothing more than two additions;
//   - a template about the tags between owns four lines, one weight per tag;
//   - a template about two words has, per direction, a weight and one more per distance, in the same line of 16, so that a
//     feature costs one cache miss; a template about a guide likewise, per way in which its tree stands to the arc.
// Time: O(n T) to load, O(templates) per part. The order of additions is fixed: scores are the same on every machine.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "features/guide.hpp"
#include "features/templates.hpp"

namespace arbora::feature {

inline constexpr int kLine = 16;  // weights in a cache line
inline constexpr int kDistances = 7;

// 1 .. 7 for distances 1, 2, 3, 4, 5-6, 7-10 and beyond.
constexpr unsigned distance_bin(int from, int to) {
    const int distance = from < to ? to - from : from - to;
    return distance <= 4 ? static_cast<unsigned>(distance) : distance <= 6 ? 5 : distance <= 10 ? 6 : 7;
}

// A dense table of weights; places are below `size`, a power of two.
struct Table {
    const float* weights;
    std::uint32_t mask;
};

class Extractor {
public:
    explicit Extractor(const Templates& templates) : templates_(&templates) {}

    // Must come first; `siblings`, `grandparents`: also for such parts. InputError where a guide is needed and there is none.
    void load(const Sentence& sentence, const Table& table, bool siblings, bool grandparents);

    float arc(int head, int dep) const;
    float sibling(int head, int dep, int inner) const;  // inner == head: dep is the nearest dependent on its side
    float grandparent(int grandparent, int head, int dep) const;

    // visit(place) for every feature of a part, some perhaps twice.
    template <class Visit>
    void visit_arc(int head, int dep, Visit&& visit) const;
    template <class Visit>
    void visit_sibling(int head, int dep, int inner, Visit&& visit) const;
    template <class Visit>
    void visit_grandparent(int grandparent, int head, int dep, Visit&& visit) const;

private:
    // Summands of one role for all nodes: at(node) is an array with one entry per template.
    struct Sums {
        std::vector<std::uint32_t> values;
        std::size_t width = 0;
        const std::uint32_t* at(int node) const { return values.data() + static_cast<std::size_t>(node) * width; }
        template <class List, class Get>
        void fill(const Sentence& sentence, const List& templates, Get get);
        void append(const Sentence& sentence, int node, const Summand& summand) { values.push_back(summand(sentence, node)); }
    };
    using Line = std::array<float, kLine>;

    // The summands of all triple templates, of all nodes in each role.
    struct Triples {
        Sums head, dep, third;
        void fill(const Sentence& sentence, const std::vector<TripleTemplate>& templates);
        template <class Visit>
        void visit(int at_head, int at_dep, int at_third, std::uint32_t direction, std::uint32_t mask, Visit&& visit) const;
        float sum(int at_head, int at_dep, int at_third, std::uint32_t direction, const Table& table) const;
    };

    static std::uint32_t toward(int head, int dep) { return head < dep ? 0U : 0x5bd1e995U; }
    static unsigned side(int head, int dep) { return head < dep ? 0U : 8U; }
    // The row past the last node stands for "no sibling".
    int inner_row(int head, int inner) const { return inner == head ? sentence_.n + 1 : inner; }
    // The tags strictly between two nodes, as a set of bits. O(1).
    std::uint64_t tags_between(int a, int b) const;
    void load_tags_between();
    void load_guides();
    void load_lines(const std::vector<Summand>& templates, std::vector<Line>& lines);
    template <class Visit>
    void visit_between(int head, int dep, Visit&& visit) const;
    template <class Visit>
    void visit_guides(int head, int dep, Visit&& visit) const;

    const Templates* templates_;
    Sentence sentence_;
    Table table_{nullptr, 0};
    std::vector<Line> head_lines_, dep_lines_;
    std::vector<std::uint32_t> line_places_;
    Sums pair_head_, pair_dep_, between_head_, between_dep_;
    Sums guide_head_, guide_dep_;  // the dependent's: with those of its head by the guide
    Triples siblings_, grandparents_;
    std::vector<std::uint64_t> tag_sets_;  // [level, node]: the tags of 2^level nodes from there on
};

template <class Visit>
void Extractor::visit_between(int head, int dep, Visit&& visit) const {
    if (between_head_.width == 0) return;
    const std::uint32_t direction = toward(head, dep);
    const std::uint32_t* at_head = between_head_.at(head);
    const std::uint32_t* at_dep = between_dep_.at(dep);
    const std::uint64_t tags = tags_between(head, dep);
    for (std::size_t t = 0; t < between_head_.width; ++t) {
        const std::uint32_t line = (at_head[t] + at_dep[t] + direction) & ~std::uint32_t{kLine - 1};
        for (std::uint64_t left = tags; left != 0; left &= left - 1)
            visit((line + static_cast<std::uint32_t>(std::countr_zero(left))) & table_.mask);
    }
}

template <class Visit>
void Extractor::visit_guides(int head, int dep, Visit&& visit) const {
    if (guide_head_.width == 0) return;
    const std::uint32_t both = toward(head, dep) + agreement_value(sentence_, head, dep);
    const unsigned bin = distance_bin(head, dep);
    const std::uint32_t* at_head = guide_head_.at(head);
    const std::uint32_t* at_dep = guide_dep_.at(dep);
    for (std::size_t t = 0; t < guide_head_.width; ++t) {
        const std::uint32_t place = (at_head[t] + at_dep[t] + both) & table_.mask;
        visit(place);
        visit(place ^ bin);
    }
}

template <class Visit>
void Extractor::visit_arc(int head, int dep, Visit&& visit) const {
    const unsigned slot = side(head, dep), bin = distance_bin(head, dep);
    const auto visit_line = [&](const Summand& summand, int node) {
        const std::uint32_t line = summand(sentence_, node) & table_.mask & ~std::uint32_t{kLine - 1};
        visit(line + slot);
        visit(line + slot + bin);
    };
    for (const Summand& summand : templates_->heads) visit_line(summand, head);
    for (const Summand& summand : templates_->deps) visit_line(summand, dep);
    const std::uint32_t* at_head = pair_head_.at(head);
    const std::uint32_t* at_dep = pair_dep_.at(dep);
    for (std::size_t t = 0; t < pair_head_.width; ++t) {
        const std::uint32_t place = (at_head[t] + at_dep[t] + toward(head, dep)) & table_.mask;
        visit(place);
        visit(place ^ bin);
    }
    visit_between(head, dep, visit);
    visit_guides(head, dep, visit);
}

template <class Visit>
void Extractor::Triples::visit(int at_head, int at_dep, int at_third, std::uint32_t direction, std::uint32_t mask, Visit&& visit) const {
    const std::uint32_t* first = head.at(at_head);
    const std::uint32_t* second = dep.at(at_dep);
    const std::uint32_t* last = third.at(at_third);
    for (std::size_t t = 0; t < head.width; ++t) visit((first[t] + second[t] + last[t] + direction) & mask);
}

template <class Visit>
void Extractor::visit_sibling(int head, int dep, int inner, Visit&& visit) const {
    siblings_.visit(head, dep, inner_row(head, inner), toward(head, dep), table_.mask, visit);
}

template <class Visit>
void Extractor::visit_grandparent(int grandparent, int head, int dep, Visit&& visit) const {
    grandparents_.visit(head, dep, grandparent, toward(head, dep) + 3 * toward(grandparent, head), table_.mask, visit);
}

}  // namespace arbora::feature
