"""Scores of higher order: arcs, siblings and grandparents as in `linear`, and contexts of a whole tree.

The best tree is searched with a beam per node of Eisner's hypergraph, by cube pruning [zhang-2012]; see
core/search/cube/search.hpp.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

from arbora._core import CubeModel
from arbora.features import TemplateSet
from arbora.scorers.linear import GraphSettings, LinearScorer
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


class CubeScorer(LinearScorer):
    """A linear scorer with contexts of higher order; `label_filter` chooses the labels worth a search."""

    name: ClassVar[str] = "cube"

    def __init__(
        self,
        settings: GraphSettings,
        search: CubeSettings,
        templates: TemplateSet,
        *,
        label_filter: Floats | None = None,
        **hashed: Any,
    ) -> None:
        """`hashed`: labels, seen and weights, as of `HashedScorer`."""
        super().__init__(settings, templates, **hashed)
        contexts = templates.compiled_contexts(
            settings.order, labelled=settings.labels != "none", without=search.without
        )
        self.search = search
        self.label_filter = label_filter
        self.cube = CubeModel(
            parts=self.native,
            **contexts,
            beam=search.beam,
            most_labels=search.most_labels,
            labels_within=search.labels_within,
        )

    def _arguments(self) -> dict[str, Any]:
        return {**super()._arguments(), "search": self.search, "label_filter": self.label_filter}
