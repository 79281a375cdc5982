"""What inducers and their models have in common.

An inducer is an immutable set of parameters with one method, `fit`, from a corpus to a model. A model scores
the parts of the trees of a sentence's tags; `arbora.inference` finds and sums trees.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Protocol

from numpy.typing import NDArray

from arbora.errors import InputError
from arbora.induction.corpus import TagCorpus
from arbora.induction.rules import NO_RULES, Rules
from arbora.interfaces import Epoch, PartKind, Roots, StopTraining, Trees
from arbora.progress import EpochReport, Observer, Silent
from arbora.settings import Configured
from arbora.types import Doubles, Ints


class TagModel(Protocol):
    """Scores the parts of trees over a sentence's tags; immutable."""

    name: ClassVar[str]
    """The name in model files."""
    parts: ClassVar[tuple[PartKind, ...]]
    """The kinds of parts that it scores, arcs first."""

    @property
    def tags(self) -> tuple[str, ...]:
        """The known tags; a tag's place is its number, and `len(tags)` stands for all others."""

    @property
    def trees(self) -> Trees: ...
    @property
    def roots(self) -> Roots: ...

    def scores(self, tags: Ints) -> dict[PartKind, Doubles]:
        """Score m sentences of n words, (m, n): one array for each of `parts`, (m,) + (n+1,) * kind.axes."""

    def tensors(self) -> dict[str, NDArray[Any]]:
        """The arrays that a model file holds."""


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


@dataclass(frozen=True, slots=True)
class Induced:
    """The result of `fit`."""

    model: TagModel = field(repr=False)
    history: tuple[Round, ...]
    seed: int = 0
    interrupted: bool = False  # Whether Ctrl-C ended learning
    agreement: float = 1.0  # The share of heads that it has in common with the chosen one of several restarts

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
    def learn(self, corpus: TagCorpus, rules: Rules, seed: int, threads: int) -> Iterator[Learned]:
        """Yield the state after each round; the last one is the result."""

    def fit(
        self,
        corpus: TagCorpus,
        *,
        rules: Rules | None = None,
        seed: int = 0,
        threads: int = 1,
        observer: Observer | None = None,
    ) -> Induced:
        """Learn; `rules`: what is known about trees in advance.

        Seed 0 starts where the method's authors start, others start near it, for restarts. The same seed
        gives the same model for any number of threads. Learning ends early, and keeps the last round, on
        Ctrl-C or if the observer raises `arbora.interfaces.StopTraining` at the report of a round.
        """
        if not len(corpus):
            raise InputError(f"{self.name}: expected at least one sentence to learn from, got none")
        observer, task = observer or Silent(), f"{self.name}, seed {seed}"
        observer.begin(task, int(getattr(self, "rounds", 1)), unit="round")
        start, seconds, interrupted = time.perf_counter(), 0.0, False
        history: list[Round] = []
        try:
            for number, state in enumerate(self.learn(corpus, rules or NO_RULES, seed, threads), start=1):
                before, seconds = seconds, time.perf_counter() - start
                history.append(Round(number, state.objective, seconds, state.measures))
                last = state
                observer.advance()
                epoch = Epoch(number, -state.objective, 0.0, 1, seconds - before, dict(state.measures))
                observer.report(EpochReport(task, epoch, {"objective": state.objective}, best=False))
        except StopTraining:
            pass
        except KeyboardInterrupt:
            if not history:
                raise
            interrupted = True
        observer.end()
        return Induced(last.model(), tuple(history), seed, interrupted)
