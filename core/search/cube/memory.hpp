// What a partial tree remembers of its outermost dependents, and the contexts that can be seen from there.
#pragma once

#include <cstdint>
#include <utility>

#include "features/contexts.hpp"

namespace arbora::cube {

// What a derivation remembers. Of a half: its head's outermost dependent and what stands further in; of an arc: the new dependent, and
// the dependent's own outermost one on the side towards the head.
struct Memory {
    int head = -1;
    int dep = -1, arc = -1, label = -1;  // -1: no dependent yet
    int before = -1, before_label = -1;  // the next dependent towards the head
    int count = 0;                       // dependents on this side
    int inner = -1, inner_label = -1, inner_count = 0;  // of arcs
    float cost = 0.0F;                   // of all arcs so far, where costs are counted
    bool is_arc = false;
    std::uint64_t list = 0;              // names the dependents, and their labels unless keys are loose
};

inline feature::Context chain_of(int head, int dep, int label, const Memory& outer) {
    return {{head, dep, outer.dep, outer.before}, {-1, label, outer.label, -1}, {outer.count + 1, 0, 0, 0}, feature::turn(head, dep)};
}

// `half`: with the dependent as its outermost one; `label`: of its head under the grandparent.
inline feature::Context lineage_of(int grandparent, int label, const Memory& half) {
    return {{grandparent, half.head, half.dep, half.before}, {-1, label, half.label, half.before_label}, {0, 0, 0, 0},
            feature::turn(half.head, half.dep) + 3 * feature::turn(grandparent, half.head)};
}

inline feature::Context closing_of(const Memory& arc, const Memory& far) {
    feature::Context c{{arc.head, arc.dep, arc.inner, far.dep}, {-1, arc.label, arc.inner_label, far.label}, {0, 0, arc.inner_count, far.count},
              feature::turn(arc.head, arc.dep)};
    if (arc.dep < arc.head) {
        std::swap(c.nodes[2], c.nodes[3]);
        std::swap(c.labels[2], c.labels[3]);
        std::swap(c.counts[2], c.counts[3]);
    }
    return c;
}

}  // namespace arbora::cube
