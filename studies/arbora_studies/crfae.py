"""Trees from tags alone: Tables 3 and 4 of [cai-2017].

All systems learn from training sentences of at most ten words, without punctuation, and see only their tags.
The score is directed accuracy: the share of words with the right head. Punctuation is removed, and words
attached to it move to its head. Test sentences of at most ten words and of any length are scored.

Danish and Czech have other tags, which are mapped to UD's. Rules are the paper's twelve (`table-2`), and
those for UD's trees (`universal`), where content words are heads. Rows of their own take the rules that fit
the annotation: in the Danish and Czech trees prepositions are heads of nouns, as in the paper's rules.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from arbora.data.columns import Columns, columns_of
from arbora.data.sentence import Sentence
from arbora.induction.baselines import random_heads
from arbora.induction.corpus import TagCorpus, strip
from arbora.induction.interfaces import parse
from arbora.induction.rules import RULES
from arbora.registry import inducers
from arbora.types import Ints
from arbora_studies.report import Cell, Findings, Table, TableRow, mean, number
from arbora_studies.runner import Result, Runner, Steps
from arbora_studies.study import Study
from arbora_studies.treebanks import LANGUAGES, SYNTHETIC, Material

Results: TypeAlias = Mapping[str, Mapping[str, Result]]
"""By language, then by system."""

LENGTHS = {"short": "sentences of at most ten words", "all": "all sentences"}
LONGEST = 10
RANDOM_DRAWS = 10


def _tags(pairs: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in pairs.split())


DANISH = _tags(
    "NP=PROPN AC=NUM CC=CCONJ CS=SCONJ PP=PRON PT=PRON PC=PRON N=NOUN V=VERB P=DET SP=ADP A=ADJ RG=ADV "
    "U=PART I=INTJ"
)
"""By fine tag, or else by coarse tag."""
CZECH = _tags("J^=CCONJ J,=SCONJ N=NOUN A=ADJ P=PRON C=NUM V=VERB D=ADV R=ADP J=CCONJ T=PART I=INTJ Z=PUNCT")
"""By the first two letters of a tag, or else by the first."""
TAG_MAPS: dict[str, Callable[[str, str], str]] = {
    "danish": lambda coarse, fine: DANISH.get(fine, DANISH.get(coarse, "X")),
    "czech": lambda coarse, fine: CZECH.get(fine[:2], CZECH.get(fine[:1], "X")),
}


@dataclass(frozen=True)
class System:
    """A way to learn: an inducer (empty: random trees), and its rules and parameters."""

    title: str
    summary: str
    inducer: str = ""
    rules: str | None = None
    parameters: Mapping[str, int | float | str] = field(default_factory=dict)
    authors: bool = False
    """Whether to use the parameters that the paper's authors chose for each language, not our defaults."""
    only: tuple[str, ...] = ()
    """Languages. Empty: all."""


