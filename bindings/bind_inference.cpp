// The native side of arbora.inference: converts batches and releases the GIL while computing.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "base/errors.hpp"
#include "trees/queries.hpp"
#include "numeric/kernels/kernels.hpp"
#include "trees/labels.hpp"
#include "base/parallel.hpp"

namespace arbora {

namespace {

using OptionalList = std::optional<nb::list>;

// One batch from the caller: the arrays are kept alive, and the problems point into them.
struct Batch {
    std::vector<Input> arrays;
    std::vector<Problem> problems;
    std::vector<LabelScores> labels;  // count 0: unlabelled
    std::vector<std::size_t> offsets{0};  // of each sentence's n+1 nodes

    Batch(const nb::list& arcs, const OptionalList& siblings, const OptionalList& grandparents, const OptionalList& grandsiblings,
          Trees trees, Roots roots, int width = 0) {
        const std::size_t size = arcs.size();
        problems.reserve(size);
        labels.reserve(size);
        for (std::size_t i = 0; i < size; ++i) {
            const Input array = nb::cast<Input>(arcs[i]);
            Problem problem;
            problem.trees = trees;
            problem.roots = roots;
            problem.n = static_cast<int>(array.shape(0)) - 1;
            problem.arcs = array.data();
            problem.width = width;
            LabelScores label{problem.n, 0, nullptr};
            if (array.ndim() == 3) label.count = static_cast<int>(array.shape(2)), label.scores = array.data();
            problem.siblings = part(siblings, i);
            problem.grandparents = part(grandparents, i);
            problem.grandsiblings = part(grandsiblings, i);
            arrays.push_back(array);
            problems.push_back(problem);
            labels.push_back(label);
            offsets.push_back(offsets.back() + problem.nodes());
        }
    }

    std::size_t size() const { return problems.size(); }
    bool labelled() const { return !labels.empty() && labels[0].count > 0; }

private:
    const double* part(const OptionalList& list, std::size_t i) {
        if (!list) return nullptr;
        arrays.push_back(nb::cast<Input>((*list)[i]));
        return arrays.back().data();
    }
};

// The memory that one thread keeps between sentences and calls, unless a very long sentence made it large.
struct Workspace {
    static constexpr std::size_t kKeep = std::size_t{64} << 20;
    Arena arena;
    std::vector<double> reduced;

