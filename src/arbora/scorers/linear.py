"""Linear scores of arcs, siblings, grandparents and labels: sums of hashed weights.

`score` and `pullback` are adjoint: <score(x, w), c> = <w, pullback(x, c)> for all weights w and coefficients
c. Both visit all parts of a sentence, O(n²) arcs and O(n³) siblings and grandparents, so that any search and
any loss can use them. The built-in searches and problems use the core's fused loop over the arcs that a
pruner kept; tests show that both give the same answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arbora._core import Encoded, GraphModel, SparseVector, Weights
from arbora.data.columns import Columns
from arbora.data.encode import Batch, Names
from arbora.errors import InputError
from arbora.features import TemplateSet
from arbora.features.clusters_v1 import SUFFIX as CLUSTER_SUFFIX
from arbora.interfaces import PartKind, PartScores, Roots, Trees
from arbora.registry import features
from arbora.settings import Settings, from_dict, parameter, to_dict
from arbora.types import Floats, weights_of

Labels: TypeAlias = Literal["staged", "joint", "none"]
Task: TypeAlias = Literal["tree", "joint", "labels"]

SMALLEST_TABLE, LARGEST_TABLE = 10, 28
KINDS = (PartKind.ARC, PartKind.SIBLING, PartKind.GRANDPARENT)


def table_bits(default: int | str, help: str) -> Any:  # noqa: A002
    """A setting for the size of a table of weights, as a power of 2."""
    return parameter(default, help, least=SMALLEST_TABLE, most=LARGEST_TABLE)


@dataclass(frozen=True, kw_only=True)
class GraphSettings(Settings):
    """The settings of a graph parser; stored in the model."""

    trees: Trees = parameter("projective", "whether arcs may cross")
    roots: Roots = parameter("single", "whether trees have exactly one root")
    order: Literal[1, 2, 3] = parameter(2, "1: arcs; 2: siblings, too; 3: larger contexts (cube pruning)")
    grandparents: bool = parameter(True, "from order 2 on: score grandparents besides adjacent siblings")
    labels: Labels = parameter(
        "staged", "staged: labels are chosen on the finished tree; joint: with it; none: no labels"
    )
    features: str = parameter("graph-v1", "a template set")
    tree_bits: int = table_bits(22, "log2 of the number of arc, sibling and grandparent weights")
    label_bits: int = table_bits(22, "log2 of the number of label weights")

    @property
    def parts(self) -> tuple[PartKind, ...]:
        """The kinds of parts that are scored."""
        return KINDS[: 1 if self.order == 1 else 3 if self.grandparents else 2]


@dataclass(eq=False, repr=False)
class HashedScorer:
    """The base of scorers with hashed weights; problems take one without weights, and supply their own."""

    settings: GraphSettings
    templates: Any
    _: KW_ONLY
    labels: int = 0  # How many there are
    seen: Any = None
    """Which labels each pair of tags had in training, uint8 (64 * 64 * labels,); all of them by default."""
    tree: Any = None  # The weights of trees, float32; zeros by default
    label_weights: Floats | None = None

    def __post_init__(self) -> None:
        self.label_count = 0 if self.settings.labels == "none" else self.labels
        if self.seen is None:
            self.seen = np.ones(64 * 64 * self.labels, dtype=np.uint8)
        if self.tree is None:
            self.tree = np.zeros(self.weight_count("tree"), dtype=np.float32)
        self._native_options: dict[str, Any] = {
            **self.templates.compiled,
            "label_count": self.label_count,
            "seen": self.seen[: 64 * 64 * self.label_count],
            "label_bits": self.settings.label_bits,
            "single_root": self.settings.roots == "single",
        }

    @property
    def needs_guide(self) -> bool:
        """Whether features read the trees of another parser."""
        return bool(self.templates.needs_guide)

    def weight_count(self, task: Task = "tree") -> int:
        """The length of a weight vector: of trees or moves (tree), of labels, or of both (joint)."""
        tree, labels = 1 << self.settings.tree_bits, 1 << self.settings.label_bits
        return {"tree": tree, "labels": labels, "joint": tree + (labels if self.label_count else 0)}[task]

    def replaced(self, **changes: Any) -> Self:
        """A copy with other settings or weights."""
        return replace(self, **changes)


class LinearScorer(HashedScorer):
    """Scores arcs, siblings and grandparents by the features of a template set; a `Scorer`."""

    name: ClassVar[str] = "linear"
    templates: TemplateSet

    def __post_init__(self) -> None:
        super().__post_init__()
        self.parts = self.settings.parts
        self.native = GraphModel(
            **self._native_options,
            projective=self.settings.trees == "projective",
            use_siblings=PartKind.SIBLING in self.parts,
            use_grandparents=PartKind.GRANDPARENT in self.parts,
            tree_bits=self.settings.tree_bits,
        )

    @property
    def size(self) -> int:
        """The number of weights of parts; those of labels belong to the fused search."""
        return self.weight_count("tree")

    def weights(self) -> Floats:
        weights: Floats = self.tree
        return weights

    def with_weights(self, values: Floats) -> Self:
        return self.replaced(tree=values)

    def score(self, batch: Batch) -> list[PartScores]:
        """Dense scores: O(n²) arcs, O(n³) siblings and grandparents per sentence."""
        w = weights_of(self.tree)
        return [self.sentence_scores(batch.encoded, i, w) for i in range(len(batch))]

    def pullback(self, batch: Batch, gradient: Sequence[PartScores]) -> SparseVector:
        vectors = [self.sentence_pullback(batch.encoded, i, each) for i, each in enumerate(gradient)]
        indices = np.concatenate([vector.indices for vector in vectors])
        values = np.concatenate([vector.values for vector in vectors])
        used, places = np.unique(indices, return_inverse=True)
        return SparseVector(used, np.bincount(places, weights=values, minlength=len(used)))

    @classmethod
    def build(cls, columns: Columns, names: Names, *, seed: int = 0, **settings: Any) -> Self:
        """A scorer of unlabelled trees with zero weights; `settings` as of `GraphSettings`."""
        templates = GraphSettings().features + ("" if names.clusters is None else CLUSTER_SUFFIX)
        shape = from_dict(GraphSettings, {"labels": "none", "order": 1, "features": templates, **settings})
        return cls(shape, features.create(shape.features))

    def sentence_scores(self, sentences: Encoded, sentence: int, w: Weights) -> PartScores:
        """Dense scores of one sentence, as `arbora.inference` takes them."""
        arrays = zip(KINDS, self.native.score_parts(sentences, sentence, w), strict=True)
        return {kind: array for kind, array in arrays if array is not None}

    def sentence_pullback(self, sentences: Encoded, sentence: int, coefficients: PartScores) -> SparseVector:
        """The sum over parts of coefficient times features; coefficients are shaped as the scores."""
        given = (coefficients.get(kind) for kind in KINDS)
        arrays = [None if array is None else np.ascontiguousarray(array, np.float64) for array in given]
        if arrays[0] is None:
            raise InputError(f"coefficients: expected an entry {PartKind.ARC.value!r}, got none")
        return self.native.pull_back(sentences, sentence, arrays[0], arrays[1], arrays[2])

    def to_parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Tensors and settings; the fused search also stores those of labels."""
        return {"tree": self.tree}, to_dict(self.settings)

    @classmethod
    def from_parts(cls, tensors: Mapping[str, NDArray[Any]], settings: dict[str, Any], names: Names) -> Self:
        """The inverse of `to_parts`."""
        shape = from_dict(GraphSettings, settings)
        return cls(shape, features.create(shape.features), labels=len(names.labels), tree=tensors["tree"])
