"""`arbora check`: all faults of a treebank, and the arcs that are probably wrong."""

from __future__ import annotations

import typer

from arbora.annotation.check import LEVELS, Report
from arbora.annotation.check import check as check_treebank
from arbora.annotation.suspicious import SuspiciousArc, suspicious_arcs
from arbora.cli import options
from arbora.cli.console import counted, print_json, print_rows, say
from arbora.cli.files import existing
from arbora.training.annotation import share_of

FAULTS = ("line", "severity", "test", "message")
ARCS = ("line", "word", "form", "head", "deprel", "probability", "proposed", "as", "its probability")


def command(
    source: str = options.argument("FILE: A treebank, compressed or not; - is stdin.", existing),
    language: str | None = options.option(
        "--ud LANGUAGE: Also validate with udtools, by the rules of Universal Dependencies for this language "
        "(da), or for all languages (ud). Needs pip install 'arbora-nlp[check]'.",
        default=None,
    ),
    level: int = options.option(
        "--level N: Validation level of udtools: 1 is the format, 5 the rules of the language.",
        default=LEVELS,
        min=1,
        max=LEVELS,
    ),
    suspicious: str | None = options.option(
        "--suspicious SHARE: Also list this share of the arcs, such as 1%: those that parsers trained on the "
        "rest of FILE find most likely to be errors, the likeliest first.",
        default=None,
    ),
    folds: int = options.option(
        "--folds N: Folds for --suspicious: each is scored by a parser trained on the others.",
        default=5,
        min=2,
        max=100,
    ),
    seed: int = typer.Option(0, min=0, help="Random seed of these parsers."),
    threads: options.Threads = 1,
    as_json: bool = options.json_option("faults and suspicious arcs, with counts"),
    format: options.Format = "auto",  # noqa: A002
    roots: options.Roots = "multi",
    quiet: options.Quiet = False,
) -> None:
    """Faults of the format are found in every sentence, and in each line of a sentence: a faulty line is
    repaired in memory, and reading goes on. The exit status is 1 if there are errors. Warnings of udtools and
    suspicious arcs do not count as errors.

    Examples:

    - `arbora check da.conllu`
    - `arbora check da.conllu --ud da --suspicious 1%`
    - `arbora check da.conllu --json | jq '.faults[].line'`
    """
    with options.usage_errors():
        share = share_of(suspicious, "suspicious", 1.0)
    if suspicious is not None and share is None:
        raise typer.BadParameter(f"--suspicious: expected a share such as 1%, got {suspicious}")
    report = check_treebank(source, format=format, roots=roots, language=language, level=level)
    if share is not None and len(report.columns):
        report.suspicious = suspicious_arcs(
            report.columns, share=share, folds=folds, seed=seed, threads=threads
        )
    if as_json:
        print_json(report.to_json())
    else:
        _print(report)
    if not quiet:
        say(_summary(report))
    if report.errors:
        raise typer.Exit(1)


def _print(report: Report) -> None:
    if report.faults:
        print_rows(FAULTS, [(str(f.line), f.severity, f.test, f.message) for f in report.faults])
    if report.faults and report.suspicious:
        print()
    if report.suspicious:
        print_rows(ARCS, [*map(_row, report.suspicious)])


def _row(arc: SuspiciousArc) -> tuple[str, ...]:
    given = (str(arc.line), str(arc.word), arc.form, str(arc.head), arc.deprel, f"{arc.probability:.4f}")
    return (*given, str(arc.proposed_head), arc.proposed_deprel, f"{arc.proposed_probability:.4f}")


def _summary(report: Report) -> str:
    warnings = len(report.faults) - report.errors
    found = f"{counted(report.errors, 'error')}, {counted(warnings, 'warning')}"
    whole = counted(len(report.columns) + report.bad_sentences, "sentence")
    unread = f", {report.bad_sentences:,} of them malformed" if report.bad_sentences else ""
    return f"{report.source}: {found} in {whole}{unread}"
