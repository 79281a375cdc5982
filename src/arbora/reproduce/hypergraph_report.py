"""The page, the tables and the figure of the study `hypergraph`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from arbora.evaluation.significance import Comparison, paired_bootstrap, sign_test
from arbora.reproduce.languages import Language
from arbora.reproduce.strategies import Curve, Results, Scores, StrategyRules, System
from arbora.reproduce.study import PAGE, Journal, Options, Report, Table, chance, command
from arbora.scorers.cube import Update
from arbora.storage.atomic import replacing
from arbora.web.plots import Line, Panel, save_plot

FIGURE = "figure2"
BASELINE = "skip"
STYLES: dict[Update, int] = {"standard": 3, "skip": 2, "s-max": 1, "p-max": 0}
"""Of lines in the figure."""

MEASURES = {"uas": "heads", "las": "arcs"}
"""With the counts that they are the share of."""
COMPARED = "", " better:worse", " p (sign)", " p (boot)"

TRANSITIONS = "transitions"
PUBLISHED: dict[str, dict[str, Scores]] = {
    language: {
        system: (row[2 * i], row[2 * i + 1])
        for i, system in enumerate((TRANSITIONS, "skip", "s-max", "p-max"))
    }
    for language, row in {
        "swedish": (90.98, 85.66, 90.64, 83.89, 91.62, 85.08, 91.62, 85.00),
        "turkish": (76.62, 66.00, 76.18, 65.90, 76.94, 66.80, 76.86, 66.56),
        "danish": (90.84, 86.65, 91.40, 86.59, 91.88, 86.95, 92.00, 87.07),
        "portuguese": (91.18, 87.66, 91.69, 88.04, 92.07, 88.30, 92.19, 88.40),
        "greek": (85.63, 78.41, 86.37, 78.29, 86.14, 78.20, 86.46, 78.55),
        "slovene": (84.63, 76.06, 85.01, 75.92, 86.01, 77.14, 85.77, 76.62),
        "czech": (87.78, 82.38, 86.92, 80.36, 88.36, 82.16, 88.48, 82.38),
        "basque": (79.65, 71.03, 79.57, 71.43, 79.59, 71.52, 79.61, 71.65),
        "hungarian": (84.71, 80.16, 85.67, 80.84, 85.85, 81.02, 86.49, 81.67),
        "dutch": (82.49, 79.71, 83.01, 79.79, 83.57, 80.29, 83.35, 80.09),
    }.items()
}
"""Table 2 of the paper, its transition-based parser first (Zhang and Nivre 2011, reimplemented)."""


@dataclass(frozen=True, slots=True)
class Figure:
    """What the figure shows."""

    language: Language
    curves: Mapping[Update, Curve]


class HypergraphReport:
    """Results as tables, a figure, a page and JSON."""

    def __init__(
        self,
        results: Results,
        languages: Mapping[str, Language],
        systems: Mapping[str, System],
        figure: Figure,
        rules: StrategyRules,
        options: Options,
    ) -> None:
        self.results = results
        self.languages = {name: languages[name] for name in results}
        self.systems = systems
        self.figure = figure
        self.rules = rules
        self.options = options
        self.comparisons = cache(self._compare)

    def write(self, journal: Journal) -> Report:
        """Everything into the output folder."""
        folder = self.options.output
        tables = list(self.tables())
        figures = [folder / f"{FIGURE}.svg", folder / f"{FIGURE}.png"]
        save_plot([self.panel()], *figures)
        journal.write({"quick": self.options.quick, "seed": self.options.seed, "results": self.to_json()})
        page = folder / PAGE
        with replacing(page) as stream:
            stream.write(self.page(tables).encode())
        return Report(tables, [page, journal.path, *figures], self.remarks())

    @property
    def averaged(self) -> list[str]:
        """The languages that averages and tests are over: those with a test set that chose nothing."""
        return [name for name, language in self.languages.items() if not language.is_tested_on_dev]

    @property
    def compared(self) -> list[str]:
        """The systems that are held against the baseline."""
        return [key for key in self.systems if BASELINE in self.systems and key != BASELINE]

    # Tables

    def tables(self) -> Iterator[Table]:
        """The paper's, the tests, and how search and time were spent."""
        yield self.overview()
        for key in self.compared:
            yield self.tests(key)
        yield self.search()
        yield self.speed()

    def overview(self) -> Table:
        """Table 2: a row per language, and the paper's below."""
        rows = []
        for name, language in self.languages.items():
            title = f"{language.title} (dev)" if language.is_tested_on_dev else language.title
            results = self.results[name]
            rows.append([title, *(_both(results[key].scores) for key in self.systems), ""])
            if name in PUBLISHED:
                data = "" if language.published else " (other data)"
                rows.append([f"{language.title}, paper{data}", *self._published(PUBLISHED[name])])
        if len(self.averaged) > 1:
            means = [self.mean(key) for key in self.systems]
            rows.append([f"mean of {len(self.averaged)}", *map(_both, means), ""])
        known = [PUBLISHED[name] for name in self.averaged if name in PUBLISHED]
        if len(known) > 1:
            paper = {key: _mean([row[key] for row in known]) for key in known[0]}
            rows.append([f"mean of {len(known)}, paper", *self._published(paper)])
        headings = ["UAS / LAS", *(system.title for system in self.systems.values()), "transition-based"]
        return Table("UAS / LAS on test data, without punctuation", headings, rows)

    def _published(self, row: Mapping[str, Scores]) -> list[str]:
        return [_both(row.get(key)) for key in (*self.systems, TRANSITIONS)]

    def mean(self, key: str) -> Scores:
        """Of a system's scores, every language counting the same."""
        return _mean([self.results[name][key].scores for name in self.averaged])

    def tests(self, key: str) -> Table:
        """A system against skip, by language and over the sentences of all."""
        groups: dict[str, tuple[str, ...]] = {
            language.title: (name,) for name, language in self.languages.items()
        }
        if len(self.averaged) > 1:
            groups["all with a test set"] = tuple(self.averaged)
        rows = []
        for title, names in groups.items():
            cells = [title]
            for sign, bootstrap in self.comparisons(key, names).values():
                cells += [
                    f"{sign.difference:+.2f}",
                    f"{sign.better}:{sign.worse}",
                    chance(sign.p_value),
                    chance(bootstrap.p_value),
                ]
            rows.append(cells)
        headings = ["", *(f"{measure.upper()}{what}" for measure in MEASURES for what in COMPARED)]
        return Table(f"{self.systems[key].title} against {BASELINE}", headings, rows)

    def _compare(self, key: str, names: tuple[str, ...]) -> dict[str, tuple[Comparison, Comparison]]:
        """A system against skip over the sentences of some languages, by measure: sign test and bootstrap."""
        found = {}
        for measure, field in MEASURES.items():
            first, second, tokens = (
                [count for name in names for count in getattr(self.results[name][system], counts)]
                for system, counts in ((key, field), (BASELINE, field), (BASELINE, "tokens"))
            )
            bootstrap = paired_bootstrap(first, second, tokens, seed=self.options.seed)
            found[measure] = sign_test(first, second, tokens), bootstrap
        return found

    def search(self) -> Table:
        """How exact search is: what the pruner loses, and how often the right tree was lost in training."""
        rows = []
        for name, language in self.languages.items():
            results = self.results[name]
            one = next(iter(results.values()))
            shares = [f"{100 * result.non_violations[-1]:.1f}" for result in results.values()]
            rows.append([language.title, f"{100 * one.pruned:.1f}", f"{one.best_uas_left:.2f}", *shares])
        headings = ["", "arcs pruned, %", "best UAS left", *(s.title for s in self.systems.values())]
        return Table(
            "What the pruner takes away; non-violations at the root in the last epoch, %", headings, rows
        )

    def speed(self) -> Table:
        """Words per second, and how long training took."""
        rows = []
        for name, language in self.languages.items():
            results = self.results[name].values()
            speeds = [f"{result.tokens_per_second:,.0f}" for result in results]
            rows.append([language.title, *speeds, *(f"{result.training_seconds:.0f}" for result in results)])
        titles = [system.title for system in self.systems.values()]
        headings = ["", *(f"{title}, tokens/s" for title in titles), *(f"{title}, CPU s" for title in titles)]
        return Table("Parsing the test set, and training, in processor time", headings, rows)

    # Figure

    def panel(self) -> Panel:
        """Figure 2: accuracy on dev after each epoch."""
        lines = [
            Line(update, range(1, len(uas) + 1), uas, STYLES[update])
            for update, uas in self.figure.curves.items()
        ]
        return Panel(self.figure.language.title, "epochs", "dev UAS", lines, whole_x=True)

    # Page and JSON

    def remarks(self) -> list[str]:
        """What has to be known to read the tables."""
        config = self.rules.config
        notes = [
            "UAS and LAS count words that are not written with punctuation only, as CoNLL-X did, over the "
            "true trees, crossing arcs and all. Tags are the treebanks' own.",
            f"Weights after the last of {config.parameters['epochs']} epochs are tested, as in the paper, "
            "and nothing was chosen by language. The one value that was chosen, "
            f"C = {config.parameters['C']}, is from UD English-EWT dev.",
            "The learner is passive_aggressive (PA-I, costs of wrong heads and labels), the paper's "
            "loss-augmented MIRA; `mira` has no costs in its search here. With margins, standard is skip.",
            "p: two-sided, over sentences; sign test, then paired bootstrap. better:worse counts sentences.",
            "Non-violations: sentences whose right tree, at the root, scored better than the one that was "
            "found, costs added. Arcs pruned and the best UAS left are of the test set, all words.",
            "Tokens per second: from columns in memory to trees, the pruner's time included.",
        ]
        foreign = [
            language.title
            for name, language in self.languages.items()
            if name in PUBLISHED and not language.published
        ]
        if foreign:
            notes.append(
                f"{', '.join(foreign)}: not the annotation and test set of the paper; only the order of "
                "systems compares."
            )
        chosen_on = [language.title for language in self.languages.values() if language.is_tested_on_dev]
        if chosen_on:
            notes.append(
                f"{', '.join(chosen_on)}: has no test set here, so these are scores on dev, and no part of "
                "means and of tests over all."
            )
        if self.options.quick:
            notes.append("A quick run, to see that everything works: these numbers say nothing.")
        return notes

    def page(self, tables: Sequence[Table]) -> str:
        """The Markdown page."""
        config = self.rules.config
        judged = "dev" if self.figure.language.dev else "the end of the training data, not trained on"
        parts = [
            "# Online learning for inexact hypergraph search",
            f"Written by `{command('hypergraph', self.options)}`: Table 2 and Figure 2 of Zhang, Huang, Zhao "
            f"and McDonald (2013). Order {config.order}, labelled, by cube pruning with {config.cube.beam} "
            f"derivations per node. Crossing arcs are flattened for training.",
            *(table.to_markdown() for table in tables),
            "\n".join(f"- {note}" for note in self.remarks()),
            f"![Accuracy by epoch]({FIGURE}.svg)",
            f"{self.figure.language.title}: UAS without punctuation on {judged} after each epoch of averaged "
            "perceptron steps, to which non-violations matter most.",
        ]
        return "\n\n".join(parts) + "\n"

    def to_json(self) -> dict[str, Any]:
        """What the tables show, unrounded."""
        return {
            "languages": {
                name: {key: self._result_json(name, key) for key in results}
                for name, results in self.results.items()
            },
            "means": {
                key: dict(zip(("uas", "las"), self.mean(key), strict=True))
                for key in (self.systems if self.averaged else ())
            },
            "against_skip": {
                key: self._tests_json(key, tuple(self.averaged))
                for key in (self.compared if self.averaged else ())
            },
            "figure": {"language": self.figure.language.title, "dev_uas": dict(self.figure.curves)},
        }

    def _result_json(self, name: str, key: str) -> dict[str, Any]:
        result, paper = self.results[name][key], PUBLISHED.get(name, {}).get(key)
        return {
            "uas": result.uas,
            "las": result.las,
            "paper": None if paper is None else dict(zip(("uas", "las"), paper, strict=True)),
            "paper_is_comparable": self.languages[name].published,
            "on_dev": self.languages[name].is_tested_on_dev,
            "against_skip": self._tests_json(key, (name,)) if key in self.compared else None,
            "non_violations": result.non_violations,
            "arcs_pruned": result.pruned,
            "best_uas_left": result.best_uas_left,
            "tokens_per_second": result.tokens_per_second,
            "training_seconds": result.training_seconds,
        }

    def _tests_json(self, key: str, names: tuple[str, ...]) -> dict[str, Any]:
        return {
            measure: {test.test: test.to_json() for test in tests}
            for measure, tests in self.comparisons(key, names).items()
        }


def _both(scores: Scores | None) -> str:
    return "" if scores is None else f"{scores[0]:.2f} / {scores[1]:.2f}"


def _mean(scores: Sequence[Scores]) -> Scores:
    return sum(uas for uas, _ in scores) / len(scores), sum(las for _, las in scores) / len(scores)
