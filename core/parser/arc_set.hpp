// The arcs that a parser considers: all of them, or what a pruner left.
//
// Arcs are numbered by dependent, heads ascending. Seen from a head, its dependents on one side stand in the order of their
// distance; a sibling part is a dependent b with the next dependent towards the head, a, or none (a = -1), and the parts of a
// side with m dependents are numbered b (b + 1) / 2 + a + 1: m (m + 1) / 2 of them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace arbora::graph {

struct ArcSet {
    int n = 0;
    std::vector<int> first;  // [n+2]: arcs of dependent d are first[d] .. first[d+1]; node 0 has none
    std::vector<int> heads;

    int size() const { return static_cast<int>(heads.size()); }
    std::span<const int> heads_of(int dep) const { return {heads.data() + first[dep], heads.data() + first[dep + 1]}; }
    int find(int head, int dep) const;  // -1: not there. O(heads of dep)
    void set_all(int words);            // n^2 arcs
    int add(const int* tree);           // the arcs (tree[d], d), d = 1..n, where there is a head; returns how many were missing
};

struct Side {
    int head = 0;
    int first = 0;          // of its entries in deps and arcs
    int count = 0;
    std::size_t parts = 0;  // number of its first sibling part
};

// An ArcSet as its heads see it.
class Sides {
public:
    void build(const ArcSet& arcs);
    const Side& right(int head) const { return sides_[2 * static_cast<std::size_t>(head)]; }
    const Side& left(int head) const { return sides_[2 * static_cast<std::size_t>(head) + 1]; }
    const Side& of(int head, int dep) const { return head < dep ? right(head) : left(head); }
    const std::vector<Side>& all() const { return sides_; }
    int dep(const Side& side, int b) const { return deps_[static_cast<std::size_t>(side.first + b)]; }
    int arc(const Side& side, int b) const { return arcs_[static_cast<std::size_t>(side.first + b)]; }
    // The place of a dependent within a side; -1 where it is not one. O(log count).
    int position(const Side& side, int dep) const;
    std::size_t part(const Side& side, int b, int a) const {
        return side.parts + static_cast<std::size_t>(b) * (static_cast<std::size_t>(b) + 1) / 2 + static_cast<std::size_t>(a + 1);
    }
    std::size_t parts() const { return parts_; }

private:
    std::vector<Side> sides_;
    std::vector<int> deps_, arcs_;
    std::size_t parts_ = 0;
};

// Numbers of grandparent parts: of arc a = (h, d), one for each arc b = (g, h), in b's order. Dependents of the root have none.
class GrandParts {
public:
    void build(const ArcSet& arcs);
    std::size_t size() const { return first_.empty() ? 0 : first_.back(); }
    // b: number of the arc (g, h); own: number of the first arc of h.
    std::size_t part(int a, int b, int own) const { return first_[static_cast<std::size_t>(a)] + static_cast<std::size_t>(b - own); }

private:
    std::vector<std::size_t> first_;
};

}  // namespace arbora::graph
