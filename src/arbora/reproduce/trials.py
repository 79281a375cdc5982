"""Learners against each other on a task: parameters by cross-validation, then several samples of the data.

Every value of a learner's grid is tried on all folds; the one with the best mean trains on each sample, and
is scored once on what the sample holds out. What folds and samples are, and what a score is, the task says.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any, Protocol, TypeAlias

from arbora.interfaces import Learner
from arbora.reproduce.search import Parameters, Search, in_words, make_learner
from arbora.reproduce.study import Journal, Watcher, compute

Asked: TypeAlias = Callable[[int], None]

T_QUANTILES = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""Of Student's t: 97.5% lie below, for 1, 2, ... degrees of freedom."""


class Part(Protocol):
    """Examples to learn from, and others to be scored on."""

    def __len__(self) -> int:
        """How many there are to learn from."""

    def score(self, learner: Learner, asked: Asked) -> float:
        """Of what the learner has learned; `asked` hears of examples that were looked at."""


class Task(Protocol):
    """What is learned."""

    @property
    def name(self) -> str:
        """As cells are called."""

    @property
    def rising(self) -> bool:
        """Whether greater scores are better."""

    @property
    def inputs(self) -> Mapping[str, Any]:
        """All that scores depend on besides the learner and the sample."""

    @property
    def folds(self) -> Sequence[Part]:
        """For choosing parameters: parts of training data."""

    @property
    def examples(self) -> int:
        """How many a sample has to learn from, or about as many."""

    def sample(self, number: int) -> Part:
        """For testing."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over samples, and how far from it the true one may lie: 95%, by Student's t."""

    mean: float
    margin: float

    @classmethod
    def of(cls, scores: Sequence[float]) -> Estimate:
        """Of at least one score; one alone says nothing about the margin."""
        if len(scores) < 2:
            return cls(fmean(scores), float("inf"))
        quantile = T_QUANTILES[min(len(scores) - 1, len(T_QUANTILES)) - 1]
        return cls(fmean(scores), quantile * stdev(scores) / len(scores) ** 0.5)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One learner on one task."""

    parameters: Parameters
    """Those that were chosen, with those that were fixed."""
    scores: Sequence[float]
    """By sample."""
    seconds: Sequence[float]
    """Processor time of learning and scoring, likewise."""


class Trials:
    """All trainings of one task."""

    def __init__(
        self,
        task: Task,
        searches: Mapping[str, Search],
        learners: Mapping[str, str],
        journal: Journal,
        watcher: Watcher,
        seed: int,
    ) -> None:
        """`searches` and `learners`, which are names of the registry, by system."""
        self.task = task
        self.searches = searches
        self.learners = learners
        self.journal = journal
        self.watcher = watcher
        self.seed = seed

    def run(self, systems: Sequence[str], samples: int) -> dict[str, Outcome]:
        """Sample by sample, so that only one needs to be held in memory."""
        chosen = {key: self.choose(key) for key in systems}
        tested = [{key: self.test(key, chosen[key], number) for key in systems} for number in range(samples)]
        return {
            key: Outcome(
                chosen[key],
                [each[key]["score"] for each in tested],
                [each[key]["seconds"] for each in tested],
            )
            for key in systems
        }

    def choose(self, key: str) -> Parameters:
        """The best parameters of a system's grid; ties go to the first."""
        candidates = list(self.searches[key])
        if len(candidates) == 1:
            return candidates[0]
        # Rounded, so that the same data choose alike where the last bits differ.
        scores = [round(self._cross_validated(key, parameters), 6) for parameters in candidates]
        return candidates[scores.index(max(scores) if self.task.rising else min(scores))]

    def _cross_validated(self, key: str, parameters: Parameters) -> float:
        learner = self._learner(key, parameters)
        folds = self.task.folds

        def work() -> dict[str, Any]:
            return {"score": fmean(fold.score(learner, self.watcher.asked) for fold in folds)}

        found = compute(
            self.journal,
            self.watcher,
            f"{self.task.name}, choosing: {key} {in_words(parameters)}",
            self._inputs(learner, folds=len(folds)),
            self.searches[key].epochs * sum(map(len, folds)),
            work,
            lambda result: f"{result['score']:.4f} on {len(folds)} folds",
        )
        return float(found["score"])

    def test(self, key: str, parameters: Parameters, number: int) -> dict[str, Any]:
        """The score on a sample, and the time that it took."""
        learner = self._learner(key, parameters)

        def work() -> dict[str, Any]:
            part = self.task.sample(number)
            began = time.process_time()
            return {"score": part.score(learner, self.watcher.asked), "seconds": time.process_time() - began}

        return compute(
            self.journal,
            self.watcher,
            f"{self.task.name}, sample {number + 1}: {key}",
            self._inputs(learner, sample=number),
            self.searches[key].epochs * self.task.examples,
            work,
            lambda result: f"{result['score']:.4f} with {in_words(parameters)}",
        )

    def _learner(self, key: str, parameters: Parameters) -> Learner:
        return make_learner(self.learners[key], parameters, self.searches[key].epochs, self.seed)

    def _inputs(self, learner: Learner, **more: Any) -> dict[str, Any]:
        return {
            **self.task.inputs,
            "learner": learner.name,
            "parameters": learner.settings(),
            "seed": self.seed,
            **more,
        }
