"""Problems: examples with gold answers, which is all that a learner sees; one kind per file.

A problem answers queries about its examples at given weights. It holds a scorer and a treebank, never a
learner.
"""

from arbora.problems.cube import CubeProblem
from arbora.problems.filter import FilterProblem
from arbora.problems.graph import GraphProblem
from arbora.problems.multiclass import MulticlassProblem
from arbora.problems.scorer import ScorerProblem
from arbora.problems.sequence import SequenceProblem
from arbora.problems.transition import TransitionProblem

__all__ = [
    "CubeProblem",
    "FilterProblem",
    "GraphProblem",
    "MulticlassProblem",
    "ScorerProblem",
    "SequenceProblem",
    "TransitionProblem",
]
