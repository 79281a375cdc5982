"""What every learner promises, asked of all that are registered: a new one is tested by existing."""

import json
from itertools import pairwise

import numpy as np
import pytest
from errors import rejects
from learners_toy import EVERY, ToyProblem

from arbora.errors import InputError
from arbora.interfaces import StopTraining
from arbora.registry import learners

# Each at its defaults, and where a parameter changes what is done, once more.
MORE = {
    "mira": [{"k": 4}],
    "passive_aggressive": [{"variant": "PA"}, {"variant": "PA-II"}],
    "au": [{"k": 1}],
    "spv": [
        {"scale": "loss"},
        {"prior": "laplace"},
        {"scale": "loss", "prior": "laplace", "gamma": 4.0},
        {"k": 1},
    ],
    "mec": [{"prior": "laplace", "gamma": 0.2}, {"k": 1}],
    "pegasos": [{"k": 1}],
    "log_linear": [{"method": "cg"}],
    "adagrad": [{"k": 5}],
    "exponentiated_gradient": [{"objective": "log_linear"}],
}
# Strong enough for a dozen tiny sentences.
FOR_TOYS = {
    "spv": {"gamma": 2.0},
    "mec": {"gamma": 4.0},
    "pegasos": {"lam": 0.01},
    "one_slack": {"C": 100.0, "epsilon": 0.001},
    "log_linear": {"C": 30.0, "iterations": 2},
    "adagrad": {"C": 30.0, "rate": 1.0},
    "adamw": {"rate": 0.05, "k": 4},
    "muon": {"rate": 0.05, "k": 4},
    "exponentiated_gradient": {"C": 10.0},
}
# Examples that are far off cost it no more than others: it leaves them alone, and their hinge may grow.
GIVES_UP = {"mec"}
CASES = [(name, options) for name in learners for options in ({}, *MORE.get(name, ()))]


def make(case, **options):
    name, given = case
    return learners.create(name, **{**FOR_TOYS.get(name, {}), **given, **options})


def name_of(case):
    return "-".join([case[0], *(f"{name}={value}" for name, value in case[1].items())])


each_learner = pytest.mark.parametrize("case", CASES, ids=name_of)
each_name = pytest.mark.parametrize("name", list(learners))


def same(first, second):
    return (
        first.last.tobytes() == second.last.tobytes()
        and first.averaged.tobytes() == second.averaged.tobytes()
    )


@each_learner
@pytest.mark.parametrize("seed", range(3))
def test_separable_examples_are_learned(case, seed):
    problem = ToyProblem(seed=seed, blur=0.2)
    learned = make(case, epochs=60).fit(problem)
    assert learned.last.dtype == learned.averaged.dtype == np.float32
    assert learned.last.shape == learned.averaged.shape == (problem.size,)
    assert problem.mistakes(learned.averaged) == 0
    assert problem.mistakes(learned.last) == 0


@each_learner
def test_mistakes_and_hinge_fall(case):
    problem = ToyProblem(examples=30, seed=5, noise=0.2)
    learned = make(case, epochs=30).fit(problem)
    zero = np.zeros(problem.size)
    if case[0] not in GIVES_UP:
        assert problem.mean_hinge(learned.averaged) < 0.8 * problem.mean_hinge(zero)
    assert problem.mistakes(learned.averaged) < 0.8 * problem.mistakes(zero)
    numbers = [epoch.number for epoch in learned.history]
    assert numbers == list(range(1, len(numbers) + 1))
    assert all(epoch.loss >= 0 and epoch.hinge >= 0 and epoch.seconds >= 0 for epoch in learned.history)
    assert learned.history[0].updates > 0


@each_learner
def test_one_seed_gives_one_result(case):
    problem = ToyProblem(seed=1, noise=0.3)
    learned = make(case, epochs=5).fit(problem)
    assert same(learned, make(case, epochs=5).fit(problem))
    if "seed" in make(case).settings():
        assert same(learned, make(case, epochs=5, seed=0).fit(problem))
        assert not same(learned, make(case, epochs=5, seed=1).fit(problem))


