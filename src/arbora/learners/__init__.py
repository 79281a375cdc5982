"""Learners: each turns a problem into weights; one per file, by name in `arbora.registry.learners`.

A learner is an immutable set of parameters with `fit(problem)`. Write your own with `OnlineTrainer` and
`parameter` (docs/extending.md). The names of `arbora.classification` can be imported from here, too.
"""

from typing import Any

from arbora.learners._online import OnlineTrainer
from arbora.learners.adagrad import Adagrad
from arbora.learners.adamw import AdamW
from arbora.learners.exponentiated_gradient import ExponentiatedGradient
from arbora.learners.log_linear import LogLinear
from arbora.learners.minimum_expected_cost import MinimumExpectedCost
from arbora.learners.mira import Mira
from arbora.learners.one_slack import OneSlack
from arbora.learners.passive_aggressive import PassiveAggressive
from arbora.learners.pegasos import Pegasos
from arbora.learners.perceptron import Perceptron
from arbora.learners.scaled_prior_variance import ScaledPriorVariance
from arbora.learners.ultraconservative import Ultraconservative
from arbora.settings import parameter

__all__ = [
    "Adagrad",
    "AdamW",
    "ExponentiatedGradient",
    "LogLinear",
    "MinimumExpectedCost",
    "Mira",
    "OneSlack",
    "OnlineTrainer",
    "PassiveAggressive",
    "Pegasos",
    "Perceptron",
    "ScaledPriorVariance",
    "Ultraconservative",
    "parameter",
]


def __getattr__(name: str) -> Any:
    from arbora import classification

    if name in classification.__all__:
        return getattr(classification, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
