// The arcs that a parser considers: all of them, or those left by a pruner.
//
// Arcs are numbered by dependent, with ascending heads. The dependents of a head on one side are ordered by distance. A sibling
// part is a dependent b with the next dependent towards the head, a, or none (a = -1). The parts of a side with m dependents are
// numbered b (b + 1) / 2 + a + 1: m (m + 1) / 2 of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "base/interrupt.hpp"

namespace arbora::graph {

struct ArcSet {
    int n = 0;
    std::vector<int> first;  // [n+2]: arcs of dependent d are first[d] .. first[d+1]; node 0 has none
    std::vector<int> heads;

    int size() const { return static_cast<int>(heads.size()); }
    // Clears the set, to add heads word by word: those of 1, 2, ... with end_word() after each.
    void start(int words) {
        n = words;
        first.assign(2, 0);
        heads.clear();
    }
    void end_word() { first.push_back(size()); }
    // visit(head, dep, number of the arc), in order. Checks for interruption, for visits that score parts.
    template <class Visit>
    void each(Visit&& visit) const {
        for (int d = 1; d <= n; ++d) {
            check_stop(64 * static_cast<std::size_t>(first[d + 1] - first[d]));
            for (int a = first[d]; a < first[d + 1]; ++a) visit(heads[a], d, a);
        }
    }
    // One value per arc as a table [head, dep], `other` elsewhere.
    template <class Values>
    void spread(const Values& values, double other, std::vector<double>& table) const {
        const auto nodes = static_cast<std::size_t>(n) + 1;
        table.assign(nodes * nodes, other);
        each([&](int h, int d, int a) { table[static_cast<std::size_t>(h) * nodes + static_cast<std::size_t>(d)] = values[a]; });
    }
    std::span<const int> heads_of(int dep) const { return {heads.data() + first[dep], heads.data() + first[dep + 1]}; }
    // The number of an arc; -1: not in the set. O(log heads of dep).
    int find(int head, int dep) const {
        const auto own = heads_of(dep);
        const auto found = std::lower_bound(own.begin(), own.end(), head);
        return found == own.end() || *found != head ? -1 : first[dep] + static_cast<int>(found - own.begin());
    }
    // All n^2 arcs.
    void set_all(int words) {
        n = words;
        first.assign(1, 0);
        heads.clear();
        for (int d = 0; d <= n; ++d) {
            for (int h = 0; d > 0 && h <= n; ++h)
                if (h != d) heads.push_back(h);
            first.push_back(size());
        }
    }
    // Adds the arcs (tree[d], d), d = 1..n, of words with a head; returns how many were missing.
    int add(const int* tree) {
        ArcSet whole{n, {0, 0}, {}};
        int missing = 0;
        for (int d = 1; d <= n; ++d) {
            const auto own = heads_of(d);
            whole.heads.insert(whole.heads.end(), own.begin(), own.end());
            if (tree[d] >= 0 && find(tree[d], d) < 0) {
                const auto begin = whole.heads.begin() + whole.first.back();
                whole.heads.insert(std::lower_bound(begin, whole.heads.end(), tree[d]), tree[d]);
                ++missing;
            }
            whole.first.push_back(whole.size());
        }
        *this = std::move(whole);
        return missing;
    }
};

struct Side {
    int head = 0;
    int first = 0;          // of its entries in deps and arcs
    int count = 0;
    std::size_t parts = 0;  // number of its first sibling part
};

// An ArcSet grouped by head.
class Sides {
public:
    void build(const ArcSet& arcs) {
        const auto nodes = static_cast<std::size_t>(arcs.n) + 1;
        sides_.assign(2 * nodes, Side{});
        const auto index = [](int head, int dep) { return 2 * static_cast<std::size_t>(head) + (dep < head ? 1 : 0); };
        for (int d = 1; d <= arcs.n; ++d)
            for (const int h : arcs.heads_of(d)) ++sides_[index(h, d)].count;
        int first = 0;
        parts_ = 0;
        for (std::size_t s = 0; s < sides_.size(); ++s) {
            Side& side = sides_[s];
            side.head = static_cast<int>(s / 2);
            side.first = first;
            side.parts = parts_;
            first += side.count;
            parts_ += static_cast<std::size_t>(side.count) * (static_cast<std::size_t>(side.count) + 1) / 2;
            side.count = 0;
        }
        deps_.resize(static_cast<std::size_t>(first));
        arcs_.resize(static_cast<std::size_t>(first));
        const auto add = [&](int d, bool right) {
            for (int a = arcs.first[d]; a < arcs.first[d + 1]; ++a) {
                const int h = arcs.heads[a];
                if ((h < d) != right) continue;
                Side& side = sides_[index(h, d)];
                const auto at = static_cast<std::size_t>(side.first + side.count++);
                deps_[at] = d;
                arcs_[at] = a;
            }
        };
        for (int d = 1; d <= arcs.n; ++d) add(d, true);
        for (int d = arcs.n; d >= 1; --d) add(d, false);
    }
    const Side& right(int head) const { return sides_[2 * static_cast<std::size_t>(head)]; }
    const Side& left(int head) const { return sides_[2 * static_cast<std::size_t>(head) + 1]; }
    const Side& of(int head, int dep) const { return head < dep ? right(head) : left(head); }
    const std::vector<Side>& all() const { return sides_; }
    int dep(const Side& side, int b) const { return deps_[static_cast<std::size_t>(side.first + b)]; }
    int arc(const Side& side, int b) const { return arcs_[static_cast<std::size_t>(side.first + b)]; }
    // The place of a dependent within a side; -1 if it is not there. O(log count).
    int position(const Side& side, int dep) const {
        const auto begin = deps_.begin() + side.first, end = begin + side.count;
        const auto found = dep > side.head ? std::lower_bound(begin, end, dep) : std::lower_bound(begin, end, dep, std::greater<>());
        return found == end || *found != dep ? -1 : static_cast<int>(found - begin);
    }
    std::size_t part(const Side& side, int b, int a) const {
        return side.parts + static_cast<std::size_t>(b) * (static_cast<std::size_t>(b) + 1) / 2 + static_cast<std::size_t>(a + 1);
    }
    std::size_t parts() const { return parts_; }
    // The number of a part by its words; inner == head: no inner sibling.
    std::size_t part_of(int head, int dep, int inner) const {
        const Side& side = of(head, dep);
        return part(side, position(side, dep), inner == head ? -1 : position(side, inner));
    }
    // visit(head, dep, inner, number of the part), in order.
    template <class Visit>
    void each_part(Visit&& visit) const {
        for (const Side& side : sides_)
            for (int b = 0; b < side.count; ++b)
                for (int a = -1; a < b; ++a) visit(side.head, dep(side, b), a < 0 ? side.head : dep(side, a), part(side, b, a));
    }

private:
    std::vector<Side> sides_;
    std::vector<int> deps_, arcs_;
    std::size_t parts_ = 0;
};

// Numbers of grandparent parts: an arc a = (h, d) has one for each arc b = (g, h), in b's order. Dependents of the root have none.
class GrandParts {
public:
    void build(const ArcSet& arcs) {
        first_.assign(1, 0);
        for (const int h : arcs.heads)
            first_.push_back(first_.back() + (h == 0 ? 0 : static_cast<std::size_t>(arcs.first[h + 1] - arcs.first[h])));
    }
    std::size_t size() const { return first_.empty() ? 0 : first_.back(); }
    // b: number of the arc (g, h); own: number of the first arc of h.
    std::size_t part(int a, int b, int own) const { return first_[static_cast<std::size_t>(a)] + static_cast<std::size_t>(b - own); }

private:
    std::vector<std::size_t> first_;
};

}  // namespace arbora::graph
