"""Each online learner against its algorithm box, once more with dense vectors and plain loops."""

import numpy as np
import pytest
from errors import rejects
from learners_toy import ToyProblem

from arbora._core import SparseVector, Weights, nearest_multipliers, solve_qp
from arbora.errors import InputError
from arbora.learners._online import shuffled
from arbora.registry import learners

EPOCHS = 6


def worst(problem, i, w, augmented):
    """Loss and difference of the tree that is best by score, or by score plus cost."""
    margins = problem.features[i] @ w
    tree = int(np.argsort(margins - augmented * problem.costs[i], kind="stable")[0])
    return problem.costs[i][tree], problem.features[i][tree]


def perceptron(problem, w, chosen, t, C):
    loss, difference = worst(problem, chosen[0], w, augmented=False)
    return w + difference if loss > 0 else w


def mira(problem, w, chosen, t, C):
    loss, d = worst(problem, chosen[0], w, augmented=False)
    hinge = loss - w @ d
    return w + min(C, hinge / (d @ d)) * d if loss > 0 and hinge > 0 else w


def passive_aggressive(rule):
    def step(problem, w, chosen, t, C):
        loss, d = worst(problem, chosen[0], w, augmented=True)
        hinge = loss - w @ d
        return w + rule(hinge, d @ d, C) * d if hinge > 1e-12 else w

    return step


def pegasos(lam):
    def step(problem, w, chosen, t, C):
        differences = [worst(problem, i, w, augmented=True)[1] for i in chosen]
        eta = 1.0 / (lam * t)
        half = (1.0 - eta * lam) * w + eta / len(chosen) * np.sum(differences, axis=0)
        return min(1.0, (1.0 / np.sqrt(lam)) / np.linalg.norm(half)) * half if half.any() else half

    return step


BOXES = [
    ("perceptron", {}, 1, perceptron),
    ("mira", {"C": 0.3}, 1, mira),
    ("passive_aggressive", {"variant": "PA"}, 1, passive_aggressive(lambda hinge, norm2, C: hinge / norm2)),
    (
        "passive_aggressive",
        {"variant": "PA-I", "C": 0.3},
        1,
        passive_aggressive(lambda hinge, norm2, C: min(C, hinge / norm2)),
    ),
    (
        "passive_aggressive",
        {"variant": "PA-II", "C": 0.3},
        1,
        passive_aggressive(lambda hinge, norm2, C: hinge / (norm2 + 1 / (2 * C))),
    ),
    ("pegasos", {"lam": 0.3, "k": 5}, 5, pegasos(0.3)),
    ("pegasos", {"lam": 2.0, "k": 1}, 1, pegasos(2.0)),
]


@pytest.mark.parametrize(("name", "options", "batch", "step"), BOXES)
@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_it_does_what_the_box_says(name, options, batch, step, noise):
    problem = ToyProblem(examples=12, seed=9, noise=noise, blur=0.2)
    w, total, t = np.zeros(problem.size), np.zeros(problem.size), 0
    for epoch in range(1, EPOCHS + 1):
        order = shuffled(len(problem), 5, epoch)
        for start in range(0, len(order), batch):
            t += 1
            w = step(problem, w, order[start : start + batch], t, options.get("C"))
            total += w
    learned = learners.create(name, epochs=EPOCHS, seed=5, **options).fit(problem)
    assert learned.last == pytest.approx(w, rel=1e-4, abs=1e-5)
    assert learned.averaged == pytest.approx(total / t, rel=1e-4, abs=1e-5)


def test_every_epoch_has_an_order_of_its_own():
    orders = [shuffled(50, seed, epoch) for seed in (0, 1) for epoch in (1, 2, 3)]
    assert all(np.array_equal(np.sort(order), np.arange(50)) for order in orders)
    assert len({order.tobytes() for order in orders}) == 6
    assert np.array_equal(shuffled(50, 1, 2), orders[4])
    assert shuffled(8, 0, 1).tolist() == [7, 4, 5, 1, 6, 2, 0, 3]  # on every machine


def test_sparse_vectors():
    a = SparseVector([7, 2, 7, 4], [1.0, 2.0, 2.0, 0.0])
    assert a.indices.tolist() == [2, 7]
    assert a.values.tolist() == [2.0, 3.0]
    assert (len(a), a.norm2, a.dot(a)) == (2, 13.0, 13.0)
    assert a == SparseVector(np.array([2, 7], dtype=np.uint32), np.array([2, 3], dtype=np.float32))
    assert len(a.plus(a, -1.0)) == 0
    assert (a + SparseVector([0], [1])).indices.tolist() == [0, 2, 7]
    assert not a.values.flags.writeable
    views = (a.indices, a.values)
    del a
    assert views[0].tolist() == [2, 7]


@pytest.mark.parametrize(
    ("indices", "values"),
    [
        ([1.5], [1.0]),
        ([-1], [1.0]),
        ([1], [1.0, 2.0]),
        ([[1]], [1.0]),
        ([1], ["x"]),
        ([1], [float("inf")]),
    ],
)
def test_malformed_sparse_vectors_are_rejected(indices, values):
    with pytest.raises(InputError):
        SparseVector(indices, values)


def test_weights_and_their_state():
    w = Weights(4)
    w.add(SparseVector([1, 3], [1.0, -2.0]), 0.5)
    w.tick()
    w.multiply(0.5)
    w.tick(3)
    assert w.values().tolist() == [0.0, 0.25, 0.0, -0.5]
    assert w.average().tolist() == [0.0, (0.5 + 0.75) / 4, 0.0, (-1.0 - 1.5) / 4]
    assert (w.norm2(), w.ticks, len(w)) == (0.3125, 4.0, 4)
    copy = Weights.from_state(w.state())
    for each in (w, copy):
        each.add(SparseVector([0], [1.0]), 0.1)
        each.tick()
    assert w.average().tobytes() == copy.average().tobytes()
    with pytest.raises(InputError):
        Weights.from_state({"v": np.zeros(3, dtype=np.float32)})
    with rejects(InputError, field="weights"):
        w.add(SparseVector([4], [1.0]), 1.0)
    with rejects(InputError, field="weights"):
        Weights(3, averaged=False).average()


def test_the_quadratic_programs():
    gram = np.array([[2.0, 1.0], [1.0, 2.0]])
    assert nearest_multipliers(gram, np.array([3.0, 3.0])).tolist() == pytest.approx([1.0, 1.0])
    assert nearest_multipliers(gram, np.array([3.0, 3.0]), cap=1.0).sum() == pytest.approx(1.0)
    multipliers, objective, violation, converged = solve_qp(gram, np.array([3.0, 3.0]), 10.0)
    assert multipliers.tolist() == pytest.approx([1.0, 1.0])
    assert objective == pytest.approx(3.0)
    assert violation <= 1e-11
    assert converged
    with pytest.raises(InputError):
        solve_qp(np.eye(3), np.ones(2), 1.0)
