"""What a learner may touch: examples with their right answers, one kind of problem per file."""

from arbora.problems.filter import FilterProblem
from arbora.problems.graph import GraphProblem, Watched
from arbora.problems.sequence import SequenceProblem

__all__ = ["FilterProblem", "GraphProblem", "SequenceProblem", "Watched"]
