"""How far learning has come: the weights to predict with, and those to go on with."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from arbora._core import Weights
from arbora.errors import InputError
from arbora.interfaces import Epoch, Problem
from arbora.learners._online import OnlineTrainer
from arbora.types import Floats

Which = Literal["averaged", "last"]
OTHER: dict[Which, tuple[Which, ...]] = {"averaged": ("last",), "last": ("averaged",)}


class Course:
    """Passes over examples, the same or others, by a learner that keeps nothing but weights.

    Weights to predict with are made when they are asked for: a pass over one example costs what the example
    touches, not the number of weights.
    """

    def __init__(self, which: Which, *, passes: int = 0, steps: int = 0) -> None:
        """`which`: what is predicted with; passes and steps that were made."""
        self.which = which
        self.passes = passes
        self.steps = steps
        self._w: Weights | None = None
        self._made: dict[Which, Floats] = {}

    @classmethod
    def at_start(cls, which: Which, size: int) -> Course:
        course = cls(which)
        course._w = Weights(size)
        return course

    @classmethod
    def after(cls, which: Which, last: Floats, averaged: Floats, *, passes: int, steps: int) -> Course:
        course = cls(which, passes=passes, steps=steps)
        course._made = {"last": last, "averaged": averaged}
        return course

    @classmethod
    def closed(cls, which: Which, weights: Floats) -> Course:
        """Weights to predict with, and no others: it cannot go on."""
        course = cls(which)
        course._made = {which: weights}
        return course

    def require_open(self) -> None:
        """InputError unless it can go on."""
        if self._w is None and len(self._made) < len(OTHER):
            raise InputError(
                "this classifier was loaded from a file that holds what it predicts with, not what learning "
                "goes on from; save it with `resumable=True`, or call `fit`"
            )

    @property
    def size(self) -> int:
        return len(self.weights(self.which)) if self._w is None else len(self._w)

    def weights(self, which: Which | None = None) -> Floats:
        """To predict with, unless others are asked for; one after the other."""
        which = which or self.which
        if which not in self._made:
            assert self._w is not None
            self._made[which] = self._w.average() if which == "averaged" else self._w.values()
        return self._made[which]

    def go_on(self, learner: OnlineTrainer, problem: Problem, which: Which) -> Epoch:
        if self._w is None:
            self._w = weights_after(self.weights("last"), self.weights("averaged"), self.steps)
        self._made = {}
        self.which = which
        epoch = learner.go_on(problem, self._w, number=self.passes + 1, done=self.steps)
        self.passes += 1
        self.steps += -(-len(problem) // learner.batch)
        return epoch

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles, which go on to the same bits."""
        return {**self.__dict__, "_w": None if self._w is None else self._w.state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if state["_w"] is not None:
            self._w = Weights.from_state(state["_w"])


def weights_after(last: Floats, averaged: Floats, steps: int) -> Weights:
    """Weights as they were after so many steps, to what a float32 can tell of their average."""
    return Weights.from_state(
        {
            "v": last,
            "u": averaged.astype(np.float64) * steps,
            "scale": 1.0,
            "carried": 0.0,
            "ticks": float(steps),
            "norm2": float(np.einsum("i,i->", last, last, dtype=np.float64)),
            "norm2_error": 0.0,
        }
    )
