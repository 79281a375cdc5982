"""`arbora info`: all about one thing that can be chosen by name, or about a model file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import typer
from typer.core import TyperGroup

from arbora.cli.console import counted, print_json, print_rows, show_line, show_scores
from arbora.cli.files import existing_model
from arbora.cli.list import KINDS, Kind, show_field
from arbora.cli.options import flag, json_option, usage_errors
from arbora.parsing.model_file import KIND, KINDS_OF_0_1, search_name
from arbora.storage.model_file import ModelFile, read_model
from arbora.storage.models import find_model, is_named, named_models
from arbora.storage.ud.folders import clean

Rows: TypeAlias = Sequence[Sequence[str]]

SCORES = {
    "segmenter": ("words", "sentences"),
    "tagger": ("upos", "morphology"),
    "lemmatizer": ("lemmas",),
    "parser": ("las", "uas", "upos", "xpos", "feats", "lemma"),
}
"""The scores on dev of each part, in the order in which parts are used."""
COUNTED = {
    "rules": (False, "rule"),
    "tags": (False, "tag"),
    "analyses": (True, "XPOS/FEATS pair"),
    "scripts": (True, "script"),
    "labels": (False, "label"),
}
"""Lists in the metadata of parts: whether they contain lists, and what is counted."""
MAIN_SETTINGS = ("parser", "trees", "roots", "order", "labels", "features", "learner")
MOST_NAMES = 20
CLASSIFIER = "classifier"


class ThingOrModel(TyperGroup):
    """A group in which any name that is no command is a model file: `arbora info da.arbora`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in self.commands and not args[0].startswith("-"):
            if not is_named(args[0]) and not Path(args[0]).exists():
                kinds = [name for name in self.commands if name != "model"]
                raise typer.BadParameter(
                    f"{args[0]}: no such file, model or kind; expected a model "
                    f"({', '.join(named_models())}, or a file) or a kind ({', '.join(kinds)})",
                    ctx=ctx,
                )
            args = ["model", *args]
        return super().resolve_command(ctx, args)


command = typer.Typer(cls=ThingOrModel, no_args_is_help=True)


def _add_command(kind: Kind, plural: str) -> None:
    call = f"arbora info {kind.singular} {kind.example}"
    names = f"NAME is one of `arbora list {plural}`."

    @command.command(kind.singular, help=f"{kind.help}\n\n{names}\n\nExamples: {call}; {call} --json")
    def describe(
        name: str = typer.Argument(..., metavar="NAME"), as_json: bool = json_option("one object")
    ) -> None:
        with usage_errors():
            found = kind.describe(name)
        if as_json:
            print_json(found)
            return
        show_line(str(found.get("about") or found.get("text") or found["summary"]).rstrip("\n"))
        for headings, rows in _described(kind, found):
            print()
            print_rows(headings, rows)


def _described(kind: Kind, found: dict[str, Any]) -> Iterator[tuple[Sequence[str], Rows]]:
    """The tables of a description: single facts, parameters, and tables by name."""
    if kind.rows:
        yield ("name", found["name"]), [(row, show_field(row, found)) for row in kind.rows]
    if parameters := found.get("parameters"):
        rows = [(each["name"], str(each["default"]), each["range"], each["help"]) for each in parameters]
        yield ("parameter", "default", "range", "what"), rows
    for name, table in found.items():
        if isinstance(table, Mapping):
            entries = ((key, value if isinstance(value, list) else [value]) for key, value in table.items())
            yield (name, "what"), [(key, str(value)) for key, values in entries for value in values]


for _plural, _kind in KINDS.items():
    if _kind.help:
        _add_command(_kind, _plural)


@command.command("model")
def model(
    path: str = typer.Argument(..., metavar="MODEL", callback=existing_model, help="A model file."),
    as_json: bool = json_option("all metadata of the file"),
    everything: bool = flag("--all: Also show every setting of the training, all labels, every array."),
    check: bool = flag("--check: Read all data and compare the checksum."),
) -> None:
    """Show how and on what a model was trained, its scores, labels, tags and sizes.

    Examples: arbora info english; arbora info da.arbora --all; arbora info da.arbora --json
    """
    file = read_model(find_model(path), verify=check)
    size = Path(find_model(path)).stat().st_size
    arrays = sorted(file.tensors.items())
    if as_json:
        tensors = {
            name: {"type": str(array.dtype), "shape": list(array.shape), "bytes": array.nbytes}
            for name, array in arrays
        }
        head = {"arbora_version": file.arbora_version, "format": file.format, "bytes": size}
        checked = {"checked": True} if check else {}
        print_json({**head, **checked, **file.metadata, "tensors": tensors})
        return
    for number, (header, rows) in enumerate(_tables(path, file, size, check, everything)):
        if number:
            print()
        print_rows(header, rows)


