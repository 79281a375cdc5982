"""Linear scores of arcs, siblings, grandparents and labels: sums of hashed weights.

`score` and `pullback` are adjoint: <score(x, w), c> = <w, pullback(x, c)> for all weights w and coefficients
c. Both go through all parts of a sentence, O(n²) arcs and O(n³) siblings and grandparents, so they are for
studying models and for tests; parsers and learners take the core's own loop over the arcs that a pruner left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from arbora._core import Encoded, GraphModel, SparseVector, Weights
from arbora.errors import InputError
from arbora.features import TemplateSet
from arbora.interfaces import PartKind, PartScores, Roots, Trees

Labels: TypeAlias = Literal["staged", "joint", "none"]
Task: TypeAlias = Literal["tree", "joint", "labels"]

SMALLEST_TABLE, LARGEST_TABLE = 10, 28


@dataclass(frozen=True, kw_only=True)
class GraphSettings:
    """What a graph parser is, besides its weights; stored in the model."""

    trees: Trees = "projective"
    roots: Roots = "single"
    order: Literal[1, 2, 3] = 2
    """3: contexts of higher order, too, of parsers that search by cube pruning."""
    grandparents: bool = True
    """Second order and above: score grandparents besides adjacent siblings."""
    labels: Labels = "staged"
    """staged: labels are chosen on the finished tree; joint: with it; none: trees without labels."""
    features: str = "graph-v1"
    tree_bits: int = 22
    """The table of arc, sibling and grandparent weights has 2^tree_bits entries."""
    label_bits: int = 22

    def __post_init__(self) -> None:
        for name, value, known in (
            ("trees", self.trees, get_args(Trees)),
            ("roots", self.roots, get_args(Roots)),
            ("order", self.order, (1, 2, 3)),
            ("labels", self.labels, get_args(Labels)),
        ):
            if value not in known:
                raise InputError(f"{name}: expected {' or '.join(map(str, known))}, got {value!r}")
        for name, bits in (("tree_bits", self.tree_bits), ("label_bits", self.label_bits)):
            if not SMALLEST_TABLE <= bits <= LARGEST_TABLE:
                raise InputError(f"{name}: expected {SMALLEST_TABLE} to {LARGEST_TABLE}, got {bits!r}")

    @property
    def parts(self) -> tuple[PartKind, ...]:
        """The kinds of parts that are scored."""
        if self.order == 1:
            return (PartKind.ARC,)
        higher = (PartKind.SIBLING, PartKind.GRANDPARENT) if self.grandparents else (PartKind.SIBLING,)
        return (PartKind.ARC, *higher)


class LinearScorer:
    """Scores by a template set's features; see `arbora.interfaces.Scorer`."""

    def __init__(
        self,
        settings: GraphSettings,
        templates: TemplateSet,
        *,
        labels: int = 0,
        seen: NDArray[np.uint8] | None = None,
    ) -> None:
        """`labels`: how many there are; `seen`: which of them each pair of tags had, (64 * 64 * labels,)."""
        self.settings = settings
        self.parts = settings.parts
        self.label_count = label_count = 0 if settings.labels == "none" else labels
        if seen is None:
            seen = np.ones(64 * 64 * label_count, dtype=np.uint8)
        self.native = GraphModel(
            **templates.compiled,
            projective=settings.trees == "projective",
            single_root=settings.roots == "single",
            use_siblings=PartKind.SIBLING in self.parts,
            use_grandparents=PartKind.GRANDPARENT in self.parts,
            label_count=label_count,
            seen=seen[: 64 * 64 * label_count],
            tree_bits=settings.tree_bits,
            label_bits=settings.label_bits,
        )

    def size(self, task: Task = "tree") -> int:
        """The length of a weight vector for a task."""
        return int(self.native.weight_count(task))

    def score(self, x: tuple[Encoded, int], w: Weights) -> PartScores:
        """Dense scores of sentence `x[1]` of a batch, as `arbora.inference` takes them."""
        arrays = zip(self._kinds, self.native.score_parts(*x, w), strict=True)
        return {kind: array for kind, array in arrays if array is not None}

    def pullback(self, x: tuple[Encoded, int], coefficients: PartScores) -> SparseVector:
        """The sum over parts of coefficient times features; coefficients are shaped as the scores."""
        given = (coefficients.get(kind) for kind in self._kinds)
        arrays = [None if array is None else np.ascontiguousarray(array, np.float64) for array in given]
        if arrays[0] is None:
            raise InputError(f"coefficients: expected an entry {PartKind.ARC.value!r}, got none")
        return self.native.pull_back(*x, arrays[0], arrays[1], arrays[2])

    _kinds = (PartKind.ARC, PartKind.SIBLING, PartKind.GRANDPARENT)
