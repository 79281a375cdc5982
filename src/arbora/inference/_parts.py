"""Checked scores for the native core: float64, C order, one sentence or a batch; and the core's answers.

Conventions as in `arbora.inference.queries`. Nothing here writes into the caller's arrays.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from arbora import _core
from arbora.errors import InputError, is_whole, require_threads, unknown
from arbora.interfaces import Best, Roots, Trees
from arbora.types import Doubles

Batch: TypeAlias = Sequence[NDArray[Any]]
Scores: TypeAlias = NDArray[Any] | Batch
Required: TypeAlias = NDArray[Any] | Iterable[tuple[int, int]]

HIGHER_ORDER = {"siblings": 3, "grandparents": 3, "grandsiblings": 4}  # The numbers of their axes
_FLOAT64 = np.dtype(np.float64)
_TREES = {"projective": _core.Trees.projective, "nonprojective": _core.Trees.nonprojective}
_ROOTS = {"single": _core.Roots.single, "multi": _core.Roots.multi}


class FirstOrder(TypedDict, total=False):
    """Options of every query: the family of trees, known heads, threads."""

    trees: Trees
    roots: Roots
    required: Required | Sequence[Required | None] | None
    threads: int


class Options(FirstOrder, total=False):
    """Options of queries that take higher-order parts."""

    siblings: Scores | None
    grandparents: Scores | None
    grandsiblings: Scores | None


class Marginals(NamedTuple):
    """Probabilities of the parts of higher-order models, each shaped as its scores; None if absent."""

    arcs: Doubles
    siblings: Doubles | None = None
    grandparents: Doubles | None = None
    grandsiblings: Doubles | None = None


@dataclass(frozen=True, slots=True)
class Parts:
    """A batch: lists of arrays, one entry per sentence, and the family of trees. Queries go to the core."""

    arcs: list[Doubles]
    siblings: list[Doubles] | None
    grandparents: list[Doubles] | None
    grandsiblings: list[Doubles] | None
    trees: _core.Trees
    roots: _core.Roots
    threads: int
    single: bool
    width: int = 0
    """Above 0: non-projective trees with siblings are summed over those that a search of this width finds."""

    def pick(self, indices: list[int]) -> Parts:
        given: Any = {kind: getattr(self, kind) for kind in ("arcs", *HIGHER_ORDER)}
        picked: Any = {kind: parts and [parts[i] for i in indices] for kind, parts in given.items()}
        return replace(self, **picked)

    def only(self, i: int) -> Parts:
        return replace(self.pick([i]), threads=1, single=True)

    @property
    def labelled(self) -> bool:
        return bool(self.arcs) and self.arcs[0].ndim == 3

    @property
    def higher(self) -> tuple[list[Doubles] | None, list[Doubles] | None, list[Doubles] | None]:
        return self.siblings, self.grandparents, self.grandsiblings

    @property
    def first_order(self) -> bool:
        return all(parts is None for parts in self.higher)

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The arguments of every native query."""
        return (self.arcs, *self.higher, self.trees, self.roots, self.threads)

    @property
    def _sum_arguments(self) -> tuple[Any, ...]:
        return (*self.arguments, self.width)

    def own_scores(self, tree: NDArray[Any], labels: NDArray[Any] | None) -> Doubles:
        """The scores (n+1,) of each word's own parts in a tree of the only sentence.

        Without `labels`, the log-sum over all labels.
        """
        words, arcs = np.arange(1, len(tree)), self.arcs[0]
        if self.labelled:
            own = arcs[tree[words], words]
            own = np.logaddexp.reduce(own, axis=-1) if labels is None else own[words - 1, labels[1:]]
            arcs = np.zeros(arcs.shape[:2])
            arcs[tree[words], words] = own
        return _core.word_scores(arcs, np.asarray(tree).tolist(), *self.higher)

    def relative_to(self, tree: NDArray[Any], labels: NDArray[Any] | None = None) -> Doubles | None:
        """Arc scores of the only sentence, shifted per word so that a tree scores 0; None if it is forbidden.

        Every word has one head, so this adds the same number to all trees and changes no probability. Sums
        relative to the right tree are small: large scores do not swamp a log-probability or an entropy.
        With exactly one root, what the scores of all roots have in common counts once: a masked row matters
        to no other word.
        """
        own = self.own_scores(tree, labels)
        if np.any(own == -np.inf):
            return None
        shift = np.repeat(own[None, :], len(own), axis=0)
        roots = self.arcs[0][0, 1:]
        roots = roots[roots > -np.inf]
        if self.roots == _core.Roots.single and len(roots):
            common = max(float(roots.min()), 0.0) + min(float(roots.max()), 0.0)
            shift[:, np.asarray(tree) == 0] -= common
            shift[0] += common
        # Ignored entries may hold anything, and a difference may fall below the range, where it forbids.
        with np.errstate(over="ignore", invalid="ignore"):
            return self.arcs[0] - (shift[..., None] if self.labelled else shift)

    def read_trees(self, heads: Any) -> list[NDArray[np.intp]]:
        """The caller's trees, one per sentence, checked."""
        trees = []
        for (where, tree), array in zip(self._each("heads", heads), self.arcs, strict=True):
            if isinstance(tree, Best):
                raise InputError(f"{where} must be an array of heads, got a Best; pass its .heads")
            try:
                given = np.asarray(tree)
            except (TypeError, ValueError) as error:
                got = type(tree).__name__
                raise InputError(f"{where} must be heads of shape (n+1,), got {got}") from error
            if given.ndim != 1:
                raise InputError(f"{where} must be heads of shape (n+1,), got shape {given.shape}")
            trees.append(partial_heads(given, len(array), where))
            if np.any(trees[-1][1:] < 0):
                raise InputError(f"{where}: word {1 + int(np.argmin(trees[-1][1:]))} has no head")
        return trees

    def read_labels(self, labels: Any) -> list[NDArray[Any] | None]:
        """The caller's labels, one array per sentence, checked; None for each if not given."""
        if labels is None:
            return [None] * len(self.arcs)
        if not self.labelled:
            raise InputError("expected none, as the scores are not labelled", field="labels")
        arrays: list[NDArray[Any] | None] = []
        for scores, (where, given) in zip(self.arcs, self._each("labels", labels), strict=True):
            array, (nodes, _, count) = np.asarray(given), scores.shape
            if array.shape != (nodes,) or array.dtype.kind not in "iu":
                got = f"{array.dtype} of shape {array.shape}"
                raise InputError(f"{where} must be whole numbers of shape ({nodes},), got {got}")
            if np.any((array[1:] < 0) | (array[1:] >= count)):
                raise InputError(f"{where} must lie in 0..{count - 1}, got {array[1:]}")
            arrays.append(array)
        return arrays

    def requiring(self, required: Any) -> Parts:
        """The same with the partial tree that `required` gives for each sentence, or None."""
        arcs = [
            array if heads is None else constrain(array, partial_heads(heads, len(array), where))
            for array, (where, heads) in zip(self.arcs, self._each("required", required), strict=True)
        ]
        return replace(self, arcs=arcs)

    def _each(self, name: str, given: Any) -> list[tuple[str, Any]]:
        return per_sentence(name, given, len(self.arcs), self.single)

    def check(self) -> None:
        """Raise InputError if a score is NaN or too large."""
        _core.check(*self.arguments[:-1])

    def argmax(self) -> list[Best]:
        heads, labels, values = _core.argmax(*self.arguments)
        ends = list(accumulate(map(len, self.arcs)))
        spans = zip([0, *ends], ends, values.tolist(), strict=False)
        new = tuple.__new__  # half the time of Best(...), which matters at two microseconds a sentence
        if labels is None:
            return [new(Best, (heads[start:end], score, None)) for start, end, score in spans]
        return [new(Best, (heads[start:end], score, labels[start:end])) for start, end, score in spans]

    def kbest(self, k: int) -> list[list[Best]]:
        arcs, *rest = self.arguments
        return [
            list(map(Best, heads, values.tolist(), *([] if labels is None else [labels])))
            for heads, labels, values in _core.kbest(arcs, k, *rest)
        ]

    def log_partition(self) -> Doubles:
        return _core.log_partition(*self._sum_arguments)

    def marginals(self) -> list[Any]:
        """P(part) of each sentence: an array, or a `Marginals` if there are higher-order parts."""
        arrays = _core.marginals(*self._sum_arguments)
        return [each[0] for each in arrays] if self.first_order else [Marginals(*each) for each in arrays]

    def marginals_along(self, directions: list[Doubles]) -> list[Doubles]:
        """Derivatives of P(arc) along the directions; unlabelled, first-order sentences."""
        return _core.marginals_along(self.arcs, directions, self.trees, self.roots, self.threads)

    def sample(self, k: int, seed: int) -> list[list[Best]]:
        arcs, *rest = self.arguments
        heads, labels, values = _core.sample(arcs, k, seed, *rest)
        lists, at = [], 0
        for array, scores in zip(self.arcs, values.tolist(), strict=True):
            end = at + k * len(array)
            rows = [] if labels is None else [labels[at:end].reshape(k, -1)]
            lists.append(list(map(Best, heads[at:end].reshape(k, -1), scores, *rows)))
            at = end
        return lists