@each_learner
@pytest.mark.parametrize("after", [1, 4])
def test_resuming_gives_the_same_bytes(case, after):
    problem = ToyProblem(seed=2, noise=0.3)
    whole = make(case, epochs=9).fit(problem)
    states = {}

    def keep(progress):
        states[progress.epoch.number] = progress.state()

    make(case, epochs=after).fit(problem, callbacks=[keep])
    state = {name: np.array(array) for name, array in states[after].items()}
    assert all(array.dtype.kind in "fiub" for array in state.values())
    resumed = make(case, epochs=9).fit(problem, resume=state)
    assert same(whole, resumed)
    assert [e.loss for e in resumed.history] == [e.loss for e in whole.history]


@each_learner
def test_a_state_of_another_training_is_rejected(case):
    problem = ToyProblem()
    kept = []
    make(case, epochs=1).fit(problem, callbacks=[lambda progress: kept.append(progress.state())])
    name, other = next(
        pair for pair in (("seed", 1), ("patience", 7), ("pairs", 7)) if pair[0] in make(case).settings()
    )
    with rejects(InputError, field="resume"):
        make(case, **{name: other}).fit(problem, resume=kept[0])
    with rejects(InputError, field="resume"):
        make(case).fit(ToyProblem(examples=13), resume=kept[0])
    with rejects(InputError, field="resume"):
        make(case).fit(problem, resume={})
    for name in kept[0]:
        with rejects(InputError) as caught:
            make(case).fit(problem, resume={key: kept[0][key] for key in kept[0] if key != name})
        assert caught.value.field in ("resume", "Weights.from_state")


@each_learner
def test_callbacks_see_every_epoch_and_may_stop(case):
    problem = ToyProblem(noise=0.4)
    seen = []

    def watch(progress):
        assert progress.history[-1] is progress.epoch
        assert progress.epochs == 8
        seen.append(progress.last())
        assert progress.averaged().shape == (problem.size,)
        if progress.epoch.number == 3:
            raise StopTraining

    learned = make(case, epochs=8).fit(problem, callbacks=[watch])
    assert learned.stopped == "callback"
    assert len(seen) == len(learned.history) == 3
    assert np.array_equal(learned.last, seen[-1])
    assert same(learned, make(case, epochs=3).fit(problem))


@each_learner
def test_an_interruption_keeps_what_was_learned(case):
    class Interrupted(ToyProblem):
        left = None  # questions until Ctrl-C, once it is decided

        def _ranked(self, *arguments):
            if self.left is not None:
                self.left -= 1
                if self.left < 0:
                    raise KeyboardInterrupt
            return super()._ranked(*arguments)

    problem = Interrupted(noise=0.4)
    best = []

    def keep(progress):
        best.append(progress.averaged())
        problem.left = 5 if len(best) == 3 else None

    learned = make(case, epochs=50).fit(problem, callbacks=[keep])
    assert learned.stopped == "interrupted"
    assert len(learned.history) == len(best) == 3
    assert np.isfinite(learned.last).all()
    assert np.isfinite(learned.averaged).all()
    assert learned.last.any()


@each_learner
def test_problems_without_a_needed_query_are_rejected(case):
    learner = make(case)
    assert learner.needs
    for missing in learner.needs:
        problem = ToyProblem(queries=EVERY - {missing})
        with rejects(InputError, field="learner"):
            learner.fit(problem)
        assert problem.asked == 0
    exactly = ToyProblem(queries=learner.needs)
    assert learner.fit(exactly).history


@each_learner
def test_problems_without_examples_are_rejected(case):
    with pytest.raises(InputError):
        make(case).fit(ToyProblem(examples=0))


@each_learner
def test_equal_trees_change_no_weights(case):
    problem = ToyProblem()
    problem.features = [np.zeros_like(features) for features in problem.features]
    problem.arcs = [np.zeros_like(features) for features in problem.arcs]
    learned = make(case, epochs=3).fit(problem)
    assert not learned.last.any()
    assert not learned.averaged.any()


