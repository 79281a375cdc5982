"""Trees from tags alone: Tables 3 and 4 of [cai-2017].

All systems learn from the sentences of at most ten words of the training data, without punctuation, and see
their tags only. They are judged by directed accuracy: the share of words whose head is right, punctuation
removed, what hung on it hung on its head; on test sentences of at most ten words, and on all.

Danish and Czech come with other tags; these are mapped to UD's. Rules are the paper's twelve (`table-2`), and
those for UD's trees (`universal`), where words of content are heads. A row of its own takes those that fit
the annotation: in the trees of Danish and Czech, prepositions are heads of nouns, as in the paper's rules.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arbora.data.columns import Columns, columns_of
from arbora.data.encode import numbers_of
from arbora.data.sentence import Sentence
from arbora.induction.baselines import random_heads
from arbora.induction.corpus import TagCorpus, heads_of_words, is_word
from arbora.induction.interfaces import Round, TagModel
from arbora.induction.rules import RULES
from arbora.induction.trees import parse
from arbora.registry import inducers
from arbora.reproduce.crfae_report import CrfaeReport
from arbora.reproduce.languages import INVENTED, Material, languages
from arbora.reproduce.study import Journal, Options, Report, Watcher, chosen, compute

Ints: TypeAlias = NDArray[np.int32]
TagMap: TypeAlias = Callable[[str, str], str]

TREEBANKS = ("basque", "czech", "danish", "dutch", "english", "portuguese", "slovene", "swedish")
LANGUAGES = {name: languages[name] for name in (*TREEBANKS, INVENTED)}
LONGEST = 10
RANDOM_DRAWS = 10

DANISH = {
    "NP": "PROPN",
    "AC": "NUM",
    "CC": "CCONJ",
    "CS": "SCONJ",
    "PP": "PRON",
    "PT": "PRON",
    "PC": "PRON",
    "N": "NOUN",
    "V": "VERB",
    "P": "DET",
    "SP": "ADP",
    "A": "ADJ",
    "RG": "ADV",
    "U": "PART",
    "I": "INTJ",
}
"""Of the fine tag, or else of the coarse one."""
CZECH = {
    "J^": "CCONJ",
    "J,": "SCONJ",
    "N": "NOUN",
    "A": "ADJ",
    "P": "PRON",
    "C": "NUM",
    "V": "VERB",
    "D": "ADV",
    "R": "ADP",
    "J": "CCONJ",
    "T": "PART",
    "I": "INTJ",
    "Z": "PUNCT",
}
"""Of the first two letters of a tag, or else of the first."""


def _danish(coarse: str, fine: str) -> str:
    return DANISH.get(fine, DANISH.get(coarse, "X"))


def _czech(coarse: str, fine: str) -> str:
    return CZECH.get(fine[:2], CZECH.get(fine[:1], "X"))


TAG_MAPS: dict[str, TagMap] = {"danish": _danish, "czech": _czech}


@dataclass(frozen=True, kw_only=True)
class System:
    """A way to learn."""

    title: str
    summary: str
    inducer: str = ""
    """Empty: random trees."""
    rules: str | None = None
    parameters: Mapping[str, int | float | str] = field(default_factory=dict)
    authors: bool = False
    """With the parameters that the paper's authors chose for each language, instead of our defaults."""
    only: tuple[str, ...] = ()
    """Languages; none: all."""


