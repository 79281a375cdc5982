"""Networks in PyTorch: their scores against the native ones, their losses' gradients against differences."""

import numpy as np
import pytest
from neural_toys import neural_scorer

torch = pytest.importorskip("torch", reason="networks are trained with PyTorch")

from problem_toys import COLUMNS, NAMES, check_gradient, problem_of  # noqa: E402

from arbora.interfaces import PartKind, Query  # noqa: E402
from arbora.learners import AdamW, Muon  # noqa: E402
from arbora.learners.adamw import AdamWRun  # noqa: E402
from arbora.losses import Local  # noqa: E402
from arbora.neural.build import network_of  # noqa: E402
from arbora.neural.data import TrainingData, WordReader  # noqa: E402
from arbora.neural.run import orthogonal  # noqa: E402
from arbora.types import weights_of  # noqa: E402

GIVEN = ("upos",)


@pytest.mark.parametrize("family", ["projective", "nonprojective"])
@pytest.mark.parametrize("loss", ["local", "crf", "hinge", "risk"])
def test_gradients_equal_finite_differences(loss, family):
    check_gradient(problem_of(loss, family, given=GIVEN))


@pytest.mark.parametrize("loss", ["crf", "hinge"])
def test_gradients_with_siblings_equal_finite_differences(loss):
    check_gradient(problem_of(loss, "projective_sibling", siblings=True))


@pytest.mark.parametrize("loss", ["crf", "local"])
def test_gradients_of_partial_trees_equal_finite_differences(loss):
    heads = np.where(np.arange(COLUMNS.words) % 3 == 0, -1, COLUMNS.heads).astype(np.int32)
    check_gradient(problem_of(loss, heads=heads))


@pytest.mark.parametrize("loss", ["crf", "local"])
def test_gradients_of_two_passes_equal_finite_differences(loss):
    """With dropout: the same seed hides the same units."""
    problem = problem_of(loss)
    without = problem.backward(np.arange(len(problem)))
    problem.consistency = 0.6
    assert problem.backward(np.arange(len(problem))) != without
    check_gradient(problem, training=True)


def test_two_passes_without_dropout_are_one():
    problem, twice = problem_of(), problem_of()
    twice.consistency = 0.6
    for each in (problem, twice):
        for name in ("feature_dropout", "dropout", "recurrent_dropout", "hidden_dropout"):
            object.__setattr__(each.network.settings, name, 0.0)
    every = np.arange(len(problem))
    assert twice.backward(every) == pytest.approx(problem.backward(every))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("siblings", [0, 3])
def test_native_scores_equal_those_of_pytorch(threads, siblings):
    scorer = neural_scorer(COLUMNS, given=GIVEN, predicted=("upos",), siblings=siblings)
    network = network_of(scorer).eval()
    nothing = np.full(COLUMNS.words, -1, np.int32)
    data = TrainingData(WordReader(scorer.vocabulary.encode(COLUMNS)), nothing, nothing, {})
    batch, _ = data.select(np.arange(len(COLUMNS)))
    states = network(batch)
    expected = {}
    for group, scores in network.tree_scores(states, batch):
        for place, i in enumerate(group.sentences):
            expected[i] = {kind: each[place].detach().numpy() for kind, each in scores.items()}
    native = scorer.states(COLUMNS, threads)
    for i, scores in enumerate(scorer.scores_of(NAMES.batch(COLUMNS), threads)):
        n = len(scores[PartKind.ARC])
        used = ~np.eye(n, dtype=bool) & (np.arange(n) > 0)
        assert scores.keys() == expected[i].keys()
        for kind, own in scores.items():
            right = expected[i][kind][(slice(n),) * own.ndim]
            atol = 1e-4 if kind == PartKind.ARC else 1e-3
            np.testing.assert_allclose(own[used], right[used], atol=atol, rtol=1e-4)
    words = torch.nonzero(~batch.is_root)[:, 0]
    starts = torch.nonzero(batch.is_root)[:, 0][batch.sentence[words]]
    heads = torch.as_tensor(np.array(COLUMNS.heads)) + starts
    labels = network.label_scores(states, heads, words, batch).detach().numpy()
    found = scorer.native.labels(native, np.array(COLUMNS.heads), threads)
    np.testing.assert_allclose(found, labels, atol=1e-3, rtol=1e-4)
    tags = dict(network.output_scores(states, batch))["upos"][words].detach().numpy()
    np.testing.assert_allclose(scorer.native.outputs(native, 0, threads), tags, atol=1e-4, rtol=1e-4)


def test_the_batched_local_loss_is_the_loss_of_each_sentence():
    rng = np.random.default_rng(0)
    arcs = rng.normal(size=(2, 6, 6))
    heads = np.array([[-1, 2, 0, 2, 3, -1], [-1, 0, 1, -1, -1, -1]])
    inside = np.array([[True] * 5 + [False], [True] * 4 + [False] * 2])
    tensor = torch.tensor(arcs, requires_grad=True)
    loss = Local().on_tensors(tensor, torch.tensor(heads), torch.tensor(inside), None)
    (slopes,) = torch.autograd.grad(loss, tensor)
    total = 0.0
    for i, n in enumerate((5, 4)):
        gold = type("Gold", (), {"heads": heads[i, :n], "labels": np.full(n, -1)})
        value, gradient = Local()({PartKind.ARC: arcs[i, :n, :n]}, gold, None, None)
        total += value
        np.testing.assert_allclose(slopes[i, :n, :n], gradient[PartKind.ARC], atol=1e-12)
    assert float(loss.detach()) == pytest.approx(total)


