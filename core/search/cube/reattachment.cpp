#include "search/cube/reattachment.hpp"

#include "base/interrupt.hpp"

namespace arbora::cube {

void Reattachment::improve(const Parts& parts, WholeTree& tree) {
    parts_ = &parts;
    Scorer scorer{*this, tree};
    scores_.resize(static_cast<std::size_t>(scorer.n()) + 1);
    for (int word = 0; word <= scorer.n(); ++word) known(word) = tree.score_of(word);
    climber_.run(scorer);
}

Reattachment::Neighbours Reattachment::neighbours(WholeTree& tree, std::size_t most) {
    Neighbours found;
    const int n = parts_->sentence().n;
    for (int d = 1; d <= n; ++d) {
        check_stop();
        const int arc = tree.arc(d), choice = tree.choice_number(d);
        each_change(tree, d, [&](const Change& change) {
            if (change.arc == arc) {
                if (change.choice != choice) found.labels.push_back(change);
            } else if (found.heads.empty() || found.heads.back().dep != d || found.heads.back().arc != change.arc) {
                found.heads.push_back(change);
            } else if (change.gain > found.heads.back().gain) {
                found.heads.back() = change;
            }
        });
    }
    for (auto* changes : {&found.heads, &found.labels}) {
        std::stable_sort(changes->begin(), changes->end(), [](const Change& a, const Change& b) { return a.gain > b.gain; });
        changes->resize(std::min(changes->size(), most));
    }
    return found;
}

}  // namespace arbora::cube
