"""`arbora info`: all about one thing that can be chosen by name."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer
from typer.core import TyperGroup

from arbora.cli.classifiers import about_classifier, flat, is_classifier, named
from arbora.cli.files import counted, existing_model, session
from arbora.cli.list import (
    describe_family,
    describe_features,
    describe_inducer,
    describe_learner,
    describe_rules,
    describe_study,
    print_rows,
)
from arbora.cli.texts import show_scores
from arbora.cli.verbs import require_studies
from arbora.errors import InputError
from arbora.interfaces import ROOTS
from arbora.parsing.model_file import KIND, KINDS_OF_0_1, search_name
from arbora.registry import families, inducers, learners
from arbora.storage.bundled import BUNDLED, find_model, is_bundled
from arbora.storage.model_file import ModelFile, read_model
from arbora.storage.ud.manifest import clean

Rows: TypeAlias = Sequence[Sequence[str]]
JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="JSON on stdout: one object.")]


SCORES = {
    "segmenter": ("words", "sentences"),
    "tagger": ("upos", "morphology"),
    "lemmatizer": ("lemmas",),
    "parser": ("las", "uas"),
}
"""Whose the scores on dev are, in the order in which parts are used."""
COUNTED = {
    "rules": (0, "rule"),
    "tags": (0, "tag"),
    "analyses": (1, "XPOS/FEATS pair"),
    "scripts": (1, "script"),
    "labels": (0, "label"),
}
"""Lists in the metadata of parts: how deep they are, and what is in them."""


MAIN_SETTINGS = ("parser", "trees", "roots", "order", "labels", "features", "learner")


class ThingOrModel(TyperGroup):
    """Whatever is no kind of thing is the name of a model file: `arbora info da.arbora`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command for these arguments."""
        if args[0] not in self.commands and not args[0].startswith("-"):
            if not is_bundled(args[0]) and not Path(args[0]).exists():
                kinds = [name for name in self.commands if name != "model"]
                raise typer.BadParameter(
                    f"{args[0]}: no such file, and no kind of thing; expected a model ({', '.join(BUNDLED)} "
                    f"comes with Arbora) or one of {', '.join(kinds)}",
                    ctx=ctx,
                )
            args = ["model", *args]
        return super().resolve_command(ctx, args)


info = typer.Typer(
    cls=ThingOrModel,
    no_args_is_help=True,
    help="Say all about one thing: arbora info family projective; or about a model: arbora info da.arbora",
)


@dataclass(frozen=True)
class Described:
    """What there is to say about a thing: to scripts, and to people as a text and tables."""

    json: Mapping[str, Any]
    about: str
    tables: Sequence[tuple[Sequence[str], Rows]]
    """Headings and rows."""


def _tell(name: str, describe: Callable[[str], Described], *, as_json: bool) -> None:
    """Print it; the command line is at fault where nothing has that name."""
    try:
        found = describe(name)
    except InputError as error:
        raise typer.BadParameter(str(error)) from error
    if as_json:
        print(json.dumps(found.json, ensure_ascii=False, indent=1))
        return
    print(found.about)
    for headings, rows in found.tables:
        print()
        print_rows(headings, rows)


@info.command("family")
def family(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name from `arbora list families`.")],
    as_json: JsonOption = False,
) -> None:
    """Say what a family of trees holds, what it scores, and which questions it answers at what price.

    Examples: arbora info family projective; arbora info family projective_sibling --json
    """
    _tell(name, _family, as_json=as_json)


def _family(name: str) -> Described:
    made = families.create(name)
    described = describe_family(made)
    about = inspect.getdoc(type(made)) or ""
    shapes = [f"{kind.value} ({', '.join(['n+1'] * kind.axes)})" for kind in made.parts]
    rows = [
        ("trees", made.trees),
        ("roots", " or ".join(ROOTS)),
        ("parts", "; ".join(shapes)),
        ("exactly", " ".join(described["exact"]) or "nothing"),
        ("approximately", " ".join(described["approximate"]) or "nothing"),
    ]
    return Described(
        {**described, "about": about, "roots": list(ROOTS)}, about, [(("name", made.name), rows)]
    )


@info.command("learner")
def learner(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name from `arbora list learners`.")],
    as_json: JsonOption = False,
) -> None:
    """Say what a learner does, what it asks for, and which parameters it has, with ranges and defaults.

    Examples: arbora info learner pegasos; arbora info learner mira --json
    """
    _tell(name, _learner, as_json=as_json)


def _learner(name: str) -> Described:
    described = describe_learner(name)
    about = inspect.getdoc(learners.factory(name)) or ""
    needs = "; ".join(filter(None, [" ".join(described["needs"]), described["needs_more"]]))
    tables: list[tuple[Sequence[str], Rows]] = [
        (("name", name), [("needs", needs), ("paper", described["paper"])]),
        _parameters(described["parameters"]),
    ]
    return Described({**described, "about": about}, about, tables)


def _parameters(declared: Sequence[Mapping[str, Any]]) -> tuple[Sequence[str], Rows]:
    rows = [(each["name"], str(each["default"]), each["range"], each["help"]) for each in declared]
    return ("parameter", "default", "range", "what"), rows


@info.command("inducer")
def inducer(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name from `arbora list inducers`.")],
    as_json: JsonOption = False,
) -> None:
    """Say how a model learns trees without a treebank, and which parameters it has.

    Examples: arbora info inducer crfae; arbora info inducer dmv --json
    """
    _tell(name, _inducer, as_json=as_json)


def _inducer(name: str) -> Described:
    described = describe_inducer(name)
    about = inspect.getdoc(inducers.factory(name)) or ""
    tables: list[tuple[Sequence[str], Rows]] = [(("name", name), [("paper", described["paper"])])]
    if described["parameters"]:
        tables.append(_parameters(described["parameters"]))
    return Described({**described, "about": about}, about, tables)


@info.command("rules")
def rules(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name from `arbora list rules`.")],
    as_json: JsonOption = False,
) -> None:
    """Print rules for `arbora induce`, as a file of rules: to read, or to write one's own from.

    Examples: arbora info rules universal; arbora info rules universal > mine.txt
    """
    _tell(name, _described_rules, as_json=as_json)


def _described_rules(name: str) -> Described:
    described = describe_rules(name)
    return Described({**described}, described["text"].rstrip("\n"), [])


@info.command("features")
def features(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name from `arbora list features`.")],
    as_json: JsonOption = False,
) -> None:
    """Say what a template set looks at: every template, by the kind of part that it scores.

    Atoms are role.field: h head, d dependent, s and t the next dependents towards the head, g the head's
    head, b each word between, l and r the outermost dependents of d, q the head that a guide gives to d; h-1
    stands before the head, and d.guide is the label that the guide gives to d.

    Of transition parsers: l and r, the words between which an arc may be made; u below l on the stack, n and
    m next in the buffer; lh the head of l, ll and lr its outermost dependents, rl and rr those of r, ll2 and
    the like the next ones inwards; lq and rq the heads that a guide gives to l and r. Of labels: h and d as
    above, s, dl and dr the outermost dependents of h and d.

    Examples: arbora info features graph-v1; arbora info features pruner-v1 --json
    """
    _tell(name, _features, as_json=as_json)


def _features(name: str) -> Described:
    described = describe_features(name)
    rows = [(part, template) for part, found in described["templates"].items() for template in found]
    return Described({**described}, described["summary"], [(("part", "template"), rows)])


@info.command("study")
def study(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name from `arbora list studies`.")],
    as_json: JsonOption = False,
) -> None:
    """Say what a study reproduces, and which languages and learners it has to choose from.

    Examples: arbora info study pegasos; arbora info study pegasos --json
    """
    _tell(name, _study, as_json=as_json)


def _study(name: str) -> Described:
    described = describe_study(name)
    about = inspect.getdoc(require_studies().factory(name)) or ""
    tables: list[tuple[Sequence[str], Rows]] = [(("name", name), [("paper", described["paper"])])]
    tables += [
        ((kind, "what"), list(found.items()))
        for kind, found in (("languages", described["languages"]), ("learners", described["learners"]))
    ]
    return Described({**described, "about": about}, about, tables)


@info.command("model")
def model(
    path: Annotated[str, typer.Argument(metavar="MODEL", callback=existing_model, help="A model file.")],
    as_json: Annotated[
        bool, typer.Option("--json", help="JSON on stdout: all that the file says of itself.")
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Every setting of the training, all labels, and every array, too.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Read all data, and see that it is what was written.")
    ] = False,
) -> None:
    """Say what a model is: how and on what it was trained, its scores, labels, tags and sizes.

    Examples: arbora info english; arbora info da.arbora --all; arbora info da.arbora --json
    """
    with session():
        file = read_model(find_model(path), verify=check)
        tables = {
            name: {"type": str(array.dtype), "shape": list(array.shape), "bytes": array.nbytes}
            for name, array in sorted(file.tensors.items())
        }
        size = Path(find_model(path)).stat().st_size
        if as_json:
            head: dict[str, Any] = {
                "arbora_version": file.arbora_version,
                "format": file.format,
                "bytes": size,
            }
            head |= {"checked": True} if check else {}
            answer = {**head, **file.metadata, "tensors": tables}
            print(json.dumps(answer, ensure_ascii=False, indent=1))
            return
        for number, (header, rows) in enumerate(_tables(path, file, size, check, everything)):
            if number:
                print()
            print_rows(header, [[_printable(cell) for cell in row] for row in rows])


def _tables(
    path: str, file: ModelFile, size: int, checked: bool, everything: bool
) -> Iterator[tuple[Sequence[str], Rows]]:
    """What people read of a model file: headings and rows."""
    rows = [("version", file.arbora_version), ("format", str(file.format)), ("bytes", f"{size:,}")]
    rows += [("checksum", "right")] if checked else []
    told = (
        about_classifier(file, everything)
        if is_classifier(file.metadata)
        else _about(file.metadata, everything)
    )
    known = [("kind", _kind(file.metadata)), *rows, *told]
    yield ("model", path), known
    parts = file.metadata.get("parts")
    if isinstance(parts, Mapping):
        yield ("part", "bytes", "dev", "what"), list(_parts(file, parts))
        if isinstance(parts.get("parser"), Mapping):
            yield ("parser", ""), [row for row in _about(parts["parser"], everything) if row not in known]
    if guide := _guide(file.metadata):
        yield ("guide", ""), list(_about(guide, everything))
    if not everything:
        names = "classes" if is_classifier(file.metadata) else "labels"
        yield ("more", f"--all: every setting, all {names}, {counted(len(file.tensors), 'array')}"), []
        return
    arrays = [
        (name, str(array.dtype), f"{array.size:,}", f"{array.nbytes:,}")
        for name, array in sorted(file.tensors.items())
    ]
    yield ("array", "type", "entries", "bytes"), arrays


def _kind(metadata: Mapping[str, Any]) -> str:
    """What a file is; of parsers, how they find trees."""
    kind = str(metadata.get("kind"))
    return f"{search_name(metadata)} parser" if kind in (KIND, *KINDS_OF_0_1) else kind


def _parts(file: ModelFile, parts: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """Of each part: its name, how large its arrays are, its scores on dev, and what it knows."""
    about = file.metadata.get("about")
    scores = about.get("dev") if isinstance(about, Mapping) else None
    for name in [*(n for n in SCORES if n in parts), *(n for n in parts if n not in SCORES)]:
        size = sum(array.nbytes for key, array in file.tensors.items() if key.startswith(f"{name}/"))
        own = {
            each: scores[each]
            for each in SCORES.get(name, ())
            if isinstance(scores, Mapping) and each in scores
        }
        found = parts[name]
        counts = [
            counted(_leaves(found[entry], depth), what)
            for entry, (depth, what) in COUNTED.items()
            if isinstance(found, Mapping) and isinstance(found.get(entry), list)
        ]
        yield name, f"{size:,}", _scores(own) or "none", ", ".join(counts)


def _printable(text: str) -> str:
    """A file's words are shown, not obeyed: a terminal has codes that move and hide things."""
    return "".join(c if c.isprintable() else " " for c in text)


