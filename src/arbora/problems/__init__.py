"""Problems: examples with gold answers, the only input of learners; one kind per file.

A problem answers queries about its examples at given weights. It holds a scorer and a treebank, never a
learner.
"""

from arbora.problems.cube import CubeProblem as CubeProblem
from arbora.problems.filter import FilterProblem as FilterProblem
from arbora.problems.graph import GraphProblem as GraphProblem
from arbora.problems.multiclass import MulticlassProblem as MulticlassProblem
from arbora.problems.scorer import ScorerProblem as ScorerProblem
from arbora.problems.sequence import SequenceProblem as SequenceProblem
from arbora.problems.transition import TransitionProblem as TransitionProblem
