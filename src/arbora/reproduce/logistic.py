"""Logistic updates against margin-based ones: Tables 2, 3 and 4 of [johansson-2007].

Table 2: classifiers of a parser's actions; 3: the same where a wrong label with the right action costs half;
4: whole trees with a beam of 2. Learners weigh a few candidates against the right answer, those that score
best, and differ only in by how much. γ or C is chosen by cross-validation on training data; five passes.

The paper's treebanks are not at hand: UD English-EWT stands for the Penn Treebank, with ten relations by name
so that there are 22 actions, as in the paper; UD Basque-BDT for the Basque Treebank, from which it was made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from arbora.reproduce.actions import ActionRules, ActionSamples, ActionTask
from arbora.reproduce.languages import INVENTED, Limits, Material, languages
from arbora.reproduce.logistic_report import LogisticReport, Result, System, TableOf
from arbora.reproduce.search import Search, Value
from arbora.reproduce.study import Journal, Options, Report, Watcher, chosen
from arbora.reproduce.trials import Task, Trials
from arbora.reproduce.whole_trees import TreeRules, TreeTask
from arbora.scorers import TransitionSettings
from arbora.training import TrainConfig

OF_ACTIONS, OF_TREES = "english", "basque"
TREEBANKS = (OF_ACTIONS, OF_TREES)
LANGUAGES = {name: languages[name] for name in (*TREEBANKS, INVENTED)}

OPA = "opa"
SYSTEMS = {
    "mira": System(title="MIRA", learner="mira", is_margin_based=True, published=(6.05, 0.0590, 66.19)),
    OPA: System(
        title="OPA", learner="passive_aggressive", is_margin_based=True, published=(6.17, 0.0577, 65.45)
    ),
    "c-spv-laplace": System(
        title="C-SPV, Laplace",
        learner="spv",
        fixed={"scale": "cost", "prior": "laplace"},
        published=(6.20, 0.0587, 64.73),
    ),
    "mec-laplace": System(
        title="MEC, Laplace", learner="mec", fixed={"prior": "laplace"}, published=(6.21, 0.0576, 64.81)
    ),
    "c-spv-gauss": System(
        title="C-SPV, Gauss",
        learner="spv",
        fixed={"scale": "cost", "prior": "gauss"},
        published=(6.22, 0.0582, 65.84),
    ),
    "mec-gauss": System(
        title="MEC, Gauss", learner="mec", fixed={"prior": "gauss"}, published=(6.23, 0.0573, 65.99)
    ),
    "l-spv-laplace": System(
        title="L-SPV, Laplace",
        learner="spv",
        fixed={"scale": "loss", "prior": "laplace"},
        published=(6.25, 0.0632, 64.50),
    ),
    "l-spv-gauss": System(
        title="L-SPV, Gauss",
        learner="spv",
        fixed={"scale": "loss", "prior": "gauss"},
        published=(6.26, 0.0590, 66.24),
    ),
    "au": System(title="AU", learner="au", published=(6.39, None, None)),
}
"""In the order of the paper's Table 2; `published`: its figures in Tables 2, 3 and 4."""
MULTICLASS, HIERARCHICAL, TREES = (
    TableOf(
        number=2,
        key="multiclass",
        title="Multiclass classification: test error",
        unit="%",
        scale=100.0,
        digits=2,
    ),
    TableOf(number=3, key="hierarchical", title="Hierarchical classification: average cost", digits=4),
    TableOf(number=4, key="trees", title="Whole trees: labelled accuracy", unit="%", digits=2, rising=True),
)

Grid = Mapping[str, Mapping[str, tuple[float, ...]]]
ACTION_GRID: Grid = {
    "mira": {"C": (0.3, 1.0, 3.0)},
    OPA: {"C": (0.3, 1.0, 3.0)},
    "c-spv-gauss": {"gamma": (1e-4, 1e-3, 1e-2, 0.1)},
    "c-spv-laplace": {"gamma": (0.01, 0.1, 1.0)},
    "l-spv-gauss": {"gamma": (1e-4, 1e-3, 1e-2, 0.1)},
    "l-spv-laplace": {"gamma": (0.01, 0.1, 1.0)},
    "mec-gauss": {"gamma": (1e-5, 1e-4, 1e-3)},
    "mec-laplace": {"gamma": (1e-5, 1e-4, 1e-3, 1e-2)},
    "au": {},
}
"""For rows of length 1."""
TREE_GRID: Grid = {
    "mira": {"C": (1e-5, 3e-5, 1e-4, 1e-3, 1.0)},
    OPA: {"C": (1e-5, 3e-5, 1e-4, 1e-3, 1.0)},
    "c-spv-gauss": {"gamma": (1e5, 1e6, 1e7, 1e8, 1e9)},
    "c-spv-laplace": {"gamma": (1e2, 1e3, 1e4, 3e4, 1e5)},
    "l-spv-gauss": {"gamma": (1e6, 1e7, 1e8, 1e9, 1e10)},
    "l-spv-laplace": {"gamma": (1e2, 1e3, 1e4, 3e4, 1e5)},
    "mec-gauss": {"gamma": (1e4, 1e5, 1e6, 1e7, 1e8)},
    "mec-laplace": {"gamma": (1e1, 1e2, 1e3, 3e3, 1e4)},
}
"""For differences of thousands of features, each of which counts 1; at C = 1 no step is ever cut short."""