VITERBI = {"mode": "viterbi"}
LIKELIHOOD = {"objective": "likelihood"}
SYSTEMS = {
    "left": System("left-branching", "each word's head is the next one", "left-branching"),
    "right": System("right-branching", "each word's head is the one before", "right-branching"),
    "random": System("random", f"{RANDOM_DRAWS} trees drawn from all projective ones"),
    "nearest": System(
        "nearest rule", "each word's head is the nearest that a rule allows", "nearest-rule", "universal"
    ),
    "dmv": System("DMV (EM)", "the dependency model with valence", "dmv"),
    "dmv-viterbi": System("DMV (Viterbi)", "the same by best trees", "dmv", None, VITERBI),
    "dmv-universal": System("DMV (EM), universal", "with UD's rules", "dmv", "universal"),
    "neural": System("Neural DMV (EM)", "its probabilities from a network", "neural-dmv"),
    "neural-viterbi": System("Neural DMV (Viterbi)", "the same by best trees", "neural-dmv", None, VITERBI),
    "convex": System("Convex-MST", "discriminative clustering", "convex-mst"),
    "convex-table-2": System("Convex-MST, Table 2", "with the paper's rules", "convex-mst", "table-2"),
    "convex-universal": System("Convex-MST, universal", "with UD's rules", "convex-mst", "universal"),
    "crfae": System("CRFAE", "the CRF autoencoder", "crfae"),
    "crfae-table-2": System("CRFAE, Table 2", "with the paper's rules", "crfae", "table-2"),
    "crfae-universal": System("CRFAE, universal", "with UD's rules", "crfae", "universal"),
    "crfae-authors": System(
        "CRFAE, authors' settings", "without rules, with the authors' parameters", "crfae", authors=True
    ),
    "crfae-table-2-authors": System(
        "CRFAE, Table 2, authors' settings",
        "with the paper's rules and the authors' parameters",
        "crfae",
        "table-2",
        authors=True,
    ),
    "crfae-universal-authors": System(
        "CRFAE, universal, authors' settings",
        "with UD's rules and the authors' parameters",
        "crfae",
        "universal",
        authors=True,
    ),
    "crfae-likelihood": System(
        "CRFAE, universal, likelihood",
        "the sum over all trees instead of the best; English only, as in the paper",
        "crfae",
        "universal",
        LIKELIHOOD,
        only=("english", SYNTHETIC),
    ),
}
LEARNERS = {key: system.summary for key, system in SYSTEMS.items()}

AUTHORS = {
    "basque": {"rate": 0.01, "l1": 2.5, "prior": 0.1},
    "czech": {"rate": 0.01, "l1": 1.0, "prior": 1.0},
    "danish": {"rate": 0.05, "l1": 2.5, "prior": 25.0},
    "dutch": {"rate": 0.1, "l1": 2.5, "prior": 9.0},
    "english": {"rate": 0.1, "l1": 2.5, "prior": 9.0, "passes": 10},
    "portuguese": {"rate": 0.05, "l1": 2.5, "prior": 5.0},
    "slovene": {"rate": 0.01, "l1": 0.5, "prior": 1.0},
    "swedish": {"rate": 0.05, "l1": 0.5, "prior": 25.0},
}
"""Parameters that the authors of [cai-2017] chose on their validation sets."""
QUICK = {
    "dmv": {"rounds": 3},
    "neural-dmv": {"rounds": 2, "first_steps": 20, "steps": 5},
    "convex-mst": {"rounds": 3},
    "crfae": {"rounds": 2},
}


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

PUBLISHED: dict[str, dict[str, dict[str, float]]] = {
    length: {system: dict(zip(_ORDER, row, strict=True)) for system, row in rows.items()}
    for length, rows in (("short", _SHORT), ("all", _ALL))
}
"""Table 4 of the paper."""
PUBLISHED["short"]["convex-table-2"]["english"] = 60.8
PUBLISHED["all"]["convex-table-2"]["english"] = 48.6
PUBLISHED["short"]["crfae-table-2"]["english"] = 71.7
PUBLISHED["all"]["crfae-table-2"]["english"] = 55.7
"""Table 3, on the Wall Street Journal."""

FITTING = dict.fromkeys(("czech", "danish"), "table-2")
"""Rules that fit the annotation, if it is not UD's."""
DERIVED = {"convex": "Convex-MST, rules that fit", "crfae": "CRFAE, rules that fit"}
"""Rows with the cells of those rules."""


@dataclass(frozen=True, eq=False)
class GoldTrees:
    """Tag sequences with their gold heads."""

    sentences: tuple[Ints, ...]
    heads: tuple[Ints, ...]

    @classmethod
    def of(cls, columns: Columns, tags: Sequence[str]) -> GoldTrees:
        """Take a treebank without punctuation; `tags` are those that a model knows."""
        stripped = strip(columns, columns.heads, tags, keep_heads=False)
        kept = [sentence for sentence in stripped if not sentence.marks.all()]
        heads = tuple(sentence.known_heads() for sentence in kept)
        return cls(tuple(sentence.tags for sentence in kept), heads)

    def accuracy(self, found: Sequence[Ints]) -> dict[str, float]:
        """Directed accuracy in percent, of short sentences and of all."""
        right = np.array([np.count_nonzero(f == g) for f, g in zip(found, self.heads, strict=True)])
        words = np.array([len(g) for g in self.heads])
        short = words <= LONGEST
        return {
            "short": 100 * float(right[short].sum() / max(1, words[short].sum())),
            "all": 100 * float(right.sum() / max(1, words.sum())),
        }


