"""The weights of linear parsers in model files: tables of floats or of quantized bytes, and the pruner's."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arbora._core import in_memory
from arbora.data.encode import Names
from arbora.errors import ModelError
from arbora.scorers import GraphSettings
from arbora.search.base import Parts
from arbora.search.pruner import Pruner, PrunerSettings, pruner_scorer, require_rule
from arbora.settings import from_dict, to_dict
from arbora.storage import quantization
from arbora.storage.model_file import ModelFile
from arbora.types import Floats

HASH_VERSION = 1


def rounded(weights: Floats | None) -> Floats | None:
    """Weights as a quantized file holds them."""
    return None if weights is None else quantization.dequantize(quantization.quantize(weights))


def rounded_pruner(pruner: Pruner | None) -> Pruner | None:
    """A pruner as a quantized file holds it."""
    if pruner is None:
        return None
    weights = quantization.dequantize(quantization.quantize(pruner.weights))
    return Pruner(pruner.settings, weights, pruner.roots)


def linear_parts(
    scorer: Any, tables: dict[str, Floats | None], pruner: Pruner | None, *, quantized: bool
) -> Parts:
    """Tensors and metadata of a linear scorer, its further tables and its pruner."""
    every = {"tree": scorer.tree, "labels": scorer.label_weights, **tables}
    every["pruner"] = None if pruner is None else pruner.weights
    tensors: dict[str, NDArray[Any]] = {"seen": np.packbits(scorer.seen)}
    for name, table in every.items():
        if table is not None:
            tensors.update(quantization.quantize(table, name) if quantized else {name: table})
    metadata = {
        "hash": HASH_VERSION,
        "settings": to_dict(scorer.settings),
        "pruner": None if pruner is None else to_dict(pruner.settings),
    }
    return tensors, metadata


def read_settings(file: ModelFile) -> GraphSettings:
    """The settings of a linear scorer; ModelError where its features are hashed otherwise."""
    if file.entry("hash", int) != HASH_VERSION:
        raise ModelError(
            f"hash: expected version {HASH_VERSION}, got {str(file.metadata['hash'])[:40]}; the parser is of "
            "another version of Arbora: train it again",
            source=file.source,
        )
    return from_dict(GraphSettings, file.entry("settings", dict))


def read_weights(file: ModelFile, scorer: Any, names: Names) -> dict[str, Any]:
    """The labels that pairs of tags had, and the weights that every linear scorer has."""
    count = 64 * 64 * len(names.labels)
    found: dict[str, Any] = {
        "seen": np.unpackbits(file.tensor("seen", np.uint8, [(count + 7) // 8]), count=count),
        "tree": read_table(file, "tree", scorer.weight_count("tree")),
    }
    if scorer.settings.labels != "none":
        found["label_weights"] = read_table(file, "labels", scorer.weight_count("labels"))
    return found


def read_pruner(file: ModelFile, shape: GraphSettings) -> Pruner | None:
    """The pruner; None where the parser has none."""
    if file.metadata.get("pruner") is None:
        return None
    settings = from_dict(PrunerSettings, file.entry("pruner", dict))
    require_rule(settings, shape.trees)
    weights = read_table(file, "pruner", pruner_scorer(settings).weight_count())
    return Pruner(settings, weights, shape.roots)


def read_table(file: ModelFile, name: str, size: int) -> Floats:
    """So many weights, memory-mapped unless they are quantized."""
    if not quantization.is_quantized(file.tensors, name):
        return in_memory(file.tensor(name, np.float32, [size]))
    weights = in_memory(quantization.dequantize(file.tensors, name, source=file.source).reshape(-1))
    if weights.shape != (size,):
        raise ModelError(f"tensor {name!r}: expected {size} weights, got {weights.size}", source=file.source)
    return weights
