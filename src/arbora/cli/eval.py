"""`arbora eval`: score a predicted treebank against a gold one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Literal

import typer

from arbora.cli import options
from arbora.cli.console import Table, print_json, session, show
from arbora.cli.files import at_most_one_stdin, existing, optional
from arbora.cli.options import given_options, json_option, plot_option
from arbora.data import treebank
from arbora.data.sentence import Sentence
from arbora.evaluation.aligned import evaluate_aligned
from arbora.evaluation.attachment import evaluate
from arbora.evaluation.calibration import BINS, SHARES, Calibration, calibration
from arbora.evaluation.scores import BREAKDOWNS, Agreement, Attachment, Breakdown, Evaluation, Scores
from arbora.evaluation.significance import Comparison, compare
from arbora.web.plots import draw_reliability

PERCENT_HEADINGS = {
    "uas": "UAS",
    "las": "LAS",
    "la": "label",
    "clas": "CLAS",
    "exact_match": "exact",
    "exact_match_labelled": "ex.+l",
    "root_accuracy": "root",
}
AGREEMENT_HEADINGS = ("gold", "predicted", "correct", "precision", "recall", "F1")
BREAKDOWN_HEADINGS: dict[Breakdown, tuple[str, tuple[str, ...]]] = {
    "label": ("labelled arcs by label", AGREEMENT_HEADINGS),
    "arc-length": ("unlabelled arcs by length", AGREEMENT_HEADINGS),
    "sentence-length": ("attachment by sentence length", ("sentences", "words", "UAS", "LAS", "exact")),
}
ALIGNED_HEADINGS = {"ufeats": "UFeats", "alltags": "AllTags"} | {
    name: name for name in ("tokens", "sentences", "words", "lemmas")
}
"""Those of the other measures are abbreviations, in capitals."""
METRICS: tuple[Literal["uas", "las"], ...] = ("uas", "las")


class BreakdownChoice(StrEnum):
    """What to break the scores down by; Typer has no lists of literals."""

    LABEL = "label"
    ARC_LENGTH = "arc-length"
    SENTENCE_LENGTH = "sentence-length"


def evaluate_files(
    context: typer.Context,
    gold: str = typer.Argument(..., metavar="GOLD", callback=existing, help="Gold treebank; - is stdin."),
    predicted: str = typer.Argument(
        ..., metavar="PREDICTED", callback=existing, help="The same words, parsed; - is stdin."
    ),
    as_json: bool = json_option("one object, percentages unrounded"),
    by: list[BreakdownChoice] | None = typer.Option(None, "--by", help="Break the scores down. Repeatable."),
    punctuation: Literal["auto", "upos", "form"] = typer.Option(
        "auto",
        help="Which words are punctuation: those with gold UPOS PUNCT (upos), or those that consist of "
        "punctuation characters (form). auto: upos for data with UD tags, else form.",
    ),
    nopunct: bool = typer.Option(False, "--nopunct", help="Ignore punctuation in --by and --compare, too."),
    subtypes: bool | None = typer.Option(
        None,
        "--subtypes/--no-subtypes",
        help="Compare whole labels, or only the part before the first colon, as the UD "
        "scorer does. Default: --no-subtypes for data with UD tags, else --subtypes.",
    ),
    other: str | None = typer.Option(
        None,
        "--compare",
        metavar="OTHER",
        callback=optional(existing),
        help="A second parse of the same words; test the difference.",
    ),
    test: Literal["sign", "bootstrap", "randomization"] = typer.Option(
        "sign", help="Significance test for --compare."
    ),
    samples: int = typer.Option(
        10_000, min=1, help="Number of samples for bootstrap and randomization tests."
    ),
    seed: int = typer.Option(0, min=0, help="Random seed of these samples."),
    with_calibration: bool = typer.Option(
        False,
        "--calibration",
        help="Evaluate the probabilities in PREDICTED, from `arbora parse --probabilities`: are arcs "
        "correct as often as predicted?",
    ),
    plot: str | None = plot_option("the reliability diagram of --calibration"),
    aligned: bool = typer.Option(
        False,
        "--aligned",
        help="For parses of raw text, whose words and sentences may differ from the gold ones: F1 by "
        "characters, as in CoNLL 2018.",
    ),
    format: options.Format = "auto",  # noqa: A002
) -> None:
    """Both files hold the same sentences and words, as CoNLL-U or CoNLL-X. Scores are percentages
    over all words, without punctuation, and by the CoNLL-X rule (no words that consist of
    punctuation characters, whole labels).

    Examples:

    - `arbora eval gold.conllu parsed.conllu`
    - `arbora eval gold.conllu parsed.conllu --by label --by arc-length`
    - `arbora eval gold.conllu parsed.conllu --json | jq .las`
    - `arbora eval gold.conllu new.conllu --compare old.conllu --test bootstrap`
    - `arbora eval gold.conllu parsed.conllu --calibration --plot reliability.svg`
    - `arbora eval gold.conllu from_text.conllu --aligned`
    """
    at_most_one_stdin([gold, predicted, other])
    _check_options(given_options(context))

    def read(path: str) -> Iterator[Sentence]:
        return treebank.read(path, format=format)

    def score(reference: Iterable[Sentence], path: str, parsed: Iterable[Sentence]) -> Evaluation:
        return evaluate(reference, parsed, punctuation=punctuation, subtypes=subtypes, names=(gold, path))

    def words(evaluation: Evaluation) -> Scores:
        return evaluation.nopunct if nopunct else evaluation.all

    with session():
        if aligned:
            agreements = evaluate_aligned(read(gold), read(predicted), names=(gold, predicted))
            if as_json:
                print_json({measure: each.to_json() for measure, each in agreements.items()})
            else:
                show([_aligned(agreements, predicted)])
            return
        # Sentences that are needed twice are kept, since stdin can be read only once.
        reference = read(gold) if other is None and not with_calibration else list(read(gold))
        parsed = list(read(predicted)) if with_calibration else read(predicted)
        result = score(reference, predicted, parsed)
        groups = [name for name in BREAKDOWNS if name in (by or [])]
        place = f"{predicted}, without punctuation" if nopunct else predicted
        tables = [_summary(result, predicted)]
        breakdowns = [_breakdown(words(result), name, place) for name in groups]
        document: dict[str, Any] = result.to_json(groups, nopunct=nopunct)
        if other is not None:
            rival = score(reference, other, read(other))
            pair = words(result), words(rival)
            comparisons = {
                metric: compare(*pair, metric=metric, test=test, samples=samples, seed=seed)
                for metric in METRICS
            }
            tables.append(_summary(rival, other))
            breakdowns.append(_differences(comparisons, predicted, other))
            document["other"] = rival.to_json(groups, nopunct=nopunct)
            document["compare"] = {metric: each.to_json() for metric, each in comparisons.items()}
        tables += breakdowns
        if with_calibration:
            found = calibration(reference, parsed, subtypes=result.subtypes, names=(gold, predicted))
            tables += _calibration(found, predicted)
            document["calibration"] = {name: each.to_json() for name, each in found.items()}
            if plot is not None:
                draw_reliability(found, plot)
        if as_json:
            print_json(document)
        else:
            show(tables)


def _check_options(given: set[str]) -> None:
    """Reject options that have no effect without another one."""
    for name in ("test", "samples", "seed"):
        if name in given and "other" not in given:
            raise typer.BadParameter(f"--{name} needs --compare OTHER, whose difference it tests")
    if "nopunct" in given and not given & {"by", "other"}:
        raise typer.BadParameter(
            "--nopunct needs --by GROUPS or --compare OTHER; the scores without punctuation are always shown"
        )
    others = sorted(given - {"gold", "predicted", "aligned", "as_json", "format"})
    if "aligned" in given and others:
        option = {"other": "compare", "with_calibration": "calibration"}.get(others[0], others[0])
        raise typer.BadParameter(f"--{option} needs the same words on both sides; omit it or --aligned")
    if "plot" in given and "with_calibration" not in given:
        raise typer.BadParameter("--plot needs --calibration, which it draws")


def _percents(*values: float) -> list[str]:
    return [f"{value:.2f}" for value in values]


def _aligned(agreements: dict[str, Agreement], name: str) -> Table:
    rows = []
    for measure, each in agreements.items():
        percents = _percents(each.precision, each.recall, each.f1, each.aligned_accuracy)
        heading = ALIGNED_HEADINGS.get(measure, measure.upper())
        rows.append([heading, *percents[:3], "" if each.aligned is None else percents[3]])
    return Table(f"{name}: aligned", ["", "precision", "recall", "F1", "of aligned"], rows)


def _summary(result: Evaluation, name: str) -> Table:
    rows = []
    for words, scores in {
        "all words": result.all,
        "no punctuation": result.nopunct,
        "CoNLL-X rule": result.conllx,
    }.items():
        measures = scores.measures()
        rows.append([words, str(scores.tokens), *_percents(*(measures[key] for key in PERCENT_HEADINGS))])
    rules = f"punctuation by {result.punctuation}, labels {'with' if result.subtypes else 'without'} subtypes"
    title = f"{name}: {result.sentences} sentences, {rules}"
    return Table(title, ["", "words", *PERCENT_HEADINGS.values()], rows)


def _breakdown(scores: Scores, by: Breakdown, name: str) -> Table:
    rows = []
    for group, found in scores.breakdown(by).items():
        if isinstance(found, Attachment):
            counts = [found.sentences, found.tokens]
            percents = _percents(found.uas, found.las, found.exact_match)
        else:
            counts = [found.gold, found.predicted, found.correct]
            percents = _percents(found.precision, found.recall, found.f1)
        rows.append([group, *map(str, counts), *percents])
    if by == "label":
        rows.sort(key=lambda row: -int(row[1]))  # the most frequent first
    title, headings = BREAKDOWN_HEADINGS[by]
    return Table(f"{name}: {title}", [by.replace("-", " "), *headings], rows)


def _differences(comparisons: Mapping[Literal["uas", "las"], Comparison], name: str, other: str) -> Table:
    rows = []
    for metric, found in comparisons.items():
        row = [metric.upper(), f"{found.difference:+.2f}", f"{found.p_value:.4g}"]
        row += map(str, (found.better, found.worse, found.tied))
        if found.interval is not None:
            row.append("{:+.2f} to {:+.2f}".format(*found.interval))
        rows.append(row)
    first = next(iter(comparisons.values()))
    samples = "" if first.samples is None else f", {first.samples} samples"
    headings = ["", "difference", "p", "better", "worse", "tied"]
    headings += ["95% interval"] if first.interval is not None else []
    return Table(f"{name} against {other}: {first.test} test{samples}", headings, rows)


def _calibration(found: dict[str, Calibration], name: str) -> list[Table]:
    rows = [
        [
            kind,
            str(each.count),
            *_percents(100 * each.confidence, 100 * each.accuracy),
            f"{each.ece:.4f}",
            f"{each.brier:.4f}",
        ]
        for kind, each in found.items()
    ]
    headings = ["", "number", "mean probability", "right", "ECE", "Brier"]
    summary = Table(f"{name}: calibration, {BINS} bins", headings, rows)
    kept = [
        [f"{percent}%", *_percents(*(100 * each.kept[i].accuracy for each in found.values()))]
        for i, percent in enumerate(SHARES)
    ]
    return [summary, Table(f"{name}: right among the most certain", ["kept", *found], kept)]
