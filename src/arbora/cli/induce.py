"""`arbora induce`: text without trees in, a model out."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from arbora.cli import options
from arbora.cli.console import Table, counted, print_json, show, show_line, show_seconds, stopped
from arbora.cli.files import not_an_input
from arbora.cli.progress import TerminalProgress
from arbora.cli.training import choose_treebanks, read_treebanks
from arbora.data.columns import Columns, columns_of
from arbora.data.raw_text import split_plainly
from arbora.errors import DataError
from arbora.induction.induce import KNOWN_RULES, InduceConfig, InducedModel, induce
from arbora.registry import inducers
from arbora.settings import merge
from arbora.storage.files import name_of, open_input, read_bytes
from arbora.storage.locks import locked

TEXT = (".txt", ".text")


def _rules(name: str) -> str:
    if name not in KNOWN_RULES and not Path(name).is_file():
        names = ", ".join(KNOWN_RULES)
        what = "a folder" if Path(name).is_dir() else "no such file"
        raise typer.BadParameter(
            f"{name}: {what}; expected one of {names}, or a file of rules (`arbora info rules universal` "
            "prints one to start from)"
        )
    return name


@options.setting_options(InduceConfig, "model rules longest restarts seed only", rules=_rules)
def command(
    files: list[str] = options.argument(
        "TEXT: Sentences to learn from, tagged or not, compressed or not; their trees are ignored. "
        f"- is stdin; a name such as UD_Danish-DDT is its train part; {TEXT[0]} files are plain text."
    ),
    output: options.ModelOutput = None,
    parameters: list[str] | None = options.option(
        "-p NAME=VALUE: A parameter of the model (`arbora info inducer NAME`), or of word classes "
        "(classes.count=40). Repeatable.",
        default=None,
    ),
    threads: options.Threads = 1,
    workers: options.Workers = 1,
    engine: options.Engine = "local",
    address: options.Address = None,
    licence: options.Licence = None,
    attribution: options.Attribution = None,
    quiet: options.Quiet = False,
    as_json: bool = options.json_option("every start, its rounds, and the configuration"),
    lenient: options.Lenient = False,
    format: options.InputFormat = typer.Option(  # noqa: A002
        "auto", help="Format of the files; auto: by their names and first lines."
    ),
    **given: Any,
) -> None:
    """Trees are learned from which tags tend to occur together and from a few rules. If no word has a tag,
    word classes are learned first. The model parses like any other (`arbora parse -m MODEL`), with the
    labels root, dep and punct. Ctrl-C keeps the best model so far.

    Examples:

    - `arbora induce words.conllu -o xx.arbora`
    - `arbora induce words.conllu -o xx.arbora --restarts 5 --workers 2`
    - `arbora induce words.conllu -o xx.arbora --rules mine.txt -p prior=5`
    - `arbora induce words.conllu -o xx.arbora --model dmv --rules none`
    - `arbora induce story.txt -o xx.arbora -p classes.count=40`
    """
    pool = options.make_pool(workers, engine, address)
    chosen = choose_treebanks(files, None, quiet=True)
    path = chosen.model_name(output)
    not_an_input(path, [*chosen.train, given["rules"]])
    values = options.name_values(parameters, "-p")
    with options.usage_errors():
        config = InduceConfig(**{name: value for name, value in given.items() if value is not None})
        # Names without a dot are parameters of the model.
        factory: Any = inducers.factory(config.model)
        own = factory.parse({name: text for name, text in values.items() if "." not in name})
        others = {name: text for name, text in values.items() if "." in name}
        config = merge(replace(config, parameters=own), others)
    begun = time.monotonic()
    columns = _read(chosen.train, format, lenient=lenient)
    with locked(path):
        try:
            with options.usage_errors(), TerminalProgress(quiet=quiet) as progress:
                induced = induce(columns, config=config, threads=threads, observer=progress, pool=pool)
        except KeyboardInterrupt:
            raise stopped(" before there was a model") from None
        chosen.credit(induced.pipeline, licence, attribution)
        induced.save(path)
    seconds = time.monotonic() - begun
    if as_json:
        print_json(_to_json(path, induced, seconds))
    elif not quiet:
        show([_table(induced)])
        show_line("\n" + "\n".join(_lines(path, induced, config, seconds)))
    if induced.interrupted:
        raise stopped(f"; {path} holds the best so far")


def _read(names: list[str], form: options.InputFormat, *, lenient: bool) -> Columns:
    """Read treebanks, whose heads may be missing, and plain texts as one."""
    parts = []
    for name in names:
        if form == "text" or name.lower().endswith(TEXT):
            parts.append(columns_of(split_plainly(_text(name))))
        else:
            parts.append(read_treebanks([name], form, lenient=lenient, labelled=False, partial=True))
    return parts[0] if len(parts) == 1 else Columns.concat(parts, " + ".join(names))


def _text(name: str) -> str:
    with open_input(name) as stream:
        data = read_bytes(stream, -1, name_of(name))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(f"expected text in UTF-8, got {error.reason}", source=name, line=line) from None


def _to_json(path: str, induced: InducedModel, seconds: float) -> dict[str, Any]:
    about = induced.pipeline.parser.about
    starts = []
    for each, start in zip(about["starts"], induced.starts, strict=True):
        rounds = [{"round": r.number, "objective": r.objective, **r.measures} for r in start.history]
        starts.append({**each, "history": rounds})
    return {
        "model": path,
        "bytes": Path(path).stat().st_size,
        "parts": list(induced.pipeline.parts),
        "chosen": induced.chosen,
        "starts": starts,
        "interrupted": induced.interrupted,
        "seconds": seconds,
        "config": about["config"],
    }


def _table(induced: InducedModel) -> Table:
    """A row per start; the chosen one has a star."""
    several = len(induced.starts) > 1
    rows = []
    for place, start in enumerate(induced.starts):
        agreed = [f"{100 * start.agreement:.1f}"] if several else []
        star = "*" if place == induced.chosen else ""
        rows.append([start.seed, len(start.history), f"{start.objective:.4f}", *agreed, star])
    agreement = ["same heads %"] if several else []
    return Table("", ["seed", "rounds", "objective", *agreement, ""], rows)


def _lines(path: str, induced: InducedModel, config: InduceConfig, seconds: float) -> list[str]:
    parser = induced.pipeline.parser
    sentences = counted(parser.about["sentences"], "sentence")
    rules = config.rules if parser.about["rules"] else "none"
    lines = [
        f"{path}: {Path(path).stat().st_size:,} bytes, after {show_seconds(seconds)}; "
        f"{', '.join(induced.pipeline.parts)}",
        f"{config.model}: {parser.search.trees} trees from {sentences}, rules: {rules}",
    ]
    if others := [start.agreement for start in induced.starts if start is not induced.best]:
        mean = 100 * sum(others) / len(others)
        advice = "it hardly depends on the seed" if mean >= 90 else "try more restarts or rules"
        lines.append(f"the other starts agree with the chosen one on {mean:.1f}% of heads: {advice}")
    return lines
