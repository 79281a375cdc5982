"""The interfaces of inducers and their models.

An inducer is an immutable set of parameters with one method, `fit`, from a corpus to a model. A model scores
the parts of the trees of a sentence's tags.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from arbora import inference
from arbora.errors import InputError
from arbora.induction.corpus import TagCorpus, by_length
from arbora.induction.rules import NO_RULES, Rules
from arbora.interfaces import Epoch, PartKind, Roots, StopTraining, Trees
from arbora.progress import EpochReport, Observer, Silent
from arbora.settings import Configured
from arbora.storage.model_file import ModelFile
from arbora.types import Doubles, Ints


@dataclass(frozen=True, eq=False, kw_only=True)
class TagModel(ABC):
    """Scores the parts of trees over a sentence's tags; immutable."""

    name: ClassVar[str]  # The name in model files
    parts: ClassVar[tuple[PartKind, ...]]  # The kinds of parts that it scores, arcs first

    tags: tuple[str, ...]  # A tag's place is its number; `len(tags)` stands for all that are unknown
    trees: Trees = "projective"
    roots: Roots = "single"

    @property
    def family(self) -> dict[str, Any]:
        """The set of trees, as options of `arbora.inference`."""
        return {"trees": self.trees, "roots": self.roots}

    @abstractmethod
    def scores(self, tags: Ints) -> dict[PartKind, Doubles]:
        """Score m sentences of n words, (m, n): one array for each of `parts`, (m,) + (n+1,) * kind.axes."""

    @abstractmethod
    def tensors(self) -> dict[str, NDArray[Any]]:
        """The arrays that a model file holds."""

    @classmethod
    @abstractmethod
    def from_file(cls, file: ModelFile, **known: Any) -> Self:
        """Read `tensors`; `known` are the fields above. ModelError or InputError if they do not fit."""


def best_heads(arcs: Doubles, siblings: Doubles | None = None, **options: Any) -> Ints:
    """Heads of the best trees of m sentences, (m, n+1), -1 for the root; options as in `arbora.inference`."""
    given = None if siblings is None else list(siblings)
    return np.stack([best.heads for best in inference.argmax(list(arcs), siblings=given, **options)])


def parse(model: TagModel, sentences: Sequence[Ints], *, threads: int = 1) -> list[Ints]:
    """The best tree of each sentence of tags: heads of its words, (n,), 0 for the root."""
    found: list[Ints] = [np.zeros(0, dtype=np.int32)] * len(sentences)
    for places, tags in by_length(sentences):
        best = best_heads(*model.scores(tags).values(), **model.family, threads=threads)
        for place, heads in zip(places.tolist(), best, strict=True):
            found[place] = heads[1:]
    return found


def as_arcs(heads: Ints) -> Doubles:
    """Trees as arrays of arcs: 1 for each arc, (m, n+1, n+1); heads (m, n+1)."""
    return (heads[:, None, :] == np.arange(heads.shape[1])[:, None]).astype(np.float64)


class Round(Epoch):
    """The record of one round of learning; its loss is the negative objective."""

    @property
    def objective(self) -> float:
        """The objective that is maximized, such as a log-likelihood per word; comparable between restarts."""
        return -self.loss


class Learned(NamedTuple):
    """The state of learning after a round; the model is built when it is needed."""

    objective: float
    model: Callable[[], TagModel]
    measures: Mapping[str, float] = {}  # Other figures: a gap, the share of weights that are not 0


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
        """Learn; `rules`: prior knowledge about trees.

        Seed 0 starts where the method's authors start, others start near it, for restarts. The same seed
        gives the same model for any number of threads. Learning ends early, and keeps the last round, on
        Ctrl-C or if the observer raises `arbora.interfaces.StopTraining` at the report of a round.
        """
        if not len(corpus):
            raise InputError(f"{self.name}: expected at least one sentence to learn from, got none")
        observer, task = observer or Silent(), f"{self.name}, seed {seed}"
        observer.begin(task, int(getattr(self, "rounds", 1)), unit="round")
        before, interrupted = time.perf_counter(), False
        history: list[Round] = []
        try:
            for number, state in enumerate(self.learn(corpus, rules or NO_RULES, seed, threads), start=1):
                seconds, last = time.perf_counter() - before, state
                history.append(Round(number, -state.objective, 0.0, 1, seconds, dict(state.measures)))
                observer.advance()
                observer.report(EpochReport(task, history[-1], {"objective": state.objective}, best=False))
                before = time.perf_counter()
        except StopTraining:
            pass
        except KeyboardInterrupt:
            if not history:
                raise
            interrupted = True
        observer.end()
        return Induced(last.model(), tuple(history), seed, interrupted)
