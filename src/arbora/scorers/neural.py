"""Scores of arcs and siblings from a network over the words of a sentence; it gives labels and tags, too.

`arbora.neural` trains the network; its forward pass is native (core/neural), so parsing needs no PyTorch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from arbora._core import Network, NetworkStates, apply_scripts, check_script
from arbora.data.columns import Columns, TextColumn
from arbora.data.encode import INPUT_COLUMNS, Batch, GuideTrees, Names
from arbora.errors import InputError
from arbora.interfaces import PartKind, PartScores
from arbora.scorers.vocabulary import Vocabulary
from arbora.storage.model_file import is_field
from arbora.types import Doubles, Floats, Ints

SCALES = ".scales"  # what the scales of a tensor in int8 are called
SHORT_ROW = 16
SPREAD = 0.5
PREDICTED: tuple[TextColumn, ...] = ("upos", "xpos", "feats", "lemma")
"""The columns that a network may predict; lemmas are predicted as edit scripts."""


@dataclass(frozen=True, eq=False)
class VectorTable:
    """Word vectors, one byte per number: row r is scales[r] · values[r]; row 0 stands for no vector."""

    values: NDArray[np.int8] = field(default_factory=lambda: np.zeros((1, 0), np.int8))  # (rows, d)
    scales: Floats = field(default_factory=lambda: np.zeros(1, np.float32))

    @classmethod
    def of(cls, vectors: Floats) -> VectorTable:
        """Scale vectors, (words, d), to a root mean square of `SPREAD`, and round them."""
        spread = np.sqrt(np.mean(np.square(vectors, dtype=np.float64), axis=1, keepdims=True))
        vectors = np.divide(SPREAD * vectors, spread, out=np.zeros_like(vectors), where=spread > 0.0)
        scales = np.append(0.0, np.abs(vectors).max(axis=1, initial=0.0) / 127).astype(np.float32)
        rows = np.round(vectors / np.where(scales[1:] > 0.0, scales[1:], 1.0)[:, None])
        return cls(np.concatenate([np.zeros((1, vectors.shape[1])), rows]).astype(np.int8), scales)

    def dense(self) -> Floats:
        """(rows, d)."""
        return self.values * self.scales[:, None]


@dataclass(frozen=True, eq=False, repr=False)
class NeuralScorer:
    """A network's weights, and what its rows stand for."""

    name: ClassVar[str] = "neural"

    tensors: Mapping[str, Floats]
    """The weights by name; core/neural/network.hpp defines them."""
    vocabulary: Vocabulary
    vectors: VectorTable = field(default_factory=VectorTable)
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

    @cached_property
    def native(self) -> Network:
        tensors: dict[str, Any] = {name: array for name, array in self.tensors.items() if name != "guide"}
        table = (self.vectors.values, self.vectors.scales)
        return Network(tensors, *table, [*self.outputs], self.is_quantized)

    @property
    def parts(self) -> tuple[PartKind, ...]:
        has_siblings = "sibling_head.weight" in self.tensors
        return (PartKind.ARC, PartKind.SIBLING) if has_siblings else (PartKind.ARC,)

    @property
    def label_count(self) -> int:
        return len(self.tensors["labels.bias"]) if "labels.bias" in self.tensors else 0

    # States and scores

    @property
    def needs_guide(self) -> bool:
        """Whether it reads the trees of another parser."""
        return self.vocabulary.guide is not None

    def states(self, columns: Columns, threads: int = 1, guide: GuideTrees | None = None) -> NetworkStates:
        """What the network says of each word. O(words), and as much memory."""
        key = self.vocabulary.digest(columns, guide)
        for known, states in self._last:
            if known == key:
                return states
        given = self.vocabulary.encode(columns, guide)
        arguments: dict[str, Any] = {each.name: getattr(given, each.name) for each in fields(given)}
        self._last.clear()  # its memory is used again
        states = self.native.encode(**arguments, threads=threads)
        self._last[:] = [(key, states)]
        return states

    def score(self, batch: Batch) -> list[PartScores]:
        """Dense scores: O(n²) arcs, O(n³) siblings per sentence."""
        return list(self.scores_of(batch))

    def scores_of(self, batch: Batch, threads: int = 1) -> Iterator[PartScores]:
        """The scores of each sentence."""
        guide = batch.guide if self.needs_guide else None
        states = self.states(batch.columns, threads, guide)
        arcs = self.native.arcs(states, threads)
        if guide is not None:
            self._add_guide(arcs, batch, guide)
        if PartKind.SIBLING not in self.parts:
            return ({PartKind.ARC: each} for each in arcs)
        pairs = zip(arcs, self.native.siblings(states, threads), strict=True)
        return ({PartKind.ARC: each, PartKind.SIBLING: siblings} for each, siblings in pairs)

    def _add_guide(self, arcs: list[Doubles], batch: Batch, guide: GuideTrees) -> None:
        """Add to each of the guide's arcs the weight of its label."""
        rows = self.vocabulary.encode(batch.columns, guide).tags[-1]
        weights = self.tensors["guide"][rows].astype(np.float64)
        split = batch.columns.split
        for scores, heads, more in zip(arcs, split(guide.heads), split(weights), strict=True):
            scores[heads, np.arange(1, len(scores))] += more

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

    @classmethod
    def build(cls, columns: Columns, names: Names, *, seed: int = 0, **settings: Any) -> Self:
        """A scorer of unlabelled trees with random weights; `settings` as of `NeuralSettings`."""
        from arbora.neural.build import build_scorer

        return build_scorer(cls, columns, names, seed=seed, **settings)

    # The model file

    def to_parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        words = {"words": self.vocabulary.words, "vectors": self.vocabulary.vectors}
        texts = {f"{name}.text": _as_bytes(each) for name, each in words.items()}
        tensors: dict[str, NDArray[Any]] = {}
        for name, array in self.tensors.items():
            if self.is_quantized and array.ndim > 1:
                tensors[name], tensors[f"{name}{SCALES}"] = _to_bytes(array)
            else:
                tensors[name] = _stored(array)
        tensors |= texts
        tensors |= {"vectors.values": self.vectors.values, "vectors.scales": self.vectors.scales}
        return tensors, {
            "characters": self.vocabulary.characters,
            "tags": {name: list(values) for name, values in self.vocabulary.tags.items()},
            "guide": None if self.vocabulary.guide is None else list(self.vocabulary.guide),
            "outputs": {name: list(values) for name, values in self.outputs.items()},
            "quantized": self.is_quantized,
            "root_labels": self.root_labels.tolist(),
            "other_labels": self.other_labels.tolist(),
        }

    @classmethod
    def from_parts(cls, tensors: Mapping[str, NDArray[Any]], settings: dict[str, Any], names: Names) -> Self:
        """InputError if tensors or settings do not fit."""
        own = {"words.text", "vectors.text", "vectors.values", "vectors.scales"}
        texts = {name: _as_texts(name, tensors.get(f"{name}.text")) for name in ("words", "vectors")}
        values, scales = tensors.get("vectors.values"), tensors.get("vectors.scales")
        if values is None or scales is None or values.dtype != np.int8 or values.ndim != 2:
            raise InputError("vectors: expected a table of int8 and its scales, got others")
        count = len(texts["vectors"]) + 1
        if values.shape[:1] != (count,) or scales.shape != (count,) or scales.dtype != np.float32:
            raise InputError("vectors: expected a scale and a word for each row, got others")
        columns = {name: _columns(name, settings.get(name)) for name in ("tags", "outputs")}
        for script in columns["outputs"].get("lemma", ()):
            check_script(script)
        characters = settings.get("characters")
        if not isinstance(characters, str) or len(set(characters)) < len(characters):
            raise InputError("characters: expected distinct ones, got others")
        guide = settings.get("guide")
        if guide is not None and not (isinstance(guide, list) and all(map(is_field, guide))):
            raise InputError(f"guide: expected labels, got {str(guide)[:80]}")
        labels = None if guide is None else tuple(guide)
        vocabulary = Vocabulary(texts["words"], characters, texts["vectors"], columns["tags"], labels)
        made = cls(
            _restored({name: array for name, array in tensors.items() if name not in own}),
            vocabulary,
            VectorTable(values, scales),
            columns["outputs"],
            _label_list("root_labels", settings, names),
            _label_list("other_labels", settings, names),
            settings.get("quantized") is True,
        )
        made._check(names)
        return made

    def _check(self, names: Names) -> None:
        """InputError unless the network fits its names; the core checks everything else."""
        wanted = {"word": len(self.vocabulary.words) + 1, "character": self.vocabulary.counts()["characters"]}
        wanted |= {f"output.{name}.weight": len(values) for name, values in self.outputs.items()}
        wanted |= {f"tag{i}": count for i, count in enumerate(self.vocabulary.counts()["tags"])}
        if self.needs_guide:
            wanted["guide"] = len(self.vocabulary.guide or ()) + 1
        if self.label_count:
            wanted["labels.weight"] = len(names.labels)
        for name, count in wanted.items():
            if name not in self.tensors or len(self.tensors[name]) != count:
                raise InputError(f"{name}: expected {count} rows, got others")
        if f"tag{len(self.vocabulary.counts()['tags'])}" in self.tensors:
            raise InputError("tags: expected names for each table, got fewer")
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
                raise InputError(f"{name}: expected a scale for each row of a tensor in int8, got others")
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


