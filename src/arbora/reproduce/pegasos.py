"""Pegasos-DP against MIRA, PA and the 1-slack structural SVM: Table 1 and Figure 2 of [lee-2010].

All systems are the same second-order parser (arcs and adjacent siblings), unlabelled, non-projective by
approximate search from the best projective tree [mcdonald-2006]; only the learner differs. Where the paper
chose λ on the test set, parameters and number of epochs are chosen here on the last tenth of the training
data, and a parser with these is then trained on all of it. The test set is parsed once per row.

Danish is the paper's own test set. Swedish and Dutch are in another annotation than the paper's, so only the
order of systems can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from arbora.reproduce.contest import Contest, Rules, System
from arbora.reproduce.languages import INVENTED, Material, languages
from arbora.reproduce.pegasos_report import PegasosReport, Result
from arbora.reproduce.search import Search
from arbora.reproduce.study import Journal, Options, Report, Watcher, chosen
from arbora.search.pruner import PrunerSettings
from arbora.web.plots import require_matplotlib

TREEBANKS = ("danish", "swedish", "dutch")
LANGUAGES = {name: languages[name] for name in (*TREEBANKS, INVENTED)}

SYSTEMS = {
    "mira": System(
        title="MIRA (averaged)",
        learner="mira",
        which="averaged",
        published={"dutch": 83.9, "swedish": 89.2, "danish": 90.2},
    ),
    "pa": System(
        title="PA (averaged)",
        learner="passive_aggressive",
        which="averaged",
        published={"dutch": 84.3, "swedish": 89.6, "danish": 90.6},
    ),
    "pegasos": System(
        title="Pegasos-DP",
        learner="pegasos",
        which="last",
        published={"dutch": 85.0, "swedish": 90.1, "danish": 90.8},
    ),
    "pegasos-averaged": System(
        title="Pegasos-DP (averaged)",
        learner="pegasos",
        which="averaged",
        published={"dutch": 85.1, "swedish": 90.1, "danish": 91.0},
    ),
    "one-slack": System(
        title="1-slack S-SVM",
        learner="one_slack",
        which="last",
        published={"dutch": 85.0, "swedish": 90.1, "danish": 90.9},
    ),
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

SEARCHES = {
    "mira": Search(grid={"C": STEPS}, epochs=10),
    "passive_aggressive": Search(grid={"C": STEPS}, epochs=10),
    "pegasos": Search(grid={"lam": LAMBDAS}, epochs=100, trial=20, fixed={"k": 10}),
    "one_slack": Search(
        grid={"C": tuple(round(1 / lam, 1) for lam in LAMBDAS)},
        epochs=120,
        trial=40,
        fixed={"epsilon": 0.05},
        converges=True,
    ),
}
QUICK_SEARCHES = {
    "mira": Search(grid={"C": (0.01,)}, epochs=2),
    "passive_aggressive": Search(grid={"C": (0.01,)}, epochs=2),
    "pegasos": Search(grid={"lam": (3.3e-2, 1e-4)}, epochs=3, trial=2, fixed={"k": 10}),
    "one_slack": Search(grid={"C": (100.0,)}, epochs=6, fixed={"epsilon": 0.05}, converges=True),
}
EVERYTHING = 1e9
RULES = Rules(tree_bits=22, pruner=PrunerSettings(keep=16, within=EVERYTHING))
QUICK_RULES = Rules(tree_bits=16, pruner=PrunerSettings(keep=8, bits=14), sentences=(150, 50))


class PegasosStudy:
    """Pegasos-DP against MIRA, PA and the 1-slack structural SVM: unlabelled, second order, non-projective.

    Table 1 of the paper for our own learners, with tests of significance, and Figure 2, accuracy against
    training time. Parameters are chosen on the last tenth of the training data, never on test data
    [lee-2010].
    """

    name: ClassVar[str] = "pegasos"
    paper: ClassVar[str] = "lee-2010"

    @property
    def languages(self) -> Mapping[str, str]:
        """Names with their treebanks."""
        return {name: language.treebank for name, language in LANGUAGES.items()}

    @property
    def learners(self) -> Mapping[str, str]:
        """Names of learners with what they are here."""
        return LEARNERS

    def run(self, options: Options, watcher: Watcher) -> Report:
        """All cells, then tables, figure and page."""
        require_matplotlib()
        usual = (INVENTED,) if options.quick else TREEBANKS
        names = chosen("language", options.languages, list(LANGUAGES), usual)
        wanted = chosen("learner", options.learners, list(LEARNERS), list(LEARNERS))
        systems = {name: system for name, system in SYSTEMS.items() if system.learner in wanted}
        journal = Journal.open(options.output, self.name)
        contests = {name: make_contest(name, options, journal, watcher) for name in names}
        results = {
            name: {key: _result(contest, key, system) for key, system in systems.items()}
            for name, contest in contests.items()
        }
        rules = QUICK_RULES if options.quick else RULES
        return PegasosReport(results, LANGUAGES, systems, rules, options).write(journal)


def make_contest(name: str, options: Options, journal: Journal, watcher: Watcher) -> Contest:
    """The contest of a language, its treebank read."""
    rules, searches = (QUICK_RULES, QUICK_SEARCHES) if options.quick else (RULES, SEARCHES)
    material = Material(name, LANGUAGES[name], options, rules.sentences)
    return Contest(material, rules, searches, journal, watcher)


def _result(contest: Contest, name: str, system: System) -> Result:
    choice = contest.choose(system)
    return Result(choice=choice, **contest.tested(name, system, choice))
