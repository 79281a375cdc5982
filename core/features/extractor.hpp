// The features of the parts of one sentence: their places in the weight table, and the sums of their weights.
//
// load() sums what depends on one word alone. A feature of a part then costs one or two additions:
//   - a template about one word owns a line of 16 weights: one for each direction and one per distance. The whole line is summed
//   once per word, so such templates cost only two additions per arc;
//   - a template about the tags between two words owns four lines, one weight per tag;
//   - a template about two words has, per direction, one weight and one more per distance in the same line of 16, so a feature
//   costs one cache miss. The same holds for a template about a guide, per relation of the guide's tree to the arc.
// Time: O(n T) to load, O(templates) per part. The order of additions is fixed, so scores are the same on every machine.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "features/templates.hpp"

namespace arbora::feature {

// What another parser, the guide, says about an arc [nivre-2008]: the relation of its tree to the arc, as one value of a feature.
//
// What matters most is whether the guide has the arc. If not, its error is usually close: the head's own head, a sibling, or the
// reversed arc. O(1) per arc.
enum class Agreement : std::uint8_t {
    same,        // the guide has h -> d
    turned,      // it has d -> h
    above,       // h is the head of its head of d
    beside,      // h and d have the same head
    same_side,   // the guide's head of d is another, on h's side of d
    other_side,  // the guide's head of d is on the other side of d
};
inline constexpr int kAgreements = 6;

// sentence: with a guide's heads. head: -1 if unknown.
inline Agreement agreement(const Sentence& sentence, int head, int dep) {
    const std::int32_t* guide = sentence.guide_heads;
    const std::int32_t theirs = guide[dep];
    if (theirs == head) return Agreement::same;
    if (head > 0 && guide[head] == dep) return Agreement::turned;
    if (theirs > 0 && guide[theirs] == head) return Agreement::above;
    if (head > 0 && guide[head] == theirs) return Agreement::beside;
    return (theirs < dep) == (head < dep) ? Agreement::same_side : Agreement::other_side;
}

// The offset that it adds to the places of templates about the guide.
inline std::uint32_t agreement_value(const Sentence& sentence, int head, int dep) {
    static constexpr auto kValues = [] {
        std::array<std::uint32_t, kAgreements> values{};
        for (std::size_t a = 0; a < values.size(); ++a) values[a] = number_value(0x6775696465ULL, a + 1);
        return values;
    }();
    return kValues[static_cast<std::size_t>(agreement(sentence, head, dep))];
}

inline constexpr int kLine = 16;  // weights in a cache line
inline constexpr int kDistances = 7;

// 1 .. 7 for distances 1, 2, 3, 4, 5-6, 7-10 and beyond.
constexpr unsigned distance_bin(int from, int to) {
    const int distance = from < to ? to - from : from - to;
    return distance <= 4 ? static_cast<unsigned>(distance) : distance <= 6 ? 5 : distance <= 10 ? 6 : 7;
}

// The offset that the direction of an arc adds to the places of its features.
constexpr std::uint32_t turn(int head, int dep) { return head < dep ? 0U : 0x5bd1e995U; }

// A dense table of weights; places are below `size`, a power of two.
struct Table {
    const float* weights;
    std::uint32_t mask;
};

class Extractor {
public:
    explicit Extractor(const Templates& templates) : templates_(&templates) {}

    // Call first. `siblings`, `grandparents`: also load such parts. Throws InputError if a guide or clusters are needed and
    // missing.
    void load(const Sentence& sentence, const Table& table, bool siblings, bool grandparents) {
        require_inputs(*templates_, sentence);
        sentence_ = sentence;
        table_ = table;
        pair_head_.fill(sentence, templates_->pairs, &PairTemplate::head);
        pair_dep_.fill(sentence, templates_->pairs, &PairTemplate::dep);
        between_head_.fill(sentence, templates_->betweens, &PairTemplate::head);
        between_dep_.fill(sentence, templates_->betweens, &PairTemplate::dep);
        load_lines(templates_->heads, head_lines_);
        load_lines(templates_->deps, dep_lines_);
        load_tags_between();
        load_guides();
        if (siblings) siblings_.fill(sentence, templates_->siblings);
        if (grandparents) grandparents_.fill(sentence, templates_->grandparents);
    }

