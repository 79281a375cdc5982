"""A pruner: a small first-order model that leaves each word a few heads, so that a parser has less to do.

Four rules choose by its scores. `margin`: each word keeps its best few heads. The others look at trees: what
an arc is worth depends on what else fits. Two look at its max-marginal m, the score of the best projective
tree that has it, by which the best tree always stays; the last is for trees that may cross.

    max-marginal    m(arc) >= α max m + (1 - α) mean m, learned by filter loss [rush-2012]
    tree-odds       m(arc) >= max m - log_odds, learned as a distribution over projective trees: the arc's
                    best tree is at most so many times less probable than the best of all
    arc-odds        log P(arc) >= max log P - log_odds over the heads of a word, learned as a distribution
                    over all trees [koo-2007]: a head is at most so many times less probable than the best
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from arbora._core import Encoded, KeptArcs, Pruning
from arbora.errors import InputError
from arbora.interfaces import Roots, Trees
from arbora.registry import features
from arbora.scorers import GraphSettings, LinearScorer
from arbora.scorers.linear import LARGEST_TABLE, SMALLEST_TABLE

Rule: TypeAlias = Literal["margin", "max-marginal", "tree-odds", "arc-odds"]

MOST_KEPT = 1_000_000
ANY_TREES: tuple[Rule, ...] = ("margin", "arc-odds")
"""Rules for trees that may cross."""


@dataclass(frozen=True, kw_only=True)
class PrunerSettings:
    """A small first-order model that leaves each word a few heads."""

    features: str = "pruner-v1"
    bits: int = 18
    rule: Rule | Literal["auto"] = "margin"
    """max-marginal and tree-odds are for projective trees alone; auto: tree-odds for these, arc-odds for
    others, from second order on; margin else."""
    keep: int = 12
    """Of the rule margin: heads per word at most, besides the word before it; of arc-odds in sentences so
    long that there would be more than 2048 arcs."""
    within: float = 2.5
    """Of the rule margin: only heads whose score is this near to the best one's."""
    alpha: float = 0.5
    """Of the rule max-marginal: 0 keeps what is above the average, 1 the best tree alone."""
    log_odds: float = 5.5
    """Of the rule tree-odds: how far an arc's best tree may be below the best one, as the log of a ratio; of
    arc-odds: the arc itself below the best one of its word."""
    among: int = 32
    """Of max-marginal and tree-odds: heads per word that they look at, those of the best scores."""

    def __post_init__(self) -> None:
        if not SMALLEST_TABLE <= self.bits <= LARGEST_TABLE:
            raise InputError(f"bits: expected {SMALLEST_TABLE} to {LARGEST_TABLE}, got {self.bits!r}")
        if not 1 <= self.keep <= MOST_KEPT:
            raise InputError(f"keep: expected 1 to {MOST_KEPT} heads per word, got {self.keep!r}")
        if not 0 <= self.within < math.inf:
            raise InputError(f"within: expected a finite number of at least 0, got {self.within!r}")
        if self.rule not in (*get_args(Rule), "auto"):
            raise InputError(f"rule: expected {' or '.join(get_args(Rule))} or auto, got {self.rule!r}")
        if not 0 <= self.alpha <= 1:
            raise InputError(f"alpha: expected 0 to 1, got {self.alpha!r}")
        if not 0 <= self.log_odds < math.inf:
            raise InputError(f"log_odds: expected a finite number of at least 0, got {self.log_odds!r}")
        if not 1 <= self.among <= MOST_KEPT:
            raise InputError(f"among: expected 1 to {MOST_KEPT} heads per word, got {self.among!r}")

    def resolved(self, trees: Trees, order: int) -> PrunerSettings:
        """With the rule that suits trees and order where it is left to them."""
        if self.rule != "auto":
            return self
        odds: Rule = "tree-odds" if trees == "projective" else "arc-odds"
        return replace(self, rule=odds if order > 1 else "margin")

    @property
    def native(self) -> Pruning:
        """As the core wants it."""
        if self.rule == "margin":
            return Pruning("margin", keep=self.keep, within=self.within)
        if self.rule == "arc-odds":
            return Pruning("probability", keep=self.keep, within=self.log_odds)
        if self.rule == "max-marginal":
            return Pruning("max-marginal", keep=self.among, alpha=self.alpha)
        return Pruning("max-marginal", keep=self.among, alpha=1.0, within=self.log_odds)


class Pruner:
    """Leaves each word a few heads; O(n²) per sentence, at a fraction of a parser's cost per arc."""

    def __init__(
        self, settings: PrunerSettings, weights: NDArray[np.float32], roots: Roots = "single"
    ) -> None:
        """`roots`: of the trees that max-marginals are of."""
        self.settings = settings
        self.weights = weights
        self.roots = roots
        self.scorer = pruner_scorer(settings, roots)

    def prune(self, sentences: Encoded, threads: int = 1) -> KeptArcs:
        """The arcs that are kept of every sentence."""
        return self.scorer.native.prune(sentences, self.weights, self.settings.native, threads)


def pruner_scorer(settings: PrunerSettings, roots: Roots = "single") -> LinearScorer:
    """The scorer of a pruner: arcs alone, any tree but for max-marginals.

    For the rule margin, `roots` matters only while it learns.
    """
    shape = GraphSettings(
        trees="nonprojective" if settings.rule in ANY_TREES else "projective",
        roots=roots,
        order=1,
        labels="none",
        features=settings.features,
        tree_bits=settings.bits,
    )
    return LinearScorer(shape, features.create(settings.features))


def require_rule(settings: PrunerSettings, trees: Trees) -> None:
    """InputError where the pruner's rule is not for such trees."""
    if settings.rule not in ANY_TREES and trees != "projective":
        raise InputError(
            f"rule: expected {' or '.join(ANY_TREES)} for trees that may cross, got {settings.rule}, which "
            "asks for the best projective trees; choose "
            'pruner_settings.rule = "arc-odds", or trees = "projective"'
        )
