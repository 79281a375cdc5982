"""`arbora induce`: text without trees in, a model out."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from arbora.cli.files import ThreadsOption, complain, counted, not_an_input, session
from arbora.cli.named import choose_treebanks, require_output
from arbora.cli.progress import TerminalProgress, choose_mode
from arbora.cli.settings import (
    AttributionOption,
    LenientOption,
    LicenceOption,
    QuietOption,
    told_as_usage,
)
from arbora.cli.tables import Table, show
from arbora.cli.texts import show_seconds
from arbora.cli.train import STOPPED, OnlyChoice, model_name
from arbora.cli.treebanks import read_treebanks
from arbora.data.columns import Columns, columns_of
from arbora.data.plain_text import split_plainly
from arbora.data.treebank import FormatOrAuto
from arbora.errors import DataError, InputError, unknown
from arbora.induction.induce import NO_RULES, InduceConfig, InducedModel, induce
from arbora.induction.rules import RULES
from arbora.registry import inducers
from arbora.settings import merge

TEXT = (".txt", ".text")


class InputFormat(StrEnum):
    """What can be learned from."""

    AUTO = "auto"
    CONLLU = "conllu"
    CONLLX = "conllx"
    TEXT = "text"


def _known(name: str) -> str:
    if name not in inducers:
        raise typer.BadParameter(unknown("model", name, list(inducers)))
    return name


def _rules(name: str) -> str:
    if name != NO_RULES and name not in RULES and not Path(name).is_file():
        names = ", ".join([*RULES, NO_RULES])
        what = "a folder" if Path(name).is_dir() else "no such file"
        raise typer.BadParameter(
            f"{name}: {what}; expected one of {names}, or a file of rules (`arbora info rules universal` "
            "prints one to begin with)"
        )
    return name


def induce_files(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="TEXT",
            help="Sentences to learn from, tagged or not, zipped or not; trees that they have are not looked "
            f"at. - is stdin; a name such as UD_Danish-DDT is its train part; files that end in {TEXT[0]} "
            "are plain text.",
        ),
    ],
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="MODEL",
            callback=model_name,
            help="The model to write. Default: da_ddt.arbora for UD_Danish-DDT; for files there is none.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        str, typer.Option(metavar="NAME", callback=_known, help="One of `arbora list inducers`.")
    ] = "crfae",
    parameters: Annotated[
        list[str] | None,
        typer.Option(
            "-p",
            metavar="NAME=VALUE",
            help="A parameter of the model (`arbora info inducer NAME`), or of word classes "
            "(classes.count=40); may be given several times.",
        ),
    ] = None,
    rules: Annotated[
        str,
        typer.Option(
            metavar="NAME|FILE",
            callback=_rules,
            help=f"What is known of trees in advance: {', '.join(RULES)} (`arbora info rules NAME` shows "
            f"them), a file with lines such as `VERB -> NOUN`, or {NO_RULES}.",
        ),
    ] = "universal",
    longest: Annotated[
        int, typer.Option(min=1, help="Learn from sentences of at most so many words; punctuation aside.")
    ] = 10,
    restarts: Annotated[
        int, typer.Option(min=1, help="Starts from several seeds; the one with the best objective is kept.")
    ] = 1,
    seed: Annotated[int, typer.Option(min=0, help="The first seed; one seed gives one model.")] = 0,
    only: Annotated[
        OnlyChoice,
        typer.Option(help="The parser alone, for input that is tagged already; all: what leads to it, too."),
    ] = OnlyChoice.ALL,
    threads: ThreadsOption = 1,
    licence: LicenceOption = None,
    attribution: AttributionOption = None,
    quiet: QuietOption = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="JSON on stdout: every start, its rounds, and the configuration.")
    ] = False,
    lenient: LenientOption = False,
    format: Annotated[  # noqa: A002
        InputFormat, typer.Option(help="What the files are; auto looks at name and first lines.")
    ] = InputFormat.AUTO,
) -> None:
    """Learn a parser from text without trees: from tagged sentences, or from words alone.

    Trees come from what tags tend to stand together and from a few rules of thumb; where no word has a tag,
    classes of words are found first. The model then parses like any other (`arbora parse -m MODEL`), with
    labels root, dep and punct. Ctrl-C keeps the best model so far.

    Examples:

    - `arbora induce words.conllu -o xx.arbora`
    - `arbora induce words.conllu -o xx.arbora --restarts 5 --threads 2`
    - `arbora induce words.conllu -o xx.arbora --rules mine.txt -p prior=5`
    - `arbora induce words.conllu -o xx.arbora --model dmv --rules none`
    - `arbora induce story.txt -o xx.arbora -p classes.count=40`
    """
    chosen = choose_treebanks(files, None, quiet=True)
    output = require_output(output, chosen)
    not_an_input(output, [*chosen.train, rules])
    with told_as_usage():
        config = _config(
            InduceConfig(
                model=model, rules=rules, longest=longest, restarts=restarts, seed=seed, only=only.value
            ),
            parameters or [],
        )
    with session(lenient=lenient):
        begun = time.monotonic()
        columns = _read(chosen.train, format, lenient=lenient)
        progress = TerminalProgress(choose_mode(quiet=quiet))
        try:
            with told_as_usage(), progress:
                found = induce(columns, config=config, threads=threads, observer=progress)
        except KeyboardInterrupt:
            complain("stopped by Ctrl-C before the first round had ended, so there is no model")
            raise typer.Exit(STOPPED) from None
        if data := chosen.data(licence, attribution):
            found.pipeline.parser.about["data"] = data
            found.pipeline.about["data"] = data
        found.save(output)
        report = Report(output, found, config, time.monotonic() - begun)
        if as_json:
            print(json.dumps(report.to_json(), ensure_ascii=False, indent=1))
        elif not quiet:
            show([report.table()])
            print("\n" + "\n".join(report.lines()))
    if found.interrupted:
        complain(f"stopped by Ctrl-C; {output} holds the best so far")
        raise typer.Exit(STOPPED)


def _config(config: InduceConfig, texts: list[str]) -> InduceConfig:
    """The settings with those of -p: names without a dot are the model's parameters."""
    own: dict[str, str] = {}
    others: dict[str, str] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise InputError(f"-p: expected NAME=VALUE, got {text!r}")
        (others if "." in name else own)[name.strip()] = value.strip()
    factory: Any = inducers.factory(config.model)
    values = to_values(config) | {"parameters": factory.parse(own)}
    return merge(InduceConfig(**values), others)


