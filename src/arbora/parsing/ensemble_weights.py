"""Weights of the parsers of an ensemble, fitted on a dev set.

Trees are decoded from the mean P(head), Σ_k w_k p_k(h). The weights minimise its Brier score [brier-1950],
the mean over words of

    Σ_h (Σ_k w_k p_k(h) - [h is the right head])² = w'Aw - 2b'w + 1
    A_jk = mean of Σ_h p_j(h) p_k(h),  b_k = mean of p_k(right head)

This is a small quadratic program. Weights of maximum likelihood can give worse trees: they are small for
parsers whose probabilities come from a list of trees (cube, transition), however good their trees are, as
many right heads are in no tree of the list.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np

from arbora._core import solve_qp
from arbora.data.columns import Columns
from arbora.errors import InputError
from arbora.formatting import counted
from arbora.parsing.ensemble import confidence_to_decode, normalized
from arbora.parsing.long_sentences import without_long
from arbora.parsing.parser import Parser
from arbora.search.confidence import split_arcs
from arbora.types import Doubles

DIGITS = 3  # Of weights
RIDGE = 1e-6  # Parsers that are the same get the same weight

logger = logging.getLogger("arbora")


def fit_weights(parsers: Sequence[Parser], dev: Columns, *, threads: int = 1) -> tuple[float, ...]:
    """The weights for `ensemble` that predict the heads of a treebank best.

    Words without a head are skipped, and sentences that a parser would cut; InputError if there are no
    others. One pass with sums over trees per parser.
    """
    given, dev = len(dev), without_long(dev, *(each.search for each in parsers))
    if skipped := given - len(dev):
        logger.warning(f"{dev.source}: {counted(skipped, 'sentence')} skipped: too long to fit weights on")
    if not np.any(dev.heads >= 0):
        raise InputError(f"{dev.source}: expected words with heads, to fit weights on, got none")
    products, right = head_products(parsers, dev, threads=threads)
    gram = 2.0 * (products + RIDGE * np.eye(len(parsers)))
    # The constant makes every weight worth having, so that their sum is 1, and not less.
    weights = solve_qp(gram, 2.0 * right + np.max(gram), 1.0)[0]
    # Rounded, so that a model's bytes do not depend on the last digits of a search; none is 0.
    rounded = [max(round(weight, DIGITS), 10.0**-DIGITS) for weight in weights.tolist()]
    return normalized(rounded, len(parsers))


def head_products(parsers: Sequence[Parser], dev: Columns, *, threads: int = 1) -> tuple[Doubles, Doubles]:
    """A and b above, (parsers, parsers) and (parsers,)."""
    lengths = np.diff(dev.offsets).astype(np.int64)
    tables = [split_arcs(confidence_to_decode(p, dev, threads).arc_table, lengths) for p in parsers]
    products, right = np.zeros((len(parsers), len(parsers))), np.zeros(len(parsers))
    for heads, *arcs in zip(dev.split(dev.heads), *tables, strict=True):
        known = np.flatnonzero(heads >= 0)
        shares = np.array([each[:, known + 1] for each in arcs])
        flat = shares.reshape(len(parsers), -1)
        products += flat @ flat.T
        right += shares[:, heads[known], np.arange(len(known))].sum(axis=1)
    words = np.count_nonzero(dev.heads >= 0)
    return products / words, right / words
