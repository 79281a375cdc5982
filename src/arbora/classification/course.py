"""How far learning has come: the weights to predict with, and those to go on with; in memory and in files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from arbora._core import Weights
from arbora.errors import InputError
from arbora.interfaces import Epoch, Problem
from arbora.learners._online import OnlineTrainer, weights_of
from arbora.learners.stage import Which
from arbora.storage.model_file import ModelFile
from arbora.types import Floats

OTHER: dict[Which, Which] = {"averaged": "last", "last": "averaged"}


@dataclass
class Course:
    """Passes over examples, the same or others, by a learner that keeps nothing but weights.

    Weights to predict with are made when they are needed: a pass over one example costs what the example
    touches, not the number of weights.
    """

    which: Which
    """Which weights to predict with."""
    made: dict[Which, Floats] = field(default_factory=dict)
    w: Weights | None = None
    """Weights to go on with; None: made from both of `made`, if both are there."""
    passes: int = 0
    steps: int = 0

    @classmethod
    def from_file(cls, file: ModelFile, which: Which, weights: Floats) -> Course:
        """The course in a model file; one that cannot go on if the file was not saved as resumable."""
        if "course" not in file.metadata:
            return cls(which, {which: weights})
        counts: list[Any] = [file.entry("course", dict).get(name) for name in ("passes", "steps")]
        if not all(type(count) is int and count >= 0 for count in counts):
            raise file.error(f"course: expected numbers of passes and steps, got {counts!r:.80}")
        other = OTHER[which]
        both: dict[Which, Floats] = {which: weights, other: file.tensor(other, np.float32, weights.shape)}
        return cls(which, both, None, *counts)

    def require_open(self) -> None:
        """InputError unless it can go on."""
        if self.w is None and len(self.made) < len(OTHER):
            raise InputError(
                "this classifier was loaded from a file that holds the weights to predict with, but not "
                "those to go on with; save it with `resumable=True`, or call `fit`"
            )

    @property
    def size(self) -> int:
        return len(self.weights(self.which)) if self.w is None else len(self.w)

    def weights(self, which: Which | None = None) -> Floats:
        """Weights to predict with, or those of the name; (size,)."""
        which = which or self.which
        if which not in self.made:
            assert self.w is not None
            self.made[which] = self.w.average() if which == "averaged" else self.w.values()
        return self.made[which]

    def go_on(self, learner: OnlineTrainer, problem: Problem, which: Which) -> Epoch:
        if self.w is None:  # float32 averages are all that is known
            self.w = weights_of(self.weights("last"), self.weights("averaged"), self.steps)
        self.made = {}
        self.which = which
        epoch = learner.go_on(problem, self.w, number=self.passes + 1, done=self.steps)
        self.passes += 1
        self.steps += -(-len(problem) // learner.batch)
        return epoch

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles, which go on to the same bits."""
        return {**self.__dict__, "w": None if self.w is None else self.w.state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if state["w"] is not None:
            self.w = Weights.from_state(state["w"])
