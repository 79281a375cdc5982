"""Learners compared on a task: parameters are chosen by cross-validation, then tested on several samples.

Every value of a learner's grid is tried on all folds. The value with the best mean trains on each sample, and
is scored once on the part that the sample holds out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any, Protocol, TypeAlias

from arbora.interfaces import Learner
from arbora.progress import Observer
from arbora_studies.contest import Parameters, Search, in_words, make_learner
from arbora_studies.runner import Result, Runner

T_QUANTILES = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""Of Student's t: 97.5% lie below, for 1, 2, ... degrees of freedom."""

Score: TypeAlias = Callable[[Learner, Observer], float]


@dataclass(frozen=True)
class Part:
    """Examples to train on and others to test on: how many there are to train on, and the test score."""

    examples: int
    score: Score


class Task(Protocol):
    """What is learned."""

    name: str
    """The first words of the names of cells."""
    higher_is_better: bool
    inputs: dict[str, Any]
    """Everything that scores depend on, besides the learner and the sample."""
    examples: int
    """About how many training examples a sample has."""

    def folds(self) -> Sequence[Part]:
        """Parts of training data, to choose parameters on."""

    def sample(self, number: int) -> Part:
        """Draw a sample to test on."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over samples with its 95% confidence by Student's t."""

    mean: float
    margin: float

    @classmethod
    def of(cls, scores: Sequence[float]) -> Estimate:
        """Of at least one score; the margin of a single score is infinite."""
        if len(scores) < 2:
            return cls(fmean(scores), float("inf"))
        quantile = T_QUANTILES[min(len(scores) - 1, len(T_QUANTILES)) - 1]
        return cls(fmean(scores), quantile * stdev(scores) / len(scores) ** 0.5)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One system on one task: its parameters, and score and processor time by sample."""

    parameters: Parameters
    scores: Sequence[float]
    seconds: Sequence[float]


@dataclass(frozen=True)
class Trials:
    """All trainings of one task; learners and searches are by system."""

    runner: Runner
    task: Task
    learners: Mapping[str, str]
    searches: Mapping[str, Search]

    def run(self, samples: int) -> dict[str, Outcome]:
        """Choose and test all systems, sample by sample, so that memory holds one sample only."""
        chosen = {key: self.choose(key) for key in self.learners}
        tested = [{key: self.test(key, chosen[key], number) for key in chosen} for number in range(samples)]
        return {
            key: Outcome(
                parameters, [each[key]["score"] for each in tested], [each[key]["seconds"] for each in tested]
            )
            for key, parameters in chosen.items()
        }

    def choose(self, key: str) -> Parameters:
        """Return the best parameters of a system's grid; ties go to the first."""
        candidates = list(self.searches[key])
        if len(candidates) == 1:
            return candidates[0]
        # Rounded: equal data must give the same choice even if the last bits differ.
        scores = [round(self._cross_validate(key, parameters), 6) for parameters in candidates]
        return candidates[scores.index(max(scores) if self.task.higher_is_better else min(scores))]

    def _cross_validate(self, key: str, parameters: Parameters) -> float:
        learner, folds = self._learner(key, parameters), self.task.folds()

        def compute() -> Result:
            return {"score": fmean(fold.score(learner, self.runner.observer) for fold in folds)}

        name, examples = f"choosing: {key} {in_words(parameters)}", sum(fold.examples for fold in folds)
        result = self._cell(name, learner, compute, examples, f"on {len(folds)} folds", folds=len(folds))
        return float(result["score"])

    def test(self, key: str, parameters: Parameters, number: int) -> Result:
        """Return the score on a sample, and the processor time it took."""
        learner = self._learner(key, parameters)

        def compute() -> Result:
            part = self.task.sample(number)
            began = time.process_time()
            score = part.score(learner, self.runner.observer)
            return {"score": score, "seconds": time.process_time() - began}

        name, text = f"sample {number + 1}: {key}", f"with {in_words(parameters)}"
        return self._cell(name, learner, compute, self.task.examples, text, sample=number)

    def _learner(self, key: str, parameters: Parameters) -> Learner:
        epochs = self.searches[key].epochs
        return make_learner(self.learners[key], parameters, epochs, self.runner.options.seed)

    def _cell(
        self,
        name: str,
        learner: Learner,
        compute: Callable[[], Result],
        examples: int,
        summary: str,
        **more: int,
    ) -> Result:
        inputs = {
            **self.task.inputs,
            "learner": learner.name,
            "parameters": learner.settings(),
            "seed": self.runner.options.seed,
            **more,
        }
        return self.runner.cell(
            f"{self.task.name}, {name}",
            inputs,
            compute,
            examples=int(learner.settings()["epochs"]) * examples,
            summary=f"{{score:.4f}} {summary}".format_map,
        )
