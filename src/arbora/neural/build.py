"""A scorer with random weights for a treebank: its vocabulary, the columns that it predicts, its sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from arbora.data.columns import Columns, TextColumn
from arbora.data.encode import EMPTY_FIELD, Names, filled, numbers_of, used
from arbora.data.lemmas import lemma_scripts
from arbora.data.statistics import by_count
from arbora.neural.heads import Counts, Heads
from arbora.neural.network import Network, Tables
from arbora.neural.settings import NeuralSettings
from arbora.neural.transformer import EncoderSource, TransformerNetwork
from arbora.scorers.network import PREDICTED, NetworkScorer
from arbora.scorers.neural import NeuralScorer, VectorTable
from arbora.scorers.transformer import TransformerScorer
from arbora.scorers.vocabulary import Vocabulary, joined
from arbora.storage.vectors import WordVectors
from arbora.types import Floats, Ints

LEAST_SCRIPTS = 2  # occurrences of a script, unless there is no other


def build_scorer(
    kind: type[Any],
    columns: Columns,
    names: Names,
    *,
    seed: int = 0,
    settings: NeuralSettings | None = None,
    vectors: WordVectors | None = None,
    given: Sequence[TextColumn] = (),
    predicted: Sequence[TextColumn] = (),
    labelled: bool = False,
    siblings: bool = False,
    guide: tuple[str, ...] | None = None,
) -> Any:
    """A scorer of a `kind` with random weights; the same seed gives the same weights.

    `given`: columns that it reads; `predicted`: those that it predicts, as far as the treebank has them;
    `guide`: the labels of a guide's trees, if it reads them.
    """
    settings = (settings or NeuralSettings()).resolved()
    words = () if vectors is None else vectors.words
    vocabulary = Vocabulary.of(columns, least=settings.least, vectors=words, tags=given, guide=guide)
    table = VectorTable() if vectors is None else VectorTable.of(vectors.values)
    outputs = output_values(columns, predicted)
    counts = Counts(
        labels=len(names.labels) if labelled else 0,
        outputs={name: len(values) for name, values in outputs.items()},
        siblings=siblings,
        guide=0 if guide is None else len(guide) + 1,
    )
    tables = Tables(**vocabulary.counts(), vectors=table.values.shape[1])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = Network(settings, counts, tables, table.dense())
    return kind(
        tensors=network.export(),
        vocabulary=vocabulary,
        vectors=table,
        outputs=outputs,
        **(seen_labels(columns, names) if labelled else {}),
    )


def network_of(scorer: NeuralScorer, settings: NeuralSettings) -> Network:
    """The network in PyTorch of a scorer; `settings`: how it is trained."""
    counts = Counts(
        labels=scorer.label_count,
        outputs={name: len(values) for name, values in scorer.outputs.items()},
        siblings="sibling_head.weight" in scorer.tensors,
        guide=len(scorer.tensors["guide"]) if scorer.needs_guide else 0,
    )
    tables = Tables(**scorer.vocabulary.counts(), vectors=scorer.vectors.values.shape[1])
    network = Network(_sized(settings, scorer), counts, tables, scorer.vectors.dense())
    network.load(scorer.tensors)
    return network


def build_transformer(
    columns: Columns,
    names: Names,
    encoder: EncoderSource,
    weights: Mapping[str, Floats],
    *,
    seed: int,
    settings: NeuralSettings,
    predicted: Sequence[TextColumn] = (),
    labelled: bool = False,
    siblings: bool = False,
) -> TransformerScorer:
    """A scorer over the states of a transformer with these weights; all others are random."""
    outputs = output_values(columns, predicted)
    labels: Any = seen_labels(columns, names) if labelled else {}
    counts = Counts(
        labels=len(names.labels) if labelled else 0,
        outputs={name: len(values) for name, values in outputs.items()},
        siblings=siblings,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = TransformerNetwork(settings, counts, encoder)
    return TransformerScorer(
        tensors={**network.export(), **(weights if encoder.embedded else {})},
        encoder=encoder,
        outputs=outputs,
        **labels,
    )


def transformer_of(scorer: TransformerScorer, settings: NeuralSettings | None = None) -> TransformerNetwork:
    """The network in PyTorch of a scorer; `settings`: how it is trained."""
    tensors = scorer.tensors
    counts = Counts(
        labels=scorer.label_count,
        outputs={name: len(values) for name, values in scorer.outputs.items()},
        siblings="sibling_head.weight" in tensors,
    )
    network = TransformerNetwork(_sized(settings or NeuralSettings(), scorer), counts, scorer.encoder)
    network.load(tensors)
    return network


def continued(
    old: NetworkScorer, columns: Columns, names: Names, *, seed: int, settings: NeuralSettings
) -> NetworkScorer:
    """A scorer with the weights of another; `names` has its labels first.

    Rows of words, characters, labels and tags that only the treebank has follow those of the old scorer, with
    random weights. O(weights).
    """
    predicted = output_values(columns, [*old.outputs])
    outputs = {name: joined(values, predicted.get(name, ())) for name, values in old.outputs.items()}
    changes: dict[str, Any] = {"outputs": outputs, "_last": []}
    counts = Counts(
        labels=len(names.labels) if old.label_count else 0,
        outputs={name: len(values) for name, values in outputs.items()},
        siblings="sibling_head.weight" in old.tensors,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network: Heads
        if isinstance(old, TransformerScorer):
            network = TransformerNetwork(_sized(settings, old), counts, old.encoder)
        else:
            assert isinstance(old, NeuralScorer)
            own = Vocabulary.of(columns, least=settings.least, tags=old.given)
            changes["vocabulary"] = vocabulary = old.vocabulary.extended(own)
            tables = Tables(**vocabulary.counts(), vectors=old.vectors.values.shape[1])
            network = Network(_sized(settings, old), counts, tables, old.vectors.dense())
    tensors = network.export()
    for name, array in old.tensors.items():
        tensors[name][tuple(slice(count) for count in array.shape)] = array
    if old.label_count:
        for name, labels in seen_labels(columns, names).items():
            before = getattr(old, name)
            changes[name] = np.union1d(before, labels).astype(np.int32) if len(before) else before
    return replace(old, tensors=tensors, is_quantized=False, **changes)


def _sized(settings: NeuralSettings, scorer: NetworkScorer) -> NeuralSettings:
    """Settings with the sizes of a scorer's network."""
    if isinstance(scorer, NeuralScorer):
        sizes = settings_of(scorer)
        return replace(settings, **{name: getattr(sizes, name) for name in SIZES_OF_NETWORK}).resolved()
    own: Any = {f"{name}_size": len(scorer.tensors.get(f"{of}.weight", ("",))) for name, of in HIDDEN.items()}
    return replace(settings, **own).resolved(over_encoder=True)


