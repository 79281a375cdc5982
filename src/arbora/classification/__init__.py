"""Classifiers of sparse examples, with a cost for each mistake, in the manner of scikit-learn.

They use the same learners as parsers. `arbora.learners` exports these names too.
"""

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
