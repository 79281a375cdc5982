"""The interfaces between the parts of Arbora: all that a contributor must read.

A family is a set of trees with a score for each part of a tree; it answers queries. A problem is a set of
examples with gold trees and a weight vector for their features; it is the learner's only input, so any
learner works with any problem that answers its queries.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

from numpy.typing import NDArray

from arbora._core import SparseVector as SparseVector
from arbora._core import Weights as Weights
from arbora.settings import Configured
from arbora.types import Doubles, Floats, Ints, Longs

if TYPE_CHECKING:
    from arbora.data.columns import Columns
    from arbora.data.encode import Batch, Names

Trees: TypeAlias = Literal["projective", "nonprojective"]
Roots: TypeAlias = Literal["single", "multi"]


class PartKind(StrEnum):
    """A kind of part; a tree's score is a sum over its parts. Values are names in `arbora.inference`."""

    ARC = "arcs"  # [head, dep]
    LABEL = "labels"  # [head, dep, label]
    SIBLING = "siblings"  # [head, dep, sibling]
    GRANDPARENT = "grandparents"  # [grandparent, head, dep]
    GRANDSIBLING = "grandsiblings"  # [grandparent, head, dep, sibling]

    @property
    def axes(self) -> int:
        """The number of axes of length n+1 of an array of scores; LABEL has one more, of labels."""
        return {PartKind.ARC: 2, PartKind.LABEL: 2, PartKind.GRANDSIBLING: 4}.get(self, 3)


class Query(StrEnum):
    """A query over a weighted set of trees.

    A family answers those of `FAMILY_QUERIES` with the method of that name; a search says which of them a
    parser answers. A problem knows the gold trees, so it answers the others: with a tree's cost added to its
    score, the value and gradient of its own loss (LOSS), and scores of single arcs for learners that keep
    their own (ARC_MARGINALS).
    """

    ARGMAX = "argmax"
    KBEST = "kbest"
    LOG_PARTITION = "log_partition"
    MARGINALS = "marginals"
    SAMPLE = "sample"
    COST_AUGMENTED = "cost_augmented"
    COST_AUGMENTED_MARGINALS = "cost_augmented_marginals"
    ARC_MARGINALS = "arc_marginals"
    LOSS = "loss"
    GIVEN_HEADS = "given_heads"
    """Parsing with some heads fixed."""


FAMILY_QUERIES: frozenset[Query] = frozenset(
    {Query.ARGMAX, Query.KBEST, Query.LOG_PARTITION, Query.MARGINALS, Query.SAMPLE}
)

PartScores: TypeAlias = Mapping[PartKind, NDArray[Any]]
"""One array per kind of part, of shape `(n+1,) * kind.axes`; conventions as in `arbora.inference`.

Scores of labels are added to those of arcs: a labelled arc scores `arcs[h, d] + labels[h, d, l]`."""

PartMarginals: TypeAlias = dict[PartKind, Doubles]


class Best(NamedTuple):
    """One tree: `heads` (n+1,), `heads[0] == -1`, its score, and labels (n+1,) if they are scored."""

    heads: Ints
    score: float
    labels: Ints | None = None


@dataclass(frozen=True, slots=True)
class GoldTree:
    """The gold tree of one sentence, possibly partial."""

    heads: Ints  # (n+1,); -1 for the root and for unknown heads
    labels: Ints  # (n+1,); -1 where unknown


class Family(Protocol):
    """A set of trees, independent of words, features and learning.

    Kinds of parts other than arcs may be missing in `scores`: they count 0 and have no marginals. A query
    that is neither in `queries` nor in `approximate` raises `InputError`; scores that allow no tree raise
    `NoTreeError`. Inputs are never written to.
    """

    name: ClassVar[str]
    """The name in the registry."""
    queries: ClassVar[frozenset[Query]]
    """Queries with exact answers."""
    approximate: ClassVar[frozenset[Query]]
    """Queries with approximate answers."""

    @property
    def trees(self) -> Trees:
        """Whether arcs may cross."""

    @property
    def roots(self) -> Roots:
        """Whether exactly one word has the head 0."""

    @property
    def parts(self) -> tuple[PartKind, ...]:
        """The kinds of parts that may be scored, arcs first."""

    def argmax(self, scores: PartScores) -> Best:
        """The best tree."""

    def kbest(self, scores: PartScores, k: int) -> list[Best]:
        """The k best trees, best first, all different; fewer if the family has fewer."""

    def log_partition(self, scores: PartScores) -> float:
        """The log of the sum of exp(score) over all trees."""

    def marginals(self, scores: PartScores) -> PartMarginals:
        """The probability of each part, in arrays shaped as the scores: the gradient of `log_partition`."""

    def marginals_along(self, scores: PartScores, direction: PartScores) -> PartMarginals:
        """The derivative of `marginals` along a direction of scores; for first-order scores."""

    def sample(self, scores: PartScores, k: int, *, seed: int = 0) -> list[Best]:
        """`k` independent random trees; the same seed gives the same trees."""


