"""The small interfaces that the pieces of Arbora meet at: all that a contributor must read.

A family is a set of trees with a score for each part of a tree. Whoever asks it something needs to know
only what stands here: which parts it scores, which questions it answers, what the answers look like.

A problem is a set of examples with a weight vector for their features; it answers a learner's questions, and
is all that a learner may touch. So any learner works with any problem that can answer its questions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from arbora._core import SparseVector as SparseVector
from arbora._core import Weights as Weights
from arbora.settings import Parameter as Parameter

if TYPE_CHECKING:
    from arbora.data.batch import Batch
    from arbora.data.columns import Columns
    from arbora.data.encode import Names

Trees: TypeAlias = Literal["projective", "nonprojective"]
Roots: TypeAlias = Literal["single", "multi"]

ROOTS: tuple[Roots, ...] = ("single", "multi")


class PartKind(StrEnum):
    """A kind of part that a tree's score is a sum over; its value is its name in `arbora.inference`."""

    ARC = "arcs"  # [head, dep]
    LABEL = "labels"  # [head, dep, label]
    SIBLING = "siblings"  # [head, dep, sibling]
    GRANDPARENT = "grandparents"  # [grandparent, head, dep]
    GRANDSIBLING = "grandsiblings"  # [grandparent, head, dep, sibling]

    @property
    def axes(self) -> int:
        """How many axes of an array of scores have length n+1; LABEL has one more, of labels."""
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
    """Parsing around heads that are given."""


FAMILY_QUERIES: frozenset[Query] = frozenset(
    {Query.ARGMAX, Query.KBEST, Query.LOG_PARTITION, Query.MARGINALS, Query.SAMPLE}
)


PartScores: TypeAlias = Mapping[PartKind, NDArray[Any]]
"""One array per kind of part, of shape `(n+1,) * kind.axes`; conventions as in `arbora.inference`.

Scores of labels are added to those of arcs: a labelled arc scores `arcs[h, d] + labels[h, d, l]`."""

PartMarginals: TypeAlias = dict[PartKind, NDArray[np.float64]]


class ScoredTree(Protocol):
    """A tree with its score: `heads` (n+1,), `heads[0] == -1`, and labels (n+1,) where they are scored."""

    @property
    def heads(self) -> NDArray[np.int32]: ...

    @property
    def score(self) -> float: ...

    @property
    def labels(self) -> NDArray[np.int32] | None: ...


@dataclass(frozen=True, slots=True)
class GoldTree:
    """The gold tree of one sentence, or what is known of it."""

    heads: NDArray[np.int32]
    """(n+1,); -1 for the root and for unknown heads."""
    labels: NDArray[np.int32]
    """(n+1,); -1 where unknown."""


class Family(Protocol):
    """A set of trees; knows nothing of words, features or learning.

    Kinds of parts other than arcs may be left out of `scores`: they then count 0, and have no marginals.
    A query that is neither in `queries` nor in `approximate` raises `InputError`; scores that leave no tree,
    `NoTreeError`. No array is ever written to.
    """

    @property
    def name(self) -> str:
        """The name in the registry."""

    @property
    def trees(self) -> Trees:
        """Whether arcs may cross."""

    @property
    def roots(self) -> Roots:
        """Whether exactly one word hangs on node 0."""

    @property
    def parts(self) -> tuple[PartKind, ...]:
        """What may be scored, arcs first."""

    @property
    def queries(self) -> frozenset[Query]:
        """What is answered exactly."""

    @property
    def approximate(self) -> frozenset[Query]:
        """What is answered, but not exactly."""

    def argmax(self, scores: PartScores) -> ScoredTree:
        """The best tree."""

    def kbest(self, scores: PartScores, k: int) -> list[ScoredTree]:
        """The k best trees, best first, all different; all of them where fewer exist."""

    def log_partition(self, scores: PartScores) -> float:
        """The log of the sum of exp(score) over all trees."""

    def marginals(self, scores: PartScores) -> PartMarginals:
        """The probability of each part, in arrays shaped as the scores: the gradient of `log_partition`."""

    def marginals_along(self, scores: PartScores, direction: PartScores) -> PartMarginals:
        """The derivative of `marginals` along a direction of scores; of first-order scores."""

    def sample(self, scores: PartScores, k: int, *, seed: int = 0) -> list[ScoredTree]:
        """`k` independent random trees; one seed gives one result."""


