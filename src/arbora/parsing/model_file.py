"""Parsers in model files: names, clusters of words, search, calibration, and a guide.

A file names its search, which reads its own entries. In files of version 0.1, the kind and the settings that
they have identify it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from arbora.data.clusters import WordClusters
from arbora.data.encode import INPUT_COLUMNS, Names
from arbora.data.projectivize import PseudoProjective
from arbora.errors import InputError
from arbora.registry import searches
from arbora.search.base import Parts, Search
from arbora.search.lifted import LIFTS, LiftedSearch
from arbora.search.request import Temperatures
from arbora.settings import from_dict, to_dict
from arbora.storage.model_file import ModelFile

if TYPE_CHECKING:
    from arbora.parsing.parser import Parser

KIND, GUIDE, CALIBRATION = "parser", "guide", "calibration"
KINDS_OF_0_1 = ("graph-parser", "induced-parser")


def parser_parts(parser: Parser, *, quantized: bool = False) -> Parts:
    """Tensors and metadata of a parser."""
    tensors, metadata = parser.search.to_parts(quantized=quantized)
    names = parser.names
    metadata |= {
        "kind": KIND,
        "search": parser.search.name,
        "tags": list(names.tags),
        "labels": list(names.labels),
        "columns": None if names.columns is None else list(names.columns),
        CALIBRATION: to_dict(parser.calibration) if parser.is_calibrated else None,
        "about": parser.about,
    }
    if names.clusters is not None:
        tensors |= names.clusters.to_tensors()
        metadata["clusters"] = len(names.clusters)
    if names.guide is not None:
        arrays, metadata[GUIDE] = parser_parts(names.guide, quantized=quantized)
        tensors |= {f"{GUIDE}/{name}": array for name, array in arrays.items()}
    return tensors, metadata


def recalibrated_parts(
    file: ModelFile, calibration: Temperatures
) -> tuple[Mapping[str, Any], dict[str, Any]]:
    """Tensors and metadata of a model file with another calibration; everything else stays as it is."""
    metadata = dict(file.metadata)
    if "parts" not in metadata:
        return file.tensors, metadata | {CALIBRATION: to_dict(calibration)}
    parts = dict(file.entry("parts", dict))
    parts["parser"] = dict(file.part("parser").metadata) | {CALIBRATION: to_dict(calibration)}
    return file.tensors, metadata | {"parts": parts}


def read_parts(file: ModelFile) -> dict[str, Any]:
    """The fields of the parser in a file; ModelError if it is damaged, or needs a missing plugin."""
    if file.metadata.get("kind") not in KINDS_OF_0_1:
        file.require_kind(KIND, "a parser, as `arbora train` writes it")
    factory: Any = searches.needed_by_file(search_name(file.metadata), file.source)
    try:
        names = replace(_read_names(file), clusters=WordClusters.from_file(file))
        search: Search = factory.from_file(file, names)
        if file.metadata.get(LIFTS) is not None:
            lifts = from_dict(PseudoProjective, file.metadata[LIFTS], source=LIFTS)
            if not search.label_count:
                raise InputError(f"{LIFTS}: expected a parser with labels, which carry the marks, got none")
            search = LiftedSearch(search, lifts, names.labels)
        guide = _guide_file(file, is_needed=getattr(search.scorer, "needs_guide", False))
        templates = getattr(search.scorer, "templates", None)
        if templates is not None and templates.needs_clusters and names.clusters is None:
            raise InputError("clusters: expected some, as its features say, got none")
        calibration = _read_calibration(file)
        about = file.entry("about", dict)
    except InputError as error:
        raise file.error(f"{error}; the file is damaged or from another version") from None
    if guide is not None:
        from arbora.parsing.parser import Parser

        names = replace(names, guide=Parser.from_file(guide))
    return {"names": names, "search": search, "about": about, **calibration}


def search_name(metadata: Mapping[str, Any]) -> str:
    """The search that a parser's metadata names; in files of 0.1, the one whose settings they have."""
    if metadata.get("kind") not in KINDS_OF_0_1:
        return str(metadata.get("search"))
    if metadata["kind"] == "induced-parser":
        return "induced"
    return next((name for name in ("cube", "transition") if metadata.get(name) is not None), "graph")


def _guide_file(file: ModelFile, *, is_needed: bool) -> ModelFile | None:
    """The part of the file that holds a parser's guide, which has none itself."""
    if (file.metadata.get(GUIDE) is not None) != is_needed:
        expected, got = ("one", "none") if is_needed else ("none", "one")
        raise InputError(f"{GUIDE}: expected {expected}, as its features say, got {got}")
    if not is_needed:
        return None
    metadata = file.entry(GUIDE, dict)
    if metadata.get(GUIDE) is not None:
        raise InputError(f"{GUIDE}: expected a parser that has no guide, got one that has")
    # Without the whole file's checksum, by which other processes would load the guided parser instead.
    return replace(file.within(f"{GUIDE}/", metadata), checksum=None)


def _read_calibration(file: ModelFile) -> dict[str, Any]:
    """Temperatures, and whether they were fitted; files of 0.1 have them in `about`."""
    settings = file.metadata.get(CALIBRATION, file.entry("about", dict).get("temperature"))
    if settings is None:
        return {}
    return {"calibration": from_dict(Temperatures, settings, source=CALIBRATION), "is_calibrated": True}


def _read_names(file: ModelFile) -> Names:
    tags = file.texts("tags")
    if file.metadata.get("kind") == "induced-parser":
        from arbora.induction.search import induced_names

        return induced_names(tags)
    labels = file.texts("labels")
    if file.metadata.get("columns") is None:  # in files of versions that did not store them
        return Names(tags, labels)
    columns = file.texts("columns")
    if not set(columns) <= set(INPUT_COLUMNS):
        expected, got = ", ".join(INPUT_COLUMNS), ", ".join(columns)[:80]
        raise InputError(f"columns: expected some of {expected}, got {got}")
    return Names(tags, labels, tuple(column for column in INPUT_COLUMNS if column in columns))
