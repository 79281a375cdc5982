"""Native core of Arbora."""

from collections.abc import Sequence
import enum
from typing import Annotated, Any

import numpy
import numpy.typing
from numpy.typing import NDArray


def stop_native(stop: bool) -> None:
    """
    Stop all long native calls of this process, present and future, until it is revoked; they raise StoppedError.
    """

class StopFlag:
    """
    Within `with flag:`, `flag.stop()` from another thread stops long native calls; they raise StoppedError.
    """

    def __init__(self) -> None: ...

    def stop(self) -> None:
        """Stop all running and later calls in the block."""

    @property
    def is_set(self) -> bool:
        """Whether `stop` was called."""

    def __enter__(self) -> StopFlag: ...

    def __exit__(self, *error: object) -> None: ...

class ConllColumns:
    """Sentences as flat arrays; see arbora.data.columns."""

    def ids(self, column: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...

    def strings(self, column: int) -> list[str]: ...

    @property
    def heads(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...

    @property
    def lines(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...

    @property
    def sentence_offsets(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...

    @property
    def extra_offsets(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...

    @property
    def sentence_lines(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...

    @property
    def blank_lines(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...

    @property
    def carriage_returns(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,), writable=False)]: ...

    @property
    def extra_kinds(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,), writable=False)]: ...

    @property
    def extra_positions(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...

    @property
    def byte_order_mark(self) -> bool: ...

    @property
    def final_newline(self) -> bool: ...

    @property
    def leading_blank_lines(self) -> int: ...

    def extra_texts(self) -> list[str]: ...

    def with_column(self, column: int, ids: numpy.typing.NDArray[numpy.int32], names: Sequence[str]) -> ConllColumns:
        """A copy with other texts in one column."""

    def select(self, sentences: numpy.typing.NDArray[numpy.int64]) -> ConllColumns:
        """A copy of some sentences."""

    def to_bytes(self) -> bytes: ...

    def with_trees(self, heads: numpy.typing.NDArray[numpy.int32], labels: numpy.typing.NDArray[numpy.int32], names: Sequence[str]) -> ConllColumns:
        """A copy with other trees."""

    @staticmethod
    def concat(parts: Sequence[ConllColumns]) -> ConllColumns:
        """All sentences of several, in order."""

class ConllReader:
    """Reads CoNLL-U or CoNLL-X in pieces; see arbora.data.treebank."""

    def __init__(self, *, conllx: bool, single_root: bool, lenient: bool) -> None: ...

    def parse(self, text: bytes, last: bool) -> int: ...

    def read_arrays(self, texts: list[list[str] | tuple[numpy.typing.NDArray[numpy.int32], list[str]] | None], heads: numpy.typing.NDArray[numpy.int32], offsets: numpy.typing.NDArray[numpy.int64], other_lines: list[Any]) -> None: ...

    def take(self) -> ConllColumns: ...

    def take_problems(self) -> list[tuple[int, str, str, str]]: ...

    @property
    def failed(self) -> bool: ...

    @property
    def skipped(self) -> int: ...

def measure_trees(heads: numpy.typing.NDArray[numpy.int32], offsets: numpy.typing.NDArray[numpy.int64]) -> tuple[numpy.typing.NDArray[numpy.uint8], numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.int32]]:
    """
    Per word: is its arc non-projective; per sentence: depth and number of roots (-1: no tree).
    """

class Trees(enum.Enum):
    projective = 0

    nonprojective = 1

class Roots(enum.Enum):
    single = 0

    multi = 1

def argmax(arcs: list[numpy.typing.NDArray[numpy.float64]], siblings: list[numpy.typing.NDArray[numpy.float64]] | None, grandparents: list[numpy.typing.NDArray[numpy.float64]] | None, grandsiblings: list[numpy.typing.NDArray[numpy.float64]] | None, trees: Trees, roots: Roots, threads: int) -> tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.int32] | None, numpy.typing.NDArray[numpy.float64]]:
    """
    The best tree of each sentence, one after the other: heads, labels, scores.
    """

def kbest(arcs: list[numpy.typing.NDArray[numpy.float64]], k: int, siblings: list[numpy.typing.NDArray[numpy.float64]] | None, grandparents: list[numpy.typing.NDArray[numpy.float64]] | None, grandsiblings: list[numpy.typing.NDArray[numpy.float64]] | None, trees: Trees, roots: Roots, threads: int) -> list[tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.int32] | None, numpy.typing.NDArray[numpy.float64]]]:
    """The k best trees, best first, for each sentence."""

def log_partition(arcs: list[numpy.typing.NDArray[numpy.float64]], siblings: list[numpy.typing.NDArray[numpy.float64]] | None, grandparents: list[numpy.typing.NDArray[numpy.float64]] | None, grandsiblings: list[numpy.typing.NDArray[numpy.float64]] | None, trees: Trees, roots: Roots, threads: int, width: int) -> numpy.typing.NDArray[numpy.float64]:
    """log Z of each sentence. width: see Problem in core/trees/problem.hpp."""

