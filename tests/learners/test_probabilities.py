"""Learners of probabilities on small treebanks: one optimum however it is found, at any scale."""

import sys
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pytest
from errors import rejects
from graph_toys import scorer, treebank
from learners_toy import ToyProblem

from arbora.data.columns import parse_text
from arbora.data.synthetic import generate
from arbora.errors import InputError
from arbora.interfaces import Query
from arbora.learners._online import shuffled
from arbora.learners.log_linear import weights_of
from arbora.problems import GraphProblem
from arbora.registry import learners
from arbora.training import train


@lru_cache
def problem(trees="projective", threads=1, order=1):
    columns = treebank(25, seed=7, nonprojective=0.2 * (trees == "nonprojective"))
    made, encoded = scorer(columns, trees=trees, order=order, labels="none")
    return GraphProblem(made, encoded, threads=threads)


def log_linear_objective(asked, values, C):
    loss, _ = asked.gradient(np.arange(len(asked)), weights_of(values), Query.MARGINALS)
    return C * loss + 0.5 * float(np.sum(values.astype(np.float64) ** 2))


@pytest.mark.parametrize("trees", ["projective", "nonprojective"])
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_all_ways_lead_to_the_log_linear_optimum(trees, C):
    asked = problem(trees)
    ways = {
        "lbfgs": learners.create("log_linear", C=C, epochs=60, tolerance=1e-5),
        "cg": learners.create("log_linear", C=C, method="cg", epochs=60, tolerance=1e-5),
        "eg": learners.create(
            "exponentiated_gradient", C=C, objective="log_linear", epochs=200, tolerance=1e-4
        ),
    }
    found = {name: learner.fit(asked) for name, learner in ways.items()}
    assert {learned.stopped for learned in found.values()} == {"converged"}
    values = {name: log_linear_objective(asked, learned.last, C) for name, learned in found.items()}
    assert max(values.values()) <= min(values.values()) * (1 + 1e-3)
    last = found["eg"].history[-1].measures
    assert last["dual"] <= min(values.values()) * (1 + 1e-6)
    assert last["primal"] == pytest.approx(values["eg"], rel=1e-6)
    for name in ("lbfgs", "cg"):
        objectives = [epoch.measures["objective"] for epoch in found[name].history]
        assert objectives[-1] == pytest.approx(values[name], rel=1e-6)
        assert all(after <= before * (1 + 1e-9) for before, after in pairwise(objectives))
        assert found[name].history[-1].loss == pytest.approx(
            asked.gradient(np.arange(25), weights_of(found[name].last), Query.MARGINALS)[0], rel=1e-5
        )
    scale = np.linalg.norm(found["lbfgs"].last)
    assert np.linalg.norm(found["lbfgs"].last - found["cg"].last) < 0.02 * scale
    assert np.linalg.norm(found["lbfgs"].last - found["eg"].last) < 0.1 * scale


