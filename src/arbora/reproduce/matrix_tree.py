"""Perceptron, max-margin and log-linear training, over projective and non-projective trees: [koo-2007].

Tables 2 and 3 of the paper, and the sign tests of its note 7. All systems are the same first-order parser,
unlabelled; only the learner and the trees it trains over differ. Crossing arcs are changed for projective
training, with as little loss as can be. Max-margin training is exponentiated gradient, log-linear training
L-BFGS where the paper has conjugate gradients: both come to the same optimum.

The paper's treebanks are those of CoNLL-X. Ours are in another annotation and in part of other text: what
can be compared is which systems win. Danish and Czech are ours alone; the paper's Arabic and Spanish are left
out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from arbora.interfaces import Trees
from arbora.reproduce.families_contest import FamiliesContest, FamilyRules
from arbora.reproduce.languages import INVENTED, Material, languages
from arbora.reproduce.matrix_tree_report import MatrixTreeReport
from arbora.reproduce.search import Search
from arbora.reproduce.study import Journal, Options, Report, Watcher, chosen
from arbora.search.pruner import PrunerSettings

TREEBANKS = ("dutch", "japanese", "slovene", "turkish", "danish", "czech")
LANGUAGES = {name: languages[name] for name in (*TREEBANKS, INVENTED)}
TRAININGS: tuple[Trees, ...] = ("projective", "nonprojective")

LEARNERS = {
    "perceptron": "the averaged perceptron",
    "exponentiated_gradient": "max-margin training by exponentiated gradient",
    "log_linear": "log-linear training",
}
SEARCHES = {
    "perceptron": Search(grid={}, epochs=30),
    "exponentiated_gradient": Search(grid={"C": (0.01, 0.003, 0.03)}, epochs=12, trial=4),
    "log_linear": Search(grid={"C": (0.03, 0.01, 0.1)}, epochs=5, trial=2, fixed={"iterations": 10}),
}
QUICK_SEARCHES = {
    "perceptron": Search(grid={}, epochs=2),
    "exponentiated_gradient": Search(grid={"C": (0.01, 0.1)}, epochs=2),
    "log_linear": Search(grid={"C": (0.1, 1.0)}, epochs=2, fixed={"iterations": 3}),
}
EVERYTHING = 1e9
RULES = FamilyRules(tree_bits=20, pruner=PrunerSettings(keep=10, within=EVERYTHING))
QUICK_RULES = FamilyRules(tree_bits=16, pruner=PrunerSettings(keep=8, bits=14), sentences=(100, 50))


class MatrixTreeStudy:
    """Perceptron, max-margin and log-linear training over projective and over non-projective trees.

    Tables 2 and 3 of the paper for treebanks at hand, first order and unlabelled, with sign tests over
    sentences. Parameters, epochs and the trees to parse are chosen on dev [koo-2007].
    """

    name: ClassVar[str] = "matrix-tree"
    paper: ClassVar[str] = "koo-2007"

    @property
    def languages(self) -> Mapping[str, str]:
        """Names with their treebanks."""
        return {name: language.treebank for name, language in LANGUAGES.items()}

    @property
    def learners(self) -> Mapping[str, str]:
        """Names of learners with what they are here."""
        return LEARNERS

    def run(self, options: Options, watcher: Watcher) -> Report:
        """All cells, then tables and page."""
        usual = (INVENTED,) if options.quick else TREEBANKS
        names = chosen("language", options.languages, list(LANGUAGES), usual)
        wanted = chosen("learner", options.learners, list(LEARNERS), list(LEARNERS))
        rules, searches = (QUICK_RULES, QUICK_SEARCHES) if options.quick else (RULES, SEARCHES)
        journal = Journal.open(options.output, self.name)
        materials = [Material(name, LANGUAGES[name], options, rules.sentences) for name in names]
        results = {}
        for material in materials:
            contest = FamiliesContest(material, rules, searches, journal, watcher)
            results[material.name] = {
                learner: {trees: contest.result(learner, trees) for trees in TRAININGS} for learner in wanted
            }
        return MatrixTreeReport(results, LANGUAGES, rules, options).write(journal)
