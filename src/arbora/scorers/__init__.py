"""Scores for the parts of trees, from weights; one kind of scorer per file."""

from arbora.scorers.cube import CubeScorer, CubeSettings
from arbora.scorers.linear import GraphSettings, LinearScorer

__all__ = ["CubeScorer", "CubeSettings", "GraphSettings", "LinearScorer"]