def marginals(arcs: list[numpy.typing.NDArray[numpy.float64]], siblings: list[numpy.typing.NDArray[numpy.float64]] | None, grandparents: list[numpy.typing.NDArray[numpy.float64]] | None, grandsiblings: list[numpy.typing.NDArray[numpy.float64]] | None, trees: Trees, roots: Roots, threads: int, width: int) -> list[tuple[Any, Any, Any, Any]]:
    """
    P(part) for each sentence: arcs (or arcs and labels), siblings, grandparents, grandsiblings.
    """

def marginals_along(arcs: list[numpy.typing.NDArray[numpy.float64]], directions: list[numpy.typing.NDArray[numpy.float64]], trees: Trees, roots: Roots, threads: int) -> list[numpy.typing.NDArray[numpy.float64]]:
    """
    How P(arc) changes as unlabelled scores move along directions that are shaped as they are.
    """

def sample(arcs: list[numpy.typing.NDArray[numpy.float64]], count: int, seed: int, siblings: list[numpy.typing.NDArray[numpy.float64]] | None, grandparents: list[numpy.typing.NDArray[numpy.float64]] | None, grandsiblings: list[numpy.typing.NDArray[numpy.float64]] | None, trees: Trees, roots: Roots, threads: int) -> tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.int32] | None, numpy.typing.NDArray[numpy.float64]]:
    """Independent random trees of each sentence, one after the other."""

def word_scores(arcs: numpy.typing.NDArray[numpy.float64], heads: list[int], siblings: list[numpy.typing.NDArray[numpy.float64]] | None, grandparents: list[numpy.typing.NDArray[numpy.float64]] | None, grandsiblings: list[numpy.typing.NDArray[numpy.float64]] | None) -> numpy.typing.NDArray[numpy.float64]:
    """
    The sum of the scores of each word's own parts in a tree, for one unlabelled sentence.
    """

def in_family(heads: list[int], trees: Trees, roots: Roots) -> bool:
    """Is this a tree of the family? Heads lie in 0..n."""

def check(arcs: list[numpy.typing.NDArray[numpy.float64]], siblings: list[numpy.typing.NDArray[numpy.float64]] | None, grandparents: list[numpy.typing.NDArray[numpy.float64]] | None, grandsiblings: list[numpy.typing.NDArray[numpy.float64]] | None, trees: Trees, roots: Roots) -> None:
    """Raises InputError if a score that is not ignored is NaN or too large."""

def ready_axes(arcs: list[Any]) -> int:
    """
    2 or 3 where all arrays are float64, C-contiguous, of shape (m, m) or (m, m, labels); else 0.
    """

def instruction_set() -> str:
    """The vector instruction set that inference uses on this machine."""

class Encoded:
    """Sentences as ids; see arbora.data.encode."""

    def __init__(self, columns: ConllColumns, tags: Sequence[str], labels: Sequence[str], ignored: Sequence[str] = [], clusters: Clusters | None = None) -> None: ...

    def __len__(self) -> int: ...

    @property
    def words(self) -> int: ...

    def length(self, sentence: int) -> int: ...

    @property
    def lengths(self) -> numpy.typing.NDArray[numpy.int64]: ...

    @property
    def heads(self) -> numpy.typing.NDArray[numpy.int32]: ...

    @property
    def labels(self) -> numpy.typing.NDArray[numpy.int32]: ...

    def set_heads(self, heads: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def set_guide(self, heads: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], names: Sequence[str]) -> None:
        """The trees of a guide; labels are places in `names`, -1: none."""

    @property
    def has_guide(self) -> bool: ...

    def is_annotated(self, task: str) -> bool:
        """Whether every word has a head and, if the task has labels, a label."""

    def seen_labels(self, labels: int) -> numpy.typing.NDArray[numpy.uint8]:
        """Labels by tags of head and dependent; see arbora::graph::complete."""

class Pruning:
    """How a pruner chooses arcs; see arbora.parsing.pruner."""

    def __init__(self, rule: str = 'margin', keep: int = 1, within: float = 0.0, alpha: float = 0.0) -> None: ...

class KeptArcs:
    """The arcs kept by a pruner."""

    def __len__(self) -> int: ...

    @property
    def arcs(self) -> int: ...

    def heads_of(self, sentence: int, dep: int) -> list[int]: ...

    def restore_gold(self, sentences: Encoded) -> int:
        """Restores the arcs of the gold trees; returns how many were missing."""

