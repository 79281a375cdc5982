// The k best non-projective trees, in order [camerini-1980, zmigrod-2021].
//
// The set of trees is split. For a subset (some arcs required, some forbidden) with best tree A, find the arc e of A whose loss
// costs least; the subset's second-best tree is its best tree without e. Emit that tree, and split the subset into "with e" (best
// tree A) and "without e" (best tree: the second-best). One contraction finds e: when a component's best entering arc b belongs to
// A, the cheapest replacement enters the same component from a source that is not below b in A; e is the b with the smallest
// difference. With a single root, a root arc is replaced by a root arc, any other by another: see max_arborescence.hpp. Time O(k
// n^2), space O(n^2 + k n).
#include "base/interrupt.hpp"
#include "trees/arborescence/max_arborescence.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <queue>
#include <utility>

namespace arbora {

namespace {

// One constraint of a subset, linked to the earlier ones.
struct Constraint {
    int head, dep;
    bool required;
    std::shared_ptr<const Constraint> before;
};
using Constraints = std::shared_ptr<const Constraint>;

// A subset of trees: its best tree has been emitted, its second-best lacks the arc into `dep`.
struct Subset {
    double second_score;
    std::size_t order;  // ties: the subset made first
    Constraints constraints;
    std::size_t best;  // index of the emitted tree
    int dep;

    bool operator<(const Subset& other) const {
        return second_score != other.second_score ? second_score < other.second_score : order > other.order;
    }
};

// Finds the arc of a tree whose loss costs least, during a contraction.
class CheapestLoss final : public Contraction {
public:
    CheapestLoss(Arena& arena, Square square, Roots roots)
        : Contraction(arena, square, roots, true), required_(arena.take<char>(square.n + 1)) {
        for (int** list : {&enter_, &leave_, &first_child_, &next_child_}) *list = arena.take<int>(square.n + 1);
    }

    struct Result {
        double loss;
        int dep;  // 0: no other tree
    };

    char* required() { return required_; }

    // `entering` under the subset's constraints, `tree` its best tree.
    Result find(double* entering, const std::vector<int>& tree, std::vector<int>& scratch) {
        tree_ = tree.data();
        number_subtrees();
        result_ = {-kMinusInfinity, 0};
        if (!run(entering, scratch.data())) return {-kMinusInfinity, 0};
        // Another tree with the same score (up to rounding): it comes next, and lacks one of these arcs.
        for (int d = 1; d <= square_.n; ++d)
            if (scratch[d] != tree_[d]) return {0.0, d};
        return result_;
    }

private:
    // Preorder numbers: u is below v iff enter[v] <= enter[u] < leave[v].
    void number_subtrees() {
        const int n = square_.n;
        std::fill_n(first_child_, n + 1, 0);
        for (int d = n; d >= 1; --d) {
            next_child_[d] = first_child_[tree_[d]];
            first_child_[tree_[d]] = d;
        }
        int clock = 0, node = 0;
        enter_[0] = clock++;
        while (true) {
            if (first_child_[node] != 0) {
                const int child = first_child_[node];
                first_child_[node] = next_child_[child];
                enter_[child] = clock++;
                node = child;
            } else {
                leave_[node] = clock;
                if (node == 0) break;
                node = tree_[node];
            }
        }
    }

    void entered(int node, int source, int word) override {
        if (tree_[word] != source || required_[word]) return;
        const double* scores = line(node);
        const int low = enter_[word], high = leave_[word];
        double best = node <= square_.n ? kMinusInfinity : runner_up_line(node)[source];
        const bool same_kind_only = roots_ == Roots::single;
        if (!(same_kind_only && source == 0)) {
            for (int u = same_kind_only ? 1 : 0; u <= square_.n; ++u) {
                const bool below = enter_[u] >= low && enter_[u] < high;
                const double score = below || u == source ? kMinusInfinity : scores[u];
                best = score > best ? score : best;
            }
        }
        const double loss = scores[source] - best;
        if (loss < result_.loss) result_ = {loss, word};
    }

    const int* tree_ = nullptr;
    Result result_{};
    int *enter_, *leave_, *first_child_, *next_child_;
    char* required_;
};

class Search {
public:
    Search(const double* scores, Square square, Roots roots, Arena& arena)
        : scores_(scores), square_(square), transposed_(arena.take<double>(square.size())), entering_(arena.take<double>(square.size())),
          loss_(arena, square, roots), decoder_(arena, square, roots, false), scratch_(square.n + 1, -1) {
        kernels().transpose(scores, square, transposed_);
    }

    std::vector<std::vector<int>> run(std::vector<int> best, int k) {
        trees_.push_back(std::move(best));
        add_subset(nullptr, 0);
        while (static_cast<int>(trees_.size()) < k && !subsets_.empty()) {
            check_stop(square_.size());
            const Subset subset = subsets_.top();
            subsets_.pop();
            const int dep = subset.dep, head = trees_[subset.best][dep];
            const auto without = std::make_shared<const Constraint>(Constraint{head, dep, false, subset.constraints});
            constrain(without.get());
            std::vector<int> tree(square_.n + 1, -1);
            if (!decoder_.run(entering_, tree.data())) continue;
            trees_.push_back(std::move(tree));
            if (static_cast<int>(trees_.size()) == k) break;
            add_subset(std::make_shared<const Constraint>(Constraint{head, dep, true, subset.constraints}), subset.best);
            add_subset(without, trees_.size() - 1);
        }
        return std::move(trees_);
    }

private:
    void constrain(const Constraint* constraint) {
        std::memcpy(entering_, transposed_, square_.size() * sizeof(double));
        std::memset(loss_.required(), 0, square_.n + 1);
        for (; constraint != nullptr; constraint = constraint->before.get()) {
            double* line = entering_ + square_.line(constraint->dep);
            const double score = std::exchange(line[constraint->head], kMinusInfinity);
            if (!constraint->required) continue;
            std::fill_n(line, square_.n + 1, kMinusInfinity);
            line[constraint->head] = score;
            loss_.required()[constraint->dep] = 1;
        }
    }

    void add_subset(Constraints constraints, std::size_t best) {
        constrain(constraints.get());
        const auto [loss, dep] = loss_.find(entering_, trees_[best], scratch_);
        if (dep == 0 || !(loss < -kMinusInfinity)) return;
        subsets_.push({score(trees_[best]) - loss, made_++, std::move(constraints), best, dep});
    }

    double score(const std::vector<int>& tree) const {
        double sum = 0.0;
        for (int d = 1; d <= square_.n; ++d) sum += scores_[square_.cell(tree[d], d)];
        return sum;
    }

    const double* scores_;
    Square square_;
    double *transposed_, *entering_;
    CheapestLoss loss_;
    Contraction decoder_;
    std::vector<int> scratch_;
    std::vector<std::vector<int>> trees_;
    std::priority_queue<Subset> subsets_;
    std::size_t made_ = 0;
};

}  // namespace

std::vector<std::vector<int>> kbest_arborescences(const double* scores, Square square, Roots roots, int k, Arena& arena) {
    std::vector<int> best(square.n + 1, -1);
    if (!max_arborescence(scores, square, roots, arena, best.data())) return {};
    return Search(without_soft_masks(scores, square, arena), square, roots, arena).run(std::move(best), k);
}

}  // namespace arbora
