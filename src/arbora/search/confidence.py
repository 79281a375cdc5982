"""Trees with their probabilities, as arrays over all sentences of a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from arbora._core import GraphConfidence
from arbora.interfaces import GoldTree
from arbora.search.request import ParseRequest, Temperatures
from arbora.types import Doubles, Ints, Longs


@dataclass(frozen=True, eq=False)
class Confidence:
    """Trees and their probabilities: one flat array per field, NaN for unknown values.

    A field has one entry per sentence, per tree (`counts` trees per sentence), or per word of every tree.
    """

    counts: Longs
    entropies: Doubles
    """Of the distribution over a sentence's trees, in nats."""
    log_probabilities: Doubles
    scores: Doubles
    """Per tree, divided by the temperature."""
    heads: Ints
    labels: Ints
    head_probabilities: Doubles
    label_probabilities: Doubles
    head_entropies: Doubles
    known_head_probabilities: Doubles
    """Of the head that a word of the input has, given the predicted rest of the tree."""
    known_label_probabilities: Doubles
    arc_table: Doubles
    """(n+1)² [head, dep] per sentence; empty unless requested."""
    label_table: Doubles
    """[word, label]; empty unless requested; rows of zeros where nothing is known."""

    @classmethod
    def of(cls, native: GraphConfidence) -> Confidence:
        return cls(**{each.name: getattr(native, each.name) for each in fields(cls)})

    @classmethod
    def joined(cls, sentences: Iterable[Mapping[str, Any]]) -> Confidence:
        """Concatenate the arrays of single sentences, each given by the names of the fields."""
        rows = list(sentences)
        dtypes: dict[str, Any] = {"counts": np.int64, "heads": np.int32, "labels": np.int32}
        arrays: dict[str, Any] = {}
        for name in (each.name for each in fields(cls)):
            dtype = dtypes.get(name, np.float64)
            parts = [np.asarray(row[name], dtype=dtype).reshape(-1) for row in rows]
            arrays[name] = np.concatenate([np.zeros(0, dtype=dtype), *parts])
        return cls(**arrays)


ConfidenceAt: TypeAlias = Callable[[Temperatures], Confidence]
"""Confidence as a function of temperatures; work that does not depend on them is done once."""


def sentence_confidence(
    arcs: Doubles,
    heads: Ints,
    labels: Ints,
    label_tables: Sequence[Doubles],
    gold: GoldTree,
    request: ParseRequest,
    *,
    entropy: float,
    log_probabilities: ArrayLike,
    scores: ArrayLike,
    missed: float = 0.0,
) -> dict[str, Any]:
    """The fields of a `Confidence` for the trees of one sentence.

    `arcs`: P(arc), (n+1, n+1); `heads`, `labels`: (trees, n); `label_tables`: P(label | head) of each tree,
    (n, labels); `missed`: see `Temperatures`.
    """
    deps = np.arange(1, len(arcs))
    logs = np.log(np.where(arcs > 0.0, arcs, 1.0))
    entropies = np.maximum(0.0, -np.sum(arcs * logs, axis=0)[1:])
    # A head that is given cannot have been missed.
    arcs = arcs * np.where(request.keep_heads & (gold.heads >= 0), 1.0, 1.0 - missed)
    known = np.where(gold.heads[1:] >= 0, arcs[np.maximum(gold.heads[1:], 0), deps], np.nan)
    return {
        "counts": [len(heads)],
        "entropies": [entropy],
        "log_probabilities": log_probabilities,
        "scores": scores,
        "heads": heads,
        "labels": labels,
        "head_probabilities": arcs[heads, deps],
        "label_probabilities": list(map(_label_probabilities, label_tables, labels)),
        "head_entropies": np.tile(entropies, len(heads)),
        "known_head_probabilities": np.tile(known, len(heads)),
        "known_label_probabilities": [_label_probabilities(each, gold.labels[1:]) for each in label_tables],
        "arc_table": arcs if request.arc_table else (),
        "label_table": np.array(label_tables) if request.label_table else (),
    }


def _label_probabilities(table: Doubles, labels: Ints) -> Doubles:
    """P of one label per word; NaN if there is none."""
    if not table.shape[1]:
        return np.full(len(labels), np.nan)
    shares: Doubles = np.where(labels >= 0, table[np.arange(len(labels)), np.maximum(labels, 0)], np.nan)
    return shares


def split_arcs(table: Doubles, lengths: Longs) -> list[Doubles]:
    """The arc table of each sentence, (n+1, n+1), from the flat one of a batch."""
    nodes = (lengths + 1).tolist()
    pieces = np.split(table, np.cumsum((lengths + 1) ** 2)[:-1]) if nodes else []
    return [piece.reshape(n, n) for piece, n in zip(pieces, nodes, strict=True)]