def test_without_scipy(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy", None)
    with rejects(InputError, field="log_linear"):
        learners.create("log_linear").fit(problem())
    with rejects(InputError, field="log_linear"):  # before the labels and the pruner are learned
        train(treebank(5, seed=1), config={"learner": "log_linear"}, observer=None)
    assert learners.create("log_linear", method="cg", epochs=1).fit(problem()).history[-1].updates > 0


def test_adagrad_comes_near_the_optimum():
    asked = problem()
    best = learners.create("log_linear", C=0.1, epochs=60, tolerance=1e-5).fit(asked)
    rough = learners.create("adagrad", C=0.1, rate=0.03, epochs=60).fit(asked)
    optimum = log_linear_objective(asked, best.last, 0.1)
    assert log_linear_objective(asked, rough.averaged, 0.1) < 1.01 * optimum
    assert log_linear_objective(asked, rough.last, 0.1) < 1.01 * optimum


@pytest.mark.parametrize("trees", ["projective", "nonprojective"])
@pytest.mark.parametrize("C", [0.001, 0.01])
def test_exponentiated_gradient_meets_the_structural_svm(trees, C):
    asked = problem(trees)
    learned = learners.create("exponentiated_gradient", C=C, epochs=600, tolerance=0.005).fit(asked)
    assert learned.stopped == "converged"
    measures = [epoch.measures for epoch in learned.history]
    for before, after in pairwise(measures):
        assert after["dual"] >= before["dual"] * (1 - 1e-6)
    for each in measures:
        assert each["gap"] == pytest.approx(each["primal"] - each["dual"])
        assert each["gap"] > 0
    # Its C counts for the mean over examples.
    exact = learners.create("one_slack", C=C * len(asked), epsilon=1e-3, epochs=1000).fit(asked)
    assert exact.stopped == "converged"
    optimum = exact.history[-1].measures
    assert measures[-1]["primal"] == pytest.approx(optimum["primal"], rel=0.01)
    assert measures[-1]["dual"] <= optimum["primal"] * (1 + 1e-6)


@pytest.mark.parametrize("objective", ["margin", "log_linear"])
def test_no_step_of_exponentiated_gradient_lowers_the_dual_whatever_eta(objective):
    asked = problem("nonprojective")
    for eta in (1e-3, 1.0, 1e3):
        learner = learners.create("exponentiated_gradient", C=1.0, eta=eta, objective=objective, epochs=8)
        duals = [epoch.measures["dual"] for epoch in learner.fit(asked).history]
        assert all(after > before for before, after in pairwise(duals))


def test_exponentiated_gradient_is_figure_2_where_steps_are_short():
    toy, C, beta, eta = ToyProblem(examples=6, seed=4, noise=0.3), 0.5, 2.0, 0.01
    learner = learners.create("exponentiated_gradient", C=C, beta=beta, eta=eta, epochs=1, seed=3)
    found = learner.fit(toy)
    theta = [beta * toy.arc_gold(i) for i in range(6)]
    mu = [toy.arc_marginals(i, theta[i])[1] for i in range(6)]
    w = C * sum((toy.arc_gold(i) - mu[i]) @ toy.arcs[i] for i in range(6))
    rate = eta
    for i in shuffled(6, 3, 1):
        theta[i] = theta[i] + rate * (1.0 - toy.arc_gold(i) + toy.arcs[i] @ w)
        moved = toy.arc_marginals(i, theta[i])[1]
        w = w + C * (mu[i] - moved) @ toy.arcs[i]
        mu[i] = moved
        rate *= 1.25
    assert found.last == pytest.approx(w, rel=1e-4, abs=1e-5)
    dual = C * sum((1.0 - toy.arc_gold(i)) @ mu[i] for i in range(6)) - 0.5 * w @ w
    assert found.history[0].measures["dual"] == pytest.approx(dual, rel=1e-4)


def test_adagrad_is_what_its_box_says():
    toy, C, rate, floor, k = ToyProblem(examples=12, seed=9, noise=0.5, blur=0.2), 0.7, 0.3, 0.5, 5
    w, total, squares, t = np.zeros(toy.size), np.zeros(toy.size), np.zeros(toy.size), 0
    for epoch in range(1, 4):
        order = shuffled(12, 0, epoch)
        for start in range(0, 12, k):
            chosen = order[start : start + k]
            t += 1
            # All features are touched in each step: nothing is owed.
            gradient = toy.gradient(chosen, w, Query.MARGINALS)[1] / len(chosen)
            squares += gradient**2
            height = floor + np.sqrt(squares)
            w = (height * w - rate * gradient) / (height + rate / (C * 12))
            total += w
    learned = learners.create("adagrad", C=C, rate=rate, floor=floor, k=k, epochs=3).fit(toy)
    assert learned.last == pytest.approx(w, rel=1e-4, abs=1e-5)
    assert learned.averaged == pytest.approx(total / t, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("name", ["log_linear", "adagrad"])
@pytest.mark.parametrize("order", [1, 2])
def test_threads_change_nothing(name, order):
    options = {"log_linear": {"iterations": 4}, "adagrad": {"k": 4}}[name]
    results = [
        learners.create(name, epochs=2, **options).fit(problem("projective", n, order)) for n in (1, 2)
    ]
    assert results[0].last.tobytes() == results[1].last.tobytes()
    assert results[0].averaged.tobytes() == results[1].averaged.tobytes()


@lru_cache
def long_problem(trees):
    """A sentence of 150 words, made of short ones that hang on the first one's root, and a few short ones."""
    rows, start, root = [], 0, 0
    for sentence in treebank(30, seed=11).sentences():
        words = zip(sentence.forms, sentence.upos, sentence.heads, strict=True)
        for number, (form, tag, head) in enumerate(words, start + 1):
            above = start + head if head else root
            rows.append(f"{number}\t{form}\t_\t{tag}\t_\t_\t{above}\tdep\t_\t_")
            root = root or (number if head == 0 else 0)
        start += len(sentence.forms)
        if start >= 150:
            break
    assert start >= 150
    short = "".join(sentence.to_conllu() for sentence in generate(3, seed=5, longest=12))
    columns = parse_text("\n".join(rows) + "\n\n" + short, "conllu")
    made, encoded = scorer(columns, trees=trees, order=1, labels="none")
    return GraphProblem(made, encoded)


@pytest.mark.parametrize("trees", ["projective", "nonprojective"])
@pytest.mark.parametrize("C", [1e-4, 1e4])
def test_a_sentence_of_150_words_stays_finite_at_any_scale(trees, C):
    asked = long_problem(trees)
    learned = learners.create("log_linear", C=C, epochs=1, iterations=2).fit(asked)
    objective = learned.history[-1].measures["objective"]
    assert np.isfinite(learned.last).all()
    assert objective < log_linear_objective(asked, np.zeros(asked.size, dtype=np.float32), C)
    assert objective == pytest.approx(log_linear_objective(asked, learned.last, C), rel=1e-5)


@pytest.mark.parametrize("trees", ["projective", "nonprojective"])
def test_steps_stay_within_numbers_where_losses_hardly_count(trees):
    """With a small C every step raises the dual, so that nothing but a bound keeps them from growing."""
    columns = treebank(400, seed=9, nonprojective=0.2 * (trees == "nonprojective"), longest=10)
    made, encoded = scorer(columns, trees=trees, order=1, labels="none")
    learner = learners.create("exponentiated_gradient", C=1e-6, epochs=3, tolerance=0.0)
    learned = learner.fit(GraphProblem(made, encoded))
    assert np.isfinite(learned.last).all()
    duals = [epoch.measures["dual"] for epoch in learned.history]
    assert all(np.isfinite(duals))
    assert duals == sorted(duals)
    assert learned.history[-1].measures["eta"] <= 100 / 1e-6