VITERBI = {"mode": "viterbi"}
SYSTEMS = {
    "left": System(
        title="left-branching", summary="each word's head is the next one", inducer="left-branching"
    ),
    "right": System(
        title="right-branching", summary="each word's head is the one before", inducer="right-branching"
    ),
    "random": System(title="random", summary=f"{RANDOM_DRAWS} trees drawn from all projective ones"),
    "nearest": System(
        title="nearest rule",
        summary="each word's head is the nearest that a rule allows",
        inducer="nearest-rule",
        rules="universal",
    ),
    "dmv": System(title="DMV (EM)", summary="the dependency model with valence", inducer="dmv"),
    "dmv-viterbi": System(
        title="DMV (Viterbi)", summary="the same by best trees", inducer="dmv", parameters=VITERBI
    ),
    "dmv-universal": System(
        title="DMV (EM), universal", summary="with UD's rules", inducer="dmv", rules="universal"
    ),
    "neural": System(
        title="Neural DMV (EM)", summary="its probabilities from a network", inducer="neural-dmv"
    ),
    "neural-viterbi": System(
        title="Neural DMV (Viterbi)",
        summary="the same by best trees",
        inducer="neural-dmv",
        parameters=VITERBI,
    ),
    "convex": System(title="Convex-MST", summary="discriminative clustering", inducer="convex-mst"),
    "convex-table-2": System(
        title="Convex-MST, Table 2", summary="with the paper's rules", inducer="convex-mst", rules="table-2"
    ),
    "convex-universal": System(
        title="Convex-MST, universal", summary="with UD's rules", inducer="convex-mst", rules="universal"
    ),
    "crfae": System(title="CRFAE", summary="the CRF autoencoder", inducer="crfae"),
    "crfae-table-2": System(
        title="CRFAE, Table 2", summary="with the paper's rules", inducer="crfae", rules="table-2"
    ),
    "crfae-universal": System(
        title="CRFAE, universal", summary="with UD's rules", inducer="crfae", rules="universal"
    ),
    "crfae-authors": System(
        title="CRFAE, authors' settings",
        summary="without rules, by the parameters that the paper's authors chose",
        inducer="crfae",
        authors=True,
    ),
    "crfae-table-2-authors": System(
        title="CRFAE, Table 2, authors' settings",
        summary="with the paper's rules, likewise",
        inducer="crfae",
        rules="table-2",
        authors=True,
    ),
    "crfae-universal-authors": System(
        title="CRFAE, universal, authors' settings",
        summary="with UD's rules, likewise",
        inducer="crfae",
        rules="universal",
        authors=True,
    ),
    "crfae-likelihood": System(
        title="CRFAE, universal, likelihood",
        summary="all trees added up instead of the best; English alone, as in the paper",
        inducer="crfae",
        rules="universal",
        parameters={"objective": "likelihood"},
        only=("english", INVENTED),
    ),
}

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
"""What the authors of [cai-2017] chose on their validation sets."""
QUICK = {
    "dmv": {"rounds": 3},
    "neural-dmv": {"rounds": 2, "first_steps": 20, "steps": 5},
    "convex-mst": {"rounds": 3},
    "crfae": {"rounds": 2},
}


@dataclass(frozen=True, eq=False)
class Judged:
    """Sentences of tags with their trees."""

    sentences: tuple[Ints, ...]
    heads: tuple[Ints, ...]

    @classmethod
    def of(cls, columns: Columns, tags: Sequence[str]) -> Judged:
        """Of a treebank, without punctuation; `tags` are those that a model knows."""
        numbers = numbers_of(columns.strings("upos"), tags)
        known = np.where(numbers < 0, len(tags), numbers)[columns.ids("upos")].astype(np.int32)
        kept = is_word(columns)
        sentences, heads = [], []
        for start, end in zip(columns.offsets[:-1].tolist(), columns.offsets[1:].tolist(), strict=True):
            here = kept[start:end]
            if here.any():
                sentences.append(known[start:end][here])
                found = heads_of_words(columns.heads[start:end].tolist(), here.tolist())
                heads.append(np.array(found, dtype=np.int32))
        return cls(tuple(sentences), tuple(heads))

    def accuracy(self, found: Sequence[Ints]) -> dict[str, float]:
        """The share of right heads in percent, of short sentences and of all."""
        right = np.array([np.count_nonzero(f == g) for f, g in zip(found, self.heads, strict=True)])
        words = np.array([len(g) for g in self.heads])
        short = words <= LONGEST
        return {
            "short": 100 * float(right[short].sum() / max(1, words[short].sum())),
            "all": 100 * float(right.sum() / max(1, words.sum())),
        }


class TagMaterial:
    """A language's sentences as tags."""

    def __init__(self, material: Material) -> None:
        self.name = material.name
        change = TAG_MAPS.get(material.name)
        self.train = TagCorpus.of(columns_of(_mapped(material.train, change)), longest=LONGEST)
        self.test = Judged.of(columns_of(_mapped(material.test, change)), self.train.tags)


def _mapped(sentences: Sequence[Sentence], change: TagMap | None) -> list[Sentence]:
    if change is None:
        return list(sentences)
    return [replace(s, upos=tuple(map(change, s.upos, s.xpos))) for s in sentences]