    static Workspace& mine() {
        static thread_local Workspace workspace;
        return workspace;
    }
    void trim() {
        if (arena.reserved() > kKeep) arena = Arena();
        if (reduced.capacity() * sizeof(double) > kKeep) reduced = {};
    }
};

// The thread's workspace while in use; trimmed afterwards, also after an exception.
struct Borrowed {
    Workspace& workspace = Workspace::mine();
    ~Borrowed() { workspace.trim(); }
};

enum class Reduction { max, sum };

// The sentence's problem after its labels are reduced away.
Problem reduced(const Batch& batch, std::size_t i, Reduction reduction, Workspace& workspace) {
    Problem problem = batch.problems[i];
    if (batch.labels[i].count == 0) return problem;
    workspace.reduced.resize(problem.nodes() * problem.nodes());
    (reduction == Reduction::max ? max_over_labels : log_sum_over_labels)(batch.labels[i], workspace.reduced.data());
    problem.arcs = workspace.reduced.data();
    return problem;
}

template <class Body>
void for_each(const Batch& batch, int threads, Body body) {
    const nb::gil_scoped_release release;
    parallel_for(batch.size(), threads, [&](int, std::size_t i) {
        const Borrowed borrowed;
        try {
            body(i, borrowed.workspace);
        } catch (const NoTreeError& error) {
            if (batch.size() == 1) throw;
            throw NoTreeError("sentence " + std::to_string(i) + " of the batch: " + error.what());
        } catch (const InputError& error) {
            if (batch.size() == 1) throw;
            throw InputError("sentence " + std::to_string(i) + " of the batch: " + error.what());
        }
    });
}

nb::object labels_or_none(const Batch& batch, Output<std::int32_t>& labels, std::size_t size) {
    return batch.labelled() ? labels.numpy({size}) : nb::none();
}

nb::tuple argmax_batch(const nb::list& arcs, const OptionalList& siblings, const OptionalList& grandparents,
                       const OptionalList& grandsiblings, Trees trees, Roots roots, int threads) {
    const Batch batch(arcs, siblings, grandparents, grandsiblings, trees, roots);
    const std::size_t nodes = batch.offsets.back();
    Output<std::int32_t> heads(nodes), labels(batch.labelled() ? nodes : 0);
    Output<double> scores(batch.size());
    for_each(batch, threads, [&](std::size_t i, Workspace& workspace) {
        const Problem problem = reduced(batch, i, Reduction::max, workspace);
        std::int32_t* tree = heads.data() + batch.offsets[i];
        argmax(problem, workspace.arena, tree);
        scores.data()[i] = tree_score(problem, tree);
        if (batch.labelled()) best_labels(batch.labels[i], tree, labels.data() + batch.offsets[i]);
    });
    return nb::make_tuple(heads.numpy({nodes}), labels_or_none(batch, labels, nodes), scores.numpy({batch.size()}));
}

// The k best trees of one sentence, sorted by their tree_score.
std::vector<LabelledTree> kbest_of(const Batch& batch, std::size_t i, int k, Workspace& workspace) {
    const Problem problem = reduced(batch, i, Reduction::max, workspace);
    std::vector<Heads> trees = kbest(problem, k, workspace.arena);
    std::vector<LabelledTree> result;
    for (auto& heads : trees) {
        const double score = tree_score(problem, heads.data());
        result.push_back({std::move(heads), {}, score});
    }
    std::stable_sort(result.begin(), result.end(), [](const auto& a, const auto& b) { return a.score > b.score; });
    if (!batch.labelled()) return result;
    std::vector<Heads> skeletons;
    std::vector<double> scores;
    for (auto& tree : result) {
        skeletons.push_back(std::move(tree.heads));
        scores.push_back(tree.score);
    }
    return kbest_labelled(batch.labels[i], skeletons, scores, k);
}

nb::list kbest_batch(const nb::list& arcs, int k, const OptionalList& siblings, const OptionalList& grandparents,
                     const OptionalList& grandsiblings, Trees trees, Roots roots, int threads) {
    const Batch batch(arcs, siblings, grandparents, grandsiblings, trees, roots);
    std::vector<std::vector<LabelledTree>> lists(batch.size());
    for_each(batch, threads, [&](std::size_t i, Workspace& workspace) { lists[i] = kbest_of(batch, i, k, workspace); });
    nb::list result;
    for (std::size_t i = 0; i < batch.size(); ++i) {
        const std::size_t count = lists[i].size(), nodes = batch.problems[i].nodes();
        Output<std::int32_t> heads(count * nodes), labels(batch.labelled() ? count * nodes : 0);
        Output<double> scores(count);
        for (std::size_t j = 0; j < count; ++j) {
            std::copy(lists[i][j].heads.begin(), lists[i][j].heads.end(), heads.data() + j * nodes);
            std::copy(lists[i][j].labels.begin(), lists[i][j].labels.end(), labels.data() + j * nodes);
            scores.data()[j] = lists[i][j].score;
        }
        result.append(nb::make_tuple(heads.numpy({count, nodes}), batch.labelled() ? labels.numpy({count, nodes}) : nb::none(),
                                     scores.numpy({count})));
    }
    return result;
}

nb::object log_partition_batch(const nb::list& arcs, const OptionalList& siblings, const OptionalList& grandparents,
                               const OptionalList& grandsiblings, Trees trees, Roots roots, int threads, int width) {
    const Batch batch(arcs, siblings, grandparents, grandsiblings, trees, roots, width);
    Output<double> result(batch.size());
    for_each(batch, threads, [&](std::size_t i, Workspace& workspace) {
        result.data()[i] = log_partition(reduced(batch, i, Reduction::sum, workspace), workspace.arena);
    });
    return result.numpy({batch.size()});
}

// The arrays of one sentence's marginals, allocated before the GIL is released.
struct MarginalOutputs {
    Output<double> arcs, joint, siblings, grandparents, grandsiblings;

    MarginalOutputs(const Problem& p, int labels)
        : arcs(power(p, 2)),
          joint(labels > 0 ? power(p, 2) * labels : 0),
          siblings(p.siblings ? power(p, 3) : 0),
          grandparents(p.grandparents ? power(p, 3) : 0),
          grandsiblings(p.grandsiblings ? power(p, 4) : 0) {}

    static std::size_t power(const Problem& p, int exponent) {
        std::size_t result = 1;
        for (; exponent > 0; --exponent) result *= p.nodes();
        return result;
    }

