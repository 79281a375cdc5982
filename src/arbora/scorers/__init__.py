"""Scores for the parts of trees, from weights; one kind of scorer per file."""

from arbora.scorers.linear import GraphSettings, LinearScorer

__all__ = ["GraphSettings", "LinearScorer"]
