// Labelled trees against the list of all trees with all labellings.
#include <map>
#include <set>

#include "brute_force.hpp"
#include "check.hpp"
#include "base/errors.hpp"
#include "trees/queries.hpp"
#include "trees/labels.hpp"
#include "problems.hpp"

namespace labels_tests {

using namespace arbora;
using problems::Kind;

namespace {

struct Labelled {
    int n, count;
    std::vector<double> values;

    Labelled(int words, int labels, Kind kind, problems::Random& random) : n(words), count(labels) {
        for (int h = 0; h <= n; ++h) {
            for (int d = 0; d <= n; ++d) {
                for (int l = 0; l < count; ++l) values.push_back(h == d || d == 0 ? problems::kNan : problems::draw(kind, random));
            }
        }
        values.shrink_to_fit();
    }

    LabelScores scores() const { return {n, count, values.data()}; }
    double at(int h, int d, int l) const { return scores().of(h, d)[l]; }

    double magnitude() const {
        double top = 1.0;
        for (const double x : values) top = std::abs(x) < 1e300 ? std::max(top, std::abs(x)) : top;
        return top;
    }
};

using Key = std::pair<Heads, Heads>;

// Every allowed labelled tree, with its score.
std::map<Key, long double> all_labelled(const Labelled& labelled, Trees trees, Roots roots) {
    std::map<Key, long double> result;
    for (const Heads& heads : brute::all_trees(labelled.n, trees, roots)) {
        Heads labels(labelled.n + 1, 0);
        labels[0] = -1;
        for (bool more = true; more;) {
            long double score = 0.0L;
            for (int d = 1; d <= labelled.n; ++d) score += labelled.at(heads[d], d, labels[d]);
            if (score > -1e299L) result[{heads, labels}] = score;
            int d = labelled.n;
            while (d >= 1 && labels[d] == labelled.count - 1) labels[d--] = 0;
            more = d >= 1;
            if (more) ++labels[d];
        }
    }
    return result;
}

std::vector<double> reduced(const Labelled& labelled, void (*reduce)(LabelScores, double*)) {
    std::vector<double> arcs(static_cast<std::size_t>(labelled.n + 1) * (labelled.n + 1));
    reduce(labelled.scores(), arcs.data());
    return arcs;
}

void check_kbest(const Labelled& labelled, Trees trees, Roots roots, int k) {
    Arena arena;
    const auto expected = all_labelled(labelled, trees, roots);
    if (expected.empty()) return;
    std::vector<long double> order;
    for (const auto& [key, score] : expected) order.push_back(score);
    std::sort(order.rbegin(), order.rend());
    const auto arcs = reduced(labelled, max_over_labels);
    const Problem p{trees, roots, labelled.n, arcs.data()};
    const auto skeletons = kbest(p, k, arena);
    std::vector<double> scores;
    for (const Heads& heads : skeletons) scores.push_back(tree_score(p, heads.data()));
    const auto found = kbest_labelled(labelled.scores(), skeletons, scores, k);
    CHECK(found.size() == std::min(expected.size(), static_cast<std::size_t>(k)));
    std::set<Key> seen;
    const double tolerance = 1e-12 + 1e-14 * labelled.magnitude() * labelled.n;
    for (std::size_t i = 0; i < std::min(found.size(), order.size()); ++i) {
        const Key key{found[i].heads, found[i].labels};
        const auto here = expected.find(key);
        CHECK(seen.insert(key).second && here != expected.end());
        if (here == expected.end()) continue;
        CHECK(std::abs(here->second - order[i]) <= tolerance);
        CHECK(std::abs(found[i].score - here->second) <= tolerance);
    }
}

}  // namespace

TEST(labels_k_best_trees) {
    problems::Random random(40);
    for (const Kind kind : {Kind::normal, Kind::ties, Kind::masked, Kind::wide}) {
        for (const int count : {1, 2, 3}) {
            for (int n = 1; n <= 3; ++n) {
                const Labelled labelled(n, count, kind, random);
                for (const Trees trees : problems::kTrees) {
                    for (const Roots roots : problems::kRoots) {
                        for (const int k : {1, 5, 1000}) check_kbest(labelled, trees, roots, k);
                    }
                }
            }
        }
    }
}

TEST(labels_sums_and_marginals) {
    problems::Random random(41);
    Arena arena;
    for (const Kind kind : {Kind::normal, Kind::masked, Kind::wide}) {
        const Labelled labelled(3, 3, kind, random);
        const auto arcs = reduced(labelled, log_sum_over_labels);
        for (const Trees trees : problems::kTrees) {
            for (const Roots roots : problems::kRoots) {
                const auto expected = all_labelled(labelled, trees, roots);
                if (expected.empty()) continue;
                long double top = brute::kNothing, sum = 0.0L;
                for (const auto& [key, score] : expected) top = std::max(top, score);
                for (const auto& [key, score] : expected) sum += std::exp(score - top);
                const Problem p{trees, roots, 3, arcs.data()};
                CHECK(std::abs(log_partition(p, arena) - (top + std::log(sum))) < 1e-8);
                std::vector<double> marginal(16), joint(16 * 3);
                marginals(p, arena, {marginal.data(), nullptr, nullptr, nullptr});
                label_marginals(labelled.scores(), marginal.data(), joint.data());
                std::vector<long double> shares(joint.size(), 0.0L);
                for (const auto& [key, score] : expected) {
                    for (int d = 1; d <= 3; ++d) shares[(key.first[d] * 4 + d) * 3 + key.second[d]] += std::exp(score - top) / sum;
                }
                for (std::size_t i = 0; i < joint.size(); ++i) CHECK(std::abs(joint[i] - shares[i]) < 1e-8);
            }
        }
    }
}

TEST(labels_ties_go_to_the_lowest) {
    const std::vector<double> values(2 * 2 * 3, 1.0);
    const int heads[] = {-1, 0};
    int labels[2] = {7, 7};
    best_labels({1, 3, values.data()}, heads, labels);
    CHECK(labels[0] == -1 && labels[1] == 0);
}

TEST(labels_are_drawn_in_proportion) {
    problems::Random seed(42);
    Labelled labelled(1, 4, Kind::normal, seed);
    labelled.values[1 * 4 + 2] = -problems::kInf;
    const int heads[] = {-1, 0};
    double total = 0.0;
    for (int l = 0; l < 4; ++l) total += std::exp(labelled.at(0, 1, l));
    Generator random(1, 1);
    int counts[4] = {}, labels[2];
    for (int i = 0; i < 20000; ++i) {
        sample_labels(labelled.scores(), heads, random, labels);
        CHECK(labels[0] == -1 && labels[1] >= 0 && labels[1] < 4);
        ++counts[labels[1]];
    }
    CHECK(counts[2] == 0);
    for (int l = 0; l < 4; ++l) {
        const double expected = 20000 * std::exp(labelled.at(0, 1, l)) / total;
        CHECK(std::abs(counts[l] - expected) <= 6.0 * std::sqrt(expected) + 6.0);
    }
}

TEST(labels_refuse_what_is_no_number) {
    problems::Random random(43);
    for (const double bad : {problems::kNan, problems::kInf, 2e300}) {
        Labelled labelled(2, 2, Kind::normal, random);
        labelled.values[(0 * 3 + 2) * 2 + 1] = bad;
        for (const auto reduce : {max_over_labels, log_sum_over_labels}) {
            bool refused = false;
            try {
                reduced(labelled, reduce);
            } catch (const InputError&) {
                refused = true;
            }
            CHECK(refused);
        }
    }
}

}  // namespace labels_tests