    nb::tuple numpy(const Problem& p, int labels) {
        const std::size_t m = p.nodes(), l = labels;
        return nb::make_tuple(labels > 0 ? joint.numpy({m, m, l}) : arcs.numpy({m, m}),
                              p.siblings ? siblings.numpy({m, m, m}) : nb::none(),
                              p.grandparents ? grandparents.numpy({m, m, m}) : nb::none(),
                              p.grandsiblings ? grandsiblings.numpy({m, m, m, m}) : nb::none());
    }
};

nb::list marginals_batch(const nb::list& arcs, const OptionalList& siblings, const OptionalList& grandparents,
                         const OptionalList& grandsiblings, Trees trees, Roots roots, int threads, int width) {
    const Batch batch(arcs, siblings, grandparents, grandsiblings, trees, roots, width);
    std::vector<MarginalOutputs> outputs;
    outputs.reserve(batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i) outputs.emplace_back(batch.problems[i], batch.labels[i].count);
    for_each(batch, threads, [&](std::size_t i, Workspace& workspace) {
        MarginalOutputs& out = outputs[i];
        const Problem problem = reduced(batch, i, Reduction::sum, workspace);
        marginals(problem, workspace.arena,
                  {out.arcs.data(), out.siblings.data(), out.grandparents.data(), out.grandsiblings.data()});
        if (batch.labelled()) label_marginals(batch.labels[i], out.arcs.data(), out.joint.data());
    });
    nb::list result;
    for (std::size_t i = 0; i < batch.size(); ++i) result.append(outputs[i].numpy(batch.problems[i], batch.labels[i].count));
    return result;
}

// For unlabelled scores; `directions` are shaped as `arcs`.
nb::list marginals_along_batch(const nb::list& arcs, const nb::list& directions, Trees trees, Roots roots, int threads) {
    const Batch batch(arcs, {}, {}, {}, trees, roots);
    std::vector<Input> along;
    std::vector<Output<double>> outputs;
    for (std::size_t i = 0; i < batch.size(); ++i) {
        const std::size_t nodes = batch.problems[i].nodes();
        along.push_back(nb::cast<Input>(directions[i]));
        outputs.emplace_back(nodes * nodes);
    }
    for_each(batch, threads, [&](std::size_t i, Workspace& workspace) {
        marginals_along(batch.problems[i], along[i].data(), workspace.arena, outputs[i].data());
    });
    nb::list result;
    for (std::size_t i = 0; i < batch.size(); ++i) {
        const std::size_t nodes = batch.problems[i].nodes();
        result.append(outputs[i].numpy({nodes, nodes}));
    }
    return result;
}

nb::tuple sample_batch(const nb::list& arcs, int count, std::uint64_t seed, const OptionalList& siblings, const OptionalList& grandparents,
                      const OptionalList& grandsiblings, Trees trees, Roots roots, int threads) {
    const Batch batch(arcs, siblings, grandparents, grandsiblings, trees, roots);
    const std::size_t nodes = batch.offsets.back() * count;
    Output<std::int32_t> heads(nodes), labels(batch.labelled() ? nodes : 0);
    Output<double> scores(batch.size() * count);
    for_each(batch, threads, [&](std::size_t i, Workspace& workspace) {
        Problem problem = reduced(batch, i, Reduction::sum, workspace);
        Generator random(seed, i);
        std::int32_t* trees_of = heads.data() + batch.offsets[i] * count;
        sample(problem, count, random, workspace.arena, trees_of);
        for (int j = 0; j < count; ++j) {
            const auto at = j * problem.nodes();
            double score = tree_score(problem, trees_of + at);
            if (batch.labelled()) {
                std::int32_t* labels_of = labels.data() + batch.offsets[i] * count + at;
                sample_labels(batch.labels[i], trees_of + at, random, labels_of);
                for (int d = 1; d <= problem.n; ++d) {
                    score += batch.labels[i].of(trees_of[at + d], d)[labels_of[d]] - problem.arc(trees_of[at + d], d);
                }
            }
            scores.data()[i * count + j] = score;
        }
    });
    return nb::make_tuple(heads.numpy({nodes}), labels_or_none(batch, labels, nodes),
                                   scores.numpy({batch.size(), static_cast<std::size_t>(count)}));
}

void check_batch(const nb::list& arcs, const OptionalList& siblings, const OptionalList& grandparents, const OptionalList& grandsiblings,
                 Trees trees, Roots roots) {
    const Batch batch(arcs, siblings, grandparents, grandsiblings, trees, roots);
    for_each(batch, 1, [&](std::size_t i, Workspace& workspace) { check(reduced(batch, i, Reduction::max, workspace)); });
}

// 2 or 3 if the core can read every array as it is and all have that many axes; otherwise 0, and Python checks further.
int ready_axes(const nb::list& arcs) {
    std::size_t axes = 0;
    for (const nb::handle item : arcs) {
        Input array;
        if (!nb::try_cast(item, array, false)) return 0;
        if (reinterpret_cast<std::uintptr_t>(array.data()) % alignof(double) != 0) return 0;
        const bool square = array.ndim() >= 2 && array.shape(0) == array.shape(1) && array.shape(0) >= 1;
        if (!square || array.ndim() > 3 || (axes != 0 && array.ndim() != axes)) return 0;
        if (array.ndim() == 3 && array.shape(2) < 1) return 0;
        axes = array.ndim();
    }
    return static_cast<int>(axes);
}

nb::object word_scores_of(const nb::object& arcs, const Heads& heads, const OptionalList& siblings, const OptionalList& grandparents,
                          const OptionalList& grandsiblings) {
    nb::list one;
    one.append(arcs);
    const Batch batch(one, siblings, grandparents, grandsiblings, Trees::nonprojective, Roots::multi);
    const std::size_t nodes = batch.problems[0].nodes();
    Output<double> result(nodes);
    word_scores(batch.problems[0], heads.data(), result.data());
    return result.numpy({nodes});
}

}  // namespace

void bind_inference(nb::module_& m) {
    nb::enum_<Trees>(m, "Trees").value("projective", Trees::projective).value("nonprojective", Trees::nonprojective);
    nb::enum_<Roots>(m, "Roots").value("single", Roots::single).value("multi", Roots::multi);
    // The signatures of the stub; arbora.inference documents them. Arrays are float64, C-contiguous.
#define ARBORA_PARTS                                                                                                        \
    "siblings: list[numpy.typing.NDArray[numpy.float64]] | None, grandparents: list[numpy.typing.NDArray[numpy.float64]] | " \
    "None, grandsiblings: list[numpy.typing.NDArray[numpy.float64]] | None"
#define ARBORA_ARCS "arcs: list[numpy.typing.NDArray[numpy.float64]], "
#define ARBORA_FAMILY ", trees: Trees, roots: Roots, threads: int)"
#define ARBORA_SUMS ", trees: Trees, roots: Roots, threads: int, width: int)"
#define ARBORA_TREES "tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.int32] | None, numpy.typing.NDArray[numpy.float64]]"
    m.def("argmax", &argmax_batch, nb::sig("def argmax(" ARBORA_ARCS ARBORA_PARTS ARBORA_FAMILY " -> " ARBORA_TREES),
          "The best tree of each sentence, one after the other: heads, labels, scores.");
    m.def("kbest", &kbest_batch, nb::sig("def kbest(" ARBORA_ARCS "k: int, " ARBORA_PARTS ARBORA_FAMILY " -> list[" ARBORA_TREES "]"),
          "The k best trees, best first, for each sentence.");
    m.def("log_partition", &log_partition_batch,
          nb::sig("def log_partition(" ARBORA_ARCS ARBORA_PARTS ARBORA_SUMS " -> numpy.typing.NDArray[numpy.float64]"),
          "log Z of each sentence. width: see Problem in core/trees/problem.hpp.");
    m.def("marginals", &marginals_batch,
          nb::sig("def marginals(" ARBORA_ARCS ARBORA_PARTS ARBORA_SUMS " -> list[tuple[typing.Any, typing.Any, typing.Any, typing.Any]]"),
          "P(part) for each sentence: arcs (or arcs and labels), siblings, grandparents, grandsiblings.");
    m.def("marginals_along", &marginals_along_batch,
          nb::sig("def marginals_along(" ARBORA_ARCS "directions: list[numpy.typing.NDArray[numpy.float64]]" ARBORA_FAMILY
                  " -> list[numpy.typing.NDArray[numpy.float64]]"),
          "How P(arc) changes as unlabelled scores move along directions that are shaped as they are.");
    m.def("sample", &sample_batch,
          nb::sig("def sample(" ARBORA_ARCS "count: int, seed: int, " ARBORA_PARTS ARBORA_FAMILY " -> " ARBORA_TREES),
          "Independent random trees of each sentence, one after the other.");
    m.def("word_scores", &word_scores_of,
          nb::sig("def word_scores(arcs: numpy.typing.NDArray[numpy.float64], heads: list[int], " ARBORA_PARTS
                  ") -> numpy.typing.NDArray[numpy.float64]"),
          "The sum of the scores of each word's own parts in a tree, for one unlabelled sentence.");
    m.def("in_family", &in_family, nb::sig("def in_family(heads: list[int], trees: Trees, roots: Roots) -> bool"),
          "Is this a tree of the family? Heads lie in 0..n.");
    m.def("check", &check_batch, nb::sig("def check(" ARBORA_ARCS ARBORA_PARTS ", trees: Trees, roots: Roots) -> None"),
          "Raises InputError if a score that is not ignored is NaN or too large.");
    m.def("ready_axes", &ready_axes, nb::sig("def ready_axes(arcs: list[typing.Any]) -> int"),
          "2 or 3 where all arrays are float64, C-contiguous, of shape (m, m) or (m, m, labels); else 0.");
    m.def("instruction_set", [] { return std::string(kernels().name); }, "The vector instruction set that inference uses on this machine.");
}

}  // namespace arbora
