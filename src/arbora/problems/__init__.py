"""What a learner may touch: examples with their right answers, one kind of problem per file."""

from arbora.problems.cube import CubeProblem
from arbora.problems.filter import FilterProblem
from arbora.problems.graph import GraphProblem
from arbora.problems.multiclass import MulticlassProblem
from arbora.problems.sequence import SequenceProblem
from arbora.problems.transition import TransitionProblem
from arbora.problems.watched import watch

__all__ = [
    "CubeProblem",
    "FilterProblem",
    "GraphProblem",
    "MulticlassProblem",
    "SequenceProblem",
    "TransitionProblem",
    "watch",
]
