"""Learning from probabilities of trees: losses against lists of all trees, gradients against differences."""

from dataclasses import replace

import numpy as np
import pytest
from errors import rejects
from oracle.enumerate_trees import head_matrix

from arbora.data.soft import KEPT, Likeliest, SoftTrees
from arbora.errors import InputError

torch = pytest.importorskip("torch", reason="networks are trained with PyTorch")

from problem_toys import COLUMNS, NAMES, check_gradient, problem_of  # noqa: E402

from arbora.registry import families, losses  # noqa: E402

LENGTHS = np.diff(COLUMNS.offsets)
CERTAIN = SoftTrees.certain(COLUMNS.heads, NAMES.label_numbers(COLUMNS), NAMES.labels)


def doubtful(seed=0):
    """Random probabilities of all heads and labels of the toy treebank."""
    rng = np.random.default_rng(seed)
    arcs = []
    for n in LENGTHS.tolist():
        table = rng.random((n + 1, n + 1)) ** 4 * (1 - np.eye(n + 1))
        arcs.append(table / table.sum(axis=0))
    labels = rng.random((COLUMNS.words, len(NAMES.labels))) ** 4
    return SoftTrees.of(arcs, labels / labels.sum(axis=1, keepdims=True), NAMES.labels)


def problem(loss, soft, family="nonprojective"):
    found = problem_of(loss, family)
    found.data = replace(found.data, soft=soft)
    return found


@pytest.mark.parametrize("loss", ["local", "crf"])
def test_certain_targets_are_hard_ones(loss):
    hard, soft = problem_of(loss), problem(loss, CERTAIN)
    chosen = np.arange(len(COLUMNS))
    assert soft.backward(chosen) == pytest.approx(hard.backward(chosen), rel=1e-5)
    for (_, a), (_, b) in zip(hard.network.tensors(), soft.network.tensors(), strict=True):
        assert torch.allclose(a.grad, b.grad, atol=1e-5)


@pytest.mark.parametrize("family", ["projective", "nonprojective"])
@pytest.mark.parametrize("loss", ["local", "crf"])
def test_gradients_equal_finite_differences(loss, family):
    check_gradient(problem(loss, doubtful(), family))


@pytest.mark.parametrize("roots", ["single", "multi"])
@pytest.mark.parametrize("trees", ["projective", "nonprojective"])
def test_the_loss_crf_is_the_cross_entropy_over_trees(trees, roots):
    words, rng = 4, np.random.default_rng(3)
    every = np.array(head_matrix(words, trees, roots))
    deps = np.arange(1, words + 1)
    theirs, ours = rng.normal(size=(2, words + 1, words + 1))

    def logs(scores):
        totals = np.array([scores[heads[1:], deps].sum() for heads in every])
        return totals - np.logaddexp.reduce(totals)

    shares = np.exp(logs(theirs))
    table = np.zeros((words + 1, words + 1))
    for heads, share in zip(every, shares, strict=True):
        table[heads[1:], deps] += share
    values = torch.arange(words + 1).expand(1, words + 1, words + 1)  # all heads of all words
    soft = (values, torch.from_numpy(table.T.copy())[None])
    family = families.create(trees, roots=roots)
    whole = torch.ones(1, words + 1, dtype=torch.bool)
    heads = torch.from_numpy(every[:1])
    found = losses.create("crf").on_tensors(torch.from_numpy(ours)[None], heads, whole, family, soft)
    assert float(found) == pytest.approx(-shares @ logs(ours))


@pytest.mark.parametrize("loss", ["hinge", "risk"])
def test_other_losses_need_certain_trees(loss):
    with rejects(InputError, field="soft"):
        problem(loss, doubtful()).backward(np.arange(3))


def test_the_likeliest_values_are_kept():
    rows = np.array([[0.1, 0.5, 0.0, 0.25, 0.05, 0.1], [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]])
    found = Likeliest.of(rows)
    first = dict(zip(found.values[0].tolist(), found.shares[0].tolist(), strict=True))
    assert first.keys() == {1, 3, 0, 5}
    assert first[1] == pytest.approx(0.5 / 0.95, rel=1e-3)
    assert found.values[1, found.shares[1].argmax()] == 2
    assert found.shares[1].tolist().count(1.0) == 1
    few = Likeliest.of(np.array([[0.25, 0.75]]))
    assert sorted(few.shares[0].tolist()) == [0, 0, 0.25, 0.75]


def test_labels_without_a_name_lose_their_share():
    soft = SoftTrees.certain(np.array([0, 1]), np.array([0, 1]), ("a", "b")).with_names(("b", "c"))
    assert soft.labels.shares.sum(axis=1).tolist() == [0, 1]
    assert soft.labels.values[1, 0] == 0


def test_files_are_checked():
    soft = doubtful()
    tensors = soft.to_tensors()
    again = SoftTrees.from_tensors(tensors, LENGTHS, NAMES.labels)
    assert np.array_equal(again.heads.shares, soft.heads.shares)
    wrong = {
        "heads": np.full((COLUMNS.words, KEPT), 500, np.int16),
        "labels": np.full((COLUMNS.words, KEPT), -1, np.int16),
        "heads.shares": np.full((COLUMNS.words, KEPT), np.nan, np.float16),
        "labels.shares": np.full((COLUMNS.words, KEPT), 2.0, np.float16),
    }
    for name, array in wrong.items():
        for bad in (array, array[1:], array.astype(np.float32)):
            with pytest.raises(InputError):
                SoftTrees.from_tensors({**tensors, name: bad}, LENGTHS, NAMES.labels)
        with pytest.raises(InputError):
            SoftTrees.from_tensors({n: a for n, a in tensors.items() if n != name}, LENGTHS, NAMES.labels)