def to_values(config: InduceConfig) -> dict[str, Any]:
    """The fields of a configuration."""
    return {name: getattr(config, name) for name in config.__dataclass_fields__}


def _read(names: list[str], format: InputFormat, *, lenient: bool) -> Columns:  # noqa: A002
    """Treebanks whose heads may be missing, and plain texts, as one."""
    kind = cast("FormatOrAuto", "auto" if format is InputFormat.TEXT else format.value)

    def read(chosen: list[str]) -> Columns:
        return read_treebanks(chosen, kind, lenient=lenient, labelled=False, partial=True, checked=False)

    texts = [format is InputFormat.TEXT or name.lower().endswith(TEXT) for name in names]
    if not any(texts):
        return read(names)
    parts = [
        columns_of(split_plainly(_text(name))) if is_text else read([name])
        for name, is_text in zip(names, texts, strict=True)
    ]
    return Columns.concat(parts, " + ".join(names))


def _text(name: str) -> str:
    data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(f"expected text in UTF-8, got {error.reason}", source=name, line=line) from None


@dataclass(frozen=True)
class Report:
    """What there is to say when a model is written."""

    model: str
    found: InducedModel
    config: InduceConfig
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """One object."""
        about = self.found.pipeline.parser.about
        starts = [
            {
                **told,
                "history": [
                    {"round": r.number, "objective": r.objective, **r.measures} for r in start.history
                ],
            }
            for told, start in zip(about["starts"], self.found.starts, strict=True)
        ]
        return {
            "model": self.model,
            "bytes": Path(self.model).stat().st_size,
            "parts": list(self.found.pipeline.parts),
            "chosen": self.found.chosen,
            "starts": starts,
            "interrupted": self.found.interrupted,
            "seconds": self.seconds,
            "config": about["config"],
        }

    def table(self) -> Table:
        """A row per start; the chosen one has a star."""
        several = len(self.found.starts) > 1
        rows = [
            [
                str(start.seed),
                str(len(start.history)),
                f"{start.objective:.4f}",
                *([f"{100 * start.agreement:.1f}"] if several else []),
                "*" if place == self.found.chosen else "",
            ]
            for place, start in enumerate(self.found.starts)
        ]
        agreement = ["same heads %"] if several else []
        return Table("", ["seed", "rounds", "objective", *agreement, ""], rows)

    def lines(self) -> list[str]:
        """The model, and what it rests on."""
        parser = self.found.pipeline.parser
        about = parser.about
        size = Path(self.model).stat().st_size
        others = [s.agreement for i, s in enumerate(self.found.starts) if i != self.found.chosen]
        lines = [
            f"{self.model}: {size:,} bytes, after {show_seconds(self.seconds)}; "
            f"{', '.join(self.found.pipeline.parts)}",
            f"{self.config.model}: {parser.search.trees} trees from "
            f"{counted(about['sentences'], 'sentence')}, "
            f"rules: {self.config.rules if about['rules'] else NO_RULES}",
        ]
        if others:
            mean = 100 * sum(others) / len(others)
            lines.append(
                f"the other starts agree with the chosen one on {mean:.1f}% of heads: "
                + ("it hardly depends on luck" if mean >= 90 else "more restarts or rules may be worth it")
            )
        return lines
