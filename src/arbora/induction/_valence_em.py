"""The loop that all ways of learning a model with valence share: count, estimate, count again."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from arbora.induction.interfaces import Induced, Round, Watch
from arbora.induction.valence_counts import Counts, Sentences
from arbora.induction.valence_model import ValenceModel
from arbora.interfaces import StopTraining
from arbora.types import Doubles


@dataclass(frozen=True, kw_only=True)
class Climb:
    """EM, or Viterbi EM where only the best trees are counted."""

    best_only: bool
    rounds: int
    tolerance: float
    """It ends where the objective changes by less."""
    bonus: Doubles | None = None
    """What arcs add to a tree's score: see `Sentences.counts`."""
    threads: int = 1
    watch: Watch | None = None

    def run(
        self,
        sentences: Sentences,
        start: Counts,
        estimate: Callable[[Counts], ValenceModel],
        penalty: Callable[[ValenceModel], float],
    ) -> Induced:
        """From the start's counts to a model; the objective is per word, less the penalty.

        Each round's objective is that of its model; the last round's model is what is returned.
        """
        history: list[Round] = []
        model = estimate(start)
        for number in range(1, self.rounds + 1):
            began = time.perf_counter()
            total, counts = sentences.counts(
                model, best_only=self.best_only, bonus=self.bonus, threads=self.threads
            )
            objective = (total - penalty(model)) / sentences.words
            change = objective - history[-1].objective if history else float("inf")
            enough = number == self.rounds or abs(change) < self.tolerance
            now = model
            if not enough:
                model = estimate(counts)
            history.append(Round(number, objective, time.perf_counter() - began))
            try:
                if self.watch is not None:
                    self.watch(history[-1], now)
            except StopTraining:
                enough = True
            if enough:
                return Induced(now, tuple(history))
        raise AssertionError("the last round is always enough")
