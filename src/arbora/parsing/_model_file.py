"""What a parser's model file says, checked entry by entry; InputError or ModelError where it is damaged."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from arbora._core import in_memory
from arbora.data.encode import INPUT_COLUMNS, InputColumn
from arbora.errors import InputError, ModelError
from arbora.scorers import CubeSettings, GraphSettings, TransitionSettings
from arbora.search.pruner import Pruner, PrunerSettings, pruner_scorer, require_rule
from arbora.settings import from_dict
from arbora.storage import quantization as compact
from arbora.storage.model_file import ModelFile

Floats: TypeAlias = NDArray[np.float32]


def rounded(weights: Floats) -> Floats:
    """As a file with one byte per weight holds them."""
    return compact.dequantize(compact.quantize(weights))


def load_pruner(file: ModelFile, shape: GraphSettings) -> Pruner | None:
    """None where the parser has none."""
    if file.metadata.get("pruner") is None:
        return None
    settings = from_dict(PrunerSettings, file.entry("pruner", dict))
    require_rule(settings, shape.trees)
    return Pruner(settings, read_table(file, "pruner", pruner_scorer(settings).size()), shape.roots)


def load_cube(file: ModelFile) -> CubeSettings | None:
    """None where trees are searched exactly."""
    if file.metadata.get("cube") is None:
        return None
    return from_dict(CubeSettings, file.entry("cube", dict))


def load_transition(file: ModelFile, shape: GraphSettings) -> TransitionSettings | None:
    """None for parsers of other kinds."""
    if file.metadata.get("transition") is None:
        return None
    settings = from_dict(TransitionSettings, file.entry("transition", dict))
    if file.metadata.get("cube") is not None or shape.trees != settings.trees or shape.labels == "staged":
        raise InputError(
            f"transition: expected {settings.trees} trees, labels joint or none and no other search with "
            f"the system {settings.system}, got {shape.trees} trees with labels {shape.labels}"
        )
    return settings


GUIDE = "guide"


def guide_file(file: ModelFile, *, wanted: bool) -> ModelFile | None:
    """The file within a file that holds a parser's guide; None where it has none. A guide has none itself."""
    found = file.metadata.get(GUIDE)
    if (found is not None) != wanted:
        raise InputError(f"{GUIDE}: expected {'one' if wanted else 'none'}, as its features say, got another")
    if found is None:
        return None
    metadata = file.entry(GUIDE, dict)
    if metadata.get(GUIDE) is not None:
        raise InputError(f"{GUIDE}: expected a parser that has no guide, got one that has")
    # Without the whole file's checksum, by which other processes would load the guided parser instead.
    return replace(file.within(f"{GUIDE}/", metadata), checksum=None)


def read_names(file: ModelFile, name: str) -> tuple[str, ...]:
    """Texts that are all different; InputError for anything else."""
    found = file.entry(name, list)
    if not all(map(_is_name, found)) or len(set(found)) < len(found):
        raise InputError(f"{name}: expected texts that are all different, got others")
    return tuple(found)


def _is_name(found: object) -> bool:
    """Whether it is a text that a column of a treebank can hold."""
    return isinstance(found, str) and found != "" and not any(c in found for c in "\t\n\r")


def read_columns(file: ModelFile) -> tuple[InputColumn, ...] | None:
    """The columns that training had; None in files of versions that did not store them."""
    if file.metadata.get("columns") is None:
        return None
    found = read_names(file, "columns")
    if not set(found) <= set(INPUT_COLUMNS):
        raise InputError(f"columns: expected some of {', '.join(INPUT_COLUMNS)}, got {', '.join(found)[:80]}")
    return tuple(column for column in INPUT_COLUMNS if column in found)


def read_table(file: ModelFile, name: str, size: int) -> Floats:
    """So many weights, memory-mapped unless they are quantized."""
    if not compact.is_quantized(file.tensors, name):
        return in_memory(file.tensor(name, np.float32, [size]))
    weights = in_memory(compact.dequantize(file.tensors, name, source=file.source).reshape(-1))
    if weights.shape != (size,):
        raise ModelError(f"tensor {name!r}: expected {size} weights, got {weights.size}", source=file.source)
    return weights
