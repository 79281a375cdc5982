"""What all ways of learning from tagged sentences have in common.

An inducer is an immutable set of parameters with one method, `fit`: from a corpus to a model. A model scores
the parts of trees over a sentence's tags; a family of trees does the rest, as everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeAlias

from numpy.typing import NDArray

from arbora.induction.corpus import TagCorpus
from arbora.induction.rules import Rules
from arbora.interfaces import Parameter, PartKind, Roots, Trees
from arbora.types import Doubles, Ints

Parts: TypeAlias = tuple[dict[str, NDArray[Any]], dict[str, Any]]
"""Arrays and plain values: what a model file holds of a model."""


class TagModel(Protocol):
    """Scores of parts of trees over a sentence's tags; immutable."""

    kind: ClassVar[str]
    """The name in model files."""

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags it knows; a tag's place is its number, and `len(tags)` stands for all others."""

    @property
    def trees(self) -> Trees:
        """Whether arcs may cross."""

    @property
    def roots(self) -> Roots:
        """Whether exactly one word hangs on node 0."""

    def scores(self, tags: Ints) -> dict[PartKind, Doubles]:
        """Of m sentences of n words, (m, n): one array per kind of part, (m,) + (n+1,) * kind.axes."""

    def to_parts(self) -> Parts:
        """What a model file holds."""


@dataclass(frozen=True, slots=True)
class Round:
    """What one round of learning came to."""

    number: int
    """From 1."""
    objective: float
    """What is made as large as possible: a log-likelihood per word, say. Comparable between restarts."""
    seconds: float
    """Since learning began."""
    measures: Mapping[str, float] = field(default_factory=dict)
    """What else there is to tell: a gap, the share of weights that are not 0."""


Watch: TypeAlias = Callable[[Round, TagModel], None]
"""Told after each round. What it raises ends learning, but for `arbora.interfaces.StopTraining`, after which
`fit` returns what it has."""


@dataclass(frozen=True, slots=True)
class Induced:
    """What `fit` returns."""

    model: TagModel
    history: tuple[Round, ...]

    @property
    def objective(self) -> float:
        """That of the last round; the greatest of several restarts is the best guess without a treebank."""
        return self.history[-1].objective


class Inducer(Protocol):
    """Learns a model from tagged sentences."""

    name: ClassVar[str]
    paper: ClassVar[str]
    """The key of the paper in docs/references.bib."""

    @classmethod
    def parameters(cls) -> tuple[Parameter, ...]:
        """All parameters with their ranges, in order."""

    @classmethod
    def parse(cls, texts: Mapping[str, str]) -> dict[str, int | float | str]:
        """Values for the constructor from `NAME=VALUE` pairs of a command line; checked."""

    def settings(self) -> dict[str, int | float | str]:
        """All parameters with their values."""

    def fit(
        self,
        corpus: TagCorpus,
        *,
        rules: Rules | None = None,
        seed: int = 0,
        threads: int = 1,
        watch: Watch | None = None,
    ) -> Induced:
        """Learn; `rules`: what is known of trees in advance, None: nothing.

        `seed`: 0 starts where the method's authors start; others start beside it, for restarts. One seed
        gives one model, whatever the number of threads.
        """