class GraphModel:
    """
    Templates, tree family and label sets of a graph parser; see arbora.scorers.linear.
    """

    def __init__(self, *, arcs: Sequence[Sequence[tuple[int, int, int]]], siblings: Sequence[Sequence[tuple[int, int, int]]], grandparents: Sequence[Sequence[tuple[int, int, int]]], labels: Sequence[Sequence[tuple[int, int, int]]], guides: Sequence[Sequence[tuple[int, int, int]]] = [], guide_labels: Sequence[Sequence[tuple[int, int, int]]] = [], projective: bool, single_root: bool, use_siblings: bool, use_grandparents: bool, label_count: int, seen: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], tree_bits: int, label_bits: int) -> None: ...

    def weight_count(self, task: str) -> int: ...

    def score_parts(self, sentences: Encoded, sentence: int, weights: Weights) -> tuple[numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64] | None, numpy.typing.NDArray[numpy.float64] | None]: ...

    def pull_back(self, sentences: Encoded, sentence: int, arcs: numpy.typing.NDArray[numpy.float64], siblings: numpy.typing.NDArray[numpy.float64] | None, grandparents: numpy.typing.NDArray[numpy.float64] | None) -> SparseVector: ...

    def prune(self, sentences: Encoded, weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], pruning: Pruning, threads: int) -> KeptArcs: ...

    def parse(self, sentences: Encoded, tree: numpy.typing.NDArray[numpy.float32], labels: numpy.typing.NDArray[numpy.float32] | None, staged: bool, pruner: GraphModel | None, pruner_weights: numpy.typing.NDArray[numpy.float32] | None, pruning: Pruning, keep_heads: bool, threads: int) -> tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.int32]]: ...

class FilterQuestions:
    """
    A learner's queries about the filter loss of a treebank; see arbora.problems.filter.
    """

    def __init__(self, model: GraphModel, sentences: Encoded, alpha: float, among: int, threads: int) -> None: ...

    def __len__(self) -> int: ...

    @property
    def weight_count(self) -> int: ...

    def ask(self, example: int, weights: Weights, cost_augmented: bool) -> tuple[float, float, SparseVector]: ...

    def total(self, examples: numpy.typing.NDArray[numpy.int64], weights: Weights, cost_augmented: bool) -> tuple[float, float, SparseVector]: ...

class GraphQuestions:
    """A learner's queries about a treebank; see arbora.problems.graph."""

    def __init__(self, model: GraphModel, sentences: Encoded, task: str, arcs: KeptArcs | None, threads: int, cost: tuple[float, float]) -> None: ...

    def __len__(self) -> int: ...

    @property
    def weight_count(self) -> int: ...

    def ask(self, example: int, weights: Weights, cost_augmented: bool) -> tuple[float, float, SparseVector]: ...

    def total(self, examples: numpy.typing.NDArray[numpy.int64], weights: Weights, cost_augmented: bool) -> tuple[float, float, SparseVector]: ...

    def candidates(self, example: int, weights: Weights, k: int) -> list[tuple[float, float, SparseVector]]: ...

class GraphLikelihood:
    """A treebank's probability and its gradient; see arbora.problems.graph."""

    def __init__(self, model: GraphModel, sentences: Encoded, task: str, arcs: KeptArcs | None, threads: int, cost: tuple[float, float]) -> None: ...

    def __len__(self) -> int: ...

    @property
    def weight_count(self) -> int: ...

    def ask(self, example: int, weights: Weights, cost_augmented: bool) -> tuple[float, float, SparseVector]: ...

    def total(self, examples: numpy.typing.NDArray[numpy.int64], weights: Weights, cost_augmented: bool) -> tuple[float, float, SparseVector]: ...

    def gradient(self, examples: numpy.typing.NDArray[numpy.int64], weights: Weights, cost_augmented: bool) -> tuple[float, numpy.typing.NDArray[numpy.float64]]: ...

    def arcs(self, sentence: int) -> int: ...

    def arc_scores(self, sentence: int, weights: Weights) -> numpy.typing.NDArray[numpy.float64]: ...

    def gold_arcs(self, sentence: int) -> numpy.typing.NDArray[numpy.float64]: ...

    def arc_sums(self, sentence: int, scores: numpy.typing.NDArray[numpy.float64]) -> tuple[float, numpy.typing.NDArray[numpy.float64]]: ...

    def arc_features(self, sentence: int, coefficients: numpy.typing.NDArray[numpy.float64]) -> SparseVector: ...

def exchange_classes(text: numpy.typing.NDArray[numpy.int32], start: numpy.typing.NDArray[numpy.int32], classes: int, rounds: int) -> tuple[numpy.typing.NDArray[numpy.int32], list[float], list[int]]:
    """
    Classes of words by the exchange algorithm: of each word, the value before and after each round, and how many words moved in it.
    """