SIZES_OF_NETWORK = (
    *("layers", "units", "arc_size", "label_size", "output_size", "sibling_size"),
    *("word_size", "character_size", "filters", "vector_size", "tag_size"),
)
HIDDEN = {"arc": "arc_head", "label": "label_head", "sibling": "sibling_head", "output": "tags"}
"""The sizes of hidden layers by the names of their settings, and their tensors."""


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


def targets(scorer: NetworkScorer, columns: Columns) -> dict[str, Ints]:
    """The number of each word's value in the columns that a scorer predicts, (W,) each; -1 for unknown."""
    found: dict[str, Ints] = {}
    for name, values in scorer.outputs.items():
        if name == "lemma":
            known: list[str] = ["" if each is None else each for each in lemma_scripts(columns)]
            found[name] = numbers_of(known, values)
        else:
            found[name] = numbers_of(columns.strings(name), values)[columns.ids(name)]
    return found


def output_values(columns: Columns, predicted: Sequence[TextColumn]) -> dict[TextColumn, tuple[str, ...]]:
    """The values to choose from in each column that is predicted and that the treebank has."""
    found = {name: _values(columns, name) for name in PREDICTED if name in predicted}
    return {name: values for name, values in found.items() if values}


def _values(columns: Columns, name: TextColumn) -> tuple[str, ...]:
    """The values to choose from, the most common first; none if the treebank lacks the column."""
    if not filled(columns, name):
        return ()
    if name != "lemma":
        return tuple(value for value in used(columns, name) if name != "upos" or value != EMPTY_FIELD)
    counts = by_count(Counter(script for script in lemma_scripts(columns) if script is not None))
    return tuple(script for script, count in counts if count >= LEAST_SCRIPTS) or tuple(s for s, _ in counts)


def seen_labels(columns: Columns, names: Names) -> dict[str, Ints]:
    """The labels of arcs from the root, and of the other arcs: those fields of a scorer."""
    labels, at_root, known = names.label_numbers(columns), columns.heads == 0, columns.heads >= 0
    masks = {"root_labels": at_root, "other_labels": ~at_root}
    found = {name: np.unique(labels[mask & known]) for name, mask in masks.items()}
    return {name: each[each >= 0].astype(np.int32) for name, each in found.items()}