def option(name: str, value: str, choices: dict[str, Any]) -> Any:
    try:
        return choices[value]
    except (KeyError, TypeError):
        listed = " or ".join(repr(choice) for choice in choices)
        raise InputError(f"{name} must be {listed}, got {value!r}") from None


def per_sentence(name: str, given: Any, count: int, single: bool) -> list[tuple[str, Any]]:
    """One entry per sentence, each with its name for errors."""
    entries = [given] if single else given
    if not isinstance(entries, (list, tuple)) or len(entries) != count:
        raise InputError(f"{name} must be a list of {count} entries, one per sentence")
    return [(name if single else f"{name}[{i}]", entry) for i, entry in enumerate(entries)]


def make_parts(scores: Scores, **options: Unpack[Options]) -> Parts:
    """Check the caller's arguments and arrange them as a batch."""
    for name in options:
        if name not in Options.__annotations__:
            raise TypeError(unknown("option", name, list(Options.__annotations__)))
    single = not isinstance(scores, (list, tuple))
    arcs: Any = [scores] if single else list(scores)
    if _core.ready_axes(arcs) == 0:
        arcs = [arc_array(array, i, single) for i, array in enumerate(arcs)]
        _require_same_axes(arcs)
    threads = options.get("threads", 1)
    require_threads(threads)
    nodes = [len(array) for array in arcs]
    higher: Any = {name: _higher_order(name, options.get(name), nodes, single) for name in HIGHER_ORDER}
    trees = option("trees", options.get("trees", "nonprojective"), _TREES)
    roots = option("roots", options.get("roots", "single"), _ROOTS)
    parts = Parts(arcs, **higher, trees=trees, roots=roots, threads=threads, single=single)
    required = options.get("required")
    return parts if required is None else parts.requiring(required)