def test_steps_on_parameters_are_those_of_the_learner():
    """Without dropout, AdamW on tensors and on one vector of weights give the same weights."""
    problem = problem_of("crf")
    for name in ("feature_dropout", "dropout", "recurrent_dropout", "hidden_dropout"):
        object.__setattr__(problem.network.settings, name, 0.0)
    learner = AdamW(rate=0.01, decay=0.1, epochs=2, words=40, schedule="cosine", warmup=5, average=0.9)
    fast, slow = learner.make_run(problem), AdamWRun(learner, Plain(problem))
    for number in (1, 2):
        fast.pass_over(number)
    weights, average = fast.last(), fast.averaged()
    for number in (1, 2):
        slow.pass_over(number)
    # A gradient that is 0 up to rounding still makes a step, so a few weights differ.
    for found, expected in ((weights, slow.last()), (average, slow.averaged())):
        assert np.mean(np.abs(found - expected) > 2e-5) < 0.005
        np.testing.assert_allclose(found, expected, atol=0.02)


@pytest.mark.parametrize("shape", [(3, 8, 20), (2, 20, 8), (1, 12, 12)])
def test_orthogonal_steps_keep_singular_vectors(shape):
    """Singular values near 1; those that are tiny beside the largest may stay below."""
    given = torch.from_numpy(np.random.default_rng(4).normal(size=shape))
    found = orthogonal(given)
    left, _, right = torch.linalg.svd(given, full_matrices=False)
    inner = left.mT @ found @ right.mT
    values = torch.diagonal(inner, dim1=1, dim2=2)
    assert torch.allclose(inner, torch.diag_embed(values), atol=1e-9)
    assert 0.3 < values.min() < values.max() < 1.3


def test_muon_changes_matrices_by_orthogonal_steps_and_the_rest_like_adamw():
    problem = problem_of("crf")
    for name in ("feature_dropout", "dropout", "recurrent_dropout", "hidden_dropout"):
        object.__setattr__(problem.network.settings, name, 0.0)
    before = problem.scorer.tensors
    options = {"rate": 0.01, "epochs": 1, "words": 10_000}
    changes = {}
    for learner in (Muon(matrix_rate=0.002, **options), AdamW(**options)):
        run = learner.make_run(problem)
        run.pass_over(1)
        after = problem.scorer.with_weights(run.last()).tensors
        changes[learner.name] = {name: after[name] - values for name, values in before.items()}
    matrices = problem.network.matrices()
    assert {"arcs", "arc_dep.weight", "lstm0.forward.input", "lstm0.backward.recurrent"} <= set(matrices)
    for name, change in changes["muon"].items():
        if name not in matrices:
            np.testing.assert_array_equal(change, changes["adamw"][name])
            continue
        for part in np.split(change, matrices[name]):
            values = np.linalg.svd(part, compute_uv=False) / (0.002 * max(part.shape) ** 0.5)
            assert 0.6 < values[0] < 1.3


class Plain:
    """The same problem, whose gradient is that of a sum over examples."""

    def __init__(self, problem):
        self.problem = problem

    def __len__(self):
        return len(self.problem)

    def __getattr__(self, name):
        if name == "runs":
            raise AttributeError(name)
        return getattr(self.problem, name)

    def gradient(self, indices, w, query):
        loss, gradient = self.problem.gradient(indices, w, query)
        return loss, gradient * len(indices)


def test_gradients_do_not_depend_on_threads():
    found = [problem_of("crf", threads=threads) for threads in (1, 2)]
    w = weights_of(found[0].initial_weights())
    every = np.arange(len(COLUMNS))
    (loss, gradient), (other, same) = (each.gradient(every, w, Query.LOSS) for each in found)
    assert loss == other
    assert np.array_equal(gradient, same)


def test_pullback_is_the_adjoint_of_score():
    scorer = neural_scorer(COLUMNS, siblings=3)
    batch, rng = NAMES.batch(COLUMNS.select(np.arange(3))), np.random.default_rng(0)
    scores = scorer.score(batch)
    gradient = [{kind: rng.normal(size=array.shape) for kind, array in each.items()} for each in scores]
    slope = scorer.pullback(batch, gradient)
    direction = rng.normal(size=scorer.size)

    def value(step):
        moved = scorer.with_weights((scorer.weights() + step * direction).astype(np.float32)).score(batch)
        pairs = zip(moved, gradient, strict=True)
        return sum(float(np.sum(s[kind] * g[kind])) for s, g in pairs for kind in s)

    assert (value(1e-4) - value(-1e-4)) / 2e-4 == pytest.approx(float(slope @ direction), rel=2e-2)