class Cost(Protocol):
    """What a wrong tree costs: at least 0, and 0 for the gold tree. See `arbora.costs`."""

    def __call__(
        self, gold: GoldTree, heads: NDArray[np.int32], labels: NDArray[np.int32] | None = None
    ) -> float:
        """The cost of one tree, heads and labels (n+1,)."""

    def table(self, gold: GoldTree, label_count: int = 0) -> NDArray[np.float64]:
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

    def pullback(self, batch: Batch, gradient: Sequence[PartScores]) -> SparseVector | NDArray[np.float64]:
        """The adjoint of `score`: from a gradient by the scores to one by the weights, (size,)."""

    def weights(self) -> NDArray[np.float32]:
        """All weights, (size,)."""

    def with_weights(self, values: NDArray[np.float32]) -> Scorer:
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
    """What a problem says of one example, or summed over several, at the weights w as they are when asked."""

    loss: float
    """The cost of the predicted tree: wrong heads, say. At least 0, and 0 for the right tree.

    For marginals: -log P(what is known of the tree)."""

    margin: float
    """How much better the right tree scores than the predicted one: <w, difference>."""

    difference: SparseVector
    """f(right tree) - f(predicted tree), whole numbers; for marginals f(right tree) - E[f], the gradient of
    log P."""

    @property
    def hinge(self) -> float:
        """How far the margin falls short of the loss; at least 0."""
        return max(0.0, self.loss - self.margin)


