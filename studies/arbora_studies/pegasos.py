"""Pegasos-DP against MIRA, PA and the 1-slack structural SVM: Table 1 and Figure 2 of [lee-2010].

All systems are the same second-order parser (arcs and adjacent siblings), unlabelled, non-projective by
approximate search from the best projective tree [mcdonald-2006]. Only the learner differs. The paper chose λ
on the test set. Here parameters and epochs are chosen on the last tenth of the training data, and a parser
with these is trained on all of it. The test set is parsed once per row.

Danish is the paper's test set. Swedish and Dutch have another annotation, so only the order of systems can be
compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from arbora.evaluation.significance import Comparison, paired_bootstrap, sign_test
from arbora.interfaces import Learner
from arbora.search.pruner import PrunerSettings
from arbora.web.plots import Line, Panel
from arbora_studies.contest import ALL_HEADS, Choice, Contest, Row, Rules, Search, choose_best
from arbora_studies.courses import Variants, Which
from arbora_studies.report import Findings, Table, TableRow, chance, number
from arbora_studies.runner import Result, Runner
from arbora_studies.study import Study
from arbora_studies.treebanks import LANGUAGES, Heads, Material, hold_out, not_the_papers

TREEBANKS = ("danish", "swedish", "dutch")


@dataclass(frozen=True)
class System:
    """A row of the table: a learner, which of its weights are used, and the paper's UAS by treebank."""

    title: str
    learner: str
    which: Which
    paper: tuple[float, ...]

    @property
    def published(self) -> dict[str, float]:
        return dict(zip(TREEBANKS, self.paper, strict=True))


SYSTEMS = {
    "mira": System("MIRA (averaged)", "mira", "averaged", (90.2, 89.2, 83.9)),
    "pa": System("PA (averaged)", "passive_aggressive", "averaged", (90.6, 89.6, 84.3)),
    "pegasos": System("Pegasos-DP", "pegasos", "last", (90.8, 90.1, 85.0)),
    "pegasos-averaged": System("Pegasos-DP (averaged)", "pegasos", "averaged", (91.0, 90.1, 85.1)),
    "one-slack": System("1-slack S-SVM", "one_slack", "last", (90.9, 90.1, 85.0)),
}
LEARNERS = {
    "mira": "MIRA, one best tree per step",
    "passive_aggressive": "PA-I on the tree of greatest score plus cost",
    "pegasos": "Pegasos-DP, k = 10: the last weights and their average",
    "one_slack": "the 1-slack structural SVM",
}
LAMBDAS = (1e-2, 3.3e-2, 1e-3, 3.3e-3, 1e-4)
"""The paper's list, in its order."""
STEPS = (0.001, 0.003, 0.01, 1.0)
"""C of MIRA and PA; at 1 no step is ever cut short."""
SLACKS = tuple(round(1 / lam, 1) for lam in LAMBDAS)
EPSILON = {"epsilon": 0.05}

SEARCHES = {
    "mira": Search(grid={"C": STEPS}, epochs=10),
    "passive_aggressive": Search(grid={"C": STEPS}, epochs=10),
    "pegasos": Search(grid={"lam": LAMBDAS}, epochs=100, trial=20, fixed={"k": 10}),
    "one_slack": Search(grid={"C": SLACKS}, epochs=120, trial=40, fixed=EPSILON, converges=True),
}
QUICK_SEARCHES = {
    "mira": Search(grid={"C": (0.01,)}, epochs=2),
    "passive_aggressive": Search(grid={"C": (0.01,)}, epochs=2),
    "pegasos": Search(grid={"lam": (3.3e-2, 1e-4)}, epochs=3, trial=2, fixed={"k": 10}),
    "one_slack": Search(grid={"C": (100.0,)}, epochs=6, fixed=EPSILON, converges=True),
}
RULES = Rules(order=2, tree_bits=22, pruner=PrunerSettings(keep=16, within=ALL_HEADS))
QUICK_RULES = Rules(order=2, tree_bits=16, pruner=PrunerSettings(keep=8, bits=14), sentences=(150, 50))

WEIGHTS: Variants = {"averaged": ("averaged", None), "last": ("last", None)}
IN_FIGURE = {"pegasos": 0, "one-slack": 1, "mira": 2}
"""The systems of Figure 2, each with its colour."""


Rows = Mapping[str, Mapping[str, Row]]
"""By language, then by system."""


class LanguageContest:
    """One language: parameters are chosen on the end of the training data, then tested."""

    def __init__(self, runner: Runner, name: str) -> None:
        rules, self.searches = (QUICK_RULES, QUICK_SEARCHES) if runner.options.quick else (RULES, SEARCHES)
        material = Material(name, runner.options, rules.sentences)
        parts = hold_out(material.train, rules.held_out)
        self.advance = runner.observer.advance
        self.choosing = Contest(runner, material, parts, rules, "nonprojective")
        self.testing = Contest(runner, material, (material.train, material.test), rules, "nonprojective")

    def choose(self, system: System) -> Choice:
        search = self.searches[system.learner]
        curves = self.choosing.curves("choosing", system.learner, search, WEIGHTS)
        return choose_best(curves, [system.which], converges=search.converges)

    def row(self, key: str, system: System) -> Row:
        """Train with the best parameters on all training data, and test once."""

        def parse(learner: Learner) -> tuple[Heads, Result]:
            trained = self.testing.course.run(learner, self.advance)
            heads = self.testing.course.heads(getattr(trained, system.which))
            return heads, {"seconds": trained.seconds}

        choice = self.choose(system)
        return self.testing.test(key, system.learner, choice, parse, key=key, which=system.which)