def _object(value: object, *path: str) -> Mapping[str, Any]:
    """The JSON object at a path; empty if there is none, since files may be damaged."""
    for step in path:
        value = _object(value).get(step)
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _joined(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


def _tables(
    path: str, file: ModelFile, size: int, checked: bool, everything: bool
) -> Iterator[tuple[Sequence[str], Rows]]:
    metadata = file.metadata
    kind = str(metadata.get("kind"))
    shown = f"{search_name(metadata)} parser" if kind in (KIND, *KINDS_OF_0_1) else kind
    rows = [("kind", shown), ("version", file.arbora_version), ("format", str(file.format))]
    rows += [("bytes", f"{size:,}"), *([("checksum", "right")] if checked else [])]
    rows += _classifier(file, everything) if kind == CLASSIFIER else _about(metadata, everything)
    yield ("model", path), rows
    parts = _object(metadata, "parts")
    if parts:
        yield ("part", "bytes", "dev", "what"), list(_parts(file, parts))
    if parser := _object(parts, "parser"):
        yield ("parser", ""), [row for row in _about(parser, everything) if row not in rows]
    if guide := _object(parser if parts else metadata, "guide"):
        yield ("guide", ""), list(_about(guide, everything))
    if everything:
        arrays = [
            (name, str(array.dtype), f"{array.size:,}", f"{array.nbytes:,}")
            for name, array in sorted(file.tensors.items())
        ]
        yield ("array", "type", "entries", "bytes"), arrays
    else:
        names = "classes" if kind == CLASSIFIER else "labels"
        yield ("more", f"--all: every setting, all {names}, {counted(len(file.tensors), 'array')}"), []


def _parts(file: ModelFile, parts: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """The name of each part, the size of its arrays, its scores on dev, and what it contains."""
    scores = _object(file.metadata, "about", "dev")
    for name in [*(n for n in SCORES if n in parts), *(n for n in parts if n not in SCORES)]:
        size = sum(array.nbytes for key, array in file.tensors.items() if key.startswith(f"{name}/"))
        own = {each: scores[each] for each in SCORES.get(name, ()) if each in scores}
        lists = _object(parts[name])
        counts = [
            counted(sum(len(_list(each)) for each in lists[entry]) if nested else len(lists[entry]), what)
            for entry, (nested, what) in COUNTED.items()
            if isinstance(lists.get(entry), list)
        ]
        yield name, f"{size:,}", _scores(own), ", ".join(counts)


def _scores(scores: object) -> str:
    numbers = {str(n): value for n, value in _object(scores).items() if isinstance(value, int | float)}
    return show_scores(numbers) or "none"


def _names(names: Sequence[object], everything: bool) -> str:
    """The number of names, and the first of them, or all."""
    shown = names if everything or len(names) <= MOST_NAMES else [*names[:MOST_NAMES], "..."]
    return f"{len(names)}: {' '.join(map(str, shown))}"


def _flat(table: object, prefix: str) -> Iterator[tuple[str, str]]:
    for name, value in _object(table).items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}.{name}")
        else:
            yield f"{prefix}.{name}", str(value).lower() if isinstance(value, bool) else str(value)


def _about(metadata: Mapping[str, Any], everything: bool) -> Iterator[tuple[str, str]]:
    """The rows about a model or its parser; none for unknown kinds of files."""
    about, settings = _object(metadata, "about"), _object(metadata, "settings")
    config = _object(about, "config")
    if everything:
        yield from _flat(settings, "settings")
    elif settings:
        chosen = {**config, **settings, "parser": search_name(metadata)}
        if metadata.get("transition") is not None:
            chosen.pop("order", None)
        yield "settings", _joined({name: chosen[name] for name in MAIN_SETTINGS if name in chosen})
    if scorer := metadata.get("scorer"):
        shape = {name: metadata.get(name) for name in ("trees", "roots")}
        yield "settings", _joined({"parser": search_name(metadata), "scorer": scorer, **shape})
        yield from _network(metadata)
    yield from _flat(metadata.get("cube"), "cube")
    yield from _flat(metadata.get("transition"), "transition")
    if pruner := _object(metadata, "pruner"):
        yield "pruner", _joined(pruner)
    yield from _flat(metadata.get("lifts"), "lifts")
    if isinstance(metadata.get("clusters"), int):
        source = config.get("vectors") or config.get("text")
        yield "clusters", f"{counted(metadata['clusters'], 'word')} of {source}"
    members = _list(metadata.get("members"))
    weights = metadata.get("weights", [1.0 / max(1, len(members))] * len(members))
    for member, weight in zip(map(_object, members), _list(weights), strict=False):
        share = f"weight {weight:.3f}" if isinstance(weight, int | float) else "no weight"
        dev = _scores(_object(member, "about", "dev"))
        yield "member", f"{share}, {search_name(member)} parser, dev: {dev}"
    if isinstance(about.get("starts"), list):
        yield from _induced(about, config)
    if isinstance(about.get("dev"), Mapping) and "parts" not in metadata:
        yield "dev", _scores(about["dev"])
    if about and settings:
        fitted = metadata.get("calibration") or about.get("temperature")
        numbers = {n: f"{v:.3g}" for n, v in _object(fitted).items() if isinstance(v, int | float)}
        is_fitted = isinstance(fitted, Mapping)
        yield "temperatures", _joined(numbers) if is_fitted else "not fitted, without dev: all are 1"
    for part, found in _object(about, "guide").items():
        yield f"guide on {part}", _scores(found)
    if isinstance(about.get("compact"), Mapping):
        before = about["compact"].get("before")
        yield "compact", f"yes; {_scores(before)} on dev before" if before else "yes"
    if isinstance(about.get("epochs"), list):
        yield "epochs", _epochs(about["epochs"])
    for treebank in map(_object, _list(about.get("data"))):
        yield "data", clean(str(treebank.get("name")))
        for name in ("licence", "attribution"):
            yield name, clean(str(treebank.get(name) or "unknown"))
    if everything:
        yield from _flat(config, "config")
    if isinstance(metadata.get("columns"), list):
        yield "columns", " ".join(["form", *map(str, metadata["columns"])])
    for name in ("tags", "labels"):
        if isinstance(metadata.get(name), list):
            yield name, _names(metadata[name], everything)


def _network(metadata: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The rows about a parser with a network: its sizes, and what it reads and predicts."""
    settings, config = _object(metadata, "scorer_settings"), _object(metadata, "about", "config")
    sizes = _object(config, "neural")
    if encoder := _object(settings, "encoder"):
        yield "encoder", clean(str(encoder.get("name")))
    elif metadata.get("scorer") == "neural":
        yield "network", _joined({name: sizes[name] for name in ("layers", "units") if name in sizes})
    if outputs := _object(settings, "outputs"):
        yield "predicts", " ".join(map(str.upper, outputs))


def _induced(about: Mapping[str, Any], config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The rows about a parser that was learned without a treebank."""
    count = len(_list(about.get("rules")))
    yield "induced by", str(about.get("model"))
    yield "rules", f"{config.get('rules')}, {counted(count, 'pair')} of tags" if count else "none"
    sentences, longest = about.get("sentences"), config.get("longest")
    if isinstance(sentences, int) and isinstance(longest, int):
        yield "from", f"{counted(sentences, 'sentence')} of at most {counted(longest, 'word')}"
    for start in map(_object, about["starts"]):
        if isinstance(start.get("objective"), float):
            yield f"seed {start.get('seed')}", f"objective {start['objective']:.4f} per word"


def _epochs(reports: list[Any]) -> str:
    """The number of epochs of each stage, and which was kept."""
    known = [each for each in map(_object, reports) if {"stage", "epoch", "best"} <= each.keys()]
    last = {str(each["stage"]): each["epoch"] for each in known}
    kept = {str(each["stage"]): each["epoch"] for each in known if each["best"]}
    return ", ".join(f"{stage} {count} (kept {kept.get(stage)})" for stage, count in last.items())


def _classifier(file: ModelFile, everything: bool) -> Iterator[tuple[str, str]]:
    settings = _object(file.metadata, "settings")
    if everything:
        yield from _flat(settings, "settings")
    else:
        parameters = _joined(_object(settings, "parameters"))
        yield "learner", ", ".join(filter(None, [str(settings.get("learner")), parameters]))
        names = ("epochs", "weights", "intercept")
        yield "settings", _joined({name: settings[name] for name in names if name in settings})
    weights, costs = file.tensors.get("weights"), file.tensors.get("costs")
    if weights is not None and weights.ndim == 2:
        yield "features", f"{len(weights) - bool(settings.get('intercept')):,}"
    if costs is not None and costs.ndim == 2 and costs.shape[0] == costs.shape[1] > 1:
        others = costs[~np.eye(len(costs), dtype=bool)]
        yield "costs", " to ".join(f"{cost:g}" for cost in sorted({others.min(), others.max()}))
    steps = _object(file.metadata, "course").get("steps")
    if isinstance(steps, int):
        yield "partial_fit", f"continues after {counted(steps, 'step')}"
    else:
        yield "partial_fit", "cannot continue from this file"
    if isinstance(file.metadata.get("classes"), list):
        yield "classes", _names(file.metadata["classes"], everything)