class GraphConfidence:
    """
    Results of GraphJudge, all sentences in a row; see core/parser/confidence.hpp.
    """

    @property
    def counts(self) -> numpy.typing.NDArray[numpy.int64]: ...

    @property
    def entropies(self) -> numpy.typing.NDArray[numpy.float64]: ...

    @property
    def log_probabilities(self) -> numpy.typing.NDArray[numpy.float64]: ...

    @property
    def scores(self) -> numpy.typing.NDArray[numpy.float64]: ...

    @property
    def heads(self) -> numpy.typing.NDArray[numpy.int32]: ...

    @property
    def labels(self) -> numpy.typing.NDArray[numpy.int32]: ...

    @property
    def head_probabilities(self) -> numpy.typing.NDArray[numpy.float64]: ...

    @property
    def label_probabilities(self) -> numpy.typing.NDArray[numpy.float64]: ...

    @property
    def head_entropies(self) -> numpy.typing.NDArray[numpy.float64]: ...

    @property
    def known_head_probabilities(self) -> numpy.typing.NDArray[numpy.float64]: ...

    @property
    def known_label_probabilities(self) -> numpy.typing.NDArray[numpy.float64]: ...

    @property
    def arc_table(self) -> numpy.typing.NDArray[numpy.float64]: ...

    @property
    def label_table(self) -> numpy.typing.NDArray[numpy.float64]: ...

class GraphJudge:
    """Confidence of a graph parser; see arbora.parsing.parsed."""

    def __init__(self, model: GraphModel, tree: numpy.typing.NDArray[numpy.float32], labels: numpy.typing.NDArray[numpy.float32] | None, staged: bool, pruner: GraphModel | None, pruner_weights: numpy.typing.NDArray[numpy.float32] | None, pruning: Pruning) -> None: ...

    def judge(self, sentences: Encoded, *, decode: str, k: int, tree_temperature: float, risk_temperature: float, label_temperature: float, missed: float, arc_table: bool, label_table: bool, keep_heads: bool, threads: int) -> GraphConfidence:
        """
        decode: argmax, minimum-risk or given; k > 0: the k most probable trees instead.
        """

    def scores(self, sentences: Encoded, sentence: int, *, tree_temperature: float, label_temperature: float) -> numpy.typing.NDArray[numpy.float64]: ...

class CubeModel:
    """
    A graph model with contexts of higher order, searched by cube pruning; see arbora.scorers.cube.
    """

    def __init__(self, *, parts: GraphModel, chains: Sequence[Sequence[tuple[int, int, int]]], lineages: Sequence[Sequence[tuple[int, int, int]]], closings: Sequence[Sequence[tuple[int, int, int]]], beam: int, most_labels: int, labels_within: float) -> None: ...

    def parse(self, sentences: Encoded, tree: numpy.typing.NDArray[numpy.float32], labels: numpy.typing.NDArray[numpy.float32] | None, label_filter: numpy.typing.NDArray[numpy.float32] | None, pruner: GraphModel | None, pruner_weights: numpy.typing.NDArray[numpy.float32] | None, pruning: Pruning, keep_heads: bool, threads: int) -> tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.int32]]: ...

    def kbest(self, sentences: Encoded, tree: numpy.typing.NDArray[numpy.float32], labels: numpy.typing.NDArray[numpy.float32] | None, label_filter: numpy.typing.NDArray[numpy.float32] | None, pruner: GraphModel | None, pruner_weights: numpy.typing.NDArray[numpy.float32] | None, pruning: Pruning, k: int, keep_heads: bool, threads: int) -> tuple[numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.int32]]: ...

class CubeQuestions:
    """A learner's queries about a treebank; see arbora.problems.cube."""

    def __init__(self, model: CubeModel, sentences: Encoded, arcs: KeptArcs | None, label_filter: numpy.typing.NDArray[numpy.float32] | None, update: str, threads: int, cost: tuple[float, float]) -> None: ...

    def __len__(self) -> int: ...

    @property
    def weight_count(self) -> int: ...

    def ask(self, example: int, weights: Weights, cost_augmented: bool) -> tuple[float, float, SparseVector]: ...

    def total(self, examples: numpy.typing.NDArray[numpy.int64], weights: Weights, cost_augmented: bool) -> tuple[float, float, SparseVector]: ...

    def candidates(self, example: int, weights: Weights, k: int) -> list[tuple[float, float, SparseVector]]: ...

    def take_tally(self) -> tuple[int, int]: ...

class SparseVector:
    """Ascending distinct indices with nonzero values."""

    def __init__(self, indices: numpy.typing.ArrayLike, values: numpy.typing.ArrayLike) -> None:
        """Of entries in any order; values of the same index are summed."""

    def __len__(self) -> int: ...

    @property
    def indices(self) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,), writable=False)]: ...

    @property
    def values(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None,), writable=False)]: ...

    @property
    def norm2(self) -> float:
        """The sum of squares."""

    def dot(self, other: SparseVector) -> float: ...

    def plus(self, other: SparseVector, factor: float = 1.0) -> SparseVector:
        """self + factor * other"""

    def __add__(self, arg: SparseVector, /) -> SparseVector: ...

    def __eq__(self, other: object, /) -> bool: ...

