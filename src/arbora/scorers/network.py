"""Shared by scorers with a network: scores from states of words, labels, tags, weights.

A subclass makes the states: `arbora.scorers.neural` by an LSTM, `arbora.scorers.transformer` by a
transformer. Scores are native (core/neural).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from arbora._core import Network, NetworkStates, apply_scripts, check_script
from arbora.data.columns import Columns, TextColumn
from arbora.data.encode import Batch, GuideTrees, Names
from arbora.errors import InputError
from arbora.formatting import describe
from arbora.interfaces import PartKind, PartScores
from arbora.storage.model_file import is_field
from arbora.types import Doubles, Floats, Ints

if TYPE_CHECKING:
    from arbora.neural.data import Reader
    from arbora.neural.heads import Heads
    from arbora.neural.settings import NeuralSettings

SCALES = ".scales"  # suffix of the names of scales of int8 tensors
SHORT_ROW = 16
PREDICTED: tuple[TextColumn, ...] = ("upos", "xpos", "feats", "lemma")
"""The columns that a network may predict; lemmas are predicted as edit scripts."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class NetworkScorer(ABC):
    """A network's weights and predictions."""

    name: ClassVar[str]

    tensors: Mapping[str, Floats]
    """The weights by name; core/neural/network.hpp defines them."""
    outputs: Mapping[TextColumn, tuple[str, ...]] = field(default_factory=dict)
    """The values of each column that it predicts."""
    root_labels: Ints = field(default_factory=lambda: np.zeros(0, np.int32))
    """Labels that arcs from the root had in training; empty: any."""
    other_labels: Ints = field(default_factory=lambda: np.zeros(0, np.int32))
    """Labels of the other arcs; empty: any."""
    is_quantized: bool = False
    """Whether weights have one byte each, in files and in products."""
    _last: list[tuple[bytes, NetworkStates]] = field(default_factory=list)
    """The states of the last sentences: tags and trees of the same words share them."""

    @property
    @abstractmethod
    def native(self) -> Network: ...

    @abstractmethod
    def digest(self, columns: Columns, guide: GuideTrees | None) -> bytes:
        """A digest of everything that the network reads."""

    @abstractmethod
    def encode(self, columns: Columns, threads: int, guide: GuideTrees | None) -> NetworkStates:
        """The network's state of each word."""

    def in_torch(self, settings: NeuralSettings | None = None) -> Heads:
        """The network in PyTorch, with these weights; `settings`: how it is trained."""
        from arbora.neural.build import network_of

        return network_of(self, settings)

    @classmethod
    @abstractmethod
    def build(cls, columns: Columns, names: Names, *, seed: int = 0, **settings: Any) -> Self:
        """A scorer of unlabelled trees with random weights."""

    @abstractmethod
    def reader(self, columns: Columns, guide: GuideTrees | None = None) -> Reader:
        """The sentences as that network reads them."""

    @property
    def given(self) -> tuple[TextColumn, ...]:
        """The columns that it reads besides the forms."""
        return ()

    @property
    def needs_guide(self) -> bool:
        """Whether it reads the trees of another parser."""
        return False

    @property
    def parts(self) -> tuple[PartKind, ...]:
        has_siblings = "sibling_head.weight" in self.tensors
        return (PartKind.ARC, PartKind.SIBLING) if has_siblings else (PartKind.ARC,)

    @property
    def label_count(self) -> int:
        return len(self.tensors["labels.bias"]) if "labels.bias" in self.tensors else 0

    # States and scores

    def states(self, columns: Columns, threads: int = 1, guide: GuideTrees | None = None) -> NetworkStates:
        """The network's states of each word. O(words), and as much memory."""
        key = self.digest(columns, guide)
        for known, states in self._last:
            if known == key:
                return states
        self._last.clear()  # its memory is used again
        states = self.encode(columns, threads, guide)
        self._last[:] = [(key, states)]
        return states

    def score(self, batch: Batch) -> list[PartScores]:
        """Dense scores: O(n²) arcs, O(n³) siblings per sentence."""
        return list(self.scores_of(batch))

    def scores_of(self, batch: Batch, threads: int = 1) -> Iterator[PartScores]:
        """The scores of each sentence."""
        states = self.states(batch.columns, threads, batch.guide if self.needs_guide else None)
        arcs = self.arcs(states, batch, threads)
        if PartKind.SIBLING not in self.parts:
            return ({PartKind.ARC: each} for each in arcs)
        pairs = zip(arcs, self.native.siblings(states, threads), strict=True)
        return ({PartKind.ARC: each, PartKind.SIBLING: siblings} for each, siblings in pairs)

    def arcs(self, states: NetworkStates, batch: Batch, threads: int) -> list[Doubles]:
        """The scores of the arcs of each sentence, (n+1, n+1)."""
        return self.native.arcs(states, threads)

    @cached_property
    def label_masks(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Which labels arcs from the root may have, and which the others, (labels,) each."""
        masks = []
        for allowed in (self.root_labels, self.other_labels):
            mask = np.full(self.label_count, not len(allowed), np.uint8)
            mask[allowed] = 1
            masks.append(mask)
        return masks[0], masks[1]

    def annotate(self, columns: Columns, *, threads: int = 1) -> Columns:
        """The words with the tags and lemmas that the network predicts; other columns are unchanged."""
        if not self.outputs:
            return columns
        pieces = (self.states(piece, threads) for piece in columns.pieces())
        none = np.zeros((len(self.outputs), 0), np.int32)
        found = np.concatenate([none, *(self.native.best_outputs(each, threads) for each in pieces)], axis=1)
        for (column, names), ids in zip(self.outputs.items(), found, strict=True):
            if column == "lemma":
                columns = Columns(apply_scripts(columns.native, list(names), ids), columns.source)
            else:
                columns = columns.with_column(column, ids, names)
        return columns

    # Weights

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The tensors in the order in which they make up one vector."""
        return tuple(sorted(self.tensors))

    @cached_property
    def size(self) -> int:
        return sum(array.size for array in self.tensors.values())

    def weights(self) -> Floats:
        return np.concatenate([self.tensors[name].reshape(-1) for name in self.order])

    def with_weights(self, values: Floats) -> Self:
        ends = np.cumsum([self.tensors[name].size for name in self.order])
        parts = zip(self.order, np.split(np.asarray(values, np.float32), ends[:-1]), strict=True)
        tensors = {name: part.reshape(self.tensors[name].shape) for name, part in parts}
        return replace(self, tensors=tensors, _last=[])

    def quantized(self) -> Self:
        """The scorer with weights of one byte each."""
        if self.is_quantized:
            return self
        tensors = {name: _from_bytes(*_to_bytes(array)) for name, array in self.tensors.items()}
        return replace(self, tensors=tensors, is_quantized=True, _last=[])

    def pullback(self, batch: Batch, gradient: Sequence[PartScores]) -> Doubles:
        """The adjoint of `score`, by automatic differentiation; needs PyTorch."""
        from arbora.neural.gradient import pullback

        return pullback(self, batch, gradient)

    # The model file

    def to_parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        tensors: dict[str, NDArray[Any]] = {}
        for name, array in self.tensors.items():
            if self.is_quantized and array.ndim > 1:
                tensors[name], tensors[f"{name}{SCALES}"] = _to_bytes(array)
            else:
                tensors[name] = _stored(array)
        return tensors, {
            "outputs": {name: list(values) for name, values in self.outputs.items()},
            "quantized": self.is_quantized,
            "root_labels": self.root_labels.tolist(),
            "other_labels": self.other_labels.tolist(),
        }

    @classmethod
    def from_parts(cls, tensors: Mapping[str, NDArray[Any]], settings: dict[str, Any], names: Names) -> Self:
        """InputError if tensors or settings do not fit."""
        outputs = columns_in("outputs", settings, PREDICTED)
        for script in outputs.get("lemma", ()):
            check_script(script)
        made = cls(
            tensors=_restored({n: array for n, array in tensors.items() if n not in cls.own_tensors}),
            outputs=outputs,
            root_labels=_label_list("root_labels", settings, names),
            other_labels=_label_list("other_labels", settings, names),
            is_quantized=settings.get("quantized") is True,
            **cls.own_parts(tensors, settings),
        )
        made.check(names)
        return made

    own_tensors: ClassVar[frozenset[str]] = frozenset()
    """Tensors of a model file that are not weights."""

    @classmethod
    @abstractmethod
    def own_parts(cls, tensors: Mapping[str, NDArray[Any]], settings: dict[str, Any]) -> dict[str, Any]:
        """The other fields of a scorer in a model file; InputError if they are damaged."""

    def check(self, names: Names, **rows: int) -> None:
        """InputError unless tensors have these rows, and those of names; the core checks the rest."""
        wanted = {**rows, **{f"output.{name}.weight": len(values) for name, values in self.outputs.items()}}
        if self.label_count:
            wanted["labels.weight"] = len(names.labels)
        for name, count in wanted.items():
            if name not in self.tensors or len(self.tensors[name]) != count:
                raise InputError(f"{name}: expected {count} rows, got {describe(self.tensors.get(name))}")
        _ = self.native


def rounded(weights: Floats) -> Floats:
    """Weights to the precision of float16, in which a model file holds them."""
    return weights.astype(np.float16).astype(np.float32)


def _stored(array: Floats) -> NDArray[Any]:
    """An array in float16 if that loses nothing."""
    with np.errstate(over="ignore"):
        half = array.astype(np.float16)
    return half if np.array_equal(half, array) else array


def _restored(tensors: Mapping[str, NDArray[Any]]) -> dict[str, Floats]:
    """Weights in float32; InputError for others than float16, float32, and int8 with scales."""
    found: dict[str, Floats] = {}
    for name, array in tensors.items():
        scales = tensors.get(f"{name}{SCALES}")
        if array.dtype == np.int8:
            fits = scales is not None and scales.dtype == np.float32 and 0 < scales.ndim < array.ndim
            if scales is None or not fits or scales.shape != array.shape[: scales.ndim]:
                got = f"{describe(scales)} for {describe(array)}"
                raise InputError(f"{name}: expected a scale for each row of a tensor in int8, got {got}")
            found[name] = _from_bytes(array, scales)
        elif array.dtype in (np.float16, np.float32):
            if not name.endswith(SCALES):
                found[name] = np.ascontiguousarray(array, np.float32)
        else:
            raise InputError(f"{name}: expected float16, float32 or int8, got {array.dtype}")
    return found


def _to_bytes(array: Floats) -> tuple[NDArray[Any], Floats]:
    """An array in int8, and the scale of each of its rows; those of very short rows are shared.

    An array of one axis stays as it is, with no scales.
    """
    if array.ndim == 1:
        return array, np.zeros(0, np.float32)
    axes = array.ndim - 1 if array.shape[-1] >= SHORT_ROW else 1
    rows = array.reshape(*array.shape[:axes], -1)
    scales = (np.abs(rows).max(axis=-1) / 127).astype(np.float32)
    whole = np.rint(rows / np.where(scales > 0.0, scales, 1.0)[..., None])
    return whole.astype(np.int8).reshape(array.shape), scales


def _from_bytes(array: NDArray[Any], scales: Floats) -> Floats:
    if not scales.size:
        return array
    return array * scales.reshape(*scales.shape, *[1] * (array.ndim - scales.ndim))


def columns_in(
    name: str, settings: Mapping[str, Any], known: Sequence[TextColumn]
) -> dict[TextColumn, tuple[str, ...]]:
    """Values by column; InputError unless a treebank may have both."""
    given: Any = settings.get(name)
    fits = isinstance(given, dict) and set(given) <= set(known)
    if not fits or not all(isinstance(values, list) and values for values in given.values()):
        raise InputError(f"{name}: expected values for some of {', '.join(known)}, got {str(given)[:80]}")
    for column, values in given.items():
        wrong = [] if column == "lemma" else [value for value in values if not is_field(value)]
        if wrong:
            expected = "expected texts without tabs and line breaks"
            raise InputError(f"{name}: {column}: {expected}, got {str(wrong[0])[:80]!r}")
    ordered = [column for column in known if column in given]
    return {column: tuple(map(str, given[column])) for column in ordered}


def _label_list(name: str, settings: dict[str, Any], names: Names) -> Ints:
    given = settings.get(name)
    if not isinstance(given, list) or not all(type(n) is int and 0 <= n < len(names.labels) for n in given):
        raise InputError(f"{name}: expected numbers of labels, got {str(given)[:80]}")
    return np.array(given, np.int32)