def _leaves(found: object, depth: int) -> int:
    """How many entries there are in lists of lists."""
    if not isinstance(found, list):
        return 0
    return len(found) if depth == 0 else sum(_leaves(each, depth - 1) for each in found)


def _scores(scores: object) -> str:
    """Scores as people read them; of what is none, nothing."""
    numbers = scores.items() if isinstance(scores, Mapping) else ()
    return show_scores({str(name): value for name, value in numbers if isinstance(value, int | float)})


def _about(metadata: Mapping[str, Any], everything: bool) -> Iterator[tuple[str, str]]:
    """What the metadata of a model or of its parser says, row by row; of another kind of file, nothing."""
    about = metadata.get("about")
    config = about.get("config") if isinstance(about, Mapping) else None
    if everything:
        yield from flat(metadata.get("settings"), "settings")
    elif isinstance(metadata.get("settings"), Mapping):
        chosen = {**(config if isinstance(config, Mapping) else {}), **metadata["settings"]}
        chosen["parser"] = search_name(metadata)
        if metadata.get("transition") is not None:
            chosen.pop("order", None)  # which only parts of trees have
        yield "settings", ", ".join(f"{name} {chosen[name]}" for name in MAIN_SETTINGS if name in chosen)
    yield from flat(metadata.get("cube"), "cube")
    yield from flat(metadata.get("transition"), "transition")
    if isinstance(metadata.get("pruner"), Mapping):
        yield "pruner", ", ".join(f"{name} {value}" for name, value in metadata["pruner"].items())
    yield from flat(metadata.get("lifts"), "lifts")
    if isinstance(about, Mapping):
        yield from _induced(about)
        scores = about.get("dev")
        if isinstance(scores, Mapping) and "parts" not in metadata:
            yield "dev", _scores(scores) or "none"
        if isinstance(metadata.get("settings"), Mapping):
            yield "temperatures", _temperatures(metadata.get("calibration") or about.get("temperature"))
        trees = about.get("guide")
        for part, found in trees.items() if isinstance(trees, Mapping) else ():
            yield f"guide on {part}", _scores(found) or "none"
        if isinstance(about.get("compact"), Mapping):
            before = _scores(about["compact"].get("before"))
            yield "compact", f"yes; {before} on dev before" if before else "yes"
        epochs = about.get("epochs")
        if isinstance(epochs, list):
            yield "epochs", _epochs(epochs)
        yield from _data(about.get("data"))
        if everything:
            yield from flat(config, "config")
    if isinstance(metadata.get("columns"), list):
        yield "columns", " ".join(["form", *map(str, metadata["columns"])])
    for name in ("tags", "labels"):
        names = metadata.get(name)
        if isinstance(names, list):
            yield name, named(names, everything)