class Trials:
    """The cells of one language."""

    def __init__(self, runner: Runner, material: Material) -> None:
        self.runner = runner
        self.options = runner.options
        self.name = material.name
        train, test = (columns_of(_mapped(part, material.name)) for part in (material.train, material.test))
        self.train = TagCorpus.of(train, longest=LONGEST)
        self.test = GoldTrees.of(test, self.train.tags)

    def result(self, key: str, system: System) -> Result:
        """Learn with a system, and score it."""
        parameters = self.parameters(system)
        inputs = {
            "inducer": system.inducer,
            "rules": [] if system.rules is None else RULES[system.rules].to_list(),
            "parameters": parameters,
            "sentences": len(self.train),
            "seed": self.options.seed,
        }
        return self.runner.cell(
            f"{self.name}, {key}",
            inputs,
            lambda: self._learn(system, parameters) if system.inducer else self._random(),
            examples=int(parameters.get("rounds", 1)),
            summary="{short:.1f} / {all:.1f}".format_map,
        )

    def parameters(self, system: System) -> dict[str, Any]:
        if not system.inducer:
            return {}
        own: dict[str, Any] = AUTHORS.get(self.name, {}) if system.authors else {}
        quick: dict[str, Any] = QUICK.get(system.inducer, {}) if self.options.quick else {}
        return dict(inducers.create(system.inducer, **{**own, **system.parameters, **quick}).settings())

    def _learn(self, system: System, parameters: Mapping[str, Any]) -> Result:
        inducer = inducers.create(system.inducer, **parameters)
        began = time.process_time()
        learned = inducer.fit(
            self.train,
            rules=None if system.rules is None else RULES[system.rules],
            seed=self.options.seed,
            threads=self.options.threads,
            observer=Steps(self.runner.observer),
        )
        if learned.interrupted:
            raise KeyboardInterrupt
        seconds = time.process_time() - began
        heads = parse(learned.model, self.test.sentences, threads=self.options.threads)
        objectives = [each.objective for each in learned.history]
        return {**self.test.accuracy(heads), "objectives": objectives, "seconds": seconds}

    def _random(self) -> Result:
        """The mean over several draws."""
        first = self.options.seed * RANDOM_DRAWS
        drawn = [random_heads(self.test.sentences, seed=first + draw) for draw in range(RANDOM_DRAWS)]
        found = [self.test.accuracy(heads) for heads in drawn]
        means = {length: mean([each[length] for each in found]) for length in LENGTHS}
        return {**means, "objectives": [], "seconds": 0.0}


def _mapped(sentences: Sequence[Sentence], language: str) -> list[Sentence]:
    change = TAG_MAPS.get(language)
    if change is None:
        return list(sentences)
    return [replace(s, upos=tuple(map(change, s.upos, s.xpos))) for s in sentences]


class CrfaeStudy(Study):
    """Trees from tags alone: CRF autoencoder, DMV, neural DMV and convex MST, with and without rules.

    Tables 3 and 4 of the paper, sentences of at most ten words and of any length, and best trees against all
    trees as objective [cai-2017].
    """

    name = "crfae"
    paper = "cai-2017"
    title = "CRF autoencoder for unsupervised dependency parsing"
    treebanks = ("basque", "czech", "danish", "dutch", "english", "portuguese", "slovene", "swedish")
    learners = LEARNERS

    def compute(self, runner: Runner, names: Sequence[str], learners: Sequence[str]) -> Findings:
        limits = (150, 50) if runner.options.quick else (None, None)
        results: dict[str, dict[str, Result]] = {}
        for name in names:
            trials = Trials(runner, Material(name, runner.options, limits))
            wanted = [key for key in learners if not SYSTEMS[key].only or name in SYSTEMS[key].only]
            results[name] = {key: trials.result(key, SYSTEMS[key]) for key in wanted}
        return CrfaeResults(results, learners).findings()


