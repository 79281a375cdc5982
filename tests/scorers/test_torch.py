"""Scorers in PyTorch: gradients, weights as one vector, and what a model file holds of them."""

import numpy as np
import pytest
from errors import rejects
from graph_toys import treebank

from arbora.data.encode import Names
from arbora.errors import InputError
from arbora.interfaces import PartKind

torch = pytest.importorskip("torch", reason="needs PyTorch")

from arbora.scorers.torch import TorchScorer  # noqa: E402

COLUMNS = treebank(6, seed=3, longest=8)
NAMES = Names.of(COLUMNS)
BATCH = NAMES.batch(COLUMNS)


class Small(TorchScorer):
    """Scores by a product of tag embeddings, arcs and labels; one weight is never used."""

    name = "small"
    parts = (PartKind.ARC, PartKind.LABEL)

    def __init__(self, tags, labels, size=3):
        super().__init__()
        self.tags = {tag: row for row, tag in enumerate(tags, start=1)}
        self.tag = torch.nn.Embedding(len(tags) + 1, size)
        self.label = torch.nn.Parameter(torch.randn(len(labels), size, size))
        self.unused = torch.nn.Parameter(torch.zeros(1))

    @classmethod
    def prepare(cls, columns, names):
        return {"tags": list(names.tags), "labels": list(names.labels)}

    def forward(self, batch):
        for tags in batch.texts("upos"):
            nodes = self.tag(torch.tensor([0, *(self.tags[tag] for tag in tags)]))
            labels = torch.einsum("hi,lij,dj->hdl", nodes, self.label, nodes)
            yield {PartKind.ARC: nodes @ nodes.T, PartKind.LABEL: labels}


def build(seed=0, **settings):
    return Small.build(COLUMNS, NAMES, seed=seed, **settings)


def value(scorer, factors):
    """The product of all scores with the factors, summed."""
    pairs = zip(scorer.score(BATCH), factors, strict=True)
    return sum(float(np.sum(scores[kind] * given[kind])) for scores, given in pairs for kind in given)


def test_pullback_is_the_gradient():
    rng = np.random.default_rng(0)
    scorer = build().double()
    factors = [{kind: rng.normal(size=array.shape) for kind, array in s.items()} for s in scorer.score(BATCH)]
    found = scorer.pullback(BATCH, factors)
    assert found.shape == (scorer.size,)
    assert found[scorer.label.numel()] == 0.0  # `unused` comes after `label`
    weights = [weight for each in scorer.parameters() for weight in each.data.view(-1).split(1)]
    for place in rng.choice(scorer.size, 20, replace=False):
        weight, step = weights[place], 1e-6
        before = float(weight)
        slope = 0.0
        for sign in (1.0, -1.0):
            weight.fill_(before + sign * step)
            slope += sign * value(scorer, factors) / (2 * step)
        weight.fill_(before)
        assert found[place] == pytest.approx(slope, rel=1e-6, abs=1e-7)


def test_weights_are_one_vector_and_copies_are_their_own():
    scorer = build()
    before = scorer.weights()
    assert before.shape == (scorer.size,)
    assert before.dtype == np.float32
    other = scorer.with_weights(before + 1)
    assert np.array_equal(scorer.weights(), before)
    assert np.array_equal(other.weights(), before + 1)


def test_one_seed_gives_one_scorer_and_leaves_the_generator_alone():
    state = torch.random.get_rng_state()
    assert np.array_equal(build(5).weights(), build(5).weights())
    assert not np.array_equal(build(5).weights(), build(6).weights())
    assert torch.equal(state, torch.random.get_rng_state())


def test_a_file_holds_weights_and_settings():
    scorer = build(size=5)
    tensors, settings = scorer.to_parts()
    again = Small.from_parts(tensors, settings, NAMES)
    assert np.array_equal(again.weights(), scorer.weights())
    assert settings["size"] == 5
    with rejects(InputError, field="scorer"):
        Small.from_parts(tensors, {**settings, "size": 4}, NAMES)
    with rejects(InputError, field="scorer_settings"):
        build(sizes=4)
