"""Scores for the parts of trees, from weights: one kind of scorer per file.

Scorers know words and features but no trees; `torch` is the base of scorers written in PyTorch.
"""

from arbora.scorers.cube import CubeScorer, CubeSettings
from arbora.scorers.linear import GraphSettings, LinearScorer
from arbora.scorers.transition import TransitionScorer, TransitionSettings

__all__ = [
    "CubeScorer",
    "CubeSettings",
    "GraphSettings",
    "LinearScorer",
    "TransitionScorer",
    "TransitionSettings",
]
