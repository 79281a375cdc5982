"""The gradient of a network's scores by its weights, outside training: for any learner and any loss."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from arbora.data.encode import Batch
from arbora.interfaces import PartScores
from arbora.neural.data import TrainingData
from arbora.scorers.network import NetworkScorer
from arbora.types import Doubles


def pullback(scorer: NetworkScorer, batch: Batch, gradient: Sequence[PartScores]) -> Doubles:
    """The product of a gradient by scores with the derivative of the scores, (size,)."""
    network = scorer.in_torch().eval()
    nothing = np.full(batch.words, -1, np.int32)
    guide = batch.guide if scorer.needs_guide else None
    reader = scorer.reader(batch.columns, guide)
    data = TrainingData(reader, nothing, nothing, {}, None if guide is None else guide.heads)
    sentences, _ = data.select(np.arange(len(batch)))
    states = network(sentences)
    total = states.last.new_zeros(())
    for group, scores in network.tree_scores(states, sentences):
        for i, sentence in enumerate(group.sentences):
            own = gradient[sentence]
            for kind in scores.keys() & own.keys():
                factor = torch.as_tensor(_without_forbidden(np.asarray(own[kind])), dtype=total.dtype)
                place = (i, *[slice(len(factor))] * factor.ndim)
                total = total + (scores[kind][place] * factor).sum()
    named = dict(network.tensors())
    weights = [named[name] for name in scorer.order]
    found = torch.autograd.grad(total, weights, materialize_grads=True)
    return np.concatenate([each.numpy().reshape(-1) for each in found]).astype(np.float64)


def _without_forbidden(factor: Doubles) -> Doubles:
    """A copy that is 0 for arcs into the root and from a word to itself, which have no score."""
    made = np.array(factor, dtype=np.float64)
    node = np.arange(len(made))
    made[:, 0] = 0.0
    made[node, node] = 0.0
    return made
