"""A scorer with random weights for a treebank: its vocabulary, the columns that it predicts, its sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
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
from arbora.neural.settings import NeuralSettings, sizes_of
from arbora.neural.transformer import EncoderSource, TransformerNetwork, initial_weights
from arbora.scorers.network import PREDICTED, NetworkScorer
from arbora.scorers.neural import NeuralScorer, VectorTable
from arbora.scorers.transformer import TransformerScorer
from arbora.scorers.vocabulary import Vocabulary, joined
from arbora.storage.vectors import WordVectors
from arbora.types import Ints

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


def build_transformer(
    columns: Columns,
    names: Names,
    name: str,
    *,
    seed: int = 0,
    settings: NeuralSettings,
    embedded: bool = True,
    predicted: Sequence[TextColumn] = (),
    labelled: bool = False,
    siblings: bool = False,
) -> TransformerScorer:
    """A scorer over the transformer of this name or in this folder; its other weights are random."""
    encoder = EncoderSource.open(name, which=settings.pieces, embedded=embedded)
    outputs = output_values(columns, predicted)
    labels: Any = seen_labels(columns, names) if labelled else {}
    counts = Counts(
        labels=len(names.labels) if labelled else 0,
        outputs={name: len(values) for name, values in outputs.items()},
        siblings=siblings,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        tensors = TransformerNetwork(settings, counts, encoder).export()
    tensors |= initial_weights(name) if embedded else {}
    return TransformerScorer(tensors=tensors, encoder=encoder, outputs=outputs, **labels)


def network_of(scorer: NetworkScorer, settings: NeuralSettings | None = None) -> Heads:
    """The network in PyTorch of a scorer, with its weights; `settings`: how it is trained."""
    network = _empty_network(scorer, settings or NeuralSettings(), scorer.label_count)
    network.load(scorer.tensors)
    return network


def continued(
    old: NetworkScorer, columns: Columns, names: Names, *, seed: int, settings: NeuralSettings
) -> NetworkScorer:
    """A scorer with the weights of another; `names` has its labels first.

    Rows of words, characters, labels and tags that only the treebank has follow those of the old scorer.
    Those of words and characters are random; a new label or tag begins as the mean of the old ones, which is
    never the best. O(weights).
    """
    predicted = output_values(columns, [*old.outputs])
    outputs = {name: joined(values, predicted.get(name, ())) for name, values in old.outputs.items()}
    changes: dict[str, Any] = {"outputs": outputs, "is_quantized": False, "_last": []}
    if isinstance(old, NeuralScorer):
        own = Vocabulary.of(columns, least=settings.least, tags=old.given)
        changes["vocabulary"] = old.vocabulary.extended(own)
    if old.label_count:
        for name, labels in seen_labels(columns, names).items():
            before = getattr(old, name)
            changes[name] = np.union1d(before, labels).astype(np.int32) if len(before) else before
    made = replace(old, **changes)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = _empty_network(made, settings, len(names.labels) if old.label_count else 0)
    tensors = network.export()
    for name, array in old.tensors.items():
        if name.startswith(("output.", "labels.")) and len(array):
            tensors[name][len(array) :] = array.mean(axis=0)
        tensors[name][tuple(slice(count) for count in array.shape)] = array
    return replace(made, tensors=tensors)


def _empty_network(scorer: NetworkScorer, settings: NeuralSettings, labels: int) -> Heads:
    """A network of a scorer's kind, names and sizes, with random weights."""
    sized = replace(settings, **sizes_of(scorer.tensors)).resolved()
    counts = Counts(
        labels=labels,
        outputs={name: len(values) for name, values in scorer.outputs.items()},
        siblings="sibling_head.weight" in scorer.tensors,
        guide=len(scorer.tensors["guide"]) if scorer.needs_guide else 0,
    )
    if isinstance(scorer, TransformerScorer):
        return TransformerNetwork(sized, counts, scorer.encoder)
    assert isinstance(scorer, NeuralScorer)
    tables = Tables(**scorer.vocabulary.counts(), vectors=scorer.vectors.values.shape[1])
    return Network(sized, counts, tables, scorer.vectors.dense())


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
