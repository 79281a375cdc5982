"""Learners, one per file; `arbora.registry.learners` knows them by name.

A learner is an immutable set of parameters with `fit(problem)`, which asks the problem for trees and returns
weights. `OnlineTrainer` and `parameter` are what a learner of one's own is made with (docs/extending.md).
"""

from arbora.learners._online import OnlineTrainer
from arbora.learners._parameters import parameter
from arbora.learners.adagrad import Adagrad
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

__all__ = [
    "Adagrad",
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
