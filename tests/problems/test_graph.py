"""Graph problems: every learner learns every kind of tree, and the objectives are what they should be."""

from itertools import pairwise

import numpy as np
import pytest
from errors import rejects
from graph_toys import SHAPES, name_of, scorer, treebank

from arbora._core import Encoded, GraphQuestions, Pruning, SparseVector, Weights
from arbora.costs import TreeCost
from arbora.data.tree import Tree
from arbora.errors import InputError
from arbora.interfaces import Query
from arbora.problems import GraphProblem
from arbora.registry import learners

FOR_TOYS = {
    "pegasos": {"lam": 0.1, "k": 3, "epochs": 8},
    "one_slack": {"C": 100.0, "epsilon": 0.01, "epochs": 12},
    "log_linear": {"iterations": 5},
    "exponentiated_gradient": {"epochs": 12},
}
LEARNERS = [(name, {}) for name in learners] + [("mira", {"k": 3})]
COLUMNS = {trees: treebank(15, seed=3, nonprojective=float(trees == "nonprojective") / 2)
           for trees in ("projective", "nonprojective")}  # fmt: skip


def weights_of(values):
    w = Weights(len(values))
    w.add(SparseVector(np.arange(len(values)), np.asarray(values, dtype=np.float32)), 1.0)
    return w


def mistakes(problem, values):
    return problem.total(np.arange(len(problem)), weights_of(values), Query.ARGMAX).loss


def tasks_of(labels):
    return {"none": ["tree"], "staged": ["tree", "labels"], "joint": ["joint"]}[labels]


def unanswered(query, task, shape):
    """Whether nobody can expect an answer."""
    second = shape["order"] == 2
    return {
        Query.KBEST: task == "labels" or second,
        Query.MARGINALS: second and shape["trees"] == "nonprojective",
        Query.LOSS: True,
        Query.ARC_MARGINALS: second or task != "tree",
    }[query]


@pytest.mark.parametrize("labels", ["none", "staged", "joint"])
@pytest.mark.parametrize("shape", SHAPES, ids=name_of)
@pytest.mark.parametrize(("name", "options"), LEARNERS)
def test_every_learner_learns_every_kind_of_tree(name, options, shape, labels):
    columns = COLUMNS[shape["trees"]]
    made, encoded = scorer(columns, labels=labels, **shape)
    learner = learners.create(name, **{"epochs": 4, **FOR_TOYS.get(name, {}), **options})
    learned = {}
    for task in tasks_of(labels):
        problem = GraphProblem(made, encoded, task)
        if not learner.needs <= problem.queries:
            missing = next(iter(learner.needs - problem.queries))
            assert unanswered(missing, task, shape)
            with rejects(InputError, field="learner"):
                learner.fit(problem)
            return
        found = learner.fit(problem)
        learned[task] = found.averaged
        assert np.isfinite(found.last).all()
        assert np.isfinite(found.averaged).all()
        before = mistakes(problem, np.zeros(problem.size))
        assert min(mistakes(problem, found.averaged), mistakes(problem, found.last)) < 0.65 * before
        assert found.history[-1].loss < found.history[0].loss
        assert all(np.isfinite([epoch.loss, epoch.hinge]).all() for epoch in found.history)
    check_trees(columns, made, encoded, learned, shape)


def check_trees(columns, made, encoded, learned, shape):
    """What the weights parse is of the family, and labels are those that were seen for the tags."""
    tree = learned.get("tree", learned.get("joint"))[: made.weight_count("tree")]
    labels = learned["joint"][made.weight_count("tree") :] if "joint" in learned else learned.get("labels")
    if labels is not None:
        labels = np.ascontiguousarray(labels)
    staged = "labels" in learned
    heads, names = made.native.parse(
        encoded, np.ascontiguousarray(tree), labels, staged, None, None, Pruning(), False, 1
    )
    assert (names == -1).all() if labels is None else (names >= 0).all()
    for first, last in pairwise(columns.offsets.tolist()):
        found = Tree.from_heads(heads[first:last].tolist())  # a tree, or an error
        assert shape["trees"] == "nonprojective" or found.is_projective()
        roots = int(np.sum(heads[first:last] == 0))
        assert roots == 1 if shape["roots"] == "single" else roots >= 1


