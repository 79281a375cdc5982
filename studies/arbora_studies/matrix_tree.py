"""Perceptron, max-margin and log-linear training, over projective and non-projective trees: [koo-2007].

Tables 2 and 3 of the paper, and the sign tests of its note 7. All systems are the same first-order parser,
unlabelled. Only the learner and the trees of training differ. Max-margin training is exponentiated gradient.
Log-linear training is L-BFGS, where the paper has conjugate gradients: both reach the same optimum.

Every combination of a learner's grid is trained, and evaluated on dev after each epoch; a non-projective
model over both kinds of trees. The weights of the best combination, epoch and kind of trees parse the test
set.

The paper's treebanks are those of CoNLL-X. Ours have other annotations and in part other texts, so only which
systems win can be compared. Danish and Czech are ours alone; the paper's Arabic and Spanish are missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from arbora.evaluation.significance import sign_test
from arbora.interfaces import Learner, Trees
from arbora.search.pruner import PrunerSettings
from arbora_studies.contest import ALL_HEADS, Contest, Row, Rules, Search, choose_best
from arbora_studies.courses import Variants
from arbora_studies.report import Cell, Findings, Table, TableRow, chance, mean, number
from arbora_studies.runner import Result, Runner
from arbora_studies.study import Study
from arbora_studies.treebanks import LANGUAGES, Heads, Material, checksum

BASELINE = "perceptron"
LEARNERS = {
    BASELINE: "the averaged perceptron",
    "exponentiated_gradient": "max-margin training by exponentiated gradient",
    "log_linear": "log-linear training",
}
TITLES = {BASELINE: "perceptron", "exponentiated_gradient": "max-margin (EG)", "log_linear": "log-linear"}
TREEBANKS = ("dutch", "japanese", "slovene", "turkish", "danish", "czech")
SHORT: dict[Trees, str] = {"projective": "p", "nonprojective": "np"}
VARIANTS: dict[Trees, Variants] = {
    "projective": {"projective": ("averaged", "projective")},
    "nonprojective": {
        "nonprojective": ("averaged", "nonprojective"),
        "projective": ("averaged", "projective"),
    },
}
"""The trees that a model of each training may parse with, those of training first."""

SEARCHES = {
    BASELINE: Search(grid={}, epochs=30),
    "exponentiated_gradient": Search(grid={"C": (0.01, 0.003, 0.03)}, epochs=12, trial=4),
    "log_linear": Search(grid={"C": (0.03, 0.01, 0.1)}, epochs=5, trial=2, fixed={"iterations": 10}),
}
QUICK_SEARCHES = {
    BASELINE: Search(grid={}, epochs=2),
    "exponentiated_gradient": Search(grid={"C": (0.01, 0.1)}, epochs=2),
    "log_linear": Search(grid={"C": (0.1, 1.0)}, epochs=2, fixed={"iterations": 3}),
}
RULES = Rules(order=1, tree_bits=20, pruner=PrunerSettings(keep=10, within=ALL_HEADS))
QUICK_RULES = Rules(order=1, tree_bits=16, pruner=PrunerSettings(keep=8, bits=14), sentences=(100, 50))

PUBLISHED: dict[str, dict[str, dict[str, float]]] = {
    language: {
        learner: {"projective": row[2 * i], "nonprojective": row[2 * i + 1]}
        for i, learner in enumerate(LEARNERS)
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
    BASELINE: {"dutch": 78.83, "japanese": 91.78, "slovene": 78.66, "turkish": 71.70},
    "exponentiated_gradient": {"dutch": 79.69, "japanese": 92.18, "slovene": 80.10, "turkish": 72.02},
    "log_linear": {"dutch": 79.55, "japanese": 91.49, "slovene": 79.66, "turkish": 72.26},
}
"""Table 3 of the paper."""


Rows = Mapping[str, Mapping[str, Mapping[Trees, Row]]]
"""By language, learner and trees of training."""


class MatrixTreeStudy(Study):
    """Perceptron, max-margin and log-linear training over projective and over non-projective trees.

    Tables 2 and 3 of the paper, first order and unlabelled, with sign tests over sentences. Parameters,
    epochs and the trees to parse are chosen on dev [koo-2007].
    """

    name = "matrix-tree"
    paper = "koo-2007"
    title = "Structured prediction models via the matrix-tree theorem"
    treebanks = TREEBANKS
    learners = LEARNERS

    def compute(self, runner: Runner, names: Sequence[str], learners: Sequence[str]) -> Findings:
        rules = QUICK_RULES if runner.options.quick else RULES
        rows = {}
        for material in [Material(name, runner.options, rules.sentences) for name in names]:
            parts = material.with_dev(rules.held_out)
            contests = {trees: Contest(runner, material, parts, rules, trees) for trees in SHORT}
            rows[material.name] = {
                learner: {trees: _row(contest, learner, trees) for trees, contest in contests.items()}
                for learner in learners
            }
        return MatrixTreeResults(rows, rules).findings()


def _row(contest: Contest, name: str, trees: Trees) -> Row:
    """Choose on dev, and test the chosen model."""
    options, material = contest.runner.options, contest.material
    search = (QUICK_SEARCHES if options.quick else SEARCHES)[name]
    variants = VARIANTS[trees]
    choice = choose_best(contest.curves(f"{trees} training", name, search, variants), list(variants))

    def parse(learner: Learner) -> tuple[Heads, Result]:
        parser = contest.course.parser(contest.weights(learner), variants[choice.variant][1])
        return parser.trees(material.test_columns, threads=options.threads)[0], {}

    return contest.test(
        f"{name}, {trees} training",
        name,
        choice,
        parse,
        key=f"{name}-{trees}",
        parsed=choice.variant,
        test=checksum(material.test_columns),
    )


class MatrixTreeResults:
    """The rows as tables."""

    def __init__(self, rows: Rows, rules: Rules) -> None:
        self.rows = rows
        self.rules = rules
        self.learners = list(next(iter(rows.values())))

    def findings(self) -> Findings:
        without = [LANGUAGES[name].title for name in self.rows if not LANGUAGES[name].dev]
        held_out = f"the last {100 * self.rules.held_out:.0f}% of train are dev."
        return Findings(
            tables=[
                Table.of("UAS on test data by the trees of training, without punctuation", self.trainings()),
                Table.of("UAS on test data, training chosen on dev", self.chosen_trainings()),
                Table.of("Sign test over the sentences of all languages", self.tests()),
                Table.of("What was chosen on dev", self.details()),
            ],
            about="Tables 2 and 3 of Koo, Globerson, Carreras and Collins (2007). First order, unlabelled.",
            notes=[
                "UAS counts words that are not written with punctuation only, as CoNLL-X did. p and np: "
                "training over projective and over non-projective trees; models of the latter may parse "
                "either, as dev says.",
                "p-values: sign test over sentences, two-sided.",
                "The paper's numbers are of other annotations and texts (CoNLL-X); only which systems win "
                "compares.",
                *self.rules.notes,
                *([f"{', '.join(without)}: {held_out}"] if without else []),
            ],
        )

    def trainings(self) -> Iterator[TableRow]:
        """Table 2: projective and non-projective training, ours and the paper's."""
        for language, learners in self.rows.items():
            for learner, rows in learners.items():
                p, np = rows["projective"], rows["nonprojective"]
                paper = PUBLISHED.get(language, {}).get(learner, {})
                yield {
                    "": f"{LANGUAGES[language].title}, {TITLES[learner]}",
                    "p": number(p.uas),
                    "np": number(np.uas),
                    "np - p": number(np.uas - p.uas, "+.2f"),
                    "p-value": chance(sign_test(np.heads, p.heads, p.tokens).p_value),
                    "paper, p": number(paper.get("projective")),
                    "paper, np": number(paper.get("nonprojective")),
                }

    def better_training(self, language: str, learner: str) -> Trees:
        """The trees of training that are better on dev; of equals, projective ones."""
        rows = self.rows[language][learner]
        return max(rows, key=lambda trees: round(rows[trees].choice.uas, 6))

    def chosen(self, language: str, learner: str) -> Row:
        """The model whose training is better on dev."""
        return self.rows[language][learner][self.better_training(language, learner)]

    def chosen_trainings(self) -> Iterator[TableRow]:
        """Table 3: learners, each with the trees of training that are better on dev."""
        for learner in self.learners:
            scores = {language: self.chosen(language, learner).uas for language in self.rows}
            cells = {LANGUAGES[language].title: number(score) for language, score in scores.items()}
            yield {"": TITLES[learner], **cells, "mean": number(mean(list(scores.values())))}
        known = [language for language in self.rows if language in PUBLISHED]
        for learner in self.learners if known else []:
            paper = PUBLISHED_CHOSEN[learner]
            cells = {LANGUAGES[language].title: number(paper[language]) for language in known}
            average = mean([paper[language] for language in known])
            of_known = Cell(f"{average:.2f} (of {len(known)})", average)
            yield {"": f"{TITLES[learner]}, paper", **cells, "mean": of_known}

    def tests(self) -> Iterator[TableRow]:
        """Note 7: sentences that a learner parses better and worse than the perceptron."""
        for learner in self.learners:
            if BASELINE not in self.learners or learner == BASELINE:
                continue
            ours, baseline, tokens = (
                [count for language in self.rows for count in getattr(self.chosen(language, name), counts)]
                for name, counts in ((learner, "heads"), (BASELINE, "heads"), (BASELINE, "tokens"))
            )
            test = sign_test(ours, baseline, tokens)
            yield {
                "against the perceptron": TITLES[learner],
                "sentences better": number(test.better, "d"),
                "worse": number(test.worse, "d"),
                "words, points": number(test.difference, "+.2f"),
                "p-value": chance(test.p_value),
            }

    def details(self) -> Iterator[TableRow]:
        """The choices on dev."""
        for language, learners in self.rows.items():
            for learner, rows in learners.items():
                for trees, row in rows.items():
                    is_projective = row.choice.variant == "projective"
                    yield {
                        "": f"{LANGUAGES[language].title}, {TITLES[learner]}, {SHORT[trees]}",
                        "chosen": row.choice.text or "-",
                        "epochs": number(row.choice.epochs, "d"),
                        "parsed": SHORT["projective" if is_projective else "nonprojective"],
                        "dev": number(row.choice.uas),
                        "test": number(row.uas),
                        "CPU s": number(row.choice.seconds, ".0f"),
                    }
