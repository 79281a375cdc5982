"""Learners: each turns a problem into weights; one per file, by name in `arbora.registry.learners`.

A learner is an immutable set of parameters with `fit(problem)`. Write your own with `OnlineTrainer` and
`parameter` (docs/extending.md). The names of `arbora.classification` can be imported from here, too.
"""

from typing import Any

from arbora.learners._online import OnlineTrainer as OnlineTrainer
from arbora.learners.adagrad import Adagrad as Adagrad
from arbora.learners.adamw import AdamW as AdamW
from arbora.learners.exponentiated_gradient import ExponentiatedGradient as ExponentiatedGradient
from arbora.learners.log_linear import LogLinear as LogLinear
from arbora.learners.minimum_expected_cost import MinimumExpectedCost as MinimumExpectedCost
from arbora.learners.mira import Mira as Mira
from arbora.learners.muon import Muon as Muon
from arbora.learners.one_slack import OneSlack as OneSlack
from arbora.learners.passive_aggressive import PassiveAggressive as PassiveAggressive
from arbora.learners.pegasos import Pegasos as Pegasos
from arbora.learners.perceptron import Perceptron as Perceptron
from arbora.learners.scaled_prior_variance import ScaledPriorVariance as ScaledPriorVariance
from arbora.learners.ultraconservative import Ultraconservative as Ultraconservative
from arbora.settings import parameter as parameter


def __getattr__(name: str) -> Any:
    from arbora import classification

    if name in classification.__all__:
        return getattr(classification, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
