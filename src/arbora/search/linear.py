"""Shared by searches with hashed linear scorers: native calls, a pruner, and weights in model files.

Weights are tables of float32 numbers, or of quantized bytes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from arbora._core import GraphModel, Pruning, in_memory
from arbora.data.encode import Batch, Names
from arbora.interfaces import Query
from arbora.registry import Registry, features
from arbora.scorers import GraphSettings, LinearScorer
from arbora.search.base import Parts, Search
from arbora.search.pruner import Pruner, PrunerSettings, require_rule
from arbora.search.ranked import RankedTrees, ranked_lists
from arbora.search.request import ParseRequest
from arbora.settings import from_dict, to_dict
from arbora.storage import quantization
from arbora.storage.model_file import ModelFile
from arbora.types import Floats, Ints

HASH_VERSION = 1


class LinearSearch(Search):
    """A search with a linear scorer. The scorer's settings say which trees; `settings`, how to search."""

    scorer_kind: ClassVar[type[Any]] = LinearScorer
    settings_kind: ClassVar[type[Any] | None] = None
    """The class of the search's own settings, which a model file has under the search's name."""
    templates: ClassVar[Registry[Any]] = features
    tables: ClassVar[Mapping[str, str]] = {"tree": "tree", "labels": "label_weights"}
    """The tensors of weights in a model file, and the attributes of the scorer that hold them."""

    def __init__(self, scorer: Any, pruner: Pruner | None = None) -> None:
        self.scorer = scorer
        self.pruner = pruner
        self.settings: Any = None if self.settings_kind is None else scorer.search
        shape: GraphSettings = scorer.settings
        self.trees, self.roots, self.order = shape.trees, shape.roots, shape.order
        self.label_count = scorer.label_count

    @property
    def queries(self) -> frozenset[Query]:
        return frozenset({Query.ARGMAX, Query.KBEST, Query.MARGINALS, Query.LOG_PARTITION, Query.GIVEN_HEADS})

    # Finding trees

    @property
    @abstractmethod
    def _native(self) -> tuple[Any, ...]:
        """The native model, and the weights and pruner that its calls take."""

    @property
    def _pruner(self) -> tuple[GraphModel | None, Floats | None, Pruning]:
        if self.pruner is None:
            return None, None, Pruning()
        return self.pruner.scorer.native, self.pruner.weights, self.pruner.settings.native

    def best(self, batch: Batch, request: ParseRequest) -> tuple[Ints, Ints]:
        model, *weights = self._native
        heads, labels = model.parse(batch.encoded, *weights, request.keep_heads, request.threads)
        return heads, labels

    def kbest(self, batch: Batch, k: int, request: ParseRequest) -> list[RankedTrees]:
        model, *weights = self._native
        lists = model.kbest(batch.encoded, *weights, k, request.keep_heads, request.threads)
        return ranked_lists(batch.lengths, *lists)

    # The model file

    def quantized(self) -> Self:
        weights = {name: _rounded(getattr(self.scorer, name)) for name in self.tables.values()}
        pruner = self.pruner
        if pruner is not None:
            pruner = Pruner(pruner.settings, _rounded(pruner.weights), pruner.roots)
        return type(self)(self.scorer.replaced(**weights), pruner)

    def to_parts(self, *, quantized: bool = False) -> Parts:
        tables = {name: getattr(self.scorer, attribute) for name, attribute in self.tables.items()}
        tables["pruner"] = None if self.pruner is None else self.pruner.weights
        tensors: dict[str, NDArray[Any]] = {"seen": np.packbits(self.scorer.seen)}
        for name, table in tables.items():
            if table is not None:
                tensors.update(quantization.stored(table, name, quantized=quantized))
        metadata = {
            "hash": HASH_VERSION,
            "settings": to_dict(self.scorer.settings),
            "pruner": None if self.pruner is None else to_dict(self.pruner.settings),
        }
        return tensors, metadata if self.settings is None else {**metadata, self.name: to_dict(self.settings)}

    @classmethod
    def from_file(cls, file: ModelFile, names: Names) -> Self:
        if file.entry("hash", int) != HASH_VERSION:
            raise file.error(
                f"hash: expected version {HASH_VERSION}, got {str(file.metadata['hash'])[:40]}; the parser "
                "comes from another version of Arbora: train it again"
            )
        settings = from_dict(GraphSettings, file.entry("settings", dict))
        own = {}
        if cls.settings_kind is not None:
            own = {"search": from_dict(cls.settings_kind, file.entry(cls.name, dict))}
        templates = cls.templates.needed_by_file(settings.features, file.source)()
        labels = len(names.labels)
        count = 64 * 64 * labels
        # The file must have the bytes before anything of this size is made.
        seen = file.tensor("seen", np.uint8, [(count + 7) // 8])
        weights: dict[str, Any] = {"seen": np.unpackbits(seen, count=count)}
        for name, attribute in cls.tables.items():
            bits = settings.tree_bits if name == "tree" else settings.label_bits
            if name == "tree" or settings.labels != "none":
                weights[attribute] = _read_table(file, name, 1 << bits)
        scorer = cls.scorer_kind(settings, templates, labels=labels, **own, **weights)
        return cls(scorer, _read_pruner(file, settings))


def _rounded(weights: Floats | None) -> Any:
    """Weights as a quantized file holds them."""
    return None if weights is None else quantization.dequantize(quantization.quantize(weights))


def _read_pruner(file: ModelFile, shape: GraphSettings) -> Pruner | None:
    if file.metadata.get("pruner") is None:
        return None
    settings = from_dict(PrunerSettings, file.entry("pruner", dict))
    require_rule(settings, shape.trees)
    weights = _read_table(file, "pruner", 1 << settings.bits)
    return Pruner(settings, weights, shape.roots)


def _read_table(file: ModelFile, name: str, size: int) -> Floats:
    """Read `size` weights, memory-mapped if they are one tensor."""
    return in_memory(quantization.flat_weights(file, name, size))