class Cost(Protocol):
    """The cost of a wrong tree: at least 0, and 0 for the gold tree. See `arbora.costs`."""

    def __call__(self, gold: GoldTree, heads: Ints, labels: Ints | None = None) -> float:
        """The cost of one tree, heads and labels (n+1,)."""

    def table(self, gold: GoldTree, label_count: int = 0) -> Doubles:
        """The cost of each arc, (n+1, n+1), or labelled arc, (n+1, n+1, label_count); a tree's is the sum."""


class Loss(Protocol):
    """A function of scores and a gold tree: its value, and its gradient with respect to the scores."""

    name: ClassVar[str]

    @property
    def needs(self) -> frozenset[Query]:
        """The queries that it asks of the family."""

    def __call__(
        self, scores: PartScores, gold: GoldTree, family: Family, cost: Cost
    ) -> tuple[float, PartScores]:
        """The loss of one sentence, and its gradient: arrays shaped as the scores."""


class Scorer(Protocol):
    """Scores the parts of trees. Its weights are one vector, which learners change.

    A registered scorer also has the class methods `build` and `from_parts`, which make one.
    `arbora.scorers.torch.TorchScorer` has all of it but `name`, `parts` and the scores themselves.
    """

    name: ClassVar[str]
    """The name in the registry and in model files."""

    @property
    def parts(self) -> tuple[PartKind, ...]:
        """The kinds of parts that it scores, arcs first."""

    @property
    def size(self) -> int:
        """The number of weights."""

    def score(self, batch: Batch) -> list[PartScores]:
        """The scores of each sentence's parts."""

    def pullback(self, batch: Batch, gradient: Sequence[PartScores]) -> SparseVector | Doubles:
        """The adjoint of `score`: from a gradient by the scores to one by the weights, (size,)."""

    def weights(self) -> Floats:
        """All weights, (size,)."""

    def with_weights(self, values: Floats) -> Scorer:
        """A copy with other weights."""

    def to_parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Tensors and JSON settings for a model file."""

    @classmethod
    def build(cls, columns: Columns, names: Names, *, seed: int = 0, **settings: Any) -> Scorer:
        """A new scorer for a treebank; `settings` are the user's, by name."""

    @classmethod
    def from_parts(
        cls, tensors: Mapping[str, NDArray[Any]], settings: dict[str, Any], names: Names
    ) -> Scorer:
        """The inverse of `to_parts`; InputError if the tensors do not fit the settings."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A problem's answer for one example, or a sum over several, at the present weights w."""

    loss: float
    """The cost of the predicted tree, such as wrong heads; at least 0, and 0 for the gold tree.

    For marginals: -log P(known part of the tree)."""
    margin: float
    """<w, difference>: the score of the gold tree minus that of the predicted one."""
    difference: SparseVector
    """f(gold tree) - f(predicted tree), for marginals f(gold tree) - E[f], the gradient of log P."""

    @property
    def hinge(self) -> float:
        """max(0, loss - margin)."""
        return max(0.0, self.loss - self.margin)


class Problem(Protocol):
    """Examples with gold trees: the only input of a learner.

    Answers depend on their arguments alone. `w` is never written to.
    """

    @property
    def queries(self) -> frozenset[Query]:
        """Queries that are answered, exactly or approximately."""

    @property
    def size(self) -> int:
        """The length of a weight vector."""

    def __len__(self) -> int:
        """The number of examples."""

    def answer(self, i: int, w: Weights, query: Query) -> Answer:
        """The best tree of example i by score (ARGMAX), or by score plus cost (COST_AUGMENTED).

        MARGINALS and COST_AUGMENTED_MARGINALS: the sum over all trees instead.
        """

    def candidates(self, i: int, w: Weights, k: int) -> list[Answer]:
        """The k best trees of example i by score, best first; fewer if there are fewer (KBEST)."""

    def total(self, indices: Longs, w: Weights, query: Query) -> Answer:
        """The sum of `answer` over examples; the same bytes for any number of threads."""

    def gradient(self, indices: Longs, w: Weights, query: Query) -> tuple[float, Doubles]:
        """The sum of -log P over examples and its gradient, (size,) (MARGINALS, or with costs)."""

    def arc_scores(self, i: int, w: Weights) -> Doubles:
        """The score of each arc of example i, (arcs,) (ARC_MARGINALS)."""

    def arc_gold(self, i: int) -> Doubles:
        """1 for the arcs of the gold tree, 0 for the others, (arcs,)."""

    def arc_marginals(self, i: int, scores: Doubles) -> tuple[float, Doubles]:
        """log Z and the probability of each arc, given these scores of arcs."""

    def arc_features(self, i: int, coefficients: Doubles) -> SparseVector:
        """The sum of the features of all arcs, each times its coefficient."""


