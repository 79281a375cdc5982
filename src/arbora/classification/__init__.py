"""Classifiers of sparse examples with a cost for each mistake; `arbora.learners` gives these names, too."""

from arbora.classification.classes import hierarchical_costs
from arbora.classification.classifier import OnlineClassifier
from arbora.classification.rows import SparseRows, hashed_rows, quadratic_expansion, sparse_rows

__all__ = [
    "OnlineClassifier",
    "SparseRows",
    "hashed_rows",
    "hierarchical_costs",
    "quadratic_expansion",
    "sparse_rows",
]
