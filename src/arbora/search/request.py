"""A request to a parser: which trees, which tables, and the temperatures of their probabilities."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from arbora.settings import Settings, parameter

Decode: TypeAlias = Literal["argmax", "minimum-risk"]
"""argmax: the tree with the best score; minimum-risk: the one with the most expected correct heads."""


@dataclass(frozen=True, kw_only=True)
class Temperatures(Settings):
    """Scores are divided by these before they become probabilities; see `arbora.parsing.calibration`."""

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
        """The same, with the temperature of minimum-risk decoding for trees."""
        return replace(self, trees=self.risk * self.trees, risk=1.0)


@dataclass(frozen=True, kw_only=True)
class ParseRequest:
    """The request for each sentence; see `Parser.confidence`."""

    decode: Decode | Literal["given"] = "argmax"
    k: int = 0
    arc_table: bool = False
    label_table: bool = False
    keep_heads: bool = False
    threads: int = 1
