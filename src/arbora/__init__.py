"""Arbora: dependency parsing with exact inference over trees.

`train` makes a parser of a treebank, `load` opens one that was saved; `inference` and `TreeDistribution`
answer questions about weighted sets of trees; `read`, `write`, `Sentence` and `Tree` are for treebanks;
`projectivize` and `evaluate` for what is done with them.
"""

from arbora import inference
from arbora._version import __version__ as __version__
from arbora.data.projectivize import deprojectivize, projectivize
from arbora.data.sentence import Sentence
from arbora.data.tree import Tree
from arbora.data.treebank import read, write
from arbora.distribution import TreeDistribution
from arbora.errors import ArboraError, DataError, InputError, NoTreeError
from arbora.evaluate import evaluate
from arbora.pipeline.pipeline import load
from arbora.pipeline.training import train

__all__ = [
    "ArboraError",
    "DataError",
    "InputError",
    "NoTreeError",
    "Sentence",
    "Tree",
    "TreeDistribution",
    "deprojectivize",
    "evaluate",
    "inference",
    "load",
    "projectivize",
    "read",
    "train",
    "write",
]
