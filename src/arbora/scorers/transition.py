"""Linear scores of a transition parser's moves and labels, and the settings of its search.

See core/search/transition: states, systems and features, greedy and beam search.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal, TypeAlias

from arbora._core import TransitionModel
from arbora.errors import InputError
from arbora.interfaces import Trees
from arbora.scorers.linear import HashedScorer
from arbora.settings import Settings, parameter

System: TypeAlias = Literal["arc-eager", "arc-standard", "swap"]
BeamUpdate: TypeAlias = Literal["early", "max-violation", "standard"]
Oracle: TypeAlias = Literal["dynamic", "static"]

WIDEST_BEAM = 10_000
TRAINING_BEAM = 8


@dataclass(frozen=True, kw_only=True)
class TransitionSettings(Settings):
    """How a transition parser goes through a sentence; stored in the model."""

    system: System = parameter(
        "arc-eager", "arc-eager and arc-standard: projective trees; swap: non-projective trees"
    )
    beam: int = parameter(1, "states kept after each step; 1: greedy", least=1, most=WIDEST_BEAM)
    training_beam: int | Literal["auto"] = parameter(
        "auto", "states kept in training; auto: at most 8, enough and much faster", least=1, most=WIDEST_BEAM
    )
    most_labels: int = parameter(2, "labels of an arc in the beam, at most", least=1, most=WIDEST_BEAM)
    update: BeamUpdate = parameter(
        "max-violation", "with a beam: after how many steps the gold sequence is compared with the one found"
    )
    oracle: Oracle | Literal["auto"] = parameter(
        "auto",
        "without a beam: dynamic follows the parser's own moves (arc-eager only), static the gold trees'; "
        "auto: dynamic with arc-eager, else static",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.beam == 1) != (self.training_beam == 1) and self.training_beam != "auto":
            raise InputError(
                f"training_beam: expected auto or {'1' if self.beam == 1 else 'more than 1'} with beam = "
                f"{self.beam}, got {self.training_beam}; greedy parsers are trained differently"
            )
        if self.oracle == "dynamic" and self.system != "arc-eager":
            raise InputError(f"oracle: expected static or auto with the system {self.system}, got dynamic")

    @property
    def trees(self) -> Trees:
        """The trees that the system builds."""
        return "nonprojective" if self.system == "swap" else "projective"

    def resolved(self) -> TransitionSettings:
        """The same with every `auto` resolved."""
        oracle, width = self.oracle, self.training_beam
        if oracle == "auto" and self.beam == 1:
            oracle = "dynamic" if self.system == "arc-eager" else "static"
        if width == "auto":
            width = min(self.beam, TRAINING_BEAM)
        return replace(self, oracle=oracle, training_beam=width)

    @property
    def in_training(self) -> TransitionSettings:
        """The same with the beam of training."""
        made = self.resolved()
        assert made.training_beam != "auto"
        return replace(made, beam=made.training_beam)


@dataclass(eq=False, repr=False, kw_only=True)
class TransitionScorer(HashedScorer):
    """A transition system with its features; scores moves (`tree`) and labels, not parts of trees."""

    name: ClassVar[str] = "transition"
    search: TransitionSettings

    def __post_init__(self) -> None:
        super().__post_init__()
        self.native = TransitionModel(
            **self._native_options,
            system=self.search.system,
            move_bits=self.settings.tree_bits,
            beam=self.search.beam,
            most_labels=self.search.most_labels,
        )
