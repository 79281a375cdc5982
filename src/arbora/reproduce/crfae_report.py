"""The page and the tables of the study `crfae`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from arbora.reproduce.languages import Language
from arbora.reproduce.study import PAGE, Journal, Options, Report, Table, command, number
from arbora.storage.atomic import replacing

Results: TypeAlias = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""By language, then by system."""
Length: TypeAlias = Literal["short", "all"]

_ORDER = ("basque", "czech", "danish", "dutch", "portuguese", "slovene", "swedish")
_SHORT: dict[str, tuple[float, ...]] = {
    "dmv": (41.1, 31.3, 50.8, 47.1, 36.7, 36.7, 43.5),
    "dmv-viterbi": (47.1, 27.1, 39.1, 37.1, 32.3, 23.7, 42.6),
    "neural": (46.5, 33.1, 55.6, 49.0, 30.4, 42.2, 44.3),
    "neural-viterbi": (48.1, 28.6, 39.8, 37.2, 36.5, 39.9, 47.9),
    "convex": (29.4, 36.5, 49.3, 31.3, 46.4, 33.7, 35.5),
    "convex-table-2": (30.0, 46.1, 51.6, 35.3, 55.4, 63.7, 50.9),
    "crfae": (49.0, 33.9, 28.8, 39.3, 47.6, 34.7, 51.3),
    "crfae-table-2": (49.9, 48.1, 53.4, 43.9, 68.0, 52.5, 64.7),
}
_ALL: dict[str, tuple[float, ...]] = {
    "dmv": (31.2, 28.1, 40.3, 44.2, 23.5, 25.2, 32.0),
    "dmv-viterbi": (40.9, 20.4, 32.6, 33.0, 26.9, 16.5, 36.2),
    "neural": (38.5, 29.3, 46.1, 46.2, 16.2, 36.6, 32.8),
    "neural-viterbi": (41.8, 23.8, 34.2, 33.6, 29.4, 30.8, 40.2),
    "convex": (30.5, 33.4, 44.2, 29.3, 38.3, 32.2, 28.3),
    "convex-table-2": (30.6, 40.0, 45.8, 35.6, 46.3, 51.8, 40.5),
    "crfae": (39.8, 25.4, 24.2, 35.2, 52.2, 26.4, 40.0),
    "crfae-table-2": (41.4, 36.8, 40.5, 38.6, 58.9, 43.3, 48.5),
}


def _table(rows: Mapping[str, Sequence[float]]) -> dict[str, dict[str, float]]:
    return {system: dict(zip(_ORDER, row, strict=True)) for system, row in rows.items()}


PUBLISHED: dict[Length, dict[str, dict[str, float]]] = {"short": _table(_SHORT), "all": _table(_ALL)}
"""Table 4 of the paper."""
PUBLISHED["short"]["convex-table-2"]["english"] = 60.8
PUBLISHED["all"]["convex-table-2"]["english"] = 48.6
PUBLISHED["short"]["crfae-table-2"]["english"] = 71.7
PUBLISHED["all"]["crfae-table-2"]["english"] = 55.7
"""Table 3, on the Wall Street Journal."""

FITTING = dict.fromkeys(("czech", "danish"), "table-2")
"""Rules that fit the annotation, where it is not UD's."""
DERIVED = {"convex": "Convex-MST, rules that fit", "crfae": "CRFAE, rules that fit"}
"""Rows that take the cells of those rules."""

LENGTHS: dict[Length, str] = {"short": "sentences of at most ten words", "all": "all sentences"}


