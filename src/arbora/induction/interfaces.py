"""What inducers and their models have in common.

An inducer is an immutable set of parameters with one method, `fit`, from a corpus to a model. A model scores
the parts of the trees of a sentence's tags; `arbora.inference` finds and sums trees.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias

from numpy.typing import NDArray

from arbora.errors import InputError
from arbora.induction.corpus import TagCorpus
from arbora.induction.rules import Rules
from arbora.interfaces import PartKind, Roots, StopTraining, Trees
from arbora.learners._parameters import Configured
from arbora.types import Doubles, Ints

Parts: TypeAlias = tuple[dict[str, NDArray[Any]], dict[str, Any]]
"""The arrays and plain values that a model file holds of a model."""


class TagModel(Protocol):
    """Scores the parts of trees over a sentence's tags; immutable."""

    kind: ClassVar[str]
    """The name in model files."""
    order: ClassVar[int]
    """1: arcs are scored; 2: pairs of siblings, too."""

    @property
    def tags(self) -> tuple[str, ...]:
        """The known tags; a tag's place is its number, and `len(tags)` stands for all others."""

    @property
    def trees(self) -> Trees: ...
    @property
    def roots(self) -> Roots: ...

    def scores(self, tags: Ints) -> dict[PartKind, Doubles]:
        """Score m sentences of n words, (m, n): one array per kind of part, (m,) + (n+1,) * kind.axes."""

    def to_parts(self) -> Parts: ...


@dataclass(frozen=True, slots=True)
class Round:
    """One round of learning."""

    number: int  # From 1
    objective: float  # What is maximized, such as a log-likelihood per word. Comparable between restarts.
    seconds: float  # Since learning began
    measures: Mapping[str, float] = field(default_factory=dict)
    """Other figures: a gap, the share of weights that are not 0."""


class Learned(NamedTuple):
    """The state of learning after a round; the model is built when it is needed."""

    objective: float
    model: Callable[[], TagModel]
    measures: Mapping[str, float] = {}


Watch: TypeAlias = Callable[[Round, TagModel], None]
"""Called after each round. If it raises `arbora.interfaces.StopTraining`, `fit` returns what it has; any
other exception ends learning."""


@dataclass(frozen=True, slots=True)
class Induced:
    """The result of `fit`."""

    model: TagModel
    history: tuple[Round, ...]

    @property
    def objective(self) -> float:
        """The last round's; the restart with the greatest one is the best guess without a treebank."""
        return self.history[-1].objective


@dataclass(frozen=True, kw_only=True)
class Inducer(Configured, ABC):
    """Learns a model from tagged sentences; a subclass yields its state after each round in `learn`."""

    name: ClassVar[str]
    paper: ClassVar[str]  # The key of the paper in docs/references.bib

    @abstractmethod
    def learn(self, corpus: TagCorpus, rules: Rules | None, seed: int, threads: int) -> Iterator[Learned]:
        """Yield the state after each round; the last one is the result."""

    def fit(
        self,
        corpus: TagCorpus,
        *,
        rules: Rules | None = None,
        seed: int = 0,
        threads: int = 1,
        watch: Watch | None = None,
    ) -> Induced:
        """Learn; `rules`: what is known about trees in advance.

        Seed 0 starts where the method's authors start, others start near it, for restarts. The same seed
        gives the same model for any number of threads.
        """
        if not len(corpus):
            raise InputError(f"{self.name}: expected at least one sentence to learn from, got none")
        start, history = time.perf_counter(), []
        for number, state in enumerate(self.learn(corpus, rules, seed, threads), start=1):
            history.append(Round(number, state.objective, time.perf_counter() - start, state.measures))
            try:
                if watch is not None:
                    watch(history[-1], state.model())
            except StopTraining:
                break
        return Induced(state.model(), tuple(history))
