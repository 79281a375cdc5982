"""Scores for the parts of trees, from weights: one kind of scorer per file.

Scorers know words and features but no trees; `torch` is the base of scorers written in PyTorch.
"""

from arbora.scorers.cube import CubeScorer as CubeScorer
from arbora.scorers.cube import CubeSettings as CubeSettings
from arbora.scorers.linear import GraphSettings as GraphSettings
from arbora.scorers.linear import LinearScorer as LinearScorer
from arbora.scorers.transition import TransitionScorer as TransitionScorer
from arbora.scorers.transition import TransitionSettings as TransitionSettings