class CrfaeResults:
    """The results as tables."""

    def __init__(self, results: Results, systems: Sequence[str]) -> None:
        self.results = results
        self.systems = systems

    def findings(self) -> Findings:
        on_dev = [LANGUAGES[name].title for name in self.results if LANGUAGES[name].is_tested_on_dev]
        return Findings(
            tables=[*map(self.accuracies, LENGTHS), *map(self.published, LENGTHS), self.costs()],
            about="Tables 3 and 4 of Cai, Jiang and Tu (2017).",
            notes=[
                "Learned from the tags of training sentences of at most ten words, without punctuation. "
                "Directed accuracy on test data; words attached to punctuation move to its head.",
                "Parameters are our defaults, chosen on the heads of English training data, as were the "
                "universal rules; those of DMV on training data of five of the treebanks. Authors' settings "
                "are those that the paper's authors chose for each language.",
                "Rules that fit: Table 2 for Danish and Czech, where prepositions are heads of nouns, "
                "universal for the others.",
                "The paper's numbers are of other annotations and texts: compare the order, not the digits.",
                *([f"{', '.join(on_dev)}: there is no test set, so dev takes its place."] if on_dev else []),
            ],
        )

    def accuracies(self, length: str) -> Table:
        """Directed accuracy by system and language."""
        rows = [
            self._row(SYSTEMS[key].title, self.scores([key] * len(self.results), length))
            for key in self.systems
        ]
        for inducer, title in DERIVED.items():
            fitting = self.fitting(inducer, length)
            if None not in fitting:
                rows.append(self._row(title, fitting))
        return Table.of(f"Directed accuracy, {LENGTHS[length]}", rows)

    def scores(self, systems: Sequence[str], length: str) -> list[float | None]:
        """The scores of one system for each language; None for a missing one."""
        pairs = zip(self.results.values(), systems, strict=True)
        return [results.get(system, {}).get(length) for results, system in pairs]

    def fitting(self, inducer: str, length: str) -> list[float | None]:
        """The scores of an inducer with the rules that fit each language's annotation."""
        return self.scores([f"{inducer}-{FITTING.get(name, 'universal')}" for name in self.results], length)

    def _row(self, title: str, scores: Sequence[float | None]) -> TableRow:
        known = [score for score in scores if score is not None]
        cells = {
            LANGUAGES[name].title: number(score, ".1f")
            for name, score in zip(self.results, scores, strict=True)
        }
        average = mean(known) if len(known) == len(scores) else None
        return {"": title, **cells, "mean": number(average, ".1f")}

    def published(self, length: str) -> Table:
        """The paper's numbers, of treebanks with other annotations."""
        names = [name for name in self.results if name in (*_ORDER, "english")]
        rows: list[TableRow] = []
        for key in self.systems:
            paper = PUBLISHED[length].get(key)
            if paper is not None:
                shared = [paper[name] for name in names if name in _ORDER]
                cells = {LANGUAGES[name].title: number(paper.get(name), ".1f") for name in names}
                average = number(mean(shared) if shared else None, ".1f")
                rows.append({"the paper": SYSTEMS[key].title, **cells, "mean without English": average})
        return Table.of(f"The paper's, {LENGTHS[length]}", rows)

    def costs(self) -> Table:
        """Processor time of learning, and rounds."""
        rows = []
        for key in self.systems:
            row: TableRow = {"": SYSTEMS[key].title}
            for name, results in self.results.items():
                if key in results:
                    seconds, rounds = results[key]["seconds"], len(results[key]["objectives"])
                    row[LANGUAGES[name].title] = Cell(f"{seconds:.1f} ({rounds})", [seconds, rounds])
            rows.append(row)
        return Table.of("CPU seconds of learning (rounds)", rows)
