"""Where to update when search is inexact: Table 2 and Figure 2 of [zhang-2013].

All systems are the same third-order labelled parser, searched by cube pruning with six derivations per node.
They differ in where the gold tree is compared with the one that was found. Learning is the paper's: eight
epochs of passive-aggressive steps (PA-I; the paper calls it MIRA) against the tree of greatest score plus
Hamming cost. Non-projective trees are made projective as in the paper; one more system finds crossing arcs by
re-attachment. The weights after the last epoch are tested once, and nothing is chosen by language. The curves
of the figure come from trainings of their own, evaluated on dev.

Danish is the paper's test set; the other treebanks have other annotations and in part other texts. English is
not in the paper's Table 2, and has no test set here: dev takes its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from arbora.evaluation.significance import paired_bootstrap, sign_test
from arbora.scorers import CubeSettings
from arbora.scorers.cube import Update
from arbora.search.pruner import PrunerSettings
from arbora.training.config import TrainConfig
from arbora.web.plots import Line, Panel
from arbora_studies.report import Cell, Findings, Table, TableRow, chance, mean, number
from arbora_studies.runner import Runner
from arbora_studies.strategies import Row, Scores, Strategies, StrategyRules, System
from arbora_studies.study import Study
from arbora_studies.treebanks import LANGUAGES, Material, not_the_papers

IN_FIGURE = "english"
"""The language of the figure if it is among those that run; otherwise the first one."""
TREEBANKS = (
    *("danish", "dutch", "swedish", "portuguese", "greek", "hungarian"),
    *("basque", "turkish", "slovene", "czech", IN_FIGURE),
)
BASELINE, TRANSITIONS = "skip", "transitions"
STYLES: dict[Update, int] = {"standard": 3, "skip": 2, "s-max": 1, "p-max": 0}
"""Of lines in the figure."""
MEASURES = {"UAS": "heads", "LAS": "arcs"}
"""With the counts that they are shares of."""


SYSTEMS = {
    "skip": System("skip", "the whole tree, if the one found has the better score", "skip"),
    "s-max": System("s-max", "the node with the greatest violation", "s-max"),
    "p-max": System("p-max", "the frontier of nodes with the greatest violations", "p-max"),
    "p-max-crossing": System(
        "p-max, crossing", "p-max, and crossing arcs found by re-attachment", "p-max", "nonprojective"
    ),
    "p-max-long": System(
        "p-max, crossing, 26 epochs",
        "the same for as many epochs as are best on a tenth of the Danish training data",
        "p-max",
        "nonprojective",
        epochs=26,
    ),
}
LEARNERS = {key: system.summary for key, system in SYSTEMS.items()}

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
"""Table 2 of the paper, with its transition-based parser (Zhang and Nivre 2011, reimplemented)."""


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
QUICK_CONFIG = replace(
    CONFIG,
    tree_bits=14,
    label_bits=14,
    pruner_settings=replace(CONFIG.pruner_settings, bits=14),
    parameters={"C": 0.005, "epochs": 2},
)
RULES = StrategyRules(config=CONFIG, curves=replace(CONFIG, learner="perceptron", parameters={"epochs": 8}))
QUICK_RULES = StrategyRules(
    config=QUICK_CONFIG,
    curves=replace(QUICK_CONFIG, learner="perceptron", parameters={"epochs": 2}),
    sentences=(100, 50),
)


class HypergraphStudy(Study):
    """Violation-fixing updates against skipping non-violations, by cube pruning: third order, labelled.

    Table 2 of the paper, with significance tests, the losses of the pruner and of search, and speed; and
    Figure 2, accuracy by epoch [zhang-2013].
    """

    name = "hypergraph"
    paper = "zhang-2013"
    title = "Online learning for inexact hypergraph search"
    treebanks = TREEBANKS
    learners = LEARNERS
    usual = ("skip", "s-max", "p-max", "p-max-crossing")
    has_figure = True

    def compute(self, runner: Runner, names: Sequence[str], learners: Sequence[str]) -> Findings:
        rules = QUICK_RULES if runner.options.quick else RULES
        trainings = {
            name: Strategies(runner, Material(name, runner.options, rules.sentences), rules) for name in names
        }
        rows = {
            name: {key: training.row(key, SYSTEMS[key]) for key in learners}
            for name, training in trainings.items()
        }
        drawn = IN_FIGURE if IN_FIGURE in trainings else names[0]
        updates: list[Update] = ["standard", *(SYSTEMS[key].update for key in learners)]
        curves = {update: trainings[drawn].curve(update) for update in dict.fromkeys(updates)}
        return HypergraphResults(rows, (drawn, curves), rules, runner.options.seed).findings()


class HypergraphResults:
    """The rows as tables and a figure."""

    def __init__(
        self,
        rows: Mapping[str, Mapping[str, Row]],
        figure: tuple[str, Mapping[Update, list[float]]],
        rules: StrategyRules,
        seed: int,
    ) -> None:
        self.rows = rows
        self.drawn, self.curves = figure
        self.rules = rules
        self.seed = seed
        self.systems = {key: SYSTEMS[key] for key in next(iter(rows.values()))}
        self.averaged = tuple(name for name in rows if not LANGUAGES[name].is_tested_on_dev)
        """The languages with a test set of their own: means and tests are over these."""

    def findings(self) -> Findings:
        config, language = self.rules.config, LANGUAGES[self.drawn]
        evaluated = "dev" if language.dev else "the end of the training data, not trained on"
        lines = [
            Line(update, range(1, len(uas) + 1), uas, STYLES[update]) for update, uas in self.curves.items()
        ]
        pruning = "What the pruner takes away; non-violations at the root in the last epoch, %"
        return Findings(
            tables=[
                Table.of("UAS / LAS on test data, without punctuation", self.overview()),
                *(
                    Table.of(f"{self.systems[key].title} against {BASELINE}", self.tests(key))
                    for key in self.systems
                    if BASELINE in self.systems and key != BASELINE
                ),
                Table.of(pruning, self.search()),
                Table.of("Parsing the test set, and training, in processor time", self.speed()),
            ],
            about="Table 2 and Figure 2 of Zhang, Huang, Zhao and McDonald (2013). Order "
            f"{config.order}, labelled, by cube pruning with {config.cube.beam} derivations per node. "
            "Crossing arcs are flattened for training.",
            notes=self.notes(),
            panels=[Panel(language.title, "epochs", "dev UAS", lines, whole_x=True)],
            caption=f"{language.title}: UAS without punctuation on {evaluated} after each epoch of averaged "
            "perceptron steps, to which non-violations matter most.",
        )

    def notes(self) -> list[str]:
        config = self.rules.config
        on_dev = [LANGUAGES[name].title for name in self.rows if name not in self.averaged]
        return [
            "UAS and LAS count words that are not written with punctuation only, as CoNLL-X did, over the "
            "gold trees, crossing arcs included. Tags are the treebanks' own.",
            f"Weights after the last of {config.parameters['epochs']} epochs are tested, as in the paper, "
            "and nothing was chosen by language. The one value that was chosen, "
            f"C = {config.parameters['C']}, is from UD English-EWT dev.",
            "The learner is passive_aggressive (PA-I, costs of wrong heads and labels), the paper's "
            "loss-augmented MIRA; `mira` has no costs in its search here. With margins, standard is skip.",
            "p: two-sided, over sentences; sign test, then paired bootstrap. better:worse counts sentences.",
            "Non-violations: sentences whose gold tree, at the root, scored better than the one found, costs "
            "added. Arcs pruned and the best UAS left are of the test set, all words.",
            "Tokens per second: from columns in memory to trees, the pruner's time included.",
            *not_the_papers([name for name in self.rows if name in PUBLISHED]),
            *(
                [
                    f"{', '.join(on_dev)}: has no test set here, so these are scores on dev, and no part of "
                    "means and of tests over all."
                ]
                if on_dev
                else []
            ),
        ]

    def overview(self) -> Iterator[TableRow]:
        """Table 2: a row per language, with the paper's numbers below."""
        for name, rows in self.rows.items():
            language = LANGUAGES[name]
            title = f"{language.title} (dev)" if language.is_tested_on_dev else language.title
            yield self._line(title, {key: row.scores for key, row in rows.items()})
            if name in PUBLISHED:
                data = "" if language.published else " (other data)"
                yield self._line(f"{language.title}, paper{data}", PUBLISHED[name])
        ours = [{key: row.scores for key, row in self.rows[name].items()} for name in self.averaged]
        paper = [PUBLISHED[name] for name in self.averaged if name in PUBLISHED]
        for lines, suffix in ((ours, ""), (paper, ", paper")):
            if len(lines) > 1:
                means = {key: _mean([line[key] for line in lines]) for key in lines[0]}
                yield self._line(f"mean of {len(lines)}{suffix}", means)

    def _line(self, title: str, scores: Mapping[str, Scores]) -> TableRow:
        titles = {key: system.title for key, system in self.systems.items()} | {
            TRANSITIONS: "transition-based"
        }
        cells = {heading: _both(scores.get(key)) for key, heading in titles.items()}
        return {"UAS / LAS": title, **cells}

    def tests(self, key: str) -> Iterator[TableRow]:
        """A system against skip, by language and over the sentences of all."""
        groups: dict[str, Sequence[str]] = {LANGUAGES[name].title: [name] for name in self.rows}
        if len(self.averaged) > 1:
            groups["all with a test set"] = self.averaged
        for title, names in groups.items():
            row: TableRow = {"": title}
            for measure, field in MEASURES.items():
                first, second, tokens = (
                    [count for name in names for count in getattr(self.rows[name][system], counts)]
                    for system, counts in ((key, field), (BASELINE, field), (BASELINE, "tokens"))
                )
                sign = sign_test(first, second, tokens)
                bootstrap = paired_bootstrap(first, second, tokens, seed=self.seed)
                row |= {
                    measure: number(sign.difference, "+.2f"),
                    f"{measure} better:worse": Cell(f"{sign.better}:{sign.worse}", [sign.better, sign.worse]),
                    f"{measure} p (sign)": chance(sign.p_value),
                    f"{measure} p (boot)": chance(bootstrap.p_value),
                }
            yield row

    def search(self) -> Iterator[TableRow]:
        """What the pruner removes, and how often the gold tree was lost in training."""
        for name, rows in self.rows.items():
            one = next(iter(rows.values()))
            shares = {key: number(100 * row.non_violations[-1], ".1f") for key, row in rows.items()}
            yield {
                "": LANGUAGES[name].title,
                "arcs pruned, %": number(100 * one.pruned, ".1f"),
                "best UAS left": number(one.best_uas_left),
                **{self.systems[key].title: share for key, share in shares.items()},
            }

    def speed(self) -> Iterator[TableRow]:
        """Words per second, and training time."""
        for name, rows in self.rows.items():
            titled = {self.systems[key].title: row for key, row in rows.items()}
            yield {
                "": LANGUAGES[name].title,
                **{f"{key}, tokens/s": number(row.tokens_per_second, ",.0f") for key, row in titled.items()},
                **{f"{key}, CPU s": number(row.training_seconds, ".0f") for key, row in titled.items()},
            }


def _both(scores: Scores | None) -> Cell:
    return Cell("", None) if scores is None else Cell(f"{scores[0]:.2f} / {scores[1]:.2f}", list(scores))


def _mean(scores: Sequence[Scores]) -> Scores:
    return mean([uas for uas, _ in scores]), mean([las for _, las in scores])
