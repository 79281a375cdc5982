"""The page, the tables and the figure of the study `pegasos`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arbora.evaluation.significance import paired_bootstrap, sign_test
from arbora.reproduce.contest import Choice, Rules, System
from arbora.reproduce.languages import Language, Tested
from arbora.reproduce.study import PAGE, Journal, Options, Report, Table, chance, command, number
from arbora.storage.atomic import replacing
from arbora.web.plots import Line, Panel, save_plot

FIGURE = "figure2"
IN_FIGURE = {"pegasos": 0, "one-slack": 1, "mira": 2}
"""The systems of Figure 2, each with its colour; the average of Pegasos-DP is in, too."""


@dataclass(frozen=True, kw_only=True)
class Result(Tested):
    """One system on one language."""

    choice: Choice
    seconds: float
    """Processor time of the training that was tested."""


Results = Mapping[str, Mapping[str, Result]]
"""By language, then by system."""


class PegasosReport:
    """Results as tables, a figure, a page and JSON."""

    def __init__(
        self,
        results: Results,
        languages: Mapping[str, Language],
        systems: Mapping[str, System],
        rules: Rules,
        options: Options,
    ) -> None:
        self.results = results
        self.languages = languages
        self.systems = systems
        self.rules = rules
        self.options = options

    def write(self, journal: Journal) -> Report:
        """Everything into the output folder."""
        folder = self.options.output
        tables = [self.overview(), *(self.details(name) for name in self.results)]
        figures = [folder / f"{FIGURE}.svg", folder / f"{FIGURE}.png"]
        save_plot([self.panel(name) for name in self.results], *figures)
        journal.write({"quick": self.options.quick, "seed": self.options.seed, "results": self.to_json()})
        page = folder / PAGE
        with replacing(page) as stream:
            stream.write(self.page(tables).encode())
        return Report(tables, [page, journal.path, *figures], self.remarks())

    # Tables

    def overview(self) -> Table:
        """Table 1: a row per system, ours beside the paper's."""
        headings = ["system"]
        for name in self.results:
            title = self.languages[name].title
            headings += [f"{title}, ours", f"{title}, paper"]
        rows = []
        for key, system in self.systems.items():
            row = [system.title]
            for name, results in self.results.items():
                row += [f"{results[key].uas:.2f}", number(system.published.get(name), 1)]
            rows.append(row)
        return Table("UAS on test data, without punctuation", headings, rows)

    def details(self, name: str) -> Table:
        """What was chosen for a language, and whether differences to the best system are significant."""
        results = self.results[name]
        best = self.best(name)
        rows = []
        for key, result in results.items():
            tests = self.tests(name, key)
            rows.append(
                [
                    self.systems[key].title,
                    result.choice.words,
                    str(result.choice.epochs),
                    f"{result.choice.uas:.2f}",
                    f"{result.uas:.2f}",
                    "best" if key == best else f"{result.uas - results[best].uas:+.2f}",
                    "" if key == best else chance(tests["sign"]["p_value"]),
                    "" if key == best else chance(tests["bootstrap"]["p_value"]),
                    f"{result.seconds:.0f}",
                ]
            )
        headings = (
            "system",
            "chosen",
            "epochs",
            "held out",
            "test",
            "to best",
            "p (sign)",
            "p (boot)",
            "CPU s",
        )
        return Table(f"{self.languages[name].title}: what was chosen, and how it did", headings, rows)

    def best(self, name: str) -> str:
        """The system with the highest UAS on the test set; the first of equals."""
        results = self.results[name]
        return max(results, key=lambda key: round(results[key].uas, 6))

    def tests(self, name: str, key: str) -> dict[str, dict[str, Any]]:
        """Both tests of a system against the best of its language."""
        one, other = self.results[name][self.best(name)], self.results[name][key]
        counts = one.heads, other.heads, one.tokens
        return {
            "sign": sign_test(*counts).to_json(),
            "bootstrap": paired_bootstrap(*counts, seed=self.options.seed).to_json(),
        }

    # Figure

    def panel(self, name: str) -> Panel:
        """Figure 2: accuracy on the held-out part against time of training, at the chosen parameters."""
        results = self.results[name]
        lines = []
        for key, style in IN_FIGURE.items():
            if key not in results:
                continue
            points = results[key].choice.points
            seconds = [point.seconds for point in points]
            title = self.systems[key].title.removesuffix(" (averaged)")
            lines.append(Line(title, seconds, [point.last for point in points], style))
            if key != "one-slack":
                averaged = [point.averaged for point in points]
                lines.append(Line(f"{title} (averaged)", seconds, averaged, style, dashed=True))
        top = max((max(line.y) for line in lines), default=100.0)
        return Panel(
            self.languages[name].title,
            "processor time of training, seconds",
            "held-out UAS",
            lines,
            log_x=True,
            y_from=max(0.0, top - 12.0),
        )

    # Page and JSON

    def remarks(self) -> list[str]:
        """What has to be known to read the tables."""
        foreign = [self.languages[name].title for name in self.results if not self.languages[name].published]
        pruner = self.rules.pruner
        notes = [
            "UAS counts words that are not written with punctuation only, as CoNLL-X did.",
            *(
                []
                if pruner is None
                else [f"A first-order pruner leaves each word {pruner.keep} heads at most."]
            ),
            "Parameters and epochs were chosen on the last tenth of the training data; the paper chose λ on "
            "its test data.",
            "p: of the difference to the best system, two-sided, over sentences; sign test and bootstrap.",
        ]
        if foreign:
            notes.append(
                f"{', '.join(foreign)}: not the annotation and test set of the paper; only the order of "
                "systems compares."
            )
        if self.options.quick:
            notes.append(
                "A quick run, to see that everything works: these numbers say nothing about learners."
            )
        return notes

    def page(self, tables: Sequence[Table]) -> str:
        """The Markdown page."""
        parts = [
            "# Large-margin training of dependency parsers: Pegasos-DP",
            f"Written by `{command('pegasos', self.options)}`: Table 1 and Figure 2 of Lee, Lim and Jang "
            "(2010) for our own learners. Second order (adjacent siblings), approximate non-projective "
            "search, unlabelled; Pegasos-DP sees k = 10 examples per step.",
            *(table.to_markdown() for table in tables),
            "\n".join(f"- {note}" for note in self.remarks()),
            f"![Accuracy against training time]({FIGURE}.svg)",
            "Accuracy on the held-out tenth of the training data against processor time of training, after "
            "each epoch, at the chosen parameters.",
        ]
        return "\n\n".join(parts) + "\n"

    def to_json(self) -> dict[str, Any]:
        """What the tables show, unrounded."""
        return {
            name: {
                key: {
                    "system": self.systems[key].title,
                    "uas": result.uas,
                    "paper": self.systems[key].published.get(name),
                    "paper_is_comparable": self.languages[name].published,
                    "parameters": result.choice.parameters,
                    "epochs": result.choice.epochs,
                    "held_out_uas": result.choice.uas,
                    "seconds": result.seconds,
                    "best": self.best(name),
                    "against_best": self.tests(name, key) if key != self.best(name) else None,
                }
                for key, result in results.items()
            }
            for name, results in self.results.items()
        }
