"""Transition parsing: from left to right in O(n beam), greedily or with a beam [nivre-2008].

Probabilities and k best trees come from a list of the best trees that a beam finds.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

from arbora.data.encode import Names
from arbora.errors import InputError
from arbora.interfaces import Query
from arbora.registry import transition_features
from arbora.scorers import TransitionScorer, TransitionSettings
from arbora.search.linear import LinearSearch
from arbora.storage.model_file import ModelFile


class TransitionSearch(LinearSearch):
    """From left to right in linear time, greedily (the fastest) or with a beam."""

    name: ClassVar[str] = "transition"
    recipe = "arbora.training.linear:TransitionRecipe"
    longest = None
    scorer: TransitionScorer
    scorer_kind = TransitionScorer
    settings_kind = TransitionSettings
    templates = transition_features

    def __init__(self, scorer: TransitionScorer, pruner: None = None) -> None:
        super().__init__(scorer)
        self.trees = scorer.search.trees

    @property
    def queries(self) -> frozenset[Query]:
        """None is answered exactly; only the arc-eager system parses around given heads."""
        return super().queries - (set() if self.settings.system == "arc-eager" else {Query.GIVEN_HEADS})

    @property
    def caveat(self) -> str:
        if self.settings.beam > 1:
            return ""
        return (
            "is greedy: its probabilities come from a beam that it was not trained for, and say little about "
            "which arcs are right; train with -p transition.beam=8"
        )

    def describe(self) -> str:
        return f"{self.settings.system} transitions, beam {self.settings.beam}"

    @property
    def _native(self) -> tuple[Any, ...]:
        return self.scorer.native, self.scorer.tree, self.scorer.label_weights

    @classmethod
    def from_file(cls, file: ModelFile, names: Names) -> Self:
        search = super().from_file(file, names)
        shape = search.scorer.settings
        if shape.trees != search.trees or shape.labels == "staged":
            raise InputError(
                f"transition: expected {search.trees} trees and labels joint or none with the system "
                f"{search.settings.system}, got {shape.trees} trees with labels {shape.labels}"
            )
        return search
