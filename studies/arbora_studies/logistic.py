"""Logistic updates against margin-based ones: Tables 2, 3 and 4 of [johansson-2007].

Table 2: classifiers of a parser's actions; 3: the same, where a wrong label with the right action costs half;
4: whole trees with a beam of 2. Learners compare the few best candidates with the gold answer, and differ
only in the size of their steps. γ or C is chosen by cross-validation on training data; five epochs.

The paper's treebanks are not available: UD English-EWT replaces the Penn Treebank, with ten named relations
so that there are 22 actions, as in the paper; UD Basque-BDT replaces the Basque Treebank it was made from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from arbora.costs import TreeCost
from arbora.scorers import TransitionSettings
from arbora.training.config import TrainConfig
from arbora_studies.actions import ActionRules, ActionSamples, ActionTask
from arbora_studies.contest import Search, Value, in_words
from arbora_studies.report import Findings, Table, TableRow, mean, number
from arbora_studies.runner import Runner
from arbora_studies.study import Study
from arbora_studies.treebanks import LANGUAGES, Limits, Material
from arbora_studies.trials import Estimate, Outcome, Task, Trials
from arbora_studies.whole_trees import TreeRules, TreeTask

OF_ACTIONS, OF_TREES = "english", "basque"
CHOSEN = ("C", "gamma")
"""Parameters that are chosen; the others are fixed."""


@dataclass(frozen=True)
class System:
    """A row of the tables; `published` are the paper's figures in Tables 2, 3 and 4 (None: no such row)."""

    title: str
    learner: str
    published: tuple[float | None, ...]
    fixed: Mapping[str, Value] = field(default_factory=dict)

    @property
    def is_logistic(self) -> bool:
        return self.learner in ("spv", "mec")

    @property
    def is_margin_based(self) -> bool:
        return self.learner in ("mira", "passive_aggressive")


OPA = "opa"
SYSTEMS = {
    "mira": System("MIRA", "mira", (6.05, 0.0590, 66.19)),
    OPA: System("OPA", "passive_aggressive", (6.17, 0.0577, 65.45)),
    "c-spv-laplace": System(
        "C-SPV, Laplace", "spv", (6.20, 0.0587, 64.73), {"scale": "cost", "prior": "laplace"}
    ),
    "mec-laplace": System("MEC, Laplace", "mec", (6.21, 0.0576, 64.81), {"prior": "laplace"}),
    "c-spv-gauss": System("C-SPV, Gauss", "spv", (6.22, 0.0582, 65.84), {"scale": "cost", "prior": "gauss"}),
    "mec-gauss": System("MEC, Gauss", "mec", (6.23, 0.0573, 65.99), {"prior": "gauss"}),
    "l-spv-laplace": System(
        "L-SPV, Laplace", "spv", (6.25, 0.0632, 64.50), {"scale": "loss", "prior": "laplace"}
    ),
    "l-spv-gauss": System("L-SPV, Gauss", "spv", (6.26, 0.0590, 66.24), {"scale": "loss", "prior": "gauss"}),
    "au": System("AU", "au", (6.39, None, None)),
}
"""In the order of the paper's Table 2."""
LEARNERS = {key: system.title for key, system in SYSTEMS.items()}


@dataclass(frozen=True)
class PaperTable:
    """A table of the paper, and how its scores are shown."""

    number: int
    key: str
    title: str
    form: str
    unit: str = ""
    scale: float = 1.0
    higher_is_better: bool = False

    def published(self, key: str) -> float | None:
        """The paper's figure for a row."""
        return SYSTEMS[key].published[self.number - 2]


MULTICLASS = PaperTable(2, "multiclass", "Multiclass classification: test error", ".2f", ", %", 100.0)
HIERARCHICAL = PaperTable(3, "hierarchical", "Hierarchical classification: average cost", ".4f")
TREES = PaperTable(4, "trees", "Whole trees: labelled accuracy", ".2f", ", %", higher_is_better=True)