class Trials:
    """The cells of one language."""

    def __init__(self, material: TagMaterial, options: Options, journal: Journal, watcher: Watcher) -> None:
        self.material = material
        self.options = options
        self.journal = journal
        self.watcher = watcher

    def result(self, key: str, system: System) -> dict[str, Any]:
        """What a system comes to."""
        parameters = self.parameters(system)
        inputs = {
            "inducer": system.inducer,
            "rules": [] if system.rules is None else RULES[system.rules].to_list(),
            "parameters": parameters,
            "sentences": len(self.material.train),
            "seed": self.options.seed,
        }
        rounds = int(parameters.get("rounds", 1))
        return compute(
            self.journal,
            self.watcher,
            f"{self.material.name}, {key}",
            inputs,
            rounds,
            lambda: self._learn(system, parameters) if system.inducer else self._random(),
            lambda found: f"{found['short']:.1f} / {found['all']:.1f}",
        )

    def parameters(self, system: System) -> dict[str, Any]:
        """Of the inducer: the authors' for this language, the system's own, and the defaults."""
        if not system.inducer:
            return {}
        own: dict[str, Any] = AUTHORS.get(self.material.name, {}) if system.authors else {}
        quick: dict[str, Any] = QUICK.get(system.inducer, {}) if self.options.quick else {}
        made = inducers.create(system.inducer, **{**own, **system.parameters, **quick})
        return dict(made.settings())

    def _learn(self, system: System, parameters: Mapping[str, Any]) -> dict[str, Any]:
        inducer = inducers.create(system.inducer, **parameters)
        rules = None if system.rules is None else RULES[system.rules]
        history: list[float] = []

        def watch(one: Round, model: TagModel) -> None:
            history.append(one.objective)
            self.watcher.asked(1)

        begun = time.process_time()
        learned = inducer.fit(
            self.material.train,
            rules=rules,
            seed=self.options.seed,
            threads=self.options.threads,
            watch=watch,
        )
        seconds = time.process_time() - begun
        test = self.material.test
        found = parse(learned.model, test.sentences, threads=self.options.threads)
        return {**test.accuracy(found), "objectives": history, "seconds": seconds}

    def _random(self) -> dict[str, Any]:
        """The mean over several draws."""
        test, seed = self.material.test, self.options.seed
        found = [
            test.accuracy(random_heads(test.sentences, seed=seed * RANDOM_DRAWS + draw))
            for draw in range(RANDOM_DRAWS)
        ]
        return {
            **{name: sum(each[name] for each in found) / len(found) for name in found[0]},
            "objectives": [],
            "seconds": 0.0,
        }


class CrfaeStudy:
    """Trees from tags alone: CRF autoencoder, DMV, neural DMV and convex MST, with and without rules.

    Tables 3 and 4 of the paper for treebanks at hand, sentences of at most ten words and of any length, and
    best trees against all trees as objective [cai-2017].
    """

    name: ClassVar[str] = "crfae"
    paper: ClassVar[str] = "cai-2017"

    @property
    def languages(self) -> Mapping[str, str]:
        """Names with their treebanks."""
        return {name: language.treebank for name, language in LANGUAGES.items()}

    @property
    def learners(self) -> Mapping[str, str]:
        """Names of systems with what they are."""
        return {name: system.summary for name, system in SYSTEMS.items()}

    def run(self, options: Options, watcher: Watcher) -> Report:
        """All cells, then tables and page."""
        usual = (INVENTED,) if options.quick else TREEBANKS
        names = chosen("language", options.languages, list(LANGUAGES), usual)
        wanted = chosen("learner", options.learners, list(SYSTEMS), list(SYSTEMS))
        limits = (150, 50) if options.quick else (None, None)
        journal = Journal.open(options.output, self.name)
        results: dict[str, dict[str, dict[str, Any]]] = {}
        for name in names:
            trials = Trials(
                TagMaterial(Material(name, LANGUAGES[name], options, limits)), options, journal, watcher
            )
            results[name] = {
                key: trials.result(key, SYSTEMS[key])
                for key in wanted
                if not SYSTEMS[key].only or name in SYSTEMS[key].only
            }
        titles = {key: SYSTEMS[key].title for key in wanted}
        return CrfaeReport(results, LANGUAGES, titles, options).write(journal)
