"""A pruner: a small first-order model that keeps a few heads per word, so that a parser is faster.

Four rules choose by its scores. `margin`: each word keeps its best few heads. The others consider whole
trees. Two use an arc's max-marginal m, the score of the best projective tree that has it, so the best tree
always survives; the last is for non-projective trees too.

    max-marginal    m(arc) >= α max m + (1 - α) mean m, learned by filter loss [rush-2012]
    tree-odds       m(arc) >= max m - log_odds, learned as a distribution over projective trees: the arc's
                    best tree is at most so many times less probable than the best of all
    arc-odds        log P(arc) >= max log P - log_odds over the heads of a word, learned as a distribution
                    over all trees [koo-2007]: a head is at most so many times less probable than the best
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from arbora._core import Encoded, KeptArcs, Pruning
from arbora.errors import InputError
from arbora.interfaces import Roots, Trees
from arbora.registry import features
from arbora.scorers import GraphSettings, LinearScorer
from arbora.scorers.linear import table_bits
from arbora.settings import Settings, parameter
from arbora.types import Floats

Rule: TypeAlias = Literal["margin", "max-marginal", "tree-odds", "arc-odds"]

MOST_KEPT = 1_000_000
ANY_TREES: tuple[Rule, ...] = ("margin", "arc-odds")  # Rules for projective and non-projective trees


@dataclass(frozen=True, kw_only=True)
class PrunerSettings(Settings):
    """A small first-order model that leaves each word a few heads."""

    features: str = parameter("pruner-v1", "a template set")
    bits: int = table_bits(18, "log2 of the number of weights")
    rule: Rule | Literal["auto"] = parameter(
        "margin",
        "which heads are kept. auto: margin for order 1; from order 2 on tree-odds for projective trees and "
        "arc-odds for others. max-marginal and tree-odds need projective trees",
    )
    keep: int = parameter(
        12,
        "margin: the most heads per word, besides the word before it; arc-odds: the same, in sentences that "
        "would have more than 2048 arcs",
        least=1,
        most=MOST_KEPT,
    )
    within: float = parameter(
        2.5, "margin: keep heads whose scores are within this distance of the best", least=0.0, below=math.inf
    )
    alpha: float = parameter(
        0.5, "max-marginal: 0 keeps arcs above the mean, 1 only those of the best tree", least=0.0, most=1.0
    )
    log_odds: float = parameter(
        5.5,
        "the log of the largest odds against a kept arc: for tree-odds, of the best tree to the best tree "
        "with the arc; for arc-odds, of the word's best arc to the arc",
        least=0.0,
        below=math.inf,
    )
    among: int = parameter(
        32, "max-marginal and tree-odds: heads considered per word", least=1, most=MOST_KEPT
    )

    def resolved(self, trees: Trees, order: int) -> PrunerSettings:
        """The same with the rule `auto` resolved for these trees and this order."""
        if self.rule != "auto":
            return self
        odds: Rule = "tree-odds" if trees == "projective" else "arc-odds"
        return replace(self, rule=odds if order > 1 else "margin")

    @property
    def native(self) -> Pruning:
        """The arguments of the core."""
        if self.rule == "margin":
            return Pruning("margin", keep=self.keep, within=self.within)
        if self.rule == "arc-odds":
            return Pruning("probability", keep=self.keep, within=self.log_odds)
        if self.rule == "max-marginal":
            return Pruning("max-marginal", keep=self.among, alpha=self.alpha)
        return Pruning("max-marginal", keep=self.among, alpha=1.0, within=self.log_odds)


@dataclass(eq=False)
class Pruner:
    """Keeps a few heads per word; O(n²) per sentence, at a fraction of a parser's cost per arc."""

    settings: PrunerSettings
    weights: Floats
    roots: Roots = "single"  # Of the trees of max-marginals

    def __post_init__(self) -> None:
        self.scorer = pruner_scorer(self.settings, self.roots)

    def prune(self, sentences: Encoded, threads: int = 1) -> KeptArcs:
        """The kept arcs of every sentence."""
        return self.scorer.native.prune(sentences, self.weights, self.settings.native, threads)


def pruner_scorer(settings: PrunerSettings, roots: Roots = "single") -> LinearScorer:
    """The first-order scorer of a pruner, over projective trees for max-marginals.

    For the rule margin, `roots` matters only in training.
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
    """Raise InputError if the pruner's rule is not for such trees."""
    if settings.rule not in ANY_TREES and trees != "projective":
        raise InputError(
            f"rule: expected {' or '.join(ANY_TREES)} for non-projective trees, got {settings.rule}; choose "
            'pruner_settings.rule = "arc-odds", or trees = "projective"'
        )