class PegasosStudy(Study):
    """Pegasos-DP against MIRA, PA and the 1-slack structural SVM: unlabelled, second order, non-projective.

    Table 1 of the paper for our learners, with significance tests, and Figure 2, accuracy against training
    time. Parameters are chosen on the last tenth of the training data, never on test data [lee-2010].
    """

    name = "pegasos"
    paper = "lee-2010"
    title = "Large-margin training of dependency parsers: Pegasos-DP"
    treebanks = TREEBANKS
    learners = LEARNERS
    has_figure = True

    def compute(self, runner: Runner, names: Sequence[str], learners: Sequence[str]) -> Findings:
        systems = {key: system for key, system in SYSTEMS.items() if system.learner in learners}
        contests = {name: LanguageContest(runner, name) for name in names}
        rows = {
            name: {key: contest.row(key, system) for key, system in systems.items()}
            for name, contest in contests.items()
        }
        rules = QUICK_RULES if runner.options.quick else RULES
        return PegasosResults(rows, runner.options.seed).findings(rules)


class PegasosResults:
    """The rows as tables and a figure."""

    def __init__(self, rows: Rows, seed: int) -> None:
        self.rows = rows
        self.seed = seed

    def findings(self, rules: Rules) -> Findings:
        return Findings(
            tables=[
                Table.of("UAS on test data, without punctuation", self.overview()),
                *(
                    Table.of(f"{LANGUAGES[name].title}: what was chosen, and how it did", self.details(name))
                    for name in self.rows
                ),
            ],
            about="Table 1 and Figure 2 of Lee, Lim and Jang (2010) for our own learners. Second order "
            "(adjacent siblings), approximate non-projective search, unlabelled; Pegasos-DP uses k = 10 "
            "examples per step.",
            notes=[
                "UAS counts words that are not written with punctuation only, as CoNLL-X did.",
                *rules.notes,
                "Parameters and epochs were chosen on the last tenth of the training data; the paper chose λ "
                "on its test data.",
                "p: of the difference to the best system, two-sided, over sentences; sign test, bootstrap.",
                *not_the_papers(list(self.rows)),
            ],
            panels=list(map(self.panel, self.rows)),
            caption="Accuracy on the held-out tenth of the training data against processor time of training, "
            "after each epoch, with the chosen parameters.",
        )

    def overview(self) -> Iterator[TableRow]:
        """Table 1: a row per system, with the paper's numbers."""
        for key in next(iter(self.rows.values())):
            row: TableRow = {"system": SYSTEMS[key].title}
            for name, found in self.rows.items():
                row[f"{LANGUAGES[name].title}, ours"] = number(found[key].uas)
                row[f"{LANGUAGES[name].title}, paper"] = number(SYSTEMS[key].published.get(name), ".1f")
            yield row

    def details(self, name: str) -> Iterator[TableRow]:
        """The choices for a language, and whether differences to the best system are significant."""
        best = self.best(name)
        for key, row in self.rows[name].items():
            sign, bootstrap = self.tests(name, key)
            is_best = key == best
            yield {
                "system": SYSTEMS[key].title,
                "chosen": row.choice.text,
                "epochs": number(row.choice.epochs, "d"),
                "held out": number(row.choice.uas),
                "test": number(row.uas),
                "to best": "best" if is_best else number(row.uas - self.rows[name][best].uas, "+.2f"),
                "p (sign)": "" if is_best else chance(sign.p_value),
                "p (boot)": "" if is_best else chance(bootstrap.p_value),
                "CPU s": number(row.seconds, ".0f"),
            }

    def best(self, name: str) -> str:
        """The system with the highest UAS on the test set; ties go to the first."""
        rows = self.rows[name]
        return max(rows, key=lambda key: round(rows[key].uas, 6))

    def tests(self, name: str, key: str) -> tuple[Comparison, Comparison]:
        """Sign test and bootstrap of the best system of a language against another."""
        one, other = self.rows[name][self.best(name)], self.rows[name][key]
        counts = one.heads, other.heads, one.tokens
        return sign_test(*counts), paired_bootstrap(*counts, seed=self.seed)

    def panel(self, name: str) -> Panel:
        """Figure 2: accuracy on the held-out part against training time, with the chosen parameters."""
        lines = []
        for key, style in IN_FIGURE.items():
            if key not in self.rows[name]:
                continue
            points = self.rows[name][key].choice.points
            seconds = [point.seconds for point in points]
            title = SYSTEMS[key].title.removesuffix(" (averaged)")
            lines.append(Line(title, seconds, [point.uas["last"] for point in points], style))
            if key != "one-slack":
                averaged = [point.uas["averaged"] for point in points]
                lines.append(Line(f"{title} (averaged)", seconds, averaged, style, dashed=True))
        top = max((max(line.y) for line in lines), default=100.0)
        return Panel(
            LANGUAGES[name].title,
            "processor time of training, seconds",
            "held-out UAS",
            lines,
            log_x=True,
            y_from=max(0.0, top - 12.0),
        )
