"""`arbora eval`: score a predicted treebank against a gold one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import partial
from operator import attrgetter
from typing import Any, Literal

import typer

from arbora.cli import options
from arbora.cli.console import Table, print_json, show
from arbora.cli.files import at_most_one_stdin, existing
from arbora.cli.options import flag, given_options, json_option, option, plot_option
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
BreakdownChoice = StrEnum("BreakdownChoice", "label arc-length sentence-length")
"""What to break the scores down by; Typer has no lists of literals."""
METRICS: tuple[Literal["uas", "las"], ...] = ("uas", "las")


def command(
    context: typer.Context,
    gold: str = options.argument("GOLD: Gold treebank; - is stdin.", existing),
    predicted: str = options.argument("PREDICTED: The same words, parsed; - is stdin.", existing),
    as_json: bool = json_option("one object, percentages unrounded"),
    by: list[BreakdownChoice] | None = typer.Option(None, "--by", help="Break the scores down. Repeatable."),
    punctuation: Literal["auto", "upos", "form"] = typer.Option(
        "auto",
        help="Which words are punctuation: those with gold UPOS PUNCT (upos), or those that consist of "
        "punctuation characters (form). auto: upos for data with UD tags, else form.",
    ),
    nopunct: bool = flag("--nopunct: Ignore punctuation in --by and --compare, too."),
    subtypes: bool | None = option(
        "--subtypes/--no-subtypes: Compare whole labels, or only the part before the first colon, as the UD "
        "scorer does. Default: --no-subtypes for data with UD tags, else --subtypes.",
        default=None,
    ),
    other: str | None = option(
        "--compare OTHER: A second parse of the same words; test the difference.", existing, None
    ),
    test: Literal["sign", "bootstrap", "randomization"] = typer.Option(
        "sign", help="Significance test for --compare."
    ),
    samples: int = option(
        "--samples: Number of samples for bootstrap and randomization tests.", default=10_000, min=1
    ),
    seed: int = typer.Option(0, min=0, help="Random seed of these samples."),
    with_calibration: bool = flag(
        "--calibration: Evaluate the probabilities in PREDICTED, from `arbora parse --probabilities`: are "
        "arcs correct as often as predicted?"
    ),
    plot: str | None = plot_option("the reliability diagram of --calibration"),
    aligned: bool = flag(
        "--aligned: For parses of raw text, whose words and sentences may differ from the gold ones: F1 by "
        "characters, as in CoNLL 2018."
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

    read = partial(treebank.read, format=format)

    def score(reference: Iterable[Sentence], path: str, parsed: Iterable[Sentence]) -> Evaluation:
        return evaluate(reference, parsed, punctuation=punctuation, subtypes=subtypes, names=(gold, path))

    words = attrgetter("nopunct" if nopunct else "all")
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
            metric: compare(*pair, metric=metric, test=test, samples=samples, seed=seed) for metric in METRICS
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


def _aligned(agreements: dict[str, Agreement], name: str) -> Table:
    rows = []
    for measure, e in agreements.items():
        accuracy = None if e.aligned is None else e.aligned_accuracy
        rows.append((ALIGNED_HEADINGS.get(measure, measure.upper()), e.precision, e.recall, e.f1, accuracy))
    return Table(f"{name}: aligned", ["", "precision", "recall", "F1", "of aligned"], rows)


def _summary(result: Evaluation, name: str) -> Table:
    by_words = {"all words": result.all, "no punctuation": result.nopunct, "CoNLL-X rule": result.conllx}
    shown = [measure for measure in PERCENT_HEADINGS if measure in result.all.measures()]
    rows = [
        [words, scores.tokens, *map(scores.measures().__getitem__, shown)]
        for words, scores in by_words.items()
    ]
    rules = f"punctuation by {result.punctuation}, labels {'with' if result.subtypes else 'without'} subtypes"
    title = f"{name}: {result.sentences} sentences, {rules}"
    return Table(title, ["", "words", *map(PERCENT_HEADINGS.__getitem__, shown)], rows)


def _breakdown(scores: Scores, by: Breakdown, name: str) -> Table:
    rows: list[tuple[Any, ...]] = [
        (group, found.sentences, found.tokens, found.uas, found.las, found.exact_match)
        if isinstance(found, Attachment)
        else (group, found.gold, found.predicted, found.correct, found.precision, found.recall, found.f1)
        for group, found in scores.breakdown(by).items()
    ]
    if by == "label":
        rows.sort(key=lambda row: -row[1])  # the most frequent first
    title, headings = BREAKDOWN_HEADINGS[by]
    return Table(f"{name}: {title}", [by.replace("-", " "), *headings], rows)


def _differences(comparisons: Mapping[Literal["uas", "las"], Comparison], name: str, other: str) -> Table:
    rows = [
        [metric.upper(), f"{c.difference:+.2f}", f"{c.p_value:.4g}", c.better, c.worse, c.tied]
        + (["{:+.2f} to {:+.2f}".format(*c.interval)] if c.interval is not None else [])
        for metric, c in comparisons.items()
    ]
    first = next(iter(comparisons.values()))
    samples = "" if first.samples is None else f", {first.samples} samples"
    headings = ["", "difference", "p", "better", "worse", "tied"]
    headings += ["95% interval"] if first.interval is not None else []
    return Table(f"{name} against {other}: {first.test} test{samples}", headings, rows)


def _calibration(found: dict[str, Calibration], name: str) -> list[Table]:
    rows = [
        (kind, c.count, 100 * c.confidence, 100 * c.accuracy, f"{c.ece:.4f}", f"{c.brier:.4f}")
        for kind, c in found.items()
    ]
    kept = [
        [f"{percent}%", *(100 * c.kept[i].accuracy for c in found.values())]
        for i, percent in enumerate(SHARES)
    ]
    headings = ["", "number", "mean probability", "right", "ECE", "Brier"]
    return [
        Table(f"{name}: calibration, {BINS} bins", headings, rows),
        Table(f"{name}: right among the most certain", ["kept", *found], kept),
    ]
