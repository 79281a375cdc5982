"""Cube pruning: features of any order, heads and labels together, with a beam per node [zhang-2012].

Probabilities and k best trees come from a list of the best trees that search finds. With a pruner that keeps
k heads per word: O(n² k) nodes, O(beam) combinations per node.
"""

from __future__ import annotations

from typing import Any, ClassVar

from arbora.scorers import CubeScorer, CubeSettings
from arbora.search.linear import LinearSearch


class CubeSearch(LinearSearch):
    """Features of any order, heads and labels together, by cube pruning: slower and more accurate.

    No query is answered exactly.
    """

    name: ClassVar[str] = "cube"
    recipe = "arbora.training.linear:CubeRecipe"
    scorer: CubeScorer
    scorer_kind = CubeScorer
    settings_kind = CubeSettings
    tables: ClassVar[dict[str, str]] = {**LinearSearch.tables, "label_filter": "label_filter"}

    def describe(self) -> str:
        return f"order {self.order} by cube pruning, beam {self.settings.beam}"

    @property
    def _native(self) -> tuple[Any, ...]:
        s = self.scorer
        return s.cube, s.tree, s.label_weights, s.label_filter, *self._pruner