class CrfaeReport:
    """Results as tables, a page and JSON."""

    def __init__(
        self,
        results: Results,
        languages: Mapping[str, Language],
        titles: Mapping[str, str],
        options: Options,
    ) -> None:
        self.results = results
        self.languages = languages
        self.titles = titles
        self.options = options

    def write(self, journal: Journal) -> Report:
        """Everything into the output folder."""
        tables = list(self.tables())
        summary = {"quick": self.options.quick, "seed": self.options.seed, "means": self.means()}
        journal.write(summary)
        page = self.options.output / PAGE
        with replacing(page) as stream:
            stream.write(self.page(tables).encode())
        return Report(tables, [page, journal.path], self.remarks())

    def tables(self) -> Iterator[Table]:
        """Ours of both lengths, the paper's beside, and what it took."""
        for length in LENGTHS:
            yield self.accuracies(length)
        for length in LENGTHS:
            yield self.published(length)
        yield self.costs()

    def accuracies(self, length: Length) -> Table:
        """Directed accuracy by system and language."""
        rows = []
        for system, title in self.titles.items():
            scores = [self.results[name].get(system, {}).get(length) for name in self.results]
            rows.append(
                [title, *(number(score, 1) for score in scores), number(self.mean(system, length), 1)]
            )
        for inducer, title in DERIVED.items():
            fitting = self.fitting(inducer, length)
            if fitting:
                cells = [*fitting, sum(fitting) / len(fitting)]
                rows.append([title, *(number(score, 1) for score in cells)])
        headings = ["", *(self.languages[name].title for name in self.results), "mean"]
        return Table(f"Directed accuracy, {LENGTHS[length]}", headings, rows)

    def published(self, length: Length) -> Table:
        """The paper's, of treebanks in other annotations."""
        names = [name for name in self.results if name in (*_ORDER, "english")]
        rows = []
        for system, title in self.titles.items():
            paper = PUBLISHED[length].get(system)
            if paper is not None:
                shared = [paper[name] for name in names if name in _ORDER]
                mean = sum(shared) / len(shared) if shared else None
                rows.append([title, *(number(paper.get(name), 1) for name in names), number(mean, 1)])
        headings = ["the paper", *(self.languages[name].title for name in names), "mean without English"]
        return Table(f"The paper's, {LENGTHS[length]}", headings, rows)

    def costs(self) -> Table:
        """CPU seconds of learning, and rounds."""
        rows = []
        for system, title in self.titles.items():
            cells = []
            for name in self.results:
                found = self.results[name].get(system)
                cells.append("" if found is None else f"{found['seconds']:.1f} ({len(found['objectives'])})")
            rows.append([title, *cells])
        headings = ["", *(self.languages[name].title for name in self.results)]
        return Table("CPU seconds of learning (rounds)", headings, rows)

    def mean(self, system: str, length: Length) -> float | None:
        """Over all languages; None where one is missing."""
        found = [self.results[name].get(system, {}).get(length) for name in self.results]
        return None if None in found else sum(filter(None, found)) / len(found)

    def fitting(self, inducer: str, length: Length) -> list[float]:
        """Of an inducer with the rules that fit each language's annotation; empty where one is missing."""
        found = [
            self.results[name].get(f"{inducer}-{FITTING.get(name, 'universal')}", {}).get(length)
            for name in self.results
        ]
        return [] if None in found else [score for score in found if score is not None]

    def means(self) -> dict[str, dict[str, float | None]]:
        """Of all systems."""
        return {system: {length: self.mean(system, length) for length in LENGTHS} for system in self.titles}

    def remarks(self) -> list[str]:
        """What has to be known to read the tables."""
        notes = [
            "Learned from training sentences of at most ten words, without punctuation, by their tags alone; "
            "directed accuracy on test data, punctuation removed and what hung on it hung on its head.",
            "Parameters are our defaults, chosen on the heads of English training data, as were the "
            "universal rules; those of DMV on training data of five of the treebanks. Authors' settings are "
            "those that the paper's authors chose for each language.",
            "Rules that fit: Table 2 for Danish and Czech, where prepositions are heads of nouns, universal "
            "for the others.",
            "The paper's numbers are of other annotations and texts: compare the order, not the digits.",
        ]
        on_dev = [
            self.languages[name].title for name in self.results if self.languages[name].is_tested_on_dev
        ]
        if on_dev:
            notes.append(f"{', '.join(on_dev)}: there is no test set, so dev stands for it.")
        if self.options.quick:
            notes.append("A quick run, to see that everything works: these numbers say nothing.")
        return notes

    def page(self, tables: Sequence[Table]) -> str:
        """The Markdown page."""
        parts = [
            "# CRF autoencoder for unsupervised dependency parsing",
            f"Written by `{command('crfae', self.options)}`: Tables 3 and 4 of Cai, Jiang and Tu (2017).",
            *(table.to_markdown() for table in tables),
            "\n".join(f"- {note}" for note in self.remarks()),
        ]
        return "\n\n".join(parts) + "\n"
