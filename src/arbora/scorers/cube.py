"""Scores of higher order: arcs, siblings and grandparents as in `linear`, and contexts of a whole tree.

The best tree is searched with a beam per node of Eisner's hypergraph, by cube pruning [zhang-2012]; see
core/search/cube/search.hpp.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

from arbora._core import CubeModel
from arbora.errors import InputError
from arbora.features import TemplateSet
from arbora.scorers.linear import GraphSettings, LinearScorer
from arbora.types import Floats

Update: TypeAlias = Literal["standard", "skip", "s-max", "p-max"]

MOST_DERIVATIONS = 10_000


@dataclass(frozen=True, kw_only=True)
class CubeSettings:
    """How a parser of higher order searches; stored in the model."""

    beam: int = 6
    """Derivations that each node of the hypergraph keeps."""
    most_labels: int = 6
    """Labels of an arc that search looks at, at most."""
    labels_within: float = 1.5
    """Only labels whose score by the label filter is this near to the best one's."""
    without: tuple[str, ...] = ()
    """Groups of features to leave out, by name; `arbora info features cube-v1` lists them."""

    def __post_init__(self) -> None:
        for name, value in (("beam", self.beam), ("most_labels", self.most_labels)):
            if not 1 <= value <= MOST_DERIVATIONS:
                raise InputError(f"{name}: expected 1 to {MOST_DERIVATIONS}, got {value!r}")
        if not 0 <= self.labels_within < math.inf:
            raise InputError(
                f"labels_within: expected a finite number of at least 0, got {self.labels_within!r}"
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
        **linear: Any,
    ) -> None:
        """`linear`: labels, seen and weights, as of `LinearScorer`."""
        super().__init__(settings, templates, **linear)
        contexts = templates.compiled_contexts(
            settings.order, labelled=settings.labels != "none", without=search.without
        )
        self.search = search
        self.label_filter = label_filter
        self.cube = CubeModel(
            parts=self.native,
            chains=contexts["chains"],
            lineages=contexts["lineages"],
            closings=contexts["closings"],
            beam=search.beam,
            most_labels=search.most_labels,
            labels_within=search.labels_within,
        )

    def _arguments(self) -> dict[str, Any]:
        return {**super()._arguments(), "search": self.search, "label_filter": self.label_filter}
