#include "conll/tree_shape.hpp"

#include <algorithm>

#include "base/errors.hpp"
#include "base/interrupt.hpp"

namespace arbora::conll {

namespace {

TreeFault cycle_through(std::span<const std::int32_t> heads, std::size_t word) {
    if (heads[word] == static_cast<std::int32_t>(word) + 1)
        return {word, "word is its own head", "a head other than " + std::to_string(word + 1), std::to_string(heads[word])};
    constexpr int longest_shown = 8;
    std::string path = std::to_string(word + 1);
    auto at = static_cast<std::size_t>(heads[word] - 1);
    for (int shown = 0; at != word && shown < longest_shown; ++shown) {
        path += " <- " + std::to_string(at + 1);
        at = static_cast<std::size_t>(heads[at] - 1);
    }
    if (at != word) path += " <- ...";
    return {word, "cycle of heads", "a tree", path + " <- " + std::to_string(word + 1)};
}

class Shaper {
public:
    // Marks the non-projective arcs of one sentence, which must be a tree, and returns its depth.
    std::int32_t measure(std::span<const std::int32_t> heads, std::span<std::uint8_t> nonprojective) {
        number(heads);
        const std::size_t n = heads.size();
        right_.assign(n + 2, 0);
        left_.assign(n + 2, 0);
        for (std::size_t h = n; h >= 1; --h) {
            std::size_t k = h + 1;
            while (k <= n && dominates(h, k)) k = static_cast<std::size_t>(right_[k]);
            right_[h] = static_cast<std::int32_t>(k);
        }
        for (std::size_t h = 1; h <= n; ++h) {
            std::size_t k = h - 1;
            while (k >= 1 && dominates(h, k)) k = static_cast<std::size_t>(left_[k]);
            left_[h] = static_cast<std::int32_t>(k);
        }
        for (std::size_t d = 1; d <= n; ++d) {
            const auto h = static_cast<std::size_t>(heads[d - 1]);
            const auto dep = static_cast<std::int32_t>(d);
            if (h != 0) nonprojective[d - 1] = dep > right_[h] || dep < left_[h];
        }
        return *std::max_element(depth_.begin(), depth_.end());
    }

private:
    // Preorder without recursion: children are in linked lists, and a word returns to its head when its list is empty.
    void number(std::span<const std::int32_t> heads) {
        const std::size_t n = heads.size();
        child_.assign(n + 1, 0);
        sibling_.assign(n + 1, 0);
        for (std::size_t d = n; d >= 1; --d) {
            const auto h = static_cast<std::size_t>(heads[d - 1]);
            sibling_[d] = child_[h];
            child_[h] = static_cast<std::int32_t>(d);
        }
        first_.assign(n + 1, 0);
        last_.assign(n + 1, 0);
        depth_.assign(n + 1, 0);
        std::int32_t count = 0;
        for (std::size_t node = 0;;) {
            if (child_[node] != 0) {
                const auto next = static_cast<std::size_t>(child_[node]);
                child_[node] = sibling_[next];
                depth_[next] = depth_[node] + 1;
                first_[next] = ++count;
                node = next;
            } else {
                last_[node] = count;
                if (node == 0) break;
                node = static_cast<std::size_t>(heads[node - 1]);
            }
        }
    }

    bool dominates(std::size_t ancestor, std::size_t node) const {
        return first_[ancestor] <= first_[node] && first_[node] <= last_[ancestor];
    }

    std::vector<std::int32_t> first_, last_;  // numbers in preorder of each node's subtree; node 0 is the root
    std::vector<std::int32_t> depth_, child_, sibling_, right_, left_;
};

}  // namespace

std::optional<TreeFault> find_tree_fault(std::span<const std::int32_t> heads, Roots roots, std::vector<std::int32_t>& scratch) {
    const auto n = static_cast<std::int32_t>(heads.size());
    for (std::size_t word = 0; word < heads.size(); ++word)
        if (heads[word] > n || heads[word] < no_head)
            return TreeFault{word, "head out of range", "a number from 0 to " + std::to_string(n), std::to_string(heads[word])};
    // Walk up from every word to a word of an earlier walk; meeting the present walk again is a cycle.
    scratch.assign(heads.size() + 1, 0);
    for (std::int32_t start = 1; start <= n; ++start) {
        std::int32_t at = start;
        while (at > 0 && scratch[static_cast<std::size_t>(at)] == 0) {
            scratch[static_cast<std::size_t>(at)] = start;
            at = heads[static_cast<std::size_t>(at) - 1];
        }
        if (at > 0 && scratch[static_cast<std::size_t>(at)] == start) return cycle_through(heads, static_cast<std::size_t>(at) - 1);
    }
    const auto count = std::count(heads.begin(), heads.end(), 0);
    if (roots == Roots::multi || count < 2) return std::nullopt;
    const auto second = std::find(std::find(heads.begin(), heads.end(), 0) + 1, heads.end(), 0);
    return TreeFault{static_cast<std::size_t>(second - heads.begin()), "second root", "one word with head 0", std::to_string(count)};
}

TreeShapes measure_trees(std::span<const std::int32_t> heads, std::span<const std::int64_t> offsets) {
    check_offsets("offsets", offsets, heads.size());
    const std::size_t sentences = offsets.size() - 1;
    const std::vector<std::int32_t> none(sentences, -1);
    TreeShapes shapes{std::vector<std::uint8_t>(heads.size()), none, none};
    Shaper shaper;
    std::vector<std::int32_t> scratch;
    for (std::size_t s = 0; s < sentences; ++s) {
        const auto first = static_cast<std::size_t>(offsets[s]), n = static_cast<std::size_t>(offsets[s + 1]) - first;
        check_stop(16 * n);
        const auto own = heads.subspan(first, n);
        const bool known = std::find(own.begin(), own.end(), no_head) == own.end();
        if (n == 0 || !known || find_tree_fault(own, Roots::multi, scratch)) continue;
        shapes.depths[s] = shaper.measure(own, std::span(shapes.nonprojective).subspan(first, n));
        shapes.roots[s] = static_cast<std::int32_t>(std::count(own.begin(), own.end(), 0));
    }
    return shapes;
}

}  // namespace arbora::conll
