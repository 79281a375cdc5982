"""Parsers in model files: names, the search that is named there, calibration, and a guide.

A file says which search it needs; the search reads its own entries. Files of version 0.1 do not say so: their
kind and the settings that they have tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from arbora.data.encode import INPUT_COLUMNS, InputColumn, Names
from arbora.data.pseudo_projective import PseudoProjective
from arbora.errors import InputError, ModelError
from arbora.parsing.guide import GuidedNames
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
    for guide in names.guides:
        arrays, metadata[GUIDE] = parser_parts(guide, quantized=quantized)
        tensors |= {f"{GUIDE}/{name}": array for name, array in arrays.items()}
    return tensors, metadata


def read_parts(file: ModelFile) -> dict[str, Any]:
    """The fields of the parser in a file; ModelError where it is damaged or needs what is not installed."""
    if file.metadata.get("kind") not in KINDS_OF_0_1:
        file.require_kind(KIND, "a parser, as `arbora train` writes it")
    factory: Any = searches.needed_by_file(search_name(file.metadata), file.source)
    try:
        names = _read_names(file)
        search: Search = factory.from_file(file, names)
        search = _lifted(search, file, names)
        guide = _guide_file(file, wanted=_needs_guide(search))
        calibration = _read_calibration(file)
        about = file.entry("about", dict)
    except InputError as error:
        what = f"{error}; the file is damaged or from another version"
        raise ModelError(what, source=file.source) from None
    if guide is not None:
        from arbora.parsing.parser import Parser

        names = GuidedNames.over(names, Parser.from_file(guide))
    return {"names": names, "search": search, "about": about, **calibration}


def search_name(metadata: Mapping[str, Any]) -> str:
    """The search that a parser's metadata names; in files of 0.1, the one whose settings they have."""
    if metadata.get("kind") not in KINDS_OF_0_1:
        return str(metadata.get("search"))
    if metadata["kind"] == "induced-parser":
        return "induced"
    return next((name for name in ("cube", "transition") if metadata.get(name) is not None), "graph")


def _lifted(search: Search, file: ModelFile, names: Names) -> Search:
    """The search, wrapped where labels mark lifted arcs."""
    settings = file.metadata.get(LIFTS)
    if settings is None:
        return search
    if not isinstance(settings, Mapping):
        raise InputError(f"{LIFTS}: expected a table, got {type(settings).__name__}")
    return LiftedSearch(search, from_dict(PseudoProjective, settings), names.labels)


def _needs_guide(search: Search) -> bool:
    templates = getattr(search.scorer, "templates", None)
    return templates is not None and templates.needs_guide


def _guide_file(file: ModelFile, *, wanted: bool) -> ModelFile | None:
    """The file within a file that holds a parser's guide. A guide has none itself."""
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


def _read_calibration(file: ModelFile) -> dict[str, Any]:
    """Temperatures, and whether they were fitted; version 0.1 has them in `about`."""
    found = file.metadata.get(CALIBRATION, file.entry("about", dict).get("temperature"))
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise InputError(f"{CALIBRATION}: expected a table, got {type(found).__name__}")
    return {"calibration": from_dict(Temperatures, found), "is_calibrated": True}


def _read_names(file: ModelFile) -> Names:
    tags = _texts(file, "tags")
    if file.metadata.get("kind") == "induced-parser":
        from arbora.induction.search import induced_names

        return induced_names(tags)
    return Names(tags, _texts(file, "labels"), _read_columns(file))


def _texts(file: ModelFile, name: str) -> tuple[str, ...]:
    """Texts that are all different; InputError for anything else."""
    found = file.entry(name, list)
    if not all(map(_is_name, found)) or len(set(found)) < len(found):
        raise InputError(f"{name}: expected texts that are all different, got others")
    return tuple(found)


def _is_name(found: object) -> bool:
    """Whether it is a text that a column of a treebank can hold."""
    return isinstance(found, str) and found != "" and not any(c in found for c in "\t\n\r")


def _read_columns(file: ModelFile) -> tuple[InputColumn, ...] | None:
    """The columns that training had; None in files of versions that did not store them."""
    if file.metadata.get("columns") is None:
        return None
    found = _texts(file, "columns")
    if not set(found) <= set(INPUT_COLUMNS):
        raise InputError(f"columns: expected some of {', '.join(INPUT_COLUMNS)}, got {', '.join(found)[:80]}")
    return tuple(column for column in INPUT_COLUMNS if column in found)