class Weights:
    """
    w = scale * v with a running average; every operation costs what it touches.
    """

    def __init__(self, size: int, averaged: bool = True) -> None: ...

    def __len__(self) -> int: ...

    @property
    def size(self) -> int: ...

    @property
    def averaged(self) -> bool: ...

    @property
    def scale(self) -> float: ...

    @property
    def ticks(self) -> float: ...

    def add(self, x: SparseVector, step: float) -> None:
        """w += step * x"""

    def multiply(self, factor: float) -> None:
        """w *= factor"""

    def tick(self, count: float = 1.0) -> None:
        """Add the present w to the average."""

    def dot(self, x: SparseVector) -> float:
        """<w, x>"""

    def norm2(self) -> float:
        """|w|^2"""

    def values(self) -> numpy.typing.NDArray[numpy.float32]:
        """w, a copy."""

    def average(self) -> numpy.typing.NDArray[numpy.float32]:
        """The mean of w over all ticks."""

    def state(self) -> dict[str, Any]:
        """
        All there is to know, for `from_state`; the copy goes on to the same bits.
        """

    @staticmethod
    def from_state(state: dict[str, Any]) -> Weights: ...

class Adagrad:
    """
    Steps with an adaptive size per weight, and an L2 penalty that is applied when a weight changes.
    """

    def __init__(self, size: int, rate: float, penalty: float, floor: float) -> None: ...

    def step(self, w: Weights, ascent: SparseVector, factor: float) -> None:
        """One step on w against the gradient -factor * ascent."""

    def settle(self, w: Weights) -> None:
        """Apply the penalty of all steps so far to every weight."""

    def state(self) -> dict[str, Any]:
        """For `from_state`."""

    @staticmethod
    def from_state(state: dict[str, Any], rate: float, penalty: float, floor: float) -> Adagrad: ...

def in_memory(weights: numpy.typing.NDArray[numpy.float32]) -> numpy.typing.NDArray[numpy.float32]:
    """
    A copy that is quick to read at random places: aligned, and in large pages where the system has them.
    """

def nearest_multipliers(gram: numpy.typing.NDArray[numpy.float64], bounds: numpy.typing.NDArray[numpy.float64], cap: float = ...) -> numpy.typing.NDArray[numpy.float64]:
    """
    The multipliers of the least change with <change, d_i> >= bounds[i], where gram[i, j] = <d_i, d_j>; their sum at most cap.
    """

def solve_qp(gram: numpy.typing.NDArray[numpy.float64], linear: numpy.typing.NDArray[numpy.float64], cap: float, start: numpy.typing.NDArray[numpy.float64] | None = None) -> tuple[numpy.typing.NDArray[numpy.float64], float, float, bool]:
    """
    Maximize <linear, a> - a'Ga/2 over a >= 0 with sum at most cap: (a, objective, violation, converged).
    """

def logistic_multipliers(gram: numpy.typing.NDArray[numpy.float64], margins: numpy.typing.NDArray[numpy.float64], costs: numpy.typing.NDArray[numpy.float64], scales: numpy.typing.NDArray[numpy.float64], gain: str, prior: str, tolerance: float = ...) -> numpy.typing.NDArray[numpy.float64]:
    """
    The multipliers a of a change sum a_j d_j that is best by gain (likelihood or expected_cost) less prior (gauss or laplace).
    """

def logistic_gain(gram: numpy.typing.NDArray[numpy.float64], margins: numpy.typing.NDArray[numpy.float64], costs: numpy.typing.NDArray[numpy.float64], multipliers: numpy.typing.NDArray[numpy.float64], gain: str) -> tuple[float, numpy.typing.NDArray[numpy.float64]]:
    """
    What `logistic_multipliers` maximizes, without the prior, and its gradient.
    """

class MulticlassExamples:
    """Rows of sparse features; see arbora.problems.multiclass."""

    def __init__(self, offsets: numpy.typing.NDArray[numpy.int64], columns: numpy.typing.NDArray[numpy.int64], values: numpy.typing.NDArray[numpy.float32], width: int, bias: float) -> None: ...

    def __len__(self) -> int: ...

    @property
    def width(self) -> int:
        """The number of columns, including the bias."""

    def scores(self, weights: numpy.typing.NDArray[numpy.float32], classes: int, threads: int) -> numpy.typing.NDArray[numpy.float64]:
        """
        Of every class for every row, (rows, classes); weights[column * classes + class].
        """

