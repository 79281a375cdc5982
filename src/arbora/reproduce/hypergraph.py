"""Where to update when search is inexact: Table 2 and Figure 2 of [zhang-2013].

All systems are the same third-order parser with labels, searched by cube pruning with six derivations per
node; they differ in where the right tree is held against the one that was found. Learning is the paper's:
eight epochs of steps towards the right tree from the one of greatest score plus Hamming cost, as far as the
margin asks for and C allows (passive-aggressive, PA-I; what the paper calls MIRA). Crossing arcs are
flattened as in the paper; one more system finds them by re-attachment.

Danish is the paper's own test set; the other treebanks are in other annotations and in part of other text.
English is not in the paper's Table 2, and has no test set here: dev stands for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from arbora.reproduce.hypergraph_report import Figure, HypergraphReport
from arbora.reproduce.languages import INVENTED, Material, languages
from arbora.reproduce.strategies import Strategies, StrategyRules, System
from arbora.reproduce.study import Journal, Options, Report, Watcher, chosen
from arbora.scorers import CubeSettings
from arbora.scorers.cube import Update
from arbora.search.pruner import PrunerSettings
from arbora.training import TrainConfig
from arbora.web.plots import require_matplotlib

IN_FIGURE = "english"
"""The language of the figure, where it is among those that are asked for; else it is the first."""
TREEBANKS = (
    "danish",
    "dutch",
    "swedish",
    "portuguese",
    "greek",
    "hungarian",
    "basque",
    "turkish",
    "slovene",
    "czech",
    IN_FIGURE,
)
LANGUAGES = {name: languages[name] for name in (*TREEBANKS, INVENTED)}

SYSTEMS = {
    "skip": System(
        title="skip", summary="the whole tree, if the one found has the better score", update="skip"
    ),
    "s-max": System(title="s-max", summary="the node with the greatest violation", update="s-max"),
    "p-max": System(
        title="p-max", summary="the frontier of nodes with the greatest violations", update="p-max"
    ),
    "p-max-crossing": System(
        title="p-max, crossing",
        summary="p-max, and crossing arcs found by re-attachment",
        update="p-max",
        trees="nonprojective",
    ),
    "p-max-long": System(
        title="p-max, crossing, 26 epochs",
        summary="the same for as many epochs as are best on a tenth of the Danish training data",
        update="p-max",
        trees="nonprojective",
        epochs=26,
    ),
}
USUAL = ("skip", "s-max", "p-max", "p-max-crossing")
"""Those that are run unless others are asked for."""

CONFIG = TrainConfig(
    parser="cube",
    order=3,
    labels="joint",
    features="cube-v1",
    tree_bits=24,
    pruner_settings=PrunerSettings(rule="auto", log_odds=5.5),
    cube=CubeSettings(beam=6),
    learner="passive_aggressive",
    parameters={"C": 0.005, "epochs": 8},
)
PERCEPTRON = replace(CONFIG, learner="perceptron", parameters={"epochs": 8})
QUICK_CONFIG = replace(
    CONFIG,
    tree_bits=14,
    label_bits=14,
    pruner_settings=replace(CONFIG.pruner_settings, bits=14),
    parameters={"C": 0.005, "epochs": 2},
)
RULES = StrategyRules(config=CONFIG, curves=PERCEPTRON)
QUICK_RULES = StrategyRules(
    config=QUICK_CONFIG,
    curves=replace(QUICK_CONFIG, learner="perceptron", parameters={"epochs": 2}),
    sentences=(100, 50),
)


class HypergraphStudy:
    """Violation-fixing updates against skipping non-violations, by cube pruning: third order, labelled.

    Table 2 of the paper for treebanks at hand, with tests of significance, what the pruner takes away, how
    often search loses the right tree and how fast it is; and Figure 2, accuracy by epoch [zhang-2013].
    """

    name: ClassVar[str] = "hypergraph"
    paper: ClassVar[str] = "zhang-2013"

    @property
    def languages(self) -> Mapping[str, str]:
        """Names with their treebanks."""
        return {name: language.treebank for name, language in LANGUAGES.items()}

    @property
    def learners(self) -> Mapping[str, str]:
        """Names of systems with where they update."""
        return {name: system.summary for name, system in SYSTEMS.items()}

    def run(self, options: Options, watcher: Watcher) -> Report:
        """All cells, then tables, figure and page."""
        require_matplotlib()
        usual = (INVENTED,) if options.quick else TREEBANKS
        names = chosen("language", options.languages, list(LANGUAGES), usual)
        wanted = chosen("learner", options.learners, list(SYSTEMS), USUAL)
        systems = {name: SYSTEMS[name] for name in wanted}
        rules = QUICK_RULES if options.quick else RULES
        journal = Journal.open(options.output, self.name)
        trainings = {
            name: Strategies(
                Material(name, LANGUAGES[name], options, rules.sentences), rules, journal, watcher
            )
            for name in names
        }
        results = {
            name: {key: training.result(key, system) for key, system in systems.items()}
            for name, training in trainings.items()
        }
        drawn = IN_FIGURE if IN_FIGURE in trainings else names[0]
        updates: list[Update] = ["standard", *(system.update for system in systems.values())]
        curves = {update: trainings[drawn].curve(update) for update in dict.fromkeys(updates)}
        figure = Figure(LANGUAGES[drawn], curves)
        return HypergraphReport(results, LANGUAGES, systems, figure, rules, options).write(journal)
