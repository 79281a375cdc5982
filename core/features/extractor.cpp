#include "features/extractor.hpp"

namespace arbora::feature {

template <class List, class Get>
void Extractor::Sums::fill(const Sentence& sentence, const List& templates, Get get) {
    width = templates.size();
    values.clear();
    for (int node = 0; node <= sentence.n; ++node)
        for (const auto& t : templates) append(sentence, node, get(t));
}

void Extractor::load(const Sentence& sentence, const Table& table, bool siblings, bool grandparents) {
    require_guide(*templates_, sentence);
    sentence_ = sentence;
    table_ = table;
    const auto head = [](const auto& t) -> const Summand& { return t.head; };
    const auto dep = [](const auto& t) -> const Summand& { return t.dep; };
    pair_head_.fill(sentence, templates_->pairs, head);
    pair_dep_.fill(sentence, templates_->pairs, dep);
    between_head_.fill(sentence, templates_->betweens, head);
    between_dep_.fill(sentence, templates_->betweens, dep);
    load_lines(templates_->heads, head_lines_);
    load_lines(templates_->deps, dep_lines_);
    load_tags_between();
    load_guides();
    if (siblings) siblings_.fill(sentence, templates_->siblings);
    if (grandparents) grandparents_.fill(sentence, templates_->grandparents);
}

void Extractor::load_guides() {
    const auto& guides = templates_->guides;
    guide_head_.fill(sentence_, guides, [](const auto& t) -> const Summand& { return t.head; });
    guide_dep_.fill(sentence_, guides, [](const auto& t) -> const Summand& { return t.dep; });
    if (guides.empty()) return;
    std::uint32_t* next = guide_dep_.values.data() + guides.size();  // the root depends on nothing
    for (int d = 1; d <= sentence_.n; ++d)
        for (const TripleTemplate& t : guides) *next++ += t.third(sentence_, sentence_.guide_heads[d]);
}

void Extractor::Triples::fill(const Sentence& sentence, const std::vector<TripleTemplate>& templates) {
    head.fill(sentence, templates, [](const auto& t) -> const Summand& { return t.head; });
    dep.fill(sentence, templates, [](const auto& t) -> const Summand& { return t.dep; });
    third.fill(sentence, templates, [](const auto& t) -> const Summand& { return t.third; });
    for (const auto& t : templates) third.append(sentence, -1, t.third);
}

// Four running sums, so that an addition need not wait for the one before.
float Extractor::Triples::sum(int at_head, int at_dep, int at_third, std::uint32_t direction, const Table& table) const {
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

void Extractor::load_lines(const std::vector<Summand>& templates, std::vector<Line>& lines) {
    // Two rounds, so that lines are on their way from memory before they are read.
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

void Extractor::load_tags_between() {
    const auto nodes = static_cast<std::size_t>(sentence_.n) + 1;
    if (templates_->betweens.empty()) return;
    tag_sets_.resize(nodes * std::bit_width(nodes));
    for (std::size_t i = 0; i < nodes; ++i) tag_sets_[i] = std::uint64_t{1} << sentence_.tags[i];
    for (std::size_t step = 1, level = nodes; 2 * step <= nodes; step *= 2, level += nodes)
        for (std::size_t i = 0; i + 2 * step <= nodes; ++i)
            tag_sets_[level + i] = tag_sets_[level - nodes + i] | tag_sets_[level - nodes + i + step];
}

std::uint64_t Extractor::tags_between(int a, int b) const {
    const int first = (a < b ? a : b) + 1, last = (a < b ? b : a) - 1;
    if (first > last) return 0;
    const auto count = static_cast<std::uint32_t>(last - first + 1);
    const int log = std::bit_width(count) - 1;
    const std::uint64_t* level = tag_sets_.data() + static_cast<std::size_t>(log) * (static_cast<std::size_t>(sentence_.n) + 1);
    return level[first] | level[last + 1 - (1 << log)];
}

float Extractor::arc(int head, int dep) const {
    const unsigned slot = side(head, dep), bin = distance_bin(head, dep);
    const float* w = table_.weights;
    const Line& head_line = head_lines_[static_cast<std::size_t>(head)];
    const Line& dep_line = dep_lines_[static_cast<std::size_t>(dep)];
    const std::uint32_t* at_head = pair_head_.at(head);
    const std::uint32_t* at_dep = pair_dep_.at(dep);
    const std::uint32_t direction = toward(head, dep), mask = table_.mask;
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

float Extractor::sibling(int head, int dep, int inner) const {
    return siblings_.sum(head, dep, inner_row(head, inner), toward(head, dep), table_);
}

float Extractor::grandparent(int grandparent, int head, int dep) const {
    return grandparents_.sum(head, dep, grandparent, toward(head, dep) + 3 * toward(grandparent, head), table_);
}

}  // namespace arbora::feature