@dataclass(frozen=True, kw_only=True)
class LogisticRules:
    """What all systems share."""

    actions: ActionRules
    trees: TreeRules
    action_samples: int
    tree_samples: int
    epochs: int
    values: int | None = None
    """Of each grid, only so many; None: all."""
    action_candidates: int = 3
    """Classes that are weighed against the right one. Were it all of them, a Gaussian prior would take every
    class down by nearly the same, whether it was near or far, and learn little; the paper, too, speaks of
    few."""
    tree_candidates: int = 2
    sentences: Limits = (None, None)


CONFIG = TrainConfig(
    parser="transition",
    features="nivre-v1",
    transition=TransitionSettings(beam=2, update="standard"),
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


class LogisticStudy:
    """Logistic updates (C-SPV, L-SPV, MEC) against MIRA, OPA and AU: actions, actions by kind, whole trees.

    Tables 2, 3 and 4 of the paper, with means and confidence over several samples. γ and C are chosen by
    cross-validation on training data [johansson-2007].
    """

    name: ClassVar[str] = "logistic"
    paper: ClassVar[str] = "johansson-2007"

    @property
    def languages(self) -> Mapping[str, str]:
        """Names with their treebanks: English for Tables 2 and 3, Basque for Table 4."""
        return {name: language.treebank for name, language in LANGUAGES.items()}

    @property
    def learners(self) -> Mapping[str, str]:
        """Names of rows with their titles."""
        return {name: system.title for name, system in SYSTEMS.items()}

    def run(self, options: Options, watcher: Watcher) -> Report:
        """All cells, then tables and page."""
        usual = (INVENTED,) if options.quick else TREEBANKS
        names = chosen("language", options.languages, list(LANGUAGES), usual)
        wanted = chosen("learner", options.learners, list(SYSTEMS), list(SYSTEMS))
        rules = QUICK_RULES if options.quick else RULES
        journal = Journal.open(options.output, self.name)
        results = []
        for name in names:
            material = Material(name, LANGUAGES[name], options, rules.sentences)
            for table, task in _tasks(material, rules):
                keys = [key for key in wanted if SYSTEMS[key].published[table.column] is not None]
                if not keys:  # Tables 3 and 4 have no AU
                    continue
                searches = {key: _search(table, key, rules) for key in keys}
                learners = {key: _learner(table, key) for key in keys}
                trials = Trials(task, searches, learners, journal, watcher, options.seed)
                samples = rules.tree_samples if table is TREES else rules.action_samples
                results.append(Result(table, LANGUAGES[name], trials.run(keys, samples)))
        return LogisticReport(results, SYSTEMS, options).write(journal)


def _tasks(material: Material, rules: LogisticRules) -> Iterator[tuple[TableOf, Task]]:
    """Tables 2 and 3 from a treebank of actions, Table 4 from one of trees; invented sentences are both."""
    if material.name != OF_TREES:
        samples = ActionSamples(material, rules.actions)
        yield MULTICLASS, ActionTask(MULTICLASS.key, samples, 1.0)
        yield HIERARCHICAL, ActionTask(HIERARCHICAL.key, samples, 0.5)
    if material.name != OF_ACTIONS:
        yield TREES, TreeTask(material, rules.trees)


def _learner(table: TableOf, key: str) -> str:
    """The row's learner; OPA on trees looks at the best one that was found, which is MIRA with one candidate.

    With costs added to scores, as PA would have them, a beam of 2 finds nothing but costly trees.
    """
    return "mira" if table is TREES and key == OPA else SYSTEMS[key].learner


def _search(table: TableOf, key: str, rules: LogisticRules) -> Search:
    """What is tried for a row of a table."""
    grid, count = (
        (TREE_GRID, rules.tree_candidates) if table is TREES else (ACTION_GRID, rules.action_candidates)
    )
    candidates: dict[str, Value] = {"k": 1 if key == OPA else count}
    if _learner(table, key) == "passive_aggressive":  # which never has more than one
        candidates = {}
    return Search(
        grid={name: values[: rules.values] for name, values in grid[key].items()},
        epochs=rules.epochs,
        fixed={**SYSTEMS[key].fixed, **candidates},
    )
