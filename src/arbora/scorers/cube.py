"""Scores of higher order: arcs, siblings and grandparents as in `linear`, and contexts of a whole tree.

The best tree is searched with a beam per node of Eisner's hypergraph, by cube pruning [zhang-2012]; see
core/search/cube/search.hpp.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from arbora._core import CubeModel
from arbora.scorers.linear import LinearScorer
from arbora.settings import Settings, parameter
from arbora.types import Floats

Update: TypeAlias = Literal["standard", "skip", "s-max", "p-max"]

MOST_DERIVATIONS = 10_000


@dataclass(frozen=True, kw_only=True)
class CubeSettings(Settings):
    """How a parser of higher order searches; stored in the model."""

    beam: int = parameter(
        6, "derivations that each node of the hypergraph keeps", least=1, most=MOST_DERIVATIONS
    )
    most_labels: int = parameter(
        6, "labels of an arc that are searched, at most", least=1, most=MOST_DERIVATIONS
    )
    labels_within: float = parameter(
        1.5, "search only labels whose filter score is this near to the best", least=0.0, below=math.inf
    )
    without: tuple[str, ...] = parameter(
        (), "feature groups to leave out; `arbora info features cube-v1` lists them"
    )


@dataclass(eq=False, repr=False, kw_only=True)
class CubeScorer(LinearScorer):
    """A linear scorer with contexts of higher order; `label_filter` chooses the labels worth a search."""

    name: ClassVar[str] = "cube"
    search: CubeSettings
    label_filter: Floats | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        contexts = self.templates.compiled_contexts(
            self.settings.order, labelled=self.settings.labels != "none", without=self.search.without
        )
        self.cube = CubeModel(
            parts=self.native,
            **contexts,
            beam=self.search.beam,
            most_labels=self.search.most_labels,
            labels_within=self.search.labels_within,
        )
