"""Arbora: dependency parsing with exact inference over trees.

`inference` and `TreeDistribution` answer questions about weighted sets of trees; `read`, `write`,
`Sentence` and `Tree` are for treebanks; `projectivize` and `evaluate` for what is done with them.
"""

from arbora import inference
from arbora._version import __version__
from arbora.data.projectivize import deprojectivize, projectivize
from arbora.data.sentence import Sentence
from arbora.data.tree import Tree
from arbora.data.treebank import read, write
from arbora.distribution import TreeDistribution
from arbora.errors import ArboraError, DataError, InputError, NoTreeError
from arbora.evaluate import evaluate

__all__ = [
    "ArboraError",
    "DataError",
    "InputError",
    "NoTreeError",
    "Sentence",
    "Tree",
    "TreeDistribution",
    "__version__",
    "deprojectivize",
    "evaluate",
    "inference",
    "projectivize",
    "read",
    "write",
]
