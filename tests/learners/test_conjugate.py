"""Conjugate gradients against SciPy's on functions whose minimum is known, and where there is none."""

import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der

from arbora.learners.log_linear import conjugate_gradients

RANDOM = np.random.default_rng(0)
ROOT = RANDOM.normal(size=(30, 30))
MATRIX, SHIFT = ROOT @ ROOT.T + np.eye(30), RANDOM.normal(size=30)
POINTS, SIDES = RANDOM.normal(size=(200, 20)), RANDOM.choice([-1.0, 1.0], size=200)


def quadratic(x):
    return 0.5 * x @ MATRIX @ x - SHIFT @ x, MATRIX @ x - SHIFT


def logistic(x):
    margins = -SIDES * (POINTS @ x)
    return (
        float(np.logaddexp(0.0, margins).sum() + 0.5 * x @ x),
        x - POINTS.T @ (SIDES / (1.0 + np.exp(-margins))),
    )


def valley(x):
    return rosen(x), rosen_der(x)


def far(x):
    return float(np.exp(x).sum() - x.sum()), np.exp(x) - 1.0


CASES = {
    "quadratic": (quadratic, np.zeros(30), 60),
    "logistic": (logistic, np.zeros(20), 40),
    "valley": (valley, np.array([-1.2, 1.0]), 60),
    "far": (far, np.array([5.0, -3.0, 20.0]), 40),
}


class Counted:
    def __init__(self, objective):
        self.objective, self.calls = objective, 0

    def __call__(self, x):
        self.calls += 1
        return self.objective(x)


@pytest.mark.parametrize("name", CASES)
def test_the_minimum_in_about_as_many_steps_as_scipy(name):
    objective, start, iterations = CASES[name]
    ours, theirs = Counted(objective), Counted(objective)
    steps = []
    x, value, gradient, done = conjugate_gradients(
        ours, start.copy(), iterations, lambda x: steps.append(objective(x)[0])
    )
    expected = minimize(theirs, start, jac=True, method="CG", options={"maxiter": iterations, "gtol": 0.0})
    assert value == pytest.approx(expected.fun, abs=1e-5)
    assert value == objective(x)[0]
    assert np.array_equal(gradient, objective(x)[1])
    assert len(steps) == done
    assert all(after <= before for before, after in zip([objective(start)[0], *steps], steps, strict=False))
    assert ours.calls <= 2 * theirs.calls


def test_few_iterations_are_as_many_as_asked_for():
    *_, done = conjugate_gradients(quadratic, np.zeros(30), 3, lambda x: None)
    assert done == 3


@pytest.mark.parametrize(
    "objective",
    [
        lambda x: (0.0, np.zeros_like(x)),
        lambda x: (float("nan"), np.full_like(x, np.nan)),
        lambda x: (0.0 if np.all(x == 1.0) else float("inf"), np.ones_like(x)),
        lambda x: (float(x.sum()), -np.ones_like(x)),  # a gradient that lies
    ],
)
def test_where_no_step_leads_down_nothing_moves(objective):
    calls = Counted(objective)
    x, _, _, done = conjugate_gradients(calls, np.ones(3), 5, lambda x: pytest.fail("moved"))
    assert done == 0
    assert np.array_equal(x, np.ones(3))
    assert calls.calls < 20