@each_name
def test_parameters_are_declared_and_checked(name):
    learner = learners.create(name)
    declared = learner.parameters()
    assert "epochs" in {each.name for each in declared}
    assert learner.settings() == {each.name: each.default for each in declared}
    assert json.loads(json.dumps(learner.settings())) == learner.settings()
    for each in declared:
        assert each.help
        assert each.range
        for bad in ("nonsense", None, True, float("nan"), -1):
            with rejects(InputError, field=each.name):
                learners.create(name, **{each.name: bad})
        text = f"{each.default:.17g}" if isinstance(each.default, float) else str(each.default)
        parsed = learner.parse({each.name: text})
        assert parsed == {each.name: each.default}
        with rejects(InputError, field=each.name):
            learner.parse({each.name: "none of it"})
    with pytest.raises((AttributeError, TypeError)):
        learner.epochs = 3
    assert learner == learners.create(name)


@each_name
def test_unknown_parameters_are_rejected(name):
    field = f"parameter of {name}"
    with rejects(InputError, field=field):
        learners.create(name, epoch=3)
    with rejects(InputError, field=field):
        learners.create(name).parse({"epoch": "3"})
    with rejects(InputError, field=name):
        learners.factory(name)(3)


def test_pegasos_and_one_slack_find_the_same_optimum():
    for seed, noise, lam in ((0, 0.0, 0.05), (1, 0.4, 0.02), (2, 0.6, 0.2)):
        problem = ToyProblem(examples=20, seed=seed, noise=noise)

        def objective(w, lam=lam, problem=problem):
            return 0.5 * lam * float(np.asarray(w, dtype=np.float64) @ w) + problem.mean_hinge(w)

        exact = learners.create("one_slack", C=1.0 / lam, epsilon=1e-6, epochs=2000).fit(problem)
        assert exact.stopped == "converged"
        last = exact.history[-1].measures
        assert lam * last["primal"] == pytest.approx(objective(exact.last), rel=1e-5)
        rough = learners.create("pegasos", lam=lam, k=5, epochs=500).fit(problem)
        assert objective(rough.averaged) == pytest.approx(lam * last["primal"], rel=0.01)
        assert objective(rough.averaged) >= lam * last["dual"] * (1 - 1e-6)


@pytest.mark.parametrize("planes", [2, 3, 10, 100])
@pytest.mark.parametrize("patience", [1, 20])
def test_the_gap_closes_whatever_the_room_for_planes(planes, patience):
    problem = ToyProblem(examples=25, seed=3, noise=0.4)
    learner = learners.create(
        "one_slack", C=20.0, epsilon=0.01, epochs=3000, planes=planes, patience=patience
    )
    learned = learner.fit(problem)
    measures = [epoch.measures for epoch in learned.history]
    assert learned.stopped == "converged"
    assert measures[-1]["gap"] <= 20.0 * 0.01
    assert all(m["planes"] <= planes for m in measures)
    assert all(m["gap"] == pytest.approx(m["primal"] - m["dual"]) for m in measures)
    for before, after in pairwise(measures):
        slack = 1e-6 * before["primal"]
        assert after["primal"] <= before["primal"]
        assert after["dual"] >= before["dual"] - slack
        assert after["gap"] >= -slack
    optimum = learners.create("one_slack", C=20.0, epsilon=1e-7, epochs=5000).fit(problem).history[-1]
    assert measures[-1]["dual"] <= optimum.measures["primal"] * (1 + 1e-6)
    assert measures[-1]["primal"] >= optimum.measures["dual"] * (1 - 1e-6)


def test_memory_does_not_grow_with_rounds():
    problem = ToyProblem(examples=25, seed=3, noise=0.4)
    sizes = []

    def weigh(progress):
        sizes.append(sum(array.nbytes for name, array in progress.state().items() if name != "about"))

    learners.create("one_slack", C=20.0, epsilon=0.0, epochs=300, planes=8).fit(problem, callbacks=[weigh])
    assert max(sizes[50:]) <= max(sizes[:50]) * 1.1


def test_k_best_mira_meets_all_k_constraints_at_once():
    problem = ToyProblem(examples=1, seed=7)
    problem.costs[0] += problem.costs[0] > 0
    learned = learners.create("mira", k=100, C=float("inf"), epochs=1).fit(problem)
    assert problem.mean_hinge(learned.last) <= 1e-5