def _induced(about: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """How a parser was learned without a treebank; of others, nothing."""
    starts, config = about.get("starts"), about.get("config")
    if not isinstance(starts, list) or not isinstance(config, Mapping):
        return
    rules = about.get("rules")
    count = len(rules) if isinstance(rules, list) else 0
    yield "induced by", str(about.get("model"))
    yield "rules", f"{config.get('rules')}, {counted(count, 'pair')} of tags" if count else "none"
    sentences, longest = about.get("sentences"), config.get("longest")
    if isinstance(sentences, int) and isinstance(longest, int):
        yield "from", f"{counted(sentences, 'sentence')} of at most {counted(longest, 'word')}"
    for start in starts:
        if isinstance(start, Mapping) and isinstance(start.get("objective"), float):
            yield f"seed {start.get('seed')}", f"objective {start['objective']:.4f} per word"


def _guide(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a file says of the parser whose trees its parser looks at; nothing where there is none."""
    parts = metadata.get("parts")
    parser = parts.get("parser") if isinstance(parts, Mapping) else metadata
    guide = parser.get("guide") if isinstance(parser, Mapping) else None
    return guide if isinstance(guide, Mapping) else {}


def _temperatures(fitted: object) -> str:
    """What scores are divided by before they become probabilities."""
    if not isinstance(fitted, Mapping):
        return "not fitted, there was no dev: all are 1"
    numbers = ((str(name), value) for name, value in fitted.items() if isinstance(value, int | float))
    return ", ".join(f"{name} {value:.3g}" for name, value in numbers)


def _epochs(reports: list[Any]) -> str:
    """How many each stage had, and which was kept."""
    last: dict[str, int] = {}
    kept: dict[str, int] = {}
    for report in reports:
        if not isinstance(report, Mapping) or not {"stage", "epoch", "best"} <= report.keys():
            continue
        last[report["stage"]] = report["epoch"]
        if report["best"]:
            kept[report["stage"]] = report["epoch"]
    return ", ".join(f"{stage} {count} (kept {kept.get(stage)})" for stage, count in last.items())


def _data(treebanks: object) -> Iterator[tuple[str, str]]:
    """What it was trained on, where that is known, with its licence and whom to thank."""
    for treebank in treebanks if isinstance(treebanks, list) else []:
        if isinstance(treebank, Mapping):
            yield "data", clean(str(treebank.get("name")))
            for name in ("licence", "attribution"):
                yield name, clean(str(treebank.get(name) or "not known"))
