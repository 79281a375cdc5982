#include "parser/arc_set.hpp"

#include <algorithm>
#include <utility>

namespace arbora::graph {

int ArcSet::find(int head, int dep) const {
    const auto own = heads_of(dep);
    const auto found = std::lower_bound(own.begin(), own.end(), head);
    return found == own.end() || *found != head ? -1 : first[dep] + static_cast<int>(found - own.begin());
}

void ArcSet::set_all(int words) {
    n = words;
    first.assign(1, 0);
    heads.clear();
    for (int d = 0; d <= n; ++d) {
        for (int h = 0; d > 0 && h <= n; ++h)
            if (h != d) heads.push_back(h);
        first.push_back(size());
    }
}

int ArcSet::add(const int* tree) {
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

void Sides::build(const ArcSet& arcs) {
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

int Sides::position(const Side& side, int dep) const {
    const auto begin = deps_.begin() + side.first, end = begin + side.count;
    const auto found = dep > side.head ? std::lower_bound(begin, end, dep) : std::lower_bound(begin, end, dep, std::greater<>());
    return found == end || *found != dep ? -1 : static_cast<int>(found - begin);
}

void GrandParts::build(const ArcSet& arcs) {
    first_.assign(1, 0);
    for (const int h : arcs.heads)
        first_.push_back(first_.back() + (h == 0 ? 0 : static_cast<std::size_t>(arcs.first[h + 1] - arcs.first[h])));
}

}  // namespace arbora::graph