def _as_bytes(texts: Sequence[str]) -> NDArray[np.uint8]:
    return np.frombuffer("\n".join(texts).encode(), np.uint8)


def _as_texts(name: str, array: NDArray[Any] | None) -> tuple[str, ...]:
    """Texts, one per line; InputError unless they are distinct."""
    if array is None or array.dtype != np.uint8 or array.ndim != 1:
        raise InputError(f"{name}: expected text, got none")
    try:
        texts = tuple(array.tobytes().decode().split("\n")) if array.size else ()
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: expected UTF-8, got other bytes ({error.reason})") from None
    if len(set(texts)) < len(texts):
        raise InputError(f"{name}: expected distinct words, got one twice")
    return texts


def _columns(name: str, given: Any) -> dict[TextColumn, tuple[str, ...]]:
    """Values by column; InputError unless both are what a treebank may have."""
    known = PREDICTED if name == "outputs" else INPUT_COLUMNS
    fits = isinstance(given, dict) and set(given) <= set(known)
    if not fits or not all(isinstance(values, list) and values for values in given.values()):
        raise InputError(f"{name}: expected values for some of {', '.join(known)}, got {str(given)[:80]}")
    for column, values in given.items():
        if column != "lemma" and not all(map(is_field, values)):
            raise InputError(f"{name}: {column}: expected texts without tabs and line breaks, got others")
    ordered = [column for column in known if column in given]
    return {column: tuple(map(str, given[column])) for column in ordered}


def _label_list(name: str, settings: dict[str, Any], names: Names) -> Ints:
    given = settings.get(name)
    if not isinstance(given, list) or not all(type(n) is int and 0 <= n < len(names.labels) for n in given):
        raise InputError(f"{name}: expected numbers of labels, got {str(given)[:80]}")
    return np.array(given, np.int32)