def svm_problem(trees):
    """First order: exact search, without which the structural SVM's objective means little."""
    columns = treebank(25, seed=7, nonprojective=0.2 * (trees == "nonprojective"))
    made, encoded = scorer(columns, trees=trees, order=1, labels="none")
    return GraphProblem(made, encoded)


def objective(problem, values, lam):
    w = weights_of(values)
    hinge = sum(problem.answer(i, w, Query.COST_AUGMENTED).hinge for i in range(len(problem)))
    return 0.5 * lam * squared(values) + hinge / len(problem)


def squared(values):
    return float(np.sum(np.asarray(values, dtype=np.float64) ** 2))


@pytest.mark.parametrize(("trees", "lam", "epochs"), [
    ("projective", 1.0, 1200), ("projective", 200.0, 40), ("nonprojective", 200.0, 40),
])  # fmt: skip
def test_pegasos_and_one_slack_reach_the_same_objective(trees, lam, epochs):
    problem = svm_problem(trees)
    exact = learners.create("one_slack", C=1.0 / lam, epsilon=2e-3, epochs=400).fit(problem)
    assert exact.stopped == "converged"
    measures = [epoch.measures for epoch in exact.history]
    for before, after in pairwise(measures):
        slack = 1e-5 * before["primal"]
        assert after["primal"] <= before["primal"]
        assert after["dual"] >= before["dual"] - slack
        assert after["gap"] >= -slack
    assert measures[-1]["gap"] <= 2e-3 / lam * (1 + 1e-6)
    assert measures[len(measures) // 2]["gap"] < 0.5 * measures[0]["gap"]
    primal, dual = lam * measures[-1]["primal"], lam * measures[-1]["dual"]
    assert primal == pytest.approx(objective(problem, exact.last, lam), rel=1e-4)
    assert primal < 0.97 * objective(problem, np.zeros(problem.size), lam)
    assert lam * squared(exact.last) < 1  # within the ball of pegasos
    trend = []
    for share in (50, 8, 1):
        rough = learners.create("pegasos", lam=lam, k=5, epochs=-(-epochs // share)).fit(problem)
        trend.append(objective(problem, rough.averaged, lam))
    assert trend[0] > trend[1] > trend[2] >= dual * (1 - 1e-5)
    assert min(trend[2], objective(problem, rough.last, lam)) == pytest.approx(primal, rel=0.01)


def test_pegasos_stays_in_its_ball_though_the_optimum_may_lie_outside():
    # The radius 1/√λ of Algorithm 2 is for losses of at most 1; trees lose a point per word.
    problem, lam = svm_problem("projective"), 20.0
    exact = learners.create("one_slack", C=1.0 / lam, epsilon=2e-3, epochs=400).fit(problem)
    assert lam * squared(exact.last) > 1.1
    rough = learners.create("pegasos", lam=lam, k=5, epochs=40).fit(problem)
    assert lam * squared(rough.last) == pytest.approx(1, rel=1e-4)
    assert lam * squared(rough.averaged) <= 1 + 1e-4
    assert objective(problem, rough.last, lam) > 1.1 * objective(problem, exact.last, lam)


def test_sums_are_those_of_single_answers_on_any_number_of_threads():
    columns = COLUMNS["nonprojective"]
    for task in ("tree", "joint", "labels"):
        made, encoded = scorer(columns, trees="nonprojective", labels="joint")
        chosen = np.array([3, 1, 4, 1, 5, 9, 2, 6], dtype=np.int64)
        w = weights_of(np.random.default_rng(1).normal(size=made.weight_count(task)))
        for query in (Query.ARGMAX, Query.COST_AUGMENTED):
            totals = [
                GraphProblem(made, encoded, task, threads=threads).total(chosen, w, query)
                for threads in (1, 2, 3)
            ]
            assert totals[0] == totals[1] == totals[2]
            problem = GraphProblem(made, encoded, task)
            answers = [problem.answer(int(i), w, query) for i in chosen]
            assert totals[0].loss == sum(answer.loss for answer in answers)
            assert totals[0].margin == pytest.approx(sum(answer.margin for answer in answers))


def test_cost_augmented_hinges_are_never_negative():
    for trees in ("projective", "nonprojective"):
        made, encoded = scorer(COLUMNS["projective"], trees=trees, order=1, labels="joint")
        for task in ("tree", "joint", "labels"):
            problem = GraphProblem(made, encoded, task)
            for seed in range(5):
                w = weights_of(np.random.default_rng(seed).normal(size=problem.size))
                for i in range(len(problem)):
                    answer = problem.answer(i, w, Query.COST_AUGMENTED)
                    assert answer.loss - answer.margin >= -1e-4
                    assert problem.answer(i, w, Query.ARGMAX).margin <= 1e-4


@pytest.mark.parametrize("task", ["tree", "joint", "labels"])
def test_the_loss_is_made_of_the_costs_of_heads_and_labels(task):
    made, encoded = scorer(COLUMNS["projective"], labels="joint")
    costs = [TreeCost(), TreeCost(label=0.0), TreeCost(head=3.0, label=0.5)]
    w = weights_of(np.random.default_rng(0).normal(size=GraphProblem(made, encoded, task).size))
    for i in range(len(encoded)):
        both, heads, weighted = (
            GraphProblem(made, encoded, task, cost=cost).answer(i, w, Query.ARGMAX).loss for cost in costs
        )
        assert weighted == 3.0 * heads + 0.5 * (both - heads)


def test_what_cannot_be_asked_is_an_error():
    made, encoded = scorer(COLUMNS["projective"], labels="none")
    w = Weights(made.weight_count())
    problem = GraphProblem(made, encoded)
    for i in (-1, len(problem)):
        with pytest.raises((IndexError, TypeError)):
            problem.answer(i, w, Query.ARGMAX)
        with pytest.raises(IndexError):
            problem.total(np.array([0, i]), w, Query.ARGMAX)
    with rejects(InputError, field="weights"):
        problem.answer(0, Weights(5), Query.ARGMAX)
    with rejects(InputError, field="task"):
        GraphProblem(made, encoded, "trees")
    for task in ("labels", "joint"):
        with rejects(InputError, field="task"):
            GraphProblem(made, encoded, task)


def test_gold_heads_that_are_none_are_errors_not_crashes():
    made, encoded = scorer(COLUMNS["projective"])
    heads = np.array(COLUMNS["projective"].heads)
    for bad in (-5, 10_000, 2**31 - 1, 1):
        wrong = heads.copy()
        wrong[0] = bad  # 1: itself
        with rejects(InputError, field="sentence 0, word 1"):
            encoded.set_heads(wrong)
    heads[0] = -1
    encoded.set_heads(heads)
    problem = GraphProblem(made, encoded)
    assert problem.queries == {Query.MARGINALS, Query.COST_AUGMENTED_MARGINALS}
    with rejects(InputError, field="sentence 0, word 1"):
        problem.answer(0, Weights(made.weight_count()), Query.ARGMAX)
    heads = np.array(COLUMNS["projective"].heads)
    with rejects(InputError, field="heads"):
        encoded.set_heads(heads[:-1])
    encoded.set_heads(heads)
    assert len(GraphProblem(made, encoded)) == 15


def test_arcs_of_other_sentences_are_refused():
    first, second = treebank(10, seed=1), treebank(10, seed=2)
    made, encoded = scorer(first, order=1, labels="none")
    other = scorer(second, order=1, labels="none")[1]
    weights = np.zeros(made.weight_count(), dtype=np.float32)
    kept = made.native.prune(encoded, weights, Pruning(keep=3, within=1e9), 1)
    with rejects(InputError, field="arcs"):
        kept.restore_gold(other)
    kept.restore_gold(encoded)
    with rejects(InputError, field="arcs"):
        GraphQuestions(made.native, other, "tree", kept, 1, (1.0, 1.0))
    assert isinstance(other, Encoded)