Grid = Mapping[str, tuple[float, ...]]
ACTION_GRID: Grid = {
    "mira": (0.3, 1.0, 3.0),
    OPA: (0.3, 1.0, 3.0),
    "c-spv-gauss": (1e-4, 1e-3, 1e-2, 0.1),
    "c-spv-laplace": (0.01, 0.1, 1.0),
    "l-spv-gauss": (1e-4, 1e-3, 1e-2, 0.1),
    "l-spv-laplace": (0.01, 0.1, 1.0),
    "mec-gauss": (1e-5, 1e-4, 1e-3),
    "mec-laplace": (1e-5, 1e-4, 1e-3, 1e-2),
}
"""Values of C or γ, for rows of length 1."""
TREE_GRID: Grid = {
    "mira": (1e-5, 3e-5, 1e-4, 1e-3, 1.0),
    OPA: (1e-5, 3e-5, 1e-4, 1e-3, 1.0),
    "c-spv-gauss": (1e5, 1e6, 1e7, 1e8, 1e9),
    "c-spv-laplace": (1e2, 1e3, 1e4, 3e4, 1e5),
    "l-spv-gauss": (1e6, 1e7, 1e8, 1e9, 1e10),
    "l-spv-laplace": (1e2, 1e3, 1e4, 3e4, 1e5),
    "mec-gauss": (1e4, 1e5, 1e6, 1e7, 1e8),
    "mec-laplace": (1e1, 1e2, 1e3, 3e3, 1e4),
}
"""For differences in thousands of features; at C = 1 no step is ever cut short."""


@dataclass(frozen=True, kw_only=True)
class LogisticRules:
    """What all systems share."""

    actions: ActionRules
    trees: TreeRules
    action_samples: int
    tree_samples: int
    epochs: int
    values: int | None = None
    """How many values of each grid to try; None: all."""
    action_candidates: int = 3
    """Classes that are compared with the gold one. With all of them, a Gaussian prior would lower every class
    by nearly the same, and learn little; the paper also speaks of few."""
    tree_candidates: int = 2
    sentences: Limits = (None, None)


CONFIG = TrainConfig(
    parser="transition",
    features="nivre-v1",
    transition=TransitionSettings(beam=2, update="standard"),
    cost=TreeCost(label=0.5),
    tree_bits=22,
    label_bits=20,
)
RULES = LogisticRules(
    actions=ActionRules(train=50_000, test=10_000, choosing=10_000, folds=2, bits=20, relations=10),
    trees=TreeRules(train_words=5_000, test_words=8_000, folds=2, config=CONFIG),
    action_samples=3,
    tree_samples=5,
    epochs=5,
)
QUICK_RULES = LogisticRules(
    actions=ActionRules(train=500, test=200, choosing=200, folds=2, bits=14, relations=4),
    trees=TreeRules(
        train_words=300, test_words=200, folds=2, config=replace(CONFIG, tree_bits=16, label_bits=14)
    ),
    action_samples=2,
    tree_samples=2,
    epochs=2,
    values=2,
    sentences=(200, 50),
)


class LogisticStudy(Study):
    """Logistic updates (C-SPV, L-SPV, MEC) against MIRA, OPA and AU: actions, actions by kind, whole trees.

    Tables 2, 3 and 4 of the paper, with means and confidence over several samples: English for Tables 2 and
    3, Basque for Table 4. γ and C are chosen by cross-validation on training data [johansson-2007].
    """

    name = "logistic"
    paper = "johansson-2007"
    title = "Logistic online learning"
    treebanks = (OF_ACTIONS, OF_TREES)
    learners = LEARNERS

    def compute(self, runner: Runner, names: Sequence[str], learners: Sequence[str]) -> Findings:
        rules = QUICK_RULES if runner.options.quick else RULES
        results = []
        for name in names:
            for table, task in _tasks(Material(name, runner.options, rules.sentences), rules):
                keys = [key for key in learners if table.published(key) is not None]
                if not keys:  # Tables 3 and 4 have no AU
                    continue
                searches = {key: _search(table, key, rules) for key in keys}
                trials = Trials(runner, task, {key: _learner(table, key) for key in keys}, searches)
                samples = rules.tree_samples if table is TREES else rules.action_samples
                results.append(TableResult(table, name, trials.run(samples)))
        return _findings(results)


def _tasks(material: Material, rules: LogisticRules) -> Iterator[tuple[PaperTable, Task]]:
    """Tables 2 and 3 from one treebank, Table 4 from the other; synthetic sentences serve for all."""
    if material.name != OF_TREES:
        samples = ActionSamples(material, rules.actions)
        yield MULTICLASS, ActionTask(MULTICLASS.key, samples, 1.0)
        yield HIERARCHICAL, ActionTask(HIERARCHICAL.key, samples, 0.5)
    if material.name != OF_ACTIONS:
        yield TREES, TreeTask(material, rules.trees)


def _learner(table: PaperTable, key: str) -> str:
    """The learner of a row. OPA on trees uses the best tree that was found: MIRA with one candidate.

    With costs added to scores, as in PA, a beam of 2 finds nothing but costly trees.
    """
    return "mira" if table is TREES and key == OPA else SYSTEMS[key].learner


