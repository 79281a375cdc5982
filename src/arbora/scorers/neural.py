"""Scores of arcs and siblings from an LSTM over the words of a sentence; it gives labels and tags, too.

`arbora.neural` trains the network; its forward pass is native (core/neural), so parsing needs no PyTorch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from arbora._core import Network, NetworkStates
from arbora.data.columns import Columns, TextColumn
from arbora.data.encode import INPUT_COLUMNS, Batch, GuideTrees, Names
from arbora.errors import InputError
from arbora.formatting import describe
from arbora.scorers.network import NetworkScorer, columns_in
from arbora.scorers.vocabulary import Vocabulary
from arbora.storage.model_file import is_field
from arbora.types import Doubles, Floats

if TYPE_CHECKING:
    from arbora.neural.data import Reader

SPREAD = 0.5


@dataclass(frozen=True, eq=False)
class VectorTable:
    """Word vectors, one byte per number: row r is scales[r] · values[r]; row 0 means no vector."""

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


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class NeuralScorer(NetworkScorer):
    """A network's weights, and the meaning of its rows."""

    name: ClassVar[str] = "neural"

    vocabulary: Vocabulary
    vectors: VectorTable = field(default_factory=VectorTable)

    @cached_property
    def native(self) -> Network:
        tensors: dict[str, Any] = {name: array for name, array in self.tensors.items() if name != "guide"}
        table = (self.vectors.values, self.vectors.scales)
        return Network(tensors, *table, [*self.outputs], self.is_quantized)

    @property
    def given(self) -> tuple[TextColumn, ...]:
        return tuple(self.vocabulary.tags)

    @property
    def needs_guide(self) -> bool:
        return self.vocabulary.guide is not None

    def digest(self, columns: Columns, guide: GuideTrees | None) -> bytes:
        return self.vocabulary.digest(columns, guide)

    def encode(self, columns: Columns, threads: int, guide: GuideTrees | None) -> NetworkStates:
        given = self.vocabulary.encode(columns, guide)
        arguments: dict[str, Any] = {each.name: getattr(given, each.name) for each in fields(given)}
        return self.native.encode(**arguments, threads=threads)

    def arcs(self, states: NetworkStates, batch: Batch, threads: int) -> list[Doubles]:
        """Each of a guide's arcs also gets the weight of its label."""
        arcs = super().arcs(states, batch, threads)
        if not self.needs_guide:
            return arcs
        guide = batch.guide
        assert guide is not None
        rows = self.vocabulary.encode(batch.columns, guide).tags[-1]
        weights = self.tensors["guide"][rows].astype(np.float64)
        split = batch.columns.split
        for scores, heads, more in zip(arcs, split(guide.heads), split(weights), strict=True):
            scores[heads, np.arange(1, len(scores))] += more
        return arcs

    def reader(self, columns: Columns, guide: GuideTrees | None = None) -> Reader:
        from arbora.neural.data import WordReader

        return WordReader(self.vocabulary.encode(columns, guide))

    @classmethod
    def build(cls, columns: Columns, names: Names, *, seed: int = 0, **settings: Any) -> Self:
        """A scorer of unlabelled trees with random weights; `settings` as of `NeuralSettings`."""
        from arbora.neural.build import build_scorer

        return build_scorer(cls, columns, names, seed=seed, **settings)

    # The model file

    own_tensors = frozenset({"words.text", "vectors.text", "vectors.values", "vectors.scales"})

    def to_parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        tensors, settings = super().to_parts()
        words = {"words": self.vocabulary.words, "vectors": self.vocabulary.vectors}
        tensors |= {f"{name}.text": _as_bytes(each) for name, each in words.items()}
        tensors |= {"vectors.values": self.vectors.values, "vectors.scales": self.vectors.scales}
        return tensors, {
            "characters": self.vocabulary.characters,
            "tags": {name: list(values) for name, values in self.vocabulary.tags.items()},
            "guide": None if self.vocabulary.guide is None else list(self.vocabulary.guide),
            **settings,
        }

    @classmethod
    def own_parts(cls, tensors: Mapping[str, NDArray[Any]], settings: dict[str, Any]) -> dict[str, Any]:
        texts = {name: _as_texts(name, tensors.get(f"{name}.text")) for name in ("words", "vectors")}
        values, scales = tensors.get("vectors.values"), tensors.get("vectors.scales")
        if values is None or scales is None or values.dtype != np.int8 or values.ndim != 2:
            got = f"{describe(values)} and {describe(scales)}"
            raise InputError(f"vectors: expected a table in int8 and its scales, got {got}")
        count = len(texts["vectors"]) + 1
        if values.shape[:1] != (count,) or scales.shape != (count,) or scales.dtype != np.float32:
            got = f"{describe(values)}, scales {describe(scales)}, {count - 1} words"
            raise InputError(f"vectors: expected a scale in float32 and a word for each row, got {got}")
        characters = settings.get("characters")
        if not isinstance(characters, str) or len(set(characters)) < len(characters):
            raise InputError(f"characters: expected distinct characters, got {str(characters)[:80]!r}")
        guide = settings.get("guide")
        if guide is not None and not (isinstance(guide, list) and all(map(is_field, guide))):
            raise InputError(f"guide: expected labels, got {str(guide)[:80]}")
        labels, tags = None if guide is None else tuple(guide), columns_in("tags", settings, INPUT_COLUMNS)
        vocabulary = Vocabulary(texts["words"], characters, texts["vectors"], tags, labels)
        return {"vocabulary": vocabulary, "vectors": VectorTable(values, scales)}

    def check(self, names: Names, **rows: int) -> None:
        counts = self.vocabulary.counts()
        rows |= {"word": counts["words"], "character": counts["characters"]}
        rows |= {f"tag{i}": count for i, count in enumerate(counts["tags"])}
        if self.needs_guide:
            rows["guide"] = len(self.vocabulary.guide or ()) + 1
        if f"tag{len(counts['tags'])}" in self.tensors:
            raise InputError(f"tags: expected names for each table, got {len(counts['tags'])} lists of names")
        super().check(names, **rows)


def _as_bytes(texts: Sequence[str]) -> NDArray[np.uint8]:
    return np.frombuffer("\n".join(texts).encode(), np.uint8)


def _as_texts(name: str, array: NDArray[Any] | None) -> tuple[str, ...]:
    """Texts, one per line; InputError unless they are distinct."""
    if array is None or array.dtype != np.uint8 or array.ndim != 1:
        raise InputError(f"{name}: expected text as a list of bytes, got {describe(array)}")
    try:
        texts = tuple(array.tobytes().decode().split("\n")) if array.size else ()
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: expected UTF-8, got other bytes ({error.reason})") from None
    if len(set(texts)) < len(texts):
        twice, _ = Counter(texts).most_common(1)[0]
        raise InputError(f"{name}: expected distinct words, got {twice[:40]!r} twice")
    return texts