class Problem(Protocol):
    """Examples with their right trees: the only thing that a learner may touch.

    Answers depend on nothing but their arguments. `w` is read, never written to.
    """

    @property
    def queries(self) -> frozenset[Query]:
        """What is answered, exactly or as well as the family can."""

    @property
    def size(self) -> int:
        """The length of a weight vector."""

    def __len__(self) -> int:
        """The number of examples."""

    def answer(self, i: int, w: Weights, query: Query) -> Answer:
        """The best tree of example i by score (ARGMAX), or by score plus cost (COST_AUGMENTED).

        Instead of the best tree, the sum over all (MARGINALS, COST_AUGMENTED_MARGINALS).
        """

    def candidates(self, i: int, w: Weights, k: int) -> list[Answer]:
        """The k best trees of example i by score, best first; fewer where there are not so many (KBEST)."""

    def total(self, indices: NDArray[np.int64], w: Weights, query: Query) -> Answer:
        """The sum of `answer` over examples; the same bytes whatever the number of threads."""

    def gradient(
        self, indices: NDArray[np.int64], w: Weights, query: Query
    ) -> tuple[float, NDArray[np.float64]]:
        """The sum of -log P over examples and its gradient, (size,) (MARGINALS, or with costs)."""

    def arc_scores(self, i: int, w: Weights) -> NDArray[np.float64]:
        """The score of each arc of example i, (arcs,) (ARC_MARGINALS)."""

    def arc_gold(self, i: int) -> NDArray[np.float64]:
        """1 for the arcs of the right tree, 0 for the others, (arcs,)."""

    def arc_marginals(self, i: int, scores: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """log Z and the probability of each arc where arcs have these scores."""

    def arc_features(self, i: int, coefficients: NDArray[np.float64]) -> SparseVector:
        """The sum of the features of all arcs, each times its coefficient."""


class Candidates(Protocol):
    """Wrong trees of one example, to be weighed against each other; d_j = f(right tree) - f(tree j)."""

    @property
    def best(self) -> Answer:
        """The tree that scores best, be it right or wrong."""

    @property
    def losses(self) -> NDArray[np.float64]:
        """The cost of each wrong tree, above 0, (m,); the best first."""

    @property
    def margins(self) -> NDArray[np.float64]:
        """<w, d_j>, (m,)."""

    def gram(self) -> NDArray[np.float64]:
        """<d_i, d_j>, (m, m)."""

    def add_to(self, w: Weights, multipliers: NDArray[np.float64]) -> None:
        """w += Σ multipliers[j] d_j."""


@runtime_checkable
class Listing(Protocol):
    """A problem that knows a shorter way from its k best trees to what `Candidates` tells of them."""

    def wrong_candidates(self, i: int, w: Weights, k: int) -> Candidates:
        """Those of `candidates(i, w, k)` that cost something (KBEST)."""


@runtime_checkable
class Measured(Protocol):
    """A problem that has something to tell of how it was asked."""

    def take_measures(self) -> dict[str, float]:
        """Since the last call, by name; the same whatever the number of threads."""


@runtime_checkable
class Initialised(Protocol):
    """A problem whose weights do not begin at zero."""

    def initial_weights(self) -> NDArray[np.float32]:
        """The weights to begin with, (size,)."""


class StopTraining(Exception):  # noqa: N818 - a request, not a fault
    """Raised by a callback after an epoch: that was enough, `fit` returns what it has."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """What happened in one pass over the examples."""

    number: int
    """From 1."""

    loss: float
    """Sum of the answers' losses over the examples, each at the weights of its time."""

    hinge: float
    """Sum of the answers' hinges, likewise."""

    updates: int
    """How many steps changed the weights."""

    seconds: float
    """Spent by the learner; callbacks not counted."""

    measures: Mapping[str, float] = field(default_factory=dict)
    """What else the learner knows: `primal`, `dual` and `gap` of the 1-slack SVM."""


class Progress(Protocol):
    """What a callback is handed after each epoch; arrays are copies, so ask only for what is needed."""

    @property
    def epoch(self) -> Epoch:
        """The epoch that has just ended."""

    @property
    def history(self) -> Sequence[Epoch]:
        """All epochs so far, this one included."""

    @property
    def epochs(self) -> int:
        """How many there are at most."""

    def last(self) -> NDArray[np.float32]:
        """The weights as they are, (size,)."""

    def averaged(self) -> NDArray[np.float32]:
        """The average of the weights over all steps so far, (size,)."""

    def state(self) -> dict[str, NDArray[Any]]:
        """All that `fit(resume=...)` needs to go on from here, to the same bytes."""


Callback: TypeAlias = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class Learned:
    """What `fit` returns."""

    last: NDArray[np.float32]
    """The weights after the last step, (size,)."""

    averaged: NDArray[np.float32]
    """Their average over all steps, (size,); a learner that needs no average gives `last` again."""

    history: tuple[Epoch, ...]
    """One per epoch that was finished."""

    stopped: Literal["finished", "converged", "callback", "interrupted"]
    """Why it ended: all epochs done, nothing left to gain, `StopTraining`, or Ctrl-C (within an epoch)."""


class Learner(Protocol):
    """Finds weights for a problem; an immutable set of parameters with one method."""

    name: ClassVar[str]
    paper: ClassVar[str]
    """The key of the paper in docs/references.bib."""

    @classmethod
    def parameters(cls) -> tuple[Parameter, ...]:
        """All parameters with their ranges, in order."""

    @classmethod
    def parse(cls, texts: Mapping[str, str]) -> dict[str, int | float | str]:
        """Values for the constructor from `NAME=VALUE` pairs of a command line; checked."""

    @property
    def needs(self) -> frozenset[Query]:
        """What the problem must answer."""

    def settings(self) -> dict[str, int | float | str]:
        """All parameters with their values, as a config file can hold them."""

    def fit(
        self,
        problem: Problem,
        *,
        callbacks: Sequence[Callback] = (),
        resume: Mapping[str, NDArray[Any]] | None = None,
    ) -> Learned:
        """Train; `callbacks` run after each epoch, `resume` is the `state()` of an earlier run's progress."""