class Candidates(Protocol):
    """The wrong trees among the k best of one example; d_j = f(gold tree) - f(tree j)."""

    @property
    def best(self) -> Answer:
        """The best tree, right or wrong."""

    @property
    def losses(self) -> Doubles:
        """The cost of each wrong tree, above 0, (m,); the best first."""

    @property
    def margins(self) -> Doubles:
        """<w, d_j>, (m,)."""

    def gram(self) -> Doubles:
        """<d_i, d_j>, (m, m)."""

    def add_to(self, w: Weights, multipliers: Doubles) -> None:
        """w += Σ multipliers[j] d_j."""


@runtime_checkable
class Listing(Protocol):
    """A problem with a fast way to `Candidates`."""

    def wrong_candidates(self, i: int, w: Weights, k: int) -> Candidates:
        """Those of `candidates(i, w, k)` that have a cost (KBEST)."""


@runtime_checkable
class Measured(Protocol):
    """A problem that counts what happens in an epoch."""

    def take_measures(self) -> dict[str, float]:
        """Counts since the last call, by name; the same for any number of threads."""


@runtime_checkable
class Initialised(Protocol):
    """A problem whose weights do not start at zero."""

    def initial_weights(self) -> Floats:
        """The weights to start with, (size,)."""


class StopTraining(Exception):  # noqa: N818 - a request, not an error
    """Raised by a callback to end training; `fit` returns the weights so far."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """The record of one pass over the examples."""

    number: int  # From 1
    loss: float  # The sum of the answers' losses, each at the weights of its step
    hinge: float  # The sum of the answers' hinges, each at the weights of its step
    updates: int  # The number of steps that changed the weights
    seconds: float = 0.0  # Time of the learner, without callbacks
    measures: Mapping[str, float] = field(default_factory=dict)
    """Other numbers, such as `primal`, `dual` and `gap` of the 1-slack SVM."""


class Progress(Protocol):
    """The argument of callbacks after each epoch. Arrays are copies, so get only those you need."""

    @property
    def epoch(self) -> Epoch:
        """The epoch that has just ended."""

    @property
    def history(self) -> Sequence[Epoch]:
        """All epochs so far, with this one."""

    @property
    def epochs(self) -> int:
        """The largest number of epochs."""

    def last(self) -> Floats:
        """The weights as they are, (size,)."""

    def averaged(self) -> Floats:
        """The average of the weights over all steps so far, (size,)."""

    def state(self) -> dict[str, NDArray[Any]]:
        """The state with which `fit(resume=...)` continues, to the same bytes."""


Callback: TypeAlias = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class Learned:
    """The result of `fit`."""

    last: Floats  # The weights after the last step, (size,)
    averaged: Floats  # Their average over all steps, (size,); `last` if the learner does not average
    history: tuple[Epoch, ...]  # One per finished epoch
    stopped: Literal["finished", "converged", "callback", "interrupted"]
    """Why training ended: all epochs done, converged, `StopTraining`, or Ctrl-C (within an epoch)."""


class Learner(Configured, ABC):
    """Finds weights for a problem; an immutable set of parameters with `fit`."""

    paper: ClassVar[str]
    """The key of the paper in docs/references.bib."""

    @property
    @abstractmethod
    def needs(self) -> frozenset[Query]:
        """Queries that the problem must answer."""

    @abstractmethod
    def fit(
        self,
        problem: Problem,
        *,
        callbacks: Sequence[Callback] = (),
        resume: Mapping[str, NDArray[Any]] | None = None,
    ) -> Learned:
        """Train; `callbacks` run after each epoch, `resume` is the `state()` of an earlier run's progress."""