class MulticlassCandidates:
    """Wrong classes of one example; see arbora.interfaces.Candidates."""

    def best(self) -> tuple[float, float, SparseVector]: ...

    def losses(self) -> numpy.typing.NDArray[numpy.float64]: ...

    def margins(self) -> numpy.typing.NDArray[numpy.float64]: ...

    def gram(self) -> numpy.typing.NDArray[numpy.float64]: ...

    def add_to(self, w: Weights, multipliers: numpy.typing.NDArray[numpy.float64]) -> None: ...

class MulticlassQuestions:
    """
    A learner's queries about classes of examples; see arbora.problems.multiclass.
    """

    def __init__(self, examples: MulticlassExamples, right: numpy.typing.NDArray[numpy.int32], costs: numpy.typing.NDArray[numpy.float64], threads: int) -> None: ...

    def wrong_candidates(self, example: int, weights: Weights, k: int) -> MulticlassCandidates: ...

    def __len__(self) -> int: ...

    @property
    def weight_count(self) -> int: ...

    def ask(self, example: int, weights: Weights, sums: bool, cost_augmented: bool) -> tuple[float, float, SparseVector]: ...

    def total(self, examples: numpy.typing.NDArray[numpy.int64], weights: Weights, sums: bool, cost_augmented: bool) -> tuple[float, float, SparseVector]: ...

    def candidates(self, example: int, weights: Weights, k: int) -> list[tuple[float, float, SparseVector]]: ...

    def gradient(self, examples: numpy.typing.NDArray[numpy.int64], weights: Weights, cost_augmented: bool) -> tuple[float, numpy.typing.NDArray[numpy.float64]]: ...

def quadratic_expansion(offsets: numpy.typing.NDArray[numpy.int64], columns: numpy.typing.NDArray[numpy.int64], values: numpy.typing.NDArray[numpy.float32], bits: int) -> tuple[numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.float32]]:
    """
    Features and pairs of features, hashed to 2^bits columns: offsets, columns, values.
    """

class NetworkStates:
    """
    States of the words of some sentences, from a network's LSTM or another encoder.
    """

    def __len__(self) -> int: ...

class Network:
    """
    The forward pass of a neural parser: from words to scores of arcs, labels and tags, or to the best of them.
    """

    def __init__(self, tensors: dict[str, numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.int8]], vectors: numpy.typing.NDArray[numpy.int8], scales: numpy.typing.NDArray[numpy.float32], outputs: list[str], quantized: bool = False) -> None:
        """
        Tensors are float32, or int8 with float32 NAME.scales, one for each row. quantized: multiply in int8.
        """

    @property
    def parameters(self) -> int:
        """The number of weights."""

    @property
    def label_count(self) -> int: ...

    @property
    def has_siblings(self) -> bool: ...

    def encode(self, lengths: numpy.typing.NDArray[numpy.int32], types: numpy.typing.NDArray[numpy.int32], words: numpy.typing.NDArray[numpy.int32], vectors: numpy.typing.NDArray[numpy.int32], characters: numpy.typing.NDArray[numpy.int32], ends: numpy.typing.NDArray[numpy.int64], tags: list[numpy.typing.NDArray[numpy.int32]], threads: int) -> NetworkStates: ...

    def given(self, lengths: numpy.typing.NDArray[numpy.int32], rows: numpy.typing.NDArray[numpy.float32]) -> NetworkStates:
        """
        States from another encoder: rows holds those of all words, (words, size).
        """

    def arcs(self, states: NetworkStates, threads: int) -> list[numpy.typing.NDArray[numpy.float64]]:
        """The scores of arcs of each sentence, (n+1, n+1)."""

    def siblings(self, states: NetworkStates, threads: int) -> list[numpy.typing.NDArray[numpy.float64]]:
        """
        The scores of siblings of each sentence, (n+1, n+1, n+1): head, dep, sibling.
        """

    def labels_of(self, states: NetworkStates, sentence: int, heads: numpy.typing.NDArray[numpy.int32]) -> numpy.typing.NDArray[numpy.float32]:
        """The scores of labels of the arcs of one sentence, (words, labels)."""

    def labels(self, states: NetworkStates, heads: numpy.typing.NDArray[numpy.int32], threads: int) -> numpy.typing.NDArray[numpy.float32]:
        """The scores of labels of each word's arc, (words, labels)."""

    def outputs(self, states: NetworkStates, which: int, threads: int) -> numpy.typing.NDArray[numpy.float32]:
        """The scores of one column of tags of each word, (words, tags)."""

    def trees(self, states: NetworkStates, projective: bool, single_root: bool, given: numpy.typing.NDArray[numpy.int32] | None, threads: int) -> numpy.typing.NDArray[numpy.int32]:
        """
        The heads of the best trees by their arcs, (words,). given: heads that words must have, -1 for any.
        """

    def best_labels(self, states: NetworkStates, heads: numpy.typing.NDArray[numpy.int32], threads: int, root_labels: numpy.typing.NDArray[numpy.uint8] | None = None, other_labels: numpy.typing.NDArray[numpy.uint8] | None = None) -> numpy.typing.NDArray[numpy.int32]:
        """
        The best label of each word's arc, (words,). The masks say which labels arcs from the root and other arcs may have.
        """

    def best_outputs(self, states: NetworkStates, threads: int) -> numpy.typing.NDArray[numpy.int32]:
        """The best tag of each word in each column, (columns, words)."""

