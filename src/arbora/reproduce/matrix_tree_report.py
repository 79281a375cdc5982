"""The page and the tables of the study `matrix-tree`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from arbora.evaluation.significance import Comparison, sign_test
from arbora.interfaces import Trees
from arbora.reproduce.families_contest import FamilyRules, Result
from arbora.reproduce.languages import Language
from arbora.reproduce.study import PAGE, Journal, Options, Report, Table, chance, command, number
from arbora.storage.atomic import replacing

TITLES = {
    "perceptron": "perceptron",
    "exponentiated_gradient": "max-margin (EG)",
    "log_linear": "log-linear",
}
BASELINE = "perceptron"
SHORT: dict[Trees, str] = {"projective": "p", "nonprojective": "np"}

PUBLISHED: dict[str, dict[str, dict[Trees, float]]] = {
    language: {
        learner: {"projective": row[2 * i], "nonprojective": row[2 * i + 1]}
        for i, learner in enumerate(TITLES)
    }
    for language, row in {
        "dutch": (77.17, 78.83, 76.53, 79.69, 76.23, 79.55),
        "japanese": (91.90, 91.78, 92.10, 92.18, 91.68, 91.49),
        "slovene": (78.02, 78.66, 79.78, 80.10, 78.24, 79.66),
        "turkish": (71.22, 71.70, 72.83, 72.02, 72.26, 72.62),
    }.items()
}
"""Table 2 of the paper."""
PUBLISHED_CHOSEN = {
    "perceptron": {"dutch": 78.83, "japanese": 91.78, "slovene": 78.66, "turkish": 71.70},
    "exponentiated_gradient": {"dutch": 79.69, "japanese": 92.18, "slovene": 80.10, "turkish": 72.02},
    "log_linear": {"dutch": 79.55, "japanese": 91.49, "slovene": 79.66, "turkish": 72.26},
}
"""Table 3 of the paper."""

Results = Mapping[str, Mapping[str, Mapping[Trees, Result]]]
"""By language, learner and trees of training."""


class MatrixTreeReport:
    """Results as tables, a page and JSON."""

    def __init__(
        self, results: Results, languages: Mapping[str, Language], rules: FamilyRules, options: Options
    ) -> None:
        self.results = results
        self.languages = languages
        self.rules = rules
        self.options = options

    def write(self, journal: Journal) -> Report:
        """Everything into the output folder."""
        tables = list(self.tables())
        journal.write({"quick": self.options.quick, "seed": self.options.seed, "results": self.to_json()})
        page = self.options.output / PAGE
        with replacing(page) as stream:
            stream.write(self.page(tables).encode())
        return Report(tables, [page, journal.path], self.remarks())

    def tables(self) -> Iterator[Table]:
        """The paper's two, the tests, and what was chosen."""
        yield self.trainings()
        yield self.learners()
        if BASELINE in self._learners and len(self._learners) > 1:
            yield self.tests()
        yield self.details()

    @property
    def _learners(self) -> list[str]:
        return list(next(iter(self.results.values())))

    def trainings(self) -> Table:
        """Table 2: projective beside non-projective training, ours and the paper's."""
        rows = []
        for language, learners in self.results.items():
            for learner, results in learners.items():
                p, np = results["projective"], results["nonprojective"]
                paper = PUBLISHED.get(language, {}).get(learner, {})
                rows.append(
                    [
                        f"{self.languages[language].title}, {TITLES[learner]}",
                        f"{p.uas:.2f}",
                        f"{np.uas:.2f}",
                        f"{np.uas - p.uas:+.2f}",
                        chance(sign_test(np.heads, p.heads, p.tokens).p_value),
                        number(paper.get("projective"), 2),
                        number(paper.get("nonprojective"), 2),
                    ]
                )
        headings = ("", "p", "np", "np - p", "p-value", "paper, p", "paper, np")
        return Table("UAS on test data by the trees of training, without punctuation", headings, rows)

    def better_training(self, language: str, learner: str) -> Trees:
        """The trees of training that are better on dev; projective ones where both are as good."""
        results = self.results[language][learner]
        return max(results, key=lambda trees: round(results[trees].choice.uas, 6))

    def chosen(self, language: str, learner: str) -> Result:
        """The model whose training is better on dev."""
        return self.results[language][learner][self.better_training(language, learner)]

    def learners(self) -> Table:
        """Table 3: learners, each with the trees of training that are better on dev."""
        rows = []
        for learner in self._learners:
            scores = [self.chosen(language, learner).uas for language in self.results]
            rows.append([TITLES[learner], *(f"{score:.2f}" for score in [*scores, _mean(scores)])])
        known = [language for language in self.results if language in PUBLISHED]
        for learner in self._learners if known else []:
            paper = PUBLISHED_CHOSEN[learner]
            mean = f"{_mean([paper[language] for language in known]):.2f} (of {len(known)})"
            cells = [number(paper.get(language), 2) for language in self.results]
            rows.append([f"{TITLES[learner]}, paper", *cells, mean])
        headings = ["", *(self.languages[language].title for language in self.results), "mean"]
        return Table("UAS on test data, training chosen on dev", headings, rows)

    def comparison(self, learner: str) -> Comparison:
        """The sign test of a learner against the perceptron, over the sentences of all languages."""
        ours, baseline, tokens = (
            [count for language in self.results for count in getattr(self.chosen(language, name), counts)]
            for name, counts in ((learner, "heads"), (BASELINE, "heads"), (BASELINE, "tokens"))
        )
        return sign_test(ours, baseline, tokens)

    def tests(self) -> Table:
        """Note 7: sentences that a learner parses better and worse than the perceptron does."""
        rows = []
        for learner in self._learners:
            if learner != BASELINE:
                test = self.comparison(learner)
                cells = str(test.better), str(test.worse), f"{test.difference:+.2f}", chance(test.p_value)
                rows.append([TITLES[learner], *cells])
        headings = ("against the perceptron", "sentences better", "worse", "words, points", "p-value")
        return Table("Sign test over the sentences of all languages", headings, rows)

    def details(self) -> Table:
        """What was chosen on dev."""
        rows = [
            [
                f"{self.languages[language].title}, {TITLES[learner]}, {SHORT[trees]}",
                result.choice.words,
                str(result.choice.epoch),
                SHORT[result.choice.trees],
                f"{result.choice.uas:.2f}",
                f"{result.uas:.2f}",
                f"{result.choice.seconds:.0f}",
            ]
            for language, learners in self.results.items()
            for learner, results in learners.items()
            for trees, result in results.items()
        ]
        headings = ("", "chosen", "epochs", "parsed", "dev", "test", "CPU s")
        return Table("What was chosen on dev", headings, rows)

    # Page and JSON

    def remarks(self) -> list[str]:
        """What has to be known to read the tables."""
        pruner = self.rules.pruner
        without = [self.languages[name].title for name in self.results if not self.languages[name].dev]
        notes = [
            "UAS counts words that are not written with punctuation only, as CoNLL-X did. p and np: training "
            "over projective and over non-projective trees; models of the latter may parse either, as dev "
            "says.",
            "p-values: sign test over sentences, two-sided.",
            "The paper's numbers are of other annotations and texts (CoNLL-X); only which systems win "
            "compares.",
        ]
        if pruner is not None:
            notes.append(f"A first-order pruner leaves each word {pruner.keep} heads at most.")
        if without:
            held_out = f"{100 * self.rules.held_out:.0f}%"
            notes.append(f"{', '.join(without)}: the last {held_out} of train are dev.")
        if self.options.quick:
            notes.append("A quick run, to see that everything works: these numbers say nothing.")
        return notes

    def page(self, tables: Sequence[Table]) -> str:
        """The Markdown page."""
        parts = [
            "# Structured prediction models via the matrix-tree theorem",
            f"Written by `{command('matrix-tree', self.options)}`: Tables 2 and 3 of Koo, Globerson, "
            "Carreras and Collins (2007). First order, unlabelled.",
            *(table.to_markdown() for table in tables),
            "\n".join(f"- {note}" for note in self.remarks()),
        ]
        return "\n\n".join(parts) + "\n"

    def to_json(self) -> dict[str, Any]:
        """What the tables show, unrounded."""
        return {
            "languages": {
                language: {
                    learner: {
                        "better_on_dev": self.better_training(language, learner),
                        **{
                            trees: {
                                "uas": result.uas,
                                "paper": PUBLISHED.get(language, {}).get(learner, {}).get(trees),
                                "parameters": result.choice.parameters,
                                "epochs": result.choice.epoch,
                                "parsed": result.choice.trees,
                                "dev_uas": result.choice.uas,
                                "seconds": result.choice.seconds,
                            }
                            for trees, result in results.items()
                        },
                    }
                    for learner, results in learners.items()
                }
                for language, learners in self.results.items()
            },
            "against_the_perceptron": {
                learner: self.comparison(learner).to_json()
                for learner in self._learners
                if BASELINE in self._learners and learner != BASELINE
            },
        }


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