def _require_same_axes(arcs: list[Doubles]) -> None:
    for i, array in enumerate(arcs):
        if array.ndim != arcs[0].ndim:
            raise InputError(
                f"scores[{i}] has {array.ndim} dimensions, scores[0] has {arcs[0].ndim}: "
                "a batch is labelled throughout or not at all"
            )


def _float_array(array: Any, where: str) -> Doubles:
    if (
        type(array) is np.ndarray
        and array.dtype is _FLOAT64
        and array.flags.c_contiguous
        and array.flags.aligned
    ):
        return array
    try:
        raw = np.asarray(array)
    except Exception as error:
        raise InputError(f"{where} must be an array of numbers, got {type(array).__name__}") from error
    if raw.dtype.kind not in "biuf":
        raise InputError(f"{where} must hold real numbers, got dtype {raw.dtype}")
    with np.errstate(over="ignore"):
        return np.require(raw, dtype=np.float64, requirements=["C_CONTIGUOUS", "ALIGNED"])


def arc_array(array: Any, i: int, single: bool) -> Doubles:
    """`scores` or `scores[i]` as a checked float64 array of 2 or 3 dimensions."""
    where = "scores" if single else f"scores[{i}]"
    result = _float_array(array, where)
    shape = result.shape
    if len(shape) in (2, 3) and shape[0] == shape[1] and min(shape) >= 1:
        return result
    hint = "; a list of arrays is a batch of sentences" if len(shape) != 2 else ""
    raise InputError(
        f"{where} must have shape (n+1, n+1), or (n+1, n+1, labels), for a sentence of n words; "
        f"got {shape}{hint}"
    )


def _higher_order(name: str, given: Any, nodes: list[int], single: bool) -> list[Doubles] | None:
    if given is None:
        return None
    arrays, axes = [], HIGHER_ORDER[name]
    for (where, array), size in zip(per_sentence(name, given, len(nodes), single), nodes, strict=True):
        arrays.append(_float_array(array, where))
        if arrays[-1].shape != (size,) * axes:
            raise InputError(f"{where} must have shape {(size,) * axes}, got {arrays[-1].shape}")
    return arrays


def partial_heads(required: Any, nodes: int, where: str = "required") -> NDArray[np.intp]:
    """A partial tree as an array of shape (n+1,): -1 where the head is free."""
    heads = np.full(nodes, -1, dtype=np.intp)
    if isinstance(required, (list, tuple)) and required and all(map(is_whole, required)):
        required = np.array(required)  # a partial tree as a plain list
    if isinstance(required, np.ndarray) and required.ndim == 1:
        if required.shape != (nodes,) or required.dtype.kind not in "iu":
            raise InputError(
                f"{where} must be whole numbers of shape ({nodes},), -1 where the head is free, "
                f"or pairs (head, dep); got {required.dtype} of shape {required.shape}"
            )
        heads[1:] = required[1:]
    else:
        for head, dep in _pairs(required, where):
            if not 1 <= dep < nodes:
                raise InputError(f"dep must be in 1..{nodes - 1}, got {dep}", field=where)
            if heads[dep] not in (-1, head):
                raise InputError(f"{where}: word {dep} has two heads, {heads[dep]} and {head}")
            heads[dep] = head
    for dep in range(1, nodes):
        if not -1 <= heads[dep] < nodes or heads[dep] == dep:
            raise InputError(
                f"{where}: head of word {dep} must be another node in 0..{nodes - 1}, "
                f"or -1 for free; got {heads[dep]}"
            )
    return heads


def _pairs(required: Any, where: str) -> list[tuple[int, int]]:
    try:
        pairs = [(operator.index(head), operator.index(dep)) for head, dep in required]
        if any(head < 0 for head, _ in pairs):
            raise ValueError("a pair names a head")
        return pairs
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{where} must be a partial tree (whole numbers, -1 where the head is free) "
            f"or pairs (head, dep), got {required!r}"
        ) from error


def constrain(scores: Doubles, heads: NDArray[Any]) -> Doubles:
    """A copy of `scores` that forbids all other heads of words with a known head, -1 if unknown."""
    result = scores.copy()
    known = np.flatnonzero(heads >= 0)
    result[:, known] = -np.inf
    result[heads[known], known] = scores[heads[known], known]
    return result
