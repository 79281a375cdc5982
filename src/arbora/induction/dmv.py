"""DMV: the dependency model with valence, learned by EM [klein-2004] or Viterbi EM [spitkovsky-2010].

Starts from harmonic counts (`arbora.induction.harmonic`), but heads first stop as often as they go on: with
`viterbi` that leads to better trees than what harmonic trees say of stopping; with `em`, to better ones for
some languages and worse ones for others. Then in turn it
- counts, under the model, how often each choice is expected to be made (`em`), or is made in the best trees
  (`viterbi`);
- estimates: probabilities are counts, each with `smoothing` added, divided by their sums.

The objective never falls: log P(sentences) (`em`) or of the best trees (`viterbi`), plus smoothing · Σ log p
over all probabilities, which is what adding `smoothing` to counts comes to; all divided by the number of
words. The paper knows of no rules. Where they are given, each arc that one of them has adds `prior` to a
tree's log-probability while trees are counted and in the objective, not in the model: P(tree) becomes
P(tree) · exp(prior · arcs by rules), and nothing falls either.

Time per round: O(n³) per different sentence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from arbora.induction._valence_em import Climb
from arbora.induction.corpus import TagCorpus
from arbora.induction.harmonic import STARTS, harmonic_counts
from arbora.induction.interfaces import Induced, Watch
from arbora.induction.rules import Rules
from arbora.induction.valence_counts import Counts, Sentences, bonus_of
from arbora.induction.valence_model import NONE_YET, ValenceModel
from arbora.learners._parameters import Configured, parameter
from arbora.types import Doubles


@dataclass(frozen=True, kw_only=True)
class Dmv(Configured):
    """The dependency model with valence: heads make their dependents one by one, and then stop; by EM."""

    name: ClassVar[str] = "dmv"
    paper: ClassVar[str] = "klein-2004"

    mode: str = parameter("em", "count all trees, or the best ones", choices=("em", "viterbi"))
    rounds: int = parameter(100, "at most so many", least=1)
    tolerance: float = parameter(1e-4, "stop where the objective gains less", least=0.0)
    smoothing: float = parameter(1.0, "added to each count", above=0.0)
    child_valence: str = parameter(
        "no", "whether a dependent's tag depends on whether its head has one already", choices=("no", "yes")
    )
    constant: float = parameter(0.0, "first arcs are as frequent as 1 / (distance + constant)", least=0.0)
    first_stops: str = parameter(
        "even", "how often heads stop at first: every other time, or as those arcs say", choices=STARTS
    )
    prior: float = parameter(1.0, "weight of each arc that a rule has, where rules are given", least=0.0)

    def fit(
        self,
        corpus: TagCorpus,
        *,
        rules: Rules | None = None,
        seed: int = 0,
        threads: int = 1,
        watch: Watch | None = None,
    ) -> Induced:
        """Learn; seed 0 starts from harmonic counts, others from such counts with noise."""
        sentences = Sentences(corpus, self.name)
        climb = Climb(
            best_only=self.mode == "viterbi",
            rounds=self.rounds,
            tolerance=self.tolerance,
            bonus=bonus_of(rules, self.prior, corpus.tags),
            threads=threads,
            watch=watch,
        )
        start = harmonic_counts(sentences, self.constant, self.first_stops == "even", seed)
        return climb.run(sentences, start, lambda counts: self.estimate(counts, corpus.tags), self.penalty)

    def estimate(self, counts: Counts, tags: tuple[str, ...]) -> ValenceModel:
        child = counts.child
        if self.child_valence == "no":
            child = np.broadcast_to(child.sum(axis=2, keepdims=True), child.shape)
        ends = np.stack([counts.stop, counts.go_on], axis=-1)
        logs = _log_shares(ends + self.smoothing)
        return ValenceModel(
            tags=tags,
            root=_log_shares(counts.root + self.smoothing),
            child=_log_shares(child + self.smoothing),
            stop=logs[..., 0].copy(),
            go_on=logs[..., 1].copy(),
        )

    def penalty(self, model: ValenceModel) -> float:
        """-smoothing · Σ log p; tables that are one count once."""
        child = model.child if self.child_valence == "yes" else model.child[:, :, NONE_YET]
        return -self.smoothing * float(model.root.sum() + child.sum() + model.stop.sum() + model.go_on.sum())


def _log_shares(counts: Doubles) -> Doubles:
    return np.log(counts) - np.log(counts.sum(axis=-1, keepdims=True))