def lstm_forward(gates: numpy.typing.NDArray[numpy.float32], recurrent: numpy.typing.NDArray[numpy.float32], counts: numpy.typing.NDArray[numpy.int32], is_backward: bool) -> tuple[numpy.typing.NDArray[numpy.float32], numpy.typing.NDArray[numpy.float32], numpy.typing.NDArray[numpy.float32]]:
    """
    The cells, their tanh, and the states of one direction of an LSTM layer, (tokens, size) each; gates become their activations.
    """

def lstm_backward(given: numpy.typing.NDArray[numpy.float32], gates: numpy.typing.NDArray[numpy.float32], cells: numpy.typing.NDArray[numpy.float32], shown: numpy.typing.NDArray[numpy.float32], states: numpy.typing.NDArray[numpy.float32], recurrent: numpy.typing.NDArray[numpy.float32], counts: numpy.typing.NDArray[numpy.int32], is_backward: bool) -> tuple[numpy.typing.NDArray[numpy.float32], numpy.typing.NDArray[numpy.float32]]:
    """
    The gradient of the gates, (tokens, 4 · size), by that of the states, `given`; and the state before each token.
    """

class SequenceBatch:
    """
    Sentences as places of features in the weights; see arbora.problems.sequence.
    """

    def __len__(self) -> int: ...

    @property
    def words(self) -> int: ...

    @property
    def features(self) -> int: ...

    def places(self) -> numpy.typing.NDArray[numpy.uint32]:
        """The features of all words in a row."""

    def set_labels(self, labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], gold: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """
        The number of labels each word may have, and its gold label (-1: unknown).
        """

class SequenceModel:
    """
    A table of weights for labels of words and for pairs of adjacent labels.
    """

    def __init__(self, bits: int, labels: int, transitions: bool) -> None: ...

    @property
    def weight_count(self) -> int: ...

    def predict(self, batch: SequenceBatch, weights: numpy.typing.NDArray[numpy.float32], threads: int) -> numpy.typing.NDArray[numpy.int32]:
        """The best label of every word."""

class SequenceQuestions:
    """
    A learner's queries about labelled sentences; see arbora.problems.sequence.
    """

    def __init__(self, model: SequenceModel, batch: SequenceBatch, threads: int) -> None: ...

    @property
    def is_annotated(self) -> bool: ...

    def __len__(self) -> int: ...

    @property
    def weight_count(self) -> int: ...

    def ask(self, example: int, weights: Weights, sums: bool, cost_augmented: bool) -> tuple[float, float, SparseVector]: ...

    def total(self, examples: numpy.typing.NDArray[numpy.int64], weights: Weights, sums: bool, cost_augmented: bool) -> tuple[float, float, SparseVector]: ...

    def gradient(self, examples: numpy.typing.NDArray[numpy.int64], weights: Weights, cost_augmented: bool) -> tuple[float, numpy.typing.NDArray[numpy.float64]]: ...

class TagLexicon:
    """
    The words of a treebank and the tags they had; see arbora.pipeline.tagger.
    """

    def __init__(self, columns: ConllColumns, tags: Sequence[str]) -> None: ...

    @staticmethod
    def from_arrays(keys: numpy.typing.NDArray[numpy.uint32], classes: numpy.typing.NDArray[numpy.uint32]) -> TagLexicon: ...

    def keys(self) -> numpy.typing.NDArray[numpy.uint32]: ...

    def classes(self) -> numpy.typing.NDArray[numpy.uint32]: ...

    def __len__(self) -> int: ...

class Clusters:
    """Clusters of words in a binary tree; see arbora.data.clusters."""

    @staticmethod
    def of(words: Sequence[str], codes: numpy.typing.NDArray[numpy.uint16]) -> Clusters: ...

    @staticmethod
    def from_arrays(keys: numpy.typing.NDArray[numpy.uint32], codes: numpy.typing.NDArray[numpy.uint16]) -> Clusters: ...

    def find(self, form: str) -> int:
        """The code of a word; 0: it has no cluster."""

    def keys(self) -> numpy.typing.NDArray[numpy.uint32]: ...

    def codes(self) -> numpy.typing.NDArray[numpy.uint16]: ...

    def __len__(self) -> int: ...

