"""The page and the tables of the study `logistic`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from arbora.reproduce.languages import Language
from arbora.reproduce.search import Value, in_words
from arbora.reproduce.study import PAGE, Journal, Options, Report, Table, command, number
from arbora.reproduce.trials import Estimate, Outcome
from arbora.storage.atomic import replacing

CHOSEN = ("C", "gamma")
"""Parameters that are chosen; the others are fixed."""


@dataclass(frozen=True, kw_only=True)
class System:
    """A row of the tables."""

    title: str
    learner: str
    fixed: Mapping[str, Value] = field(default_factory=dict)
    published: tuple[float | None, ...]
    """The paper's figures, by table; None where it has no such row."""
    is_margin_based: bool = False

    @property
    def is_logistic(self) -> bool:
        """Whether it is one of the paper's own."""
        return self.learner in ("spv", "mec")


@dataclass(frozen=True, kw_only=True)
class TableOf:
    """A table of the paper, and how its scores are shown."""

    number: int
    key: str
    title: str
    unit: str = ""
    scale: float = 1.0
    """Of scores as they are computed."""
    digits: int
    rising: bool = False
    """Whether greater scores are better."""

    @property
    def column(self) -> int:
        """Where published figures have it."""
        return self.number - 2


@dataclass(frozen=True)
class Result:
    """A table's rows on one treebank."""

    table: TableOf
    language: Language
    outcomes: Mapping[str, Outcome]

    def scores(self, key: str) -> list[float]:
        """By sample, as they are shown."""
        return [self.table.scale * score for score in self.outcomes[key].scores]

    def estimate(self, key: str) -> Estimate:
        """Of a row."""
        return Estimate.of(self.scores(key))

    @property
    def ranked(self) -> list[str]:
        """The rows, the best first."""
        return sorted(self.outcomes, key=lambda key: self.estimate(key).mean, reverse=self.table.rising)

    def difference(self, key: str, other: str) -> Estimate:
        """Of two rows, sample by sample, since samples are the same for all."""
        return Estimate.of([a - b for a, b in zip(self.scores(key), self.scores(other), strict=True)])

    def is_better(self, key: str, other: str) -> bool:
        """Whether a row is better than another with 95% confidence."""
        difference = self.difference(key, other)
        ahead = difference.mean if self.table.rising else -difference.mean
        return ahead > difference.margin


class LogisticReport:
    """Results as tables, a page and JSON."""

    def __init__(self, results: Sequence[Result], systems: Mapping[str, System], options: Options) -> None:
        self.results = results
        self.systems = systems
        self.options = options

    def write(self, journal: Journal) -> Report:
        """Everything into the output folder."""
        tables = [self.overview(result) for result in self.results]
        journal.write({"quick": self.options.quick, "seed": self.options.seed, "results": self.to_json()})
        page = self.options.output / PAGE
        with replacing(page) as stream:
            stream.write(self.page(tables).encode())
        return Report(tables, [page, journal.path], self.remarks())

    # Tables

    def overview(self, result: Result) -> Table:
        """Rows as in the paper, the best first, with its figures beside."""
        table = result.table
        rows = []
        for key in result.ranked:
            system, outcome, found = self.systems[key], result.outcomes[key], result.estimate(key)
            rows.append(
                [
                    system.title,
                    number(found.mean, table.digits),
                    number(found.margin, table.digits),
                    number(system.published[table.column], table.digits),
                    in_words(
                        {name: outcome.parameters[name] for name in CHOSEN if name in outcome.parameters}
                    ),
                    f"{sum(outcome.seconds) / len(outcome.seconds):.0f}",
                ]
            )
        unit = f", {table.unit}" if table.unit else ""
        headings = ("method", f"ours{unit}", "±", f"paper{unit}", "chosen", "CPU s")
        return Table(f"Table {table.number}. {table.title} ({result.language.title})", headings, rows)

    # Words

    def verdict(self, result: Result) -> str:
        """Whether logistic rows lie within the spread of margin-based ones; empty where some are missing."""
        margin_based = [key for key in result.ranked if self.systems[key].is_margin_based]
        logistic = [key for key in result.ranked if self.systems[key].is_logistic]
        if not margin_based or not logistic:
            return ""
        table, best, worst = result.table, margin_based[0], margin_based[-1]
        better = [key for key in logistic if result.is_better(key, best)]
        worse = [key for key in logistic if result.is_better(worst, key)]
        first = result.difference(logistic[0], best)
        ends = [f"{result.estimate(key).mean:.{table.digits}f}" for key in (best, worst)]
        words = [
            f"Table {table.number} ({result.language.title}): the margin-based rows reach from {ends[0]} to "
            f"{ends[1]}; {len(logistic) - len(better) - len(worse)} of {len(logistic)} logistic rows lie "
            "within this spread or cannot be told from its ends",
            *(
                f"{what}: {', '.join(self.systems[key].title for key in keys)}"
                for what, keys in (("better", better), ("worse", worse))
                if keys
            ),
            f"the best logistic row ({self.systems[logistic[0]].title}) differs from the best margin-based "
            f"one ({self.systems[best].title}) by {first.mean:+.{table.digits}f} "
            f"± {first.margin:.{table.digits}f}",
        ]
        return "; ".join(words) + "."

    def remarks(self) -> list[str]:
        """What has to be known to read the tables."""
        samples = {len(outcome.scores) for result in self.results for outcome in result.outcomes.values()}
        notes = [
            f"Means over {_counted(samples)} samples; ±: the 95% confidence of the mean by Student's t. γ "
            "and C were chosen by cross-validation on training data, the same for all samples.",
            "Better and worse are said of rows whose difference, sample by sample, is further from 0 than "
            "its 95% confidence.",
            "CPU s: processor time of learning and testing, of one sample.",
            "Not the paper's treebanks: figures differ in level, and only distances between rows compare.",
            *filter(None, map(self.verdict, self.results)),
        ]
        if self.options.quick:
            notes.append("A quick run, to see that everything works: these numbers say nothing.")
        return notes

    def page(self, tables: Sequence[Table]) -> str:
        """The Markdown page."""
        parts = [
            "# Logistic online learning",
            f"Written by `{command('logistic', self.options)}`: Tables 2, 3 and 4 of Johansson (2007). "
            "States and actions are those of the arc-eager system with the features of nivre-v1 and all "
            "their pairs.",
            *(table.to_markdown() for table in tables),
            "\n".join(f"- {note}" for note in self.remarks()),
        ]
        return "\n\n".join(parts) + "\n"

    def to_json(self) -> list[dict[str, Any]]:
        """What the tables show, unrounded."""
        return [
            {
                "table": result.table.number,
                "language": result.language.title,
                "rows": {key: self._row_json(result, key) for key in result.ranked},
            }
            for result in self.results
        ]

    def _row_json(self, result: Result, key: str) -> dict[str, Any]:
        found, outcome = result.estimate(key), result.outcomes[key]
        return {
            "mean": found.mean,
            # One sample alone has no confidence, and JSON no infinity.
            "margin": found.margin if len(outcome.scores) > 1 else None,
            "paper": self.systems[key].published[result.table.column],
            "parameters": outcome.parameters,
            "scores": result.scores(key),
            "seconds": list(outcome.seconds),
        }


def _counted(numbers: set[int]) -> str:
    return " or ".join(map(str, sorted(numbers)))