def _search(table: PaperTable, key: str, rules: LogisticRules) -> Search:
    """The values to try for a row of a table."""
    grid, count = (
        (TREE_GRID, rules.tree_candidates) if table is TREES else (ACTION_GRID, rules.action_candidates)
    )
    candidates: dict[str, Value] = {"k": 1 if key == OPA else count}
    if _learner(table, key) == "passive_aggressive":  # it always has one
        candidates = {}
    name = "C" if SYSTEMS[key].is_margin_based else "gamma"
    values = {name: grid[key][: rules.values]} if key in grid else {}
    return Search(grid=values, epochs=rules.epochs, fixed={**SYSTEMS[key].fixed, **candidates})


@dataclass(frozen=True)
class TableResult:
    """A table's rows on one treebank."""

    table: PaperTable
    language: str
    outcomes: Mapping[str, Outcome]

    @property
    def title(self) -> str:
        return LANGUAGES[self.language].title

    def scores(self, key: str) -> list[float]:
        """By sample, in the unit of the table."""
        return [self.table.scale * score for score in self.outcomes[key].scores]

    def estimate(self, key: str) -> Estimate:
        return Estimate.of(self.scores(key))

    @property
    def ranked(self) -> list[str]:
        """The rows, best first."""
        reverse = self.table.higher_is_better
        return sorted(self.outcomes, key=lambda key: self.estimate(key).mean, reverse=reverse)

    def difference(self, key: str, other: str) -> Estimate:
        """The difference of two rows, sample by sample: samples are the same for all rows."""
        return Estimate.of([a - b for a, b in zip(self.scores(key), self.scores(other), strict=True)])

    def is_better(self, key: str, other: str) -> bool:
        """Whether a row is better than another with 95% confidence."""
        difference = self.difference(key, other)
        ahead = difference.mean if self.table.higher_is_better else -difference.mean
        return ahead > difference.margin

    def overview(self) -> Table:
        """The rows, best first, with the paper's figures."""
        title = f"Table {self.table.number}. {self.table.title} ({self.title})"
        return Table.of(title, [self._row(key) for key in self.ranked])

    def _row(self, key: str) -> TableRow:
        table, outcome, found = self.table, self.outcomes[key], self.estimate(key)
        chosen = {name: outcome.parameters[name] for name in CHOSEN if name in outcome.parameters}
        return {
            "method": SYSTEMS[key].title,
            f"ours{table.unit}": number(found.mean, table.form),
            "±": number(found.margin, table.form),
            f"paper{table.unit}": number(table.published(key), table.form),
            "chosen": in_words(chosen),
            "CPU s": number(mean(outcome.seconds), ".0f"),
        }

    def verdict(self) -> str:
        """Whether logistic rows lie within the spread of margin-based ones; empty if some are missing."""
        margin_based = [key for key in self.ranked if SYSTEMS[key].is_margin_based]
        logistic = [key for key in self.ranked if SYSTEMS[key].is_logistic]
        if not margin_based or not logistic:
            return ""
        form, best, worst = self.table.form, margin_based[0], margin_based[-1]
        better = [key for key in logistic if self.is_better(key, best)]
        worse = [key for key in logistic if self.is_better(worst, key)]
        first = self.difference(logistic[0], best)
        ends = [format(self.estimate(key).mean, form) for key in (best, worst)]
        words = [
            f"Table {self.table.number} ({self.title}): the margin-based rows reach from {ends[0]} to "
            f"{ends[1]}; {len(logistic) - len(better) - len(worse)} of {len(logistic)} logistic rows lie "
            "within this spread or do not differ significantly from its ends",
            *(
                f"{what}: {', '.join(SYSTEMS[key].title for key in keys)}"
                for what, keys in (("better", better), ("worse", worse))
                if keys
            ),
            f"the best logistic row ({SYSTEMS[logistic[0]].title}) differs from the best margin-based one "
            f"({SYSTEMS[best].title}) by {first.mean:+{form}} ± {first.margin:{form}}",
        ]
        return "; ".join(words) + "."


def _findings(results: Sequence[TableResult]) -> Findings:
    samples = {len(outcome.scores) for result in results for outcome in result.outcomes.values()}
    return Findings(
        tables=[result.overview() for result in results],
        about="Tables 2, 3 and 4 of Johansson (2007). States and actions are those of the arc-eager system "
        "with the features of nivre-v1 and all their pairs.",
        notes=[
            f"Means over {' or '.join(map(str, sorted(samples)))} samples; ±: the 95% confidence of the mean "
            "by Student's t. γ and C were chosen by cross-validation on training data, the same for all "
            "samples.",
            "Better and worse: the difference, sample by sample, is further from 0 than its 95% confidence.",
            "CPU s: processor time of training and testing, of one sample.",
            "Not the paper's treebanks: figures differ in level, and only distances between rows compare.",
            *filter(None, (result.verdict() for result in results)),
        ],
    )
