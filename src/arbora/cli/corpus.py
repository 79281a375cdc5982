"""`arbora parse IN... -o FOLDER`: a corpus, on all cores or on a cluster."""

from __future__ import annotations

import re
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from arbora.cli import options
from arbora.cli.console import counted, say, show_seconds, stopped
from arbora.cli.files import existing_model
from arbora.cli.inputs import is_text
from arbora.cli.outputs import OutputFormat
from arbora.distributed.folder import FAILED
from arbora.distributed.inputs import kind_of
from arbora.distributed.parse_shard import ENDINGS, CorpusFormat, CorpusOptions

if TYPE_CHECKING:
    from arbora.distributed.corpus import Report

ONLY = {
    "engine": "--engine",
    "workers": "--workers",
    "address": "--address",
    "text_column": "--text-column",
    "id_column": "--id-column",
    "shard_size": "--shard-size",
    "gzip": "--gzip",
    "time_limit": "--time-limit",
    "retry_failed": "--retry-failed",
}
"""Parameters that only a corpus has."""
NEVER = {
    "weights": "--weights",
    "kbest": "--kbest",
    "keep_heads": "--keep-heads",
    "threads": "--threads",
    "lenient": "--lenient",
    "input_format": "--input-format",
    "offsets": "--offsets",
    "sort": "--sort",
}
"""Parameters that a corpus does not have."""
LIKE_A_FILE = re.compile(r"\.(conll[ux]?|jsonl?|parquet|svg|html|txt)(\.gz|\.zst)?$", re.IGNORECASE)


def is_corpus(sources: list[str], output: str) -> bool:
    """Whether the arguments name a corpus, or a folder to write to."""
    if output.endswith("/") or (output != "-" and Path(output).is_dir()) or len(sources) > 1:
        return True
    (source,) = sources
    if source == "-" or not source.strip() or is_text(source):
        return False
    if kind_of(source) in ("json", "parquet") or Path(source).is_dir():
        return True
    return has_magic(source) and not Path(source).exists()


def corpus_format(form: OutputFormat, output: str) -> CorpusFormat:
    """The format of the files in the folder."""
    if form == "auto":
        return "conllu"
    if form not in ENDINGS:
        raise typer.BadParameter(f"--format {form}: a corpus is written as {', '.join(ENDINGS)}")
    return form


def reject_corpus_options(context: typer.Context) -> None:
    """Reject options that only a corpus has."""
    for name in options.given_options(context) & ONLY.keys():
        what = f"{ONLY[name]} is for a corpus: several files, or a folder to write to"
        raise typer.BadParameter(f"{what}, such as -o parsed/")


def parse_corpus(
    sources: list[str],
    output: str,
    models: list[str],
    chosen: CorpusOptions,
    context: typer.Context,
    *,
    workers: int | None,
    engine: str,
    address: str | None,
    quiet: bool,
    **more: Any,
) -> None:
    """Parse a corpus; exit status 1 if a part of it failed."""
    if output == "-":
        raise typer.BadParameter("a corpus is written to a folder: name one, such as -o parsed/")
    path = Path(output)
    if path.is_file() or (not path.is_dir() and not output.endswith("/") and LIKE_A_FILE.search(path.name)):
        what = f"-o {output}: expected a folder for a corpus, got the name of a file"
        raise typer.BadParameter(f"{what}; write -o {output}/ if it is a folder, and choose with --format")
    for name in options.given_options(context) & NEVER.keys():
        raise typer.BadParameter(f"{NEVER[name]} is not available for a corpus; omit it")
    if len(models) > 1:
        raise typer.BadParameter("a corpus is parsed by one model; combine several by `arbora ensemble`")
    for source in sources:
        if source == "-" or is_text(source):
            raise typer.BadParameter(f"a corpus is made of files and folders, got {source!r}")
    # These take long to import, and few runs need them.
    from arbora.cli.progress import TerminalProgress
    from arbora.distributed.corpus import parse
    from arbora.distributed.engines import Pool, cores

    with options.usage_errors():
        pool = Pool(engine, workers or cores(), address)
    model = existing_model(models[0]) if models else None
    try:
        with TerminalProgress(quiet=quiet) as progress:
            report = parse(sources, output, model, options=chosen, pool=pool, observer=progress, **more)
    except KeyboardInterrupt:
        raise stopped("; run the same command again to parse the rest") from None
    if not quiet:
        say(_summary(report))
    if report.failures:
        counts = {"shard": report.failed, "row": report.bad_rows}
        failed = " and ".join(counted(count, name) for name, count in counts.items() if count)
        say(f"{failed} failed: {Path(output, FAILED)} says why; --retry-failed tries again")
        raise typer.Exit(1)


def _summary(report: Report) -> str:
    done = f"{report.done:,} of {counted(report.shards, 'shard')}"
    before = report.done - report.parsed
    earlier = f" ({before:,} of them in earlier runs)" if before else ""
    speed = f", {report.words_per_second:,.0f} words/s" if report.new_words else ""
    words = f"{counted(report.sentences, 'sentence')}, {counted(report.words, 'word')}"
    return f"{done}{earlier}: {words}, in {show_seconds(report.seconds)}{speed}"
