"""A request to a parser, and its answer: trees with probabilities, as arrays over all sentences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arbora._core import GraphConfidence
from arbora.settings import Settings, parameter

Decode: TypeAlias = Literal["argmax", "minimum-risk"]
"""argmax: the tree with the best score; minimum-risk: the one with the most expected correct heads."""


@dataclass(frozen=True, eq=False)
class Confidence:
    """Trees of sentences and how sure they are, all in a row; NaN for what is not known.

    Per sentence, per tree (of which a sentence has `counts`), or per word of every tree.
    """

    counts: NDArray[np.int64]
    entropies: NDArray[np.float64]
    """Of the distribution over a sentence's trees, in nats."""
    log_probabilities: NDArray[np.float64]
    scores: NDArray[np.float64]
    """Per tree, divided by the temperature."""
    heads: NDArray[np.int32]
    labels: NDArray[np.int32]
    head_probabilities: NDArray[np.float64]
    label_probabilities: NDArray[np.float64]
    head_entropies: NDArray[np.float64]
    known_head_probabilities: NDArray[np.float64]
    """Of the head that a sentence came with, given what the parser chose elsewhere."""
    known_label_probabilities: NDArray[np.float64]
    arc_table: NDArray[np.float64]
    """(n+1)² [head, dep] per sentence, where asked for."""
    label_table: NDArray[np.float64]
    """[word, label], where asked for; rows of zeros where there is no telling."""

    @classmethod
    def of(cls, found: GraphConfidence) -> Confidence:
        """What the core found."""
        return cls(**{each.name: getattr(found, each.name) for each in fields(cls)})

    @classmethod
    def joined(cls, sentences: Iterable[Mapping[str, Any]]) -> Confidence:
        """The arrays of single sentences, by their names, in a row."""
        answers = list(sentences)
        kinds: dict[str, Any] = {"counts": np.int64, "heads": np.int32, "labels": np.int32}
        arrays: dict[str, Any] = {}
        for each in fields(cls):
            kind = kinds.get(each.name, np.float64)
            parts = [np.asarray(answer[each.name], dtype=kind).reshape(-1) for answer in answers]
            arrays[each.name] = np.concatenate([np.zeros(0, dtype=kind), *parts])
        return cls(**arrays)


@dataclass(frozen=True, kw_only=True)
class Temperatures(Settings):
    """What scores are divided by before they become probabilities; see `arbora.parsing.calibration`."""

    trees: float = parameter(1.0, "the temperature of trees", above=0.0, below=math.inf)
    labels: float = parameter(1.0, "the temperature of labels", above=0.0, below=math.inf)
    missed: float = parameter(
        0.0,
        "the share of words whose gold head was pruned; P(head) and P(tree) are smaller by it",
        least=0.0,
        below=1.0,
    )
    risk: float = parameter(0.5, "the share of `trees` for minimum-risk decoding", above=0.0, below=math.inf)
    """Below 1: the temperature that predicts errors best makes P(head) too flat to choose between trees
    (docs/confidence.md)."""

    @property
    def for_minimum_risk(self) -> Temperatures:
        """Those of the distribution that minimum-risk decoding looks at, as if it were the trees' own."""
        return replace(self, trees=self.risk * self.trees, risk=1.0)


@dataclass(frozen=True, kw_only=True)
class ParseRequest:
    """What to find for each sentence; see `Parser.confidence`."""

    decode: Decode | Literal["given"] = "argmax"
    k: int = 0
    arc_table: bool = False
    label_table: bool = False
    keep_heads: bool = False
    threads: int = 1


ConfidenceAt: TypeAlias = Callable[[Temperatures], Confidence]
"""Probabilities at temperatures: what does not depend on these is computed once."""