def tag_features(columns: ConllColumns, set: str, lexicon: TagLexicon, bits: int, own_tags: numpy.typing.NDArray[numpy.int32] | None, clusters: Clusters | None = None) -> SequenceBatch:
    """The features of all words, as a tagger or lemmatizer sees them."""

def edit_script(form: str, lemma: str) -> str:
    """How the word becomes its lemma."""

def check_script(text: str) -> None:
    """Raises InputError for a text that is not an edit script."""

def apply_scripts(columns: ConllColumns, scripts: Sequence[str], chosen: numpy.typing.NDArray[numpy.int32]) -> ConllColumns:
    """
    The same sentences with lemmas made by scripts; the word in lower case if its script does not apply.
    """

class TransitionModel:
    """A transition system with its features; see arbora.scorers.transition."""

    def __init__(self, *, system: str, single_root: bool, moves: Sequence[Sequence[tuple[int, int, int]]], labels: Sequence[Sequence[tuple[int, int, int]]], label_count: int, seen: numpy.typing.NDArray[numpy.uint8], move_bits: int, label_bits: int, beam: int, most_labels: int) -> None: ...

    @property
    def weight_count(self) -> int: ...

    def parse(self, sentences: Encoded, moves: numpy.typing.NDArray[numpy.float32], labels: numpy.typing.NDArray[numpy.float32] | None, keep_heads: bool, threads: int) -> tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.int32]]: ...

    def kbest(self, sentences: Encoded, moves: numpy.typing.NDArray[numpy.float32], labels: numpy.typing.NDArray[numpy.float32] | None, k: int, keep_heads: bool, threads: int) -> tuple[numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.int32]]: ...

class TransitionQuestions:
    """A learner's queries about a treebank; see arbora.problems.transition."""

    def __init__(self, model: TransitionModel, sentences: Encoded, update: str, explores: bool, threads: int, cost: tuple[float, float]) -> None: ...

    def __len__(self) -> int: ...

    @property
    def weight_count(self) -> int: ...

    def ask(self, example: int, weights: Weights, cost_augmented: bool) -> tuple[float, float, SparseVector]: ...

    def total(self, examples: numpy.typing.NDArray[numpy.int64], weights: Weights, cost_augmented: bool) -> tuple[float, float, SparseVector]: ...

    def candidates(self, example: int, weights: Weights, k: int) -> list[tuple[float, float, SparseVector]]: ...

    def instances(self) -> tuple[numpy.typing.NDArray[numpy.uint32], numpy.typing.NDArray[numpy.int8], numpy.typing.NDArray[numpy.int32]]: ...

SEGMENTER_CHARACTERS: int = 1

SEGMENTER_FEATURES: int = 1

class SegmentedText:
    """Words and their offsets; see arbora.pipeline.segmenter."""

    def take_columns(self) -> ConllColumns: ...

    def take_starts(self) -> numpy.typing.NDArray[numpy.int64]: ...

    def take_ends(self) -> numpy.typing.NDArray[numpy.int64]: ...

    def take_sentence_starts(self) -> numpy.typing.NDArray[numpy.int64]: ...

    def take_sentence_ends(self) -> numpy.typing.NDArray[numpy.int64]: ...

class SegmenterModel:
    """Finds sentences, tokens and words; see arbora.pipeline.segmenter."""

    def __init__(self, *, bits: int, token: numpy.typing.NDArray[numpy.float32], sentence: numpy.typing.NDArray[numpy.float32], multiword: numpy.typing.NDArray[numpy.float32], token_answers: numpy.typing.NDArray[numpy.uint8], gap_answers: numpy.typing.NDArray[numpy.uint8], sentence_answers: numpy.typing.NDArray[numpy.uint8], rules: Sequence[tuple[bool, Sequence[int], Sequence[tuple[int, Sequence[int]]]]], keys: numpy.typing.NDArray[numpy.uint64], key_rules: numpy.typing.NDArray[numpy.uint16]) -> None: ...

    def parts(self) -> dict[str, Any]: ...

    def segment(self, text: bytes, *, longest_sentence: int, lines: bool, first_number: int, continues: bool, document: str) -> SegmentedText: ...

class SegmenterTrainer:
    """Trains a SegmenterModel on texts; see arbora.pipeline.segmenter."""

    def __init__(self, texts: list[tuple[bytes, numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.uint8], dict[int, list[list[int]]]]], *, bits: int, rate: float, shortcut: float, least_seen: int, least_precision: float, seed: int) -> None: ...

    def epoch(self) -> float: ...

    @property
    def token_examples(self) -> int: ...

    @property
    def sentence_examples(self) -> int: ...

    def parts(self) -> dict[str, Any]: ...
