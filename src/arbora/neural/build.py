"""A scorer with random weights for a treebank: its vocabulary, the columns that it predicts, its sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from arbora.data.columns import Columns, TextColumn
from arbora.data.encode import EMPTY_FIELD, Names, filled, numbers_of, used
from arbora.data.lemmas import lemma_scripts
from arbora.data.statistics import by_count
from arbora.neural.heads import Counts
from arbora.neural.network import Network, Tables
from arbora.neural.settings import NeuralSettings
from arbora.scorers.neural import PREDICTED, NeuralScorer, VectorTable
from arbora.scorers.vocabulary import Vocabulary
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
    outputs = {name: _values(columns, name) for name in PREDICTED if name in predicted}
    outputs = {name: values for name, values in outputs.items() if values}
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
    at_root = columns.heads == 0
    seen = [_seen_labels(columns, names, mask) if labelled else [] for mask in (at_root, ~at_root)]
    root_labels, other_labels = (np.array(each, np.int32) for each in seen)
    return kind(network.export(), vocabulary, table, outputs, root_labels, other_labels)


def network_of(scorer: NeuralScorer, settings: NeuralSettings) -> Network:
    """The network in PyTorch of a scorer that was built with these settings."""
    counts = Counts(
        labels=scorer.label_count,
        outputs={name: len(values) for name, values in scorer.outputs.items()},
        siblings="sibling_head.weight" in scorer.tensors,
        guide=len(scorer.tensors["guide"]) if scorer.needs_guide else 0,
    )
    tables = Tables(**scorer.vocabulary.counts(), vectors=scorer.vectors.values.shape[1])
    network = Network(settings.resolved(), counts, tables, scorer.vectors.dense())
    network.load(scorer.tensors)
    return network


def targets(scorer: NeuralScorer, columns: Columns) -> dict[str, Ints]:
    """The number of each word's value in the columns that a scorer predicts, (W,) each; -1 for unknown."""
    found: dict[str, Ints] = {}
    for name, values in scorer.outputs.items():
        if name == "lemma":
            known: list[str] = ["" if each is None else each for each in lemma_scripts(columns)]
            found[name] = numbers_of(known, values)
        else:
            found[name] = numbers_of(columns.strings(name), values)[columns.ids(name)]
    return found


def _values(columns: Columns, name: TextColumn) -> tuple[str, ...]:
    """The values to choose from, the most common first; none if the treebank lacks the column."""
    if not filled(columns, name):
        return ()
    if name != "lemma":
        return tuple(value for value in used(columns, name) if name != "upos" or value != EMPTY_FIELD)
    counts = by_count(Counter(script for script in lemma_scripts(columns) if script is not None))
    return tuple(script for script, count in counts if count >= LEAST_SCRIPTS) or tuple(s for s, _ in counts)


def _seen_labels(columns: Columns, names: Names, mask: Any) -> list[int]:
    """The labels of some words' arcs."""
    found = np.unique(names.label_numbers(columns)[mask & (columns.heads >= 0)])
    return [int(label) for label in found if label >= 0]
