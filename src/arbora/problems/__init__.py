"""What a learner may touch: examples with their right trees, one kind of problem per file."""

from arbora.problems.graph import GraphProblem, Watched

__all__ = ["GraphProblem", "Watched"]
