"""Exact inference over weighted sets of trees: numpy in, numpy out, no parser needed.

Queries, families of trees, `TreeDistribution`, and the same for PyTorch (`arbora.inference.torch`) belong
here; nothing here knows words, files or features. `arbora.inference.queries` states the conventions.
"""

from arbora.inference._native import Best, Marginals
from arbora.inference._parts import FirstOrder, Options
from arbora.inference.queries import (
    arc_marginals,
    argmax,
    entropy,
    expected_wrong_heads,
    kbest,
    kl_divergence,
    log_partition,
    log_prob,
    marginals,
    marginals_along,
    minimum_risk,
    sample,
)

__all__ = [
    "Best",
    "FirstOrder",
    "Marginals",
    "Options",
    "arc_marginals",
    "argmax",
    "entropy",
    "expected_wrong_heads",
    "kbest",
    "kl_divergence",
    "log_partition",
    "log_prob",
    "marginals",
    "marginals_along",
    "minimum_risk",
    "sample",
]
