"""Networks with their losses on a toy treebank, and checks of gradients; needs PyTorch."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from graph_toys import treebank
from neural_toys import SMALL

from arbora.costs import COST
from arbora.data.encode import Names
from arbora.neural.build import build_scorer, network_of, targets
from arbora.neural.data import TrainingData, WordReader
from arbora.neural.problem import NetworkProblem
from arbora.neural.settings import NeuralSettings
from arbora.registry import families, losses
from arbora.scorers.network import PREDICTED
from arbora.scorers.neural import NeuralScorer

COLUMNS = treebank(12, seed=5)
NAMES = Names.of(COLUMNS)


def problem_of(loss="local", family="nonprojective", *, siblings=False, given=(), threads=1, heads=None):
    settings = replace(NeuralSettings(), **SMALL, sibling_size=3)
    options = {"settings": settings, "given": given, "predicted": PREDICTED, "labelled": True}
    scorer = build_scorer(NeuralScorer, COLUMNS, NAMES, siblings=siblings, **options)
    rng = np.random.default_rng(1)
    scorer = scorer.with_weights(rng.normal(scale=0.4, size=scorer.size).astype(np.float32))
    inputs = scorer.vocabulary.encode(COLUMNS)
    known = np.asarray(COLUMNS.heads) if heads is None else heads
    data = TrainingData(WordReader(inputs), known, NAMES.label_numbers(COLUMNS), targets(scorer, COLUMNS))
    return NetworkProblem(
        scorer,
        network_of(scorer, settings),
        data,
        family=families.create(family),
        loss=losses.create(loss),
        cost=COST,
        weights=dict.fromkeys(PREDICTED, 0.7),
        threads=threads,
    )


def difference_along(problem, indices, direction, step=1e-6):
    """The derivative of the loss along a direction of the weights, in float64."""
    weights = [each for _, each in problem.network.tensors()]
    start, values = [each.detach().clone() for each in weights], []
    for sign in (1.0, -1.0):
        for each, value, change in zip(weights, start, direction, strict=True):
            each.data = value + sign * step * change
        values.append(problem.backward(indices))
    for each, value in zip(weights, start, strict=True):
        each.data = value
    return (values[0] - values[1]) / (2 * step)


def check_gradient(problem, training=False):
    network = problem.network.double().train(training)
    indices = np.arange(len(problem))
    problem.backward(indices)
    gradient = [each.grad.clone() for _, each in network.tensors()]
    torch.manual_seed(0)
    for _ in range(3):
        direction = [torch.randn_like(each) for each in gradient]
        expected = sum(float((g * d).sum()) for g, d in zip(gradient, direction, strict=True))
        assert difference_along(problem, indices, direction) == pytest.approx(expected, rel=1e-4, abs=1e-6)