    float arc(int head, int dep) const {
        const unsigned slot = side(head, dep), bin = distance_bin(head, dep);
        const float* w = table_.weights;
        const Line& head_line = head_lines_[static_cast<std::size_t>(head)];
        const Line& dep_line = dep_lines_[static_cast<std::size_t>(dep)];
        const std::uint32_t* at_head = pair_head_.at(head);
        const std::uint32_t* at_dep = pair_dep_.at(dep);
        const std::uint32_t direction = turn(head, dep), mask = table_.mask;
        float sums[4] = {head_line[slot], dep_line[slot], head_line[slot + bin], dep_line[slot + bin]};
        std::size_t t = 0;
        for (; t + 2 <= pair_head_.width; t += 2) {
            const std::uint32_t first = (at_head[t] + at_dep[t] + direction) & mask;
            const std::uint32_t second = (at_head[t + 1] + at_dep[t + 1] + direction) & mask;
            sums[0] += w[first];
            sums[1] += w[first ^ bin];
            sums[2] += w[second];
            sums[3] += w[second ^ bin];
        }
        if (t < pair_head_.width) {
            const std::uint32_t last = (at_head[t] + at_dep[t] + direction) & mask;
            sums[0] += w[last];
            sums[1] += w[last ^ bin];
        }
        visit_between(head, dep, [&](std::uint32_t place) { sums[2] += w[place]; });
        visit_guides(head, dep, [&](std::uint32_t place) { sums[3] += w[place]; });
        return (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
    // inner == head: dep is the nearest dependent on its side
    float sibling(int head, int dep, int inner) const {
        return siblings_.sum(head, dep, inner_row(head, inner), turn(head, dep), table_);
    }
    float grandparent(int grandparent, int head, int dep) const {
        return grandparents_.sum(head, dep, grandparent, turn(head, dep) + 3 * turn(grandparent, head), table_);
    }

    // visit(place) for every feature of a part, some perhaps twice.
    template <class Visit>
    void visit_arc(int head, int dep, Visit&& visit) const {
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
            const std::uint32_t place = (at_head[t] + at_dep[t] + turn(head, dep)) & table_.mask;
            visit(place);
            visit(place ^ bin);
        }
        visit_between(head, dep, visit);
        visit_guides(head, dep, visit);
    }
    template <class Visit>
    void visit_sibling(int head, int dep, int inner, Visit&& visit) const {
        siblings_.visit(head, dep, inner_row(head, inner), turn(head, dep), table_.mask, visit);
    }
    template <class Visit>
    void visit_grandparent(int grandparent, int head, int dep, Visit&& visit) const {
        grandparents_.visit(head, dep, grandparent, turn(head, dep) + 3 * turn(grandparent, head), table_.mask, visit);
    }

private:
    // Summands of one role for all nodes: at(node) is an array with one entry per template.
    struct Sums {
        std::vector<std::uint32_t> values;
        std::size_t width = 0;
        const std::uint32_t* at(int node) const { return values.data() + static_cast<std::size_t>(node) * width; }
        template <class Template>
        void fill(const Sentence& sentence, const std::vector<Template>& templates, Summand Template::*summand) {
            width = templates.size();
            values.clear();
            for (int node = 0; node <= sentence.n; ++node)
                for (const auto& t : templates) append(sentence, node, t.*summand);
        }
        void append(const Sentence& sentence, int node, const Summand& summand) { values.push_back(summand(sentence, node)); }
    };
    using Line = std::array<float, kLine>;

    // The summands of all triple templates, of all nodes in each role.
    struct Triples {
        Sums head, dep, third;
        void fill(const Sentence& sentence, const std::vector<TripleTemplate>& templates) {
            head.fill(sentence, templates, &TripleTemplate::head);
            dep.fill(sentence, templates, &TripleTemplate::dep);
            third.fill(sentence, templates, &TripleTemplate::third);
            for (const auto& t : templates) third.append(sentence, -1, t.third);
        }
        template <class Visit>
        void visit(int at_head, int at_dep, int at_third, std::uint32_t direction, std::uint32_t mask, Visit&& visit) const {
            const std::uint32_t* first = head.at(at_head);
            const std::uint32_t* second = dep.at(at_dep);
            const std::uint32_t* last = third.at(at_third);
            for (std::size_t t = 0; t < head.width; ++t) visit((first[t] + second[t] + last[t] + direction) & mask);
        }
        // Four running sums, so that additions do not wait for each other.
        float sum(int at_head, int at_dep, int at_third, std::uint32_t direction, const Table& table) const {
            const std::uint32_t* first = head.at(at_head);
            const std::uint32_t* second = dep.at(at_dep);
            const std::uint32_t* last = third.at(at_third);
            float sums[4] = {0, 0, 0, 0};
            std::size_t t = 0;
            for (; t + 4 <= head.width; t += 4)
                for (std::size_t k = 0; k < 4; ++k)
                    sums[k] += table.weights[(first[t + k] + second[t + k] + last[t + k] + direction) & table.mask];
            for (; t < head.width; ++t) sums[0] += table.weights[(first[t] + second[t] + last[t] + direction) & table.mask];
            return (sums[0] + sums[1]) + (sums[2] + sums[3]);
        }
    };

    static unsigned side(int head, int dep) { return head < dep ? 0U : 8U; }
    // The row past the last node stands for "no sibling".
    int inner_row(int head, int inner) const { return inner == head ? sentence_.n + 1 : inner; }
    // The tags strictly between two nodes, as a set of bits. O(1).
    std::uint64_t tags_between(int a, int b) const {
        const int first = (a < b ? a : b) + 1, last = (a < b ? b : a) - 1;
        if (first > last) return 0;
        const auto count = static_cast<std::uint32_t>(last - first + 1);
        const int log = std::bit_width(count) - 1;
        const std::uint64_t* level = tag_sets_.data() + static_cast<std::size_t>(log) * (static_cast<std::size_t>(sentence_.n) + 1);
        return level[first] | level[last + 1 - (1 << log)];
    }
    void load_tags_between() {
        const auto nodes = static_cast<std::size_t>(sentence_.n) + 1;
        if (templates_->betweens.empty()) return;
        tag_sets_.resize(nodes * std::bit_width(nodes));
        for (std::size_t i = 0; i < nodes; ++i) tag_sets_[i] = std::uint64_t{1} << sentence_.tags[i];
        for (std::size_t step = 1, level = nodes; 2 * step <= nodes; step *= 2, level += nodes)
            for (std::size_t i = 0; i + 2 * step <= nodes; ++i)
                tag_sets_[level + i] = tag_sets_[level - nodes + i] | tag_sets_[level - nodes + i + step];
    }
    void load_guides() {
        const auto& guides = templates_->guides;
        guide_head_.fill(sentence_, guides, &TripleTemplate::head);
        guide_dep_.fill(sentence_, guides, &TripleTemplate::dep);
        if (guides.empty()) return;
        std::uint32_t* next = guide_dep_.values.data() + guides.size();  // the root depends on nothing
        for (int d = 1; d <= sentence_.n; ++d)
            for (const TripleTemplate& t : guides) *next++ += t.third(sentence_, sentence_.guide_heads[d]);
    }
    void load_lines(const std::vector<Summand>& templates, std::vector<Line>& lines) {
        // Two rounds: the first prefetches the lines that the second reads.
        const auto nodes = static_cast<std::size_t>(sentence_.n) + 1;
        line_places_.clear();
        for (std::size_t node = 0; node < nodes; ++node)
            for (const Summand& summand : templates) {
                line_places_.push_back(summand(sentence_, static_cast<int>(node)) & table_.mask & ~std::uint32_t{kLine - 1});
                __builtin_prefetch(table_.weights + line_places_.back());
            }
        lines.resize(nodes);
        const std::uint32_t* place = line_places_.data();
        for (Line& line : lines) {
            Line sum{};
            for (std::size_t t = 0; t < templates.size(); ++t) {
                const float* weights = table_.weights + *place++;
                for (int i = 0; i < kLine; ++i) sum[i] += weights[i];
            }
            line = sum;
        }
    }
    template <class Visit>
    void visit_between(int head, int dep, Visit&& visit) const {
        if (between_head_.width == 0) return;
        const std::uint32_t direction = turn(head, dep);
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
    void visit_guides(int head, int dep, Visit&& visit) const {
        if (guide_head_.width == 0) return;
        const std::uint32_t both = turn(head, dep) + agreement_value(sentence_, head, dep);
        const unsigned bin = distance_bin(head, dep);
        const std::uint32_t* at_head = guide_head_.at(head);
        const std::uint32_t* at_dep = guide_dep_.at(dep);
        for (std::size_t t = 0; t < guide_head_.width; ++t) {
            const std::uint32_t place = (at_head[t] + at_dep[t] + both) & table_.mask;
            visit(place);
            visit(place ^ bin);
        }
    }

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

}  // namespace arbora::feature
