"""`arbora eval`: score a predicted treebank against a gold one."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from arbora.cli.files import FormatOption, at_most_one_stdin, existing, existing_if_given, session
from arbora.cli.pictures import plot_name
from arbora.cli.tables import Table, show
from arbora.data import treebank
from arbora.evaluation.aligned import AlignedAgreement, evaluate_aligned
from arbora.evaluation.attachment import evaluate
from arbora.evaluation.calibration import BINS, SHARES, Calibration, calibration
from arbora.evaluation.scores import BREAKDOWNS, Attachment, Breakdown, Evaluation, Scores
from arbora.evaluation.significance import Comparison, compare
from arbora.web.plots import SUFFIXES, draw_reliability

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from arbora.data.sentence import Sentence

PERCENT_HEADINGS = {
    "uas": "UAS",
    "las": "LAS",
    "la": "label",
    "clas": "CLAS",
    "exact_match": "exact",
    "exact_match_labelled": "ex.+l",
    "root_accuracy": "root",
}
BREAKDOWN_HEADINGS: dict[Breakdown, tuple[str, tuple[str, ...]]] = {
    "label": (
        "labelled arcs by label",
        ("gold", "predicted", "correct", "precision", "recall", "F1"),
    ),
    "arc-length": (
        "unlabelled arcs by length",
        ("gold", "predicted", "correct", "precision", "recall", "F1"),
    ),
    "sentence-length": (
        "attachment by words in the sentence",
        ("sentences", "words", "UAS", "LAS", "exact"),
    ),
}
ALIGNED_HEADINGS = {
    "tokens": "tokens",
    "sentences": "sentences",
    "words": "words",
    "upos": "UPOS",
    "xpos": "XPOS",
    "ufeats": "UFeats",
    "alltags": "AllTags",
    "lemmas": "lemmas",
    "uas": "UAS",
    "las": "LAS",
    "clas": "CLAS",
    "mlas": "MLAS",
    "blex": "BLEX",
}
METRICS: tuple[Literal["uas", "las"], ...] = ("uas", "las")


class PunctuationChoice(StrEnum):
    """What counts as punctuation."""

    auto = "auto"
    upos = "upos"
    form = "form"


class BreakdownChoice(StrEnum):
    """What to break the scores down by."""

    label = "label"
    arc_length = "arc-length"
    sentence_length = "sentence-length"


class TestChoice(StrEnum):
    """How to test a difference."""

    sign = "sign"
    bootstrap = "bootstrap"
    randomization = "randomization"


def _refuse_idle_options(context: typer.Context) -> None:
    """The command line is at fault if an option was given that changes nothing without another."""
    given = {
        name
        for name in context.params
        if (source := context.get_parameter_source(name)) is not None and source.name == "COMMANDLINE"
    }
    for name in ("test", "samples", "seed"):
        if name in given and "other" not in given:
            raise typer.BadParameter(f"--{name} needs --compare OTHER, whose difference it tests")
    if "nopunct" in given and not given & {"by", "other"}:
        raise typer.BadParameter(
            "--nopunct needs --by GROUPS or --compare OTHER, which it narrows; "
            "the scores without punctuation are always there"
        )
    others = sorted(given - {"gold", "predicted", "aligned", "as_json", "format"})
    if "aligned" in given and others:
        option = {"other": "compare", "with_calibration": "calibration"}.get(others[0], others[0])
        raise typer.BadParameter(f"--{option} needs the same words on both sides; leave it or --aligned out")
    if "plot" in given and "with_calibration" not in given:
        raise typer.BadParameter("--plot needs --calibration, which it draws")


def evaluate_files(
    context: typer.Context,
    gold: Annotated[
        str,
        typer.Argument(metavar="GOLD", callback=existing, help="Gold treebank; - is stdin."),
    ],
    predicted: Annotated[
        str,
        typer.Argument(metavar="PREDICTED", callback=existing, help="The same words, parsed; - is stdin."),
    ],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object, percentages unrounded.")
    ] = False,
    by: Annotated[
        list[BreakdownChoice] | None,
        typer.Option("--by", help="Break the scores down; may be given several times."),
    ] = None,
    punctuation: Annotated[
        PunctuationChoice,
        typer.Option(
            help="What the scores without punctuation leave out: words with gold UPOS PUNCT "
            "(upos), or words written with punctuation only (form). auto: upos for data with UD "
            "tags, else form."
        ),
    ] = PunctuationChoice.auto,
    nopunct: Annotated[
        bool,
        typer.Option("--nopunct", help="Leave punctuation out of --by and --compare, too."),
    ] = False,
    subtypes: Annotated[
        bool | None,
        typer.Option(
            "--subtypes/--no-subtypes",
            help="Compare whole labels, or only what stands before the first colon, as the UD "
            "scorer does. Default: --no-subtypes for data with UD tags, else --subtypes.",
        ),
    ] = None,
    other: Annotated[
        str | None,
        typer.Option(
            "--compare",
            metavar="OTHER",
            callback=existing_if_given,
            help="A second parse of the same words; test the difference.",
        ),
    ] = None,
    test: Annotated[TestChoice, typer.Option(help="Significance test for --compare.")] = TestChoice.sign,
    samples: Annotated[
        int, typer.Option(min=1, help="Samples that bootstrap and randomization draw for --compare.")
    ] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of these samples.")] = 0,
    with_calibration: Annotated[
        bool,
        typer.Option(
            "--calibration",
            help="Judge the probabilities in PREDICTED, from `arbora parse --probabilities`: are arcs right "
            "as often as they say?",
        ),
    ] = False,
    plot: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            callback=plot_name,
            help=f"Draw the reliability diagram of --calibration: {' or '.join(SUFFIXES)}.",
        ),
    ] = None,
    aligned: Annotated[
        bool,
        typer.Option(
            "--aligned",
            help="For parses of raw text, whose words and sentences may differ from the gold ones: F1 by "
            "characters, as in CoNLL 2018.",
        ),
    ] = False,
    format: Annotated[  # noqa: A002
        FormatOption, typer.Option(help="What the files are; auto looks at name and first lines.")
    ] = FormatOption.AUTO,
) -> None:
    """Score PREDICTED against GOLD: UAS, LAS, label accuracy, CLAS, exact match, roots.

    Both files hold the same sentences and words, as CoNLL-U or CoNLL-X. Scores are percentages
    over all words, without punctuation, and by the CoNLL-X rule (no words written with
    punctuation only, whole labels).

    Examples:

    - `arbora eval gold.conllu parsed.conllu`
    - `arbora eval gold.conllu parsed.conllu --by label --by arc-length`
    - `arbora eval gold.conllu parsed.conllu --json | jq .las`
    - `arbora eval gold.conllu new.conllu --compare old.conllu --test bootstrap`
    - `arbora eval gold.conllu parsed.conllu --calibration --plot reliability.svg`
    - `arbora eval gold.conllu from_text.conllu --aligned`
    """
    at_most_one_stdin([gold, predicted, other])
    _refuse_idle_options(context)

    def read(path: str) -> Iterator[Sentence]:
        return treebank.read(path, format=format.value)

    def score(reference: Iterable[Sentence], path: str, parsed: Iterable[Sentence]) -> Evaluation:
        return evaluate(
            reference,
            parsed,
            punctuation=punctuation.value,
            subtypes=subtypes,
            names=(gold, path),
        )

    if aligned:
        with session():
            _tell_aligned(
                evaluate_aligned(read(gold), read(predicted), names=(gold, predicted)), predicted, as_json
            )
        return
    with session():
        # What is needed twice is kept, since stdin can be read only once.
        reference = read(gold) if other is None and not with_calibration else list(read(gold))
        parsed = list(read(predicted)) if with_calibration else read(predicted)
        report = _Report(
            result=score(reference, predicted, parsed),
            breakdowns=[name for name in BREAKDOWNS if name in (by or [])],
            nopunct=nopunct,
        )
        if other is not None:
            report.compare_with(score(reference, other, read(other)), test.value, samples, seed)
        if with_calibration:
            report.calibration = calibration(
                reference, parsed, subtypes=report.result.subtypes, names=(gold, predicted)
            )
            if plot is not None:
                draw_reliability(report.calibration, plot)
        if as_json:
            print(json.dumps(report.to_json(), ensure_ascii=False, indent=2))
        else:
            show(report.tables(predicted, other))


def _tell_aligned(found: dict[str, AlignedAgreement], name: str, as_json: bool) -> None:
    if as_json:
        print(json.dumps({measure: each.to_json() for measure, each in found.items()}, indent=2))
        return
    rows = []
    for measure, each in found.items():
        exact = each.aligned_accuracy
        percents = [f"{value:.2f}" for value in (each.precision, each.recall, each.f1)]
        rows.append([ALIGNED_HEADINGS[measure], *percents, "" if exact is None else f"{exact:.2f}"])
    show([Table(f"{name}: aligned", ["", "precision", "recall", "F1", "of aligned"], rows)])


@dataclass(slots=True)
class _Report:
    """All that was asked for, in both of its forms."""

    result: Evaluation
    breakdowns: list[Breakdown]
    nopunct: bool
    rival: Evaluation | None = None
    comparisons: dict[str, Comparison] = field(default_factory=dict)
    calibration: dict[str, Calibration] = field(default_factory=dict)

    def compare_with(self, rival: Evaluation, test: str, samples: int, seed: int) -> None:
        self.rival = rival
        pair = (self._words(self.result), self._words(rival))
        for metric in METRICS:
            self.comparisons[metric] = compare(*pair, metric=metric, test=test, samples=samples, seed=seed)

    def to_json(self) -> dict[str, object]:
        answer = self.result.to_json(self.breakdowns, nopunct=self.nopunct)
        if self.rival is not None:
            answer["other"] = self.rival.to_json(self.breakdowns, nopunct=self.nopunct)
            answer["compare"] = {
                metric: comparison.to_json() for metric, comparison in self.comparisons.items()
            }
        if self.calibration:
            answer["calibration"] = {name: found.to_json() for name, found in self.calibration.items()}
        return answer

    def tables(self, predicted: str, other: str | None) -> list[Table]:
        tables = [_summary(self.result, predicted)]
        if self.rival is not None and other is not None:
            tables.append(_summary(self.rival, other))
        scores = self._words(self.result)
        place = f"{predicted}, without punctuation" if self.nopunct else predicted
        tables += [_breakdown(scores, name, place) for name in self.breakdowns]
        if self.comparisons:
            tables.append(_differences(self.comparisons, predicted, other))
        if self.calibration:
            tables += _calibration(self.calibration, predicted)
        return tables

    def _words(self, evaluation: Evaluation) -> Scores:
        return evaluation.nopunct if self.nopunct else evaluation.all


def _summary(result: Evaluation, name: str) -> Table:
    subtypes = "with" if result.subtypes else "without"
    choices = {
        "all words": result.all,
        "no punctuation": result.nopunct,
        "CoNLL-X rule": result.conllx,
    }
    rows = []
    for choice, scores in choices.items():
        measures = scores.measures()
        percents = [f"{measures[key]:.2f}" for key in PERCENT_HEADINGS]
        rows.append([choice, str(scores.tokens), *percents])
    rules = f"punctuation by {result.punctuation}, labels {subtypes} subtypes"
    title = f"{name}: {result.sentences} sentences, {rules}"
    return Table(title, ["", "words", *PERCENT_HEADINGS.values()], rows)


def _breakdown(scores: Scores, by: Breakdown, name: str) -> Table:
    groups = scores.breakdown(by)
    rows = []
    counts: tuple[int, ...]
    for group, found in groups.items():
        if isinstance(found, Attachment):
            counts = (found.sentences, found.tokens)
            percents = (found.uas, found.las, found.exact_match)
        else:
            counts = (found.gold, found.predicted, found.correct)
            percents = (found.precision, found.recall, found.f1)
        rows.append([group, *map(str, counts), *(f"{value:.2f}" for value in percents)])
    if by == "label":
        # The most frequent first, as they weigh most.
        rows.sort(key=lambda row: -int(row[1]))
    title, headings = BREAKDOWN_HEADINGS[by]
    return Table(f"{name}: {title}", [by.replace("-", " "), *headings], rows)


def _differences(comparisons: dict[str, Comparison], name: str, other: str | None) -> Table:
    rows = []
    for metric, found in comparisons.items():
        row = [metric.upper(), f"{found.difference:+.2f}", f"{found.p_value:.4g}"]
        row += [str(found.better), str(found.worse), str(found.tied)]
        if found.interval is not None:
            low, high = found.interval
            row.append(f"{low:+.2f} to {high:+.2f}")
        rows.append(row)
    first = next(iter(comparisons.values()))
    drawn = "" if first.samples is None else f", {first.samples} samples"
    headings = ["", "difference", "p", "better", "worse", "tied"]
    headings += ["95% interval"] if first.interval is not None else []
    return Table(f"{name} against {other}: {first.test} test{drawn}", headings, rows)


def _calibration(found: dict[str, Calibration], name: str) -> list[Table]:
    rows = [
        [
            kind,
            str(each.count),
            f"{100 * each.confidence:.2f}",
            f"{100 * each.accuracy:.2f}",
            f"{each.ece:.4f}",
            f"{each.brier:.4f}",
        ]
        for kind, each in found.items()
    ]
    headings = ["", "number", "mean probability", "right", "ECE", "Brier"]
    summary = Table(f"{name}: calibration, {BINS} bins", headings, rows)
    kept = [
        [f"{percent}%", *(f"{100 * each.kept[i].accuracy:.2f}" for each in found.values())]
        for i, percent in enumerate(SHARES)
    ]
    return [summary, Table(f"{name}: right among the most certain", ["kept", *found], kept)]
