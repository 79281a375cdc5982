// core/feature and core/graph for Python: encoded sentences, graph models, kept arcs, and a learner's queries.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "arrays.hpp"
#include "conll/columns.hpp"
#include "base/errors.hpp"
#include "graph.hpp"
#include "parser/batch.hpp"
#include "parser/filter.hpp"

namespace arbora {

namespace {

using namespace nb::literals;
using feature::Encoded;
using graph::Likelihood;
using graph::Model;
using graph::Pruner;
using graph::Questions;
using graph::Task;

std::vector<feature::Template> templates(const TemplateList& given) {
    std::vector<feature::Template> result;
    for (const auto& atoms : given) {
        feature::Template compiled;
        for (const auto& [role, offset, field] : atoms) {
            if (role < 0 || role >= feature::kRoles || field < 0 || field >= feature::kAllFields)
                throw InputError("template: an atom has an unknown role or field");
            compiled.push_back({static_cast<feature::Role>(role), offset, static_cast<feature::Field>(field)});
        }
        result.push_back(std::move(compiled));
    }
    return result;
}

Task task_of(const std::string& name) {
    if (name == "tree") return Task::tree;
    if (name == "joint") return Task::joint;
    if (name == "labels") return Task::labels;
    throw InputError("task: expected tree, joint or labels, got " + name);
}

void make_model(Model* self, const TemplateList& arcs, const TemplateList& siblings, const TemplateList& grandparents, const TemplateList& labels,
                const TemplateList& guides, const TemplateList& guide_labels, bool projective, bool single_root, bool use_siblings, bool use_grandparents, int label_count, const Line<std::uint8_t>& seen, int tree_bits, int label_bits) {
    const auto pairs = static_cast<std::size_t>(feature::kTags) * feature::kTags;
    if (label_count < 0 || label_count > 1000)
        throw InputError("labels: expected at most 1000 different ones, got " + std::to_string(label_count));
    if (seen.size() != pairs * static_cast<std::size_t>(label_count)) throw InputError("seen: expected 64 * 64 * labels entries");
    Model model(feature::Templates({templates(arcs), templates(siblings), templates(grandparents), templates(labels), templates(guides), templates(guide_labels)}));
    model.trees = projective ? Trees::projective : Trees::nonprojective;
    model.roots = single_root ? Roots::single : Roots::multi;
    model.siblings = use_siblings;
    model.grandparents = use_grandparents;
    model.labels = label_count;
    model.label_sets = graph::LabelSets({seen.data(), seen.data() + seen.size()}, label_count);
    model.tree_size = table_size(tree_bits, "tree_bits");
    model.label_size = table_size(label_bits, "label_bits");
    new (self) Model(std::move(model));
}

// One number per word, all sentences in a row.
nb::object of_words(const Encoded& sentences, const std::int32_t* feature::Sentence::* column) {
    Output<std::int32_t> output(sentences.words());
    std::int32_t* next = output.data();
    for (std::size_t s = 0; s < sentences.size(); ++s) {
        const auto sentence = sentences.sentence(s);
        next = std::copy(sentence.*column + 1, sentence.*column + sentence.n + 1, next);
    }
    return output.numpy({sentences.words()});
}

void bind_encoded(nb::module_& m) {
    nb::class_<Encoded>(m, "Encoded", "Sentences as ids; see arbora.data.encode.")
        .def("__init__", [](Encoded* self, const conll::Columns& columns, const std::vector<std::string>& tags,
                            const std::vector<std::string>& labels, const std::vector<std::string>& ignored, const feature::Clusters* clusters) {
                const nb::gil_scoped_release release;
                new (self) Encoded(columns, feature::Names(tags, labels, ignored), clusters);
            }, "columns"_a, "tags"_a, "labels"_a, "ignored"_a = std::vector<std::string>{}, "clusters"_a.none() = nb::none())
        .def("__len__", &Encoded::size)
        .def_prop_ro("words", &Encoded::words)
        .def("length", [](const Encoded& self, std::size_t s) {
                if (s >= self.size()) throw nb::index_error("sentence out of range");
                return self.sentence(s).n;
            }, "sentence"_a)
        .def_prop_ro("lengths", [](const Encoded& self) {
                Output<std::int64_t> output(self.size());
                for (std::size_t s = 0; s < self.size(); ++s) output.data()[s] = self.sentence(s).n;
                return output.numpy({self.size()});
            }, nb::sig("def lengths(self) -> numpy.typing.NDArray[numpy.int64]"))
        .def_prop_ro("heads", [](const Encoded& self) { return of_words(self, &feature::Sentence::heads); },
                     nb::sig("def heads(self) -> numpy.typing.NDArray[numpy.int32]"))
        .def_prop_ro("labels", [](const Encoded& self) { return of_words(self, &feature::Sentence::labels); },
                     nb::sig("def labels(self) -> numpy.typing.NDArray[numpy.int32]"))
        .def("set_heads", [](Encoded& self, const Line<std::int32_t>& heads) {
                if (heads.size() != self.words()) throw InputError("heads: expected one per word");
                self.set_heads(heads.data());
            }, "heads"_a)
        .def("set_guide", [](Encoded& self, const Line<std::int32_t>& heads, const Line<std::int32_t>& labels, const std::vector<std::string>& names) {
                if (heads.size() != self.words() || labels.size() != self.words()) throw InputError("guide: expected one head and one label per word");
                self.set_guide(heads.data(), labels.data(), names);
            }, "heads"_a, "labels"_a, "names"_a, "The trees of a guide; labels are places in `names`, -1: none.")
        .def_prop_ro("has_guide", &Encoded::has_guide)
        .def("is_annotated", [](const Encoded& self, const std::string& name) {
                const Task task = task_of(name);
                for (std::size_t s = 0; s < self.size(); ++s) {
                    const auto sentence = self.sentence(s);
                    for (int d = 1; d <= sentence.n; ++d)
                        if (sentence.heads[d] < 0 || (task != Task::tree && sentence.labels[d] < 0)) return false;
                }
                return true;
            }, "task"_a, "Whether every word has a head and, if the task has labels, a label.")
        .def("seen_labels", [](const Encoded& self, int labels) {
                std::vector<std::uint8_t> seen(static_cast<std::size_t>(feature::kTags) * feature::kTags * static_cast<std::size_t>(labels));
                for (std::size_t s = 0; s < self.size(); ++s) {
                    const auto sentence = self.sentence(s);
                    for (int d = 1; d <= sentence.n; ++d) {
                        const int label = sentence.labels[d], head = sentence.heads[d];
                        if (label < 0 || label >= labels || head < 0 || head > sentence.n) continue;
                        const std::size_t pair = std::size_t{sentence.tags[head]} * feature::kTags + sentence.tags[d];
                        seen[pair * static_cast<std::size_t>(labels) + static_cast<std::size_t>(label)] = 1;
                    }
                }
                graph::complete(seen, labels);
                return copied(seen);
            }, "labels"_a, "Labels by tags of head and dependent; see arbora::graph::complete.",
            nb::sig("def seen_labels(self, labels: int) -> numpy.typing.NDArray[numpy.uint8]"));
}

void bind_arcs(nb::module_& m) {
    nb::class_<PruningSettings>(m, "Pruning", "How a pruner chooses arcs; see arbora.parsing.pruner.")
        .def("__init__", [](PruningSettings* self, const std::string& rule, int keep, double within, double alpha) {
                if (rule != "margin" && rule != "max-marginal" && rule != "probability") throw InputError("rule: expected margin, max-marginal or probability, got " + rule);
                if (keep < 1) throw InputError("keep: expected at least 1 head per word, got " + std::to_string(keep));
                if (!(within >= 0.0)) throw InputError("within: expected 0 or more, got " + std::to_string(within));
                if (!(alpha >= 0.0 && alpha <= 1.0)) throw InputError("alpha: expected 0 to 1, got " + std::to_string(alpha));
                const auto known = rule == "margin"         ? graph::PruningRule::margin
                                   : rule == "max-marginal" ? graph::PruningRule::max_marginal
                                                            : graph::PruningRule::probability;
                new (self) PruningSettings{known, keep, within, alpha};
            }, "rule"_a = "margin", "keep"_a = 1, "within"_a = 0.0, "alpha"_a = 0.0);
    nb::class_<KeptArcs>(m, "KeptArcs", "The arcs kept by a pruner.")
        .def("__len__", [](const KeptArcs& self) { return self.sets.size(); })
        .def_prop_ro("arcs", [](const KeptArcs& self) {
            std::size_t sum = 0;
            for (const auto& set : self.sets) sum += set.heads.size();
            return sum;
        })
        .def("heads_of", [](const KeptArcs& self, std::size_t s, int dep) {
                if (s >= self.sets.size() || dep < 1 || dep > self.sets[s].n) throw nb::index_error("no such word");
                const auto heads = self.sets[s].heads_of(dep);
                return std::vector<int>(heads.begin(), heads.end());
            }, "sentence"_a, "dep"_a)
        .def("restore_gold", [](KeptArcs& self, const Encoded& sentences) {
                return graph::restore_gold(sentences, self.sets);
            }, "sentences"_a, "Restores the arcs of the gold trees; returns how many were missing.");
}

nb::object parse_batch(const Model& self, const Encoded& sentences, const Line<float>& tree, const std::optional<Line<float>>& labels,
                       bool staged, const Model* pruner_model, const std::optional<Line<float>>& pruner_weights,
                       const PruningSettings& pruning, bool keep_heads, int threads) {
    check_size(tree.size(), self.tree_size, "tree");
    if (labels) check_size(labels->size(), self.label_size, "labels");
    const graph::WeightView weights{tree.data(), labels ? labels->data() : nullptr, 1.0};
    Pruner pruner;
    if (pruner_model != nullptr && pruner_weights) pruner = pruner_of(*pruner_model, *pruner_weights, pruning);
    return tuple_of(without_lock([&] { return graph::parse(sentences, self, weights, staged, pruner.model != nullptr ? &pruner : nullptr, threads, keep_heads); }));
}

using Dense = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;

// Dense arrays of all parts of a sentence, in the layout of arbora.inference. Siblings: [head, dep, inner]; grandparents:
// [grandparent, head, dep].
struct Places {
    std::size_t nodes;
    std::size_t arc(int head, int dep) const { return static_cast<std::size_t>(head) * nodes + static_cast<std::size_t>(dep); }
    std::size_t triple(int a, int b, int c) const { return arc(a, b) * nodes + static_cast<std::size_t>(c); }
};

struct Scatter : Places {
    double *arcs, *siblings, *grandparents;
    void arc(int head, int dep, float score) { arcs[Places::arc(head, dep)] = score; }
    void sibling(int head, int dep, int inner, float score) { siblings[triple(head, dep, inner)] = score; }
    void grandparent(int grandparent, int head, int dep, float score) { grandparents[triple(grandparent, head, dep)] = score; }
};

// The features of every part, each times the part's coefficient.
struct Gather : Places {
    const graph::Worker& worker;
    const double *arcs, *siblings, *grandparents;  // null: all zero
    std::vector<SparseEntry> entries;
    void arc(int head, int dep, float) {
        if (const double count = arcs[Places::arc(head, dep)]; count != 0) worker.add_arc(head, dep, static_cast<float>(count), entries);
    }
    void sibling(int head, int dep, int inner, float) {
        const double count = siblings == nullptr ? 0 : siblings[triple(head, dep, inner)];
        if (count != 0) worker.add_sibling(head, dep, inner, static_cast<float>(count), entries);
    }
    void grandparent(int grandparent, int head, int dep, float) {
        const double count = grandparents == nullptr ? 0 : grandparents[triple(grandparent, head, dep)];
        if (count != 0) worker.add_grandparent(grandparent, head, dep, static_cast<float>(count), entries);
    }
};

graph::Worker scored(const Model& model, const Encoded& sentences, std::size_t s, const float* weights, std::size_t count, double scale) {
    if (s >= sentences.size()) throw nb::index_error("sentence out of range");
    check_size(count, model.tree_size, "weights");
    graph::Worker worker(model);
    worker.score(sentences.sentence(s), nullptr, {weights, nullptr, scale});
    return worker;
}

nb::object score_parts(const Model& self, const Encoded& sentences, std::size_t s, const Weights& weights) {
    const auto worker = scored(self, sentences, s, weights.data(), weights.size(), weights.scale());
    const auto nodes = static_cast<std::size_t>(worker.arcs().n) + 1;
    const auto cube = nodes * nodes * nodes;
    Output<double> arcs(nodes * nodes), siblings(self.siblings ? cube : 0), grandparents(self.grandparents ? cube : 0);
    const double never = -std::numeric_limits<double>::infinity();
    std::fill_n(arcs.data(), nodes * nodes, never);
    if (self.siblings) std::fill_n(siblings.data(), cube, never);
    if (self.grandparents) std::fill_n(grandparents.data(), cube, never);
    worker.each_part(Scatter{{nodes}, arcs.data(), siblings.data(), grandparents.data()});
    return nb::make_tuple(arcs.numpy({nodes, nodes}), self.siblings ? siblings.numpy({nodes, nodes, nodes}) : nb::none(),
                          self.grandparents ? grandparents.numpy({nodes, nodes, nodes}) : nb::none());
}

SparseVector pull_back(const Model& self, const Encoded& sentences, std::size_t s, const Dense& arcs, const std::optional<Dense>& siblings,
                       const std::optional<Dense>& grandparents) {
    const std::vector<float> zeros(self.tree_size);
    const auto worker = scored(self, sentences, s, zeros.data(), zeros.size(), 1.0);
    const auto nodes = static_cast<std::size_t>(worker.arcs().n) + 1;
    const auto check = [&](const Dense& given, std::size_t expected) {
        if (given.size() != expected) throw InputError("coefficients: expected arrays shaped as the scores");
    };
    check(arcs, nodes * nodes);
    if (siblings) check(*siblings, nodes * nodes * nodes);
    if (grandparents) check(*grandparents, nodes * nodes * nodes);
    Gather gather{{nodes}, worker, arcs.data(), siblings ? siblings->data() : nullptr, grandparents ? grandparents->data() : nullptr, {}};
    worker.each_part(gather);
    return coalesce(std::move(gather.entries));
}

void bind_model(nb::module_& m) {
    nb::class_<Model>(m, "GraphModel", "Templates, tree family and label sets of a graph parser; see arbora.scorers.linear.")
        .def("__init__", &make_model, nb::kw_only(), "arcs"_a, "siblings"_a, "grandparents"_a, "labels"_a,
             "guides"_a = TemplateList{}, "guide_labels"_a = TemplateList{}, "projective"_a, "single_root"_a, "use_siblings"_a, "use_grandparents"_a, "label_count"_a, "seen"_a, "tree_bits"_a, "label_bits"_a)
        .def("weight_count", [](const Model& self, const std::string& task) { return graph::weight_count(self, task_of(task)); }, "task"_a)
        .def("score_parts", &score_parts, "sentences"_a, "sentence"_a, "weights"_a,
             nb::sig("def score_parts(self, sentences: Encoded, sentence: int, weights: Weights) -> tuple[numpy.typing.NDArray[numpy.float64], "
                     "numpy.typing.NDArray[numpy.float64] | None, numpy.typing.NDArray[numpy.float64] | None]"))
        .def("pull_back", &pull_back, "sentences"_a, "sentence"_a, "arcs"_a, "siblings"_a.none(), "grandparents"_a.none(),
             nb::sig("def pull_back(self, sentences: Encoded, sentence: int, arcs: numpy.typing.NDArray[numpy.float64], "
                     "siblings: numpy.typing.NDArray[numpy.float64] | None, grandparents: numpy.typing.NDArray[numpy.float64] | None) -> SparseVector"))
        .def("prune", [](const Model& self, const Encoded& sentences, const Line<float>& weights, const PruningSettings& pruning, int threads) {
                const Pruner pruner = pruner_of(self, weights, pruning);
                const nb::gil_scoped_release release;
                return KeptArcs{graph::prune(sentences, pruner, threads)};
            }, "sentences"_a, "weights"_a, "pruning"_a, "threads"_a)
        .def("parse", &parse_batch, "sentences"_a, "tree"_a, "labels"_a.none(), "staged"_a, "pruner"_a.none(), "pruner_weights"_a.none(),
             "pruning"_a, "keep_heads"_a, "threads"_a,
             nb::sig("def parse(self, sentences: Encoded, tree: numpy.typing.NDArray[numpy.float32], "
                     "labels: numpy.typing.NDArray[numpy.float32] | None, staged: bool, pruner: GraphModel | None, "
                     "pruner_weights: numpy.typing.NDArray[numpy.float32] | None, pruning: Pruning, keep_heads: bool, threads: int) "
                     "-> tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.int32]]"));
}

template <class Asked>
nb::class_<Asked> bind_treebank(nb::module_& m, const char* name, const char* doc) {
    nb::class_<Asked> bound(m, name, doc);
    bound.def("__init__", [](Asked* self, const Model& model, const Encoded& sentences, const std::string& task, const KeptArcs* arcs, int threads, const std::tuple<double, double>& cost) {
            new (self) Asked(model, sentences, task_of(task), arcs == nullptr ? nullptr : &arcs->sets, threads, cost_of(cost));
        }, "model"_a, "sentences"_a, "task"_a, "arcs"_a.none(), "threads"_a, "cost"_a, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(),
        nb::keep_alive<1, 5>());
    return def_questions(bound);
}

void bind_filter(nb::module_& m) {
    using graph::FilterQuestions;
    nb::class_<FilterQuestions> bound(m, "FilterQuestions", "A learner's queries about the filter loss of a treebank; see arbora.problems.filter.");
    bound.def("__init__", [](FilterQuestions* self, const Model& model, const Encoded& sentences, double alpha, int among, int threads) {
            const nb::gil_scoped_release release;
            new (self) FilterQuestions(model, sentences, alpha, among, threads);
        }, "model"_a, "sentences"_a, "alpha"_a, "among"_a, "threads"_a, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>());
    def_questions(bound);
}

void bind_questions(nb::module_& m) {
    auto bound = bind_treebank<Questions>(m, "GraphQuestions", "A learner's queries about a treebank; see arbora.problems.graph.");
    def_candidates(bound);
}

std::vector<double> doubles_of(const Line<double>& given) { return {given.data(), given.data() + given.size()}; }

void bind_likelihood(nb::module_& m) {
    auto bound = bind_treebank<Likelihood>(m, "GraphLikelihood", "A treebank's probability and its gradient; see arbora.problems.graph.");
    def_gradient(bound)
        .def("arcs", [](const Likelihood& self, std::size_t sentence) {
                check_example(self, sentence);
                return self.arcs(sentence);
            }, "sentence"_a)
        .def("arc_scores", [](Likelihood& self, std::size_t sentence, const Weights& weights) {
                check_example(self, sentence);
                return copied(self.arc_scores(sentence, weights));
            }, "sentence"_a, "weights"_a,
            nb::sig("def arc_scores(self, sentence: int, weights: Weights) -> numpy.typing.NDArray[numpy.float64]"))
        .def("gold_arcs", [](Likelihood& self, std::size_t sentence) {
                check_example(self, sentence);
                return copied(self.gold_arcs(sentence));
            }, "sentence"_a, nb::sig("def gold_arcs(self, sentence: int) -> numpy.typing.NDArray[numpy.float64]"))
        .def("arc_sums", [](Likelihood& self, std::size_t sentence, const Line<double>& scores) {
                check_example(self, sentence);
                const graph::Sums sums = self.arc_sums(sentence, doubles_of(scores));
                return nb::make_tuple(sums.log_partition, copied(sums.arcs));
            }, "sentence"_a, "scores"_a,
            nb::sig("def arc_sums(self, sentence: int, scores: numpy.typing.NDArray[numpy.float64]) -> "
                    "tuple[float, numpy.typing.NDArray[numpy.float64]]"))
        .def("arc_features", [](Likelihood& self, std::size_t sentence, const Line<double>& coefficients) {
                check_example(self, sentence);
                return self.arc_features(sentence, doubles_of(coefficients));
            }, "sentence"_a, "coefficients"_a,
            nb::sig("def arc_features(self, sentence: int, coefficients: numpy.typing.NDArray[numpy.float64]) -> SparseVector"));
}

}  // namespace

void bind_graph(nb::module_& m) {
    bind_encoded(m);
    bind_arcs(m);
    bind_model(m);
    bind_filter(m);
    bind_questions(m);
    bind_likelihood(m);
}

}  // namespace arbora
