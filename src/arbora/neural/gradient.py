"""The gradient of a network's scores by its weights, outside training: for any learner and any loss."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from arbora.data.encode import Batch
from arbora.interfaces import PartScores
from arbora.neural.build import network_of
from arbora.neural.data import TrainingData, WordReader
from arbora.neural.settings import NeuralSettings
from arbora.scorers.neural import NeuralScorer
from arbora.types import Doubles


def pullback(scorer: NeuralScorer, batch: Batch, gradient: Sequence[PartScores]) -> Doubles:
    """The product of a gradient by scores with the derivative of the scores, (size,)."""
    network = network_of(scorer, settings_of(scorer)).eval()
    nothing = np.full(batch.words, -1, np.int32)
    guide = batch.guide if scorer.needs_guide else None
    inputs = scorer.vocabulary.encode(batch.columns, guide)
    rows = None if guide is None else (guide.heads, inputs.tags[-1])
    data = TrainingData(WordReader(inputs), nothing, nothing, {}, rows)
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


def settings_of(scorer: NeuralScorer) -> NeuralSettings:
    """The sizes of a scorer's network."""
    tensors = scorer.tensors
    hidden = ("label_head.weight", "sibling_head.weight", "tags.weight", "projection", "tag0")
    labels, siblings, outputs, vectors, tags = (tensors.get(name, np.zeros((1, 1))) for name in hidden)
    return NeuralSettings(
        layers=sum(name.endswith("forward.recurrent") for name in tensors),
        units=tensors["lstm0.forward.recurrent"].shape[1],
        arc_size=len(tensors["arcs"]),
        label_size=len(labels),
        output_size=len(outputs),
        sibling_size=len(siblings),
        word_size=tensors["word"].shape[1],
        character_size=tensors["character"].shape[1],
        filters=len(tensors["convolution0.bias"]),
        vector_size=len(vectors),
        tag_size=tags.shape[1],
    )
