"""A parser's actions as a task for classifiers: the states on the way to gold trees, each with its action.

States are those of the arc-eager system's static oracle. Features are a compact set with all their pairs, an
expanded quadratic kernel. Rows are scaled to length 1, so that learners' parameters do not depend on the
number of features.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from arbora.classification import SparseRows, hierarchical_costs, quadratic_expansion
from arbora.data.columns import columns_of
from arbora.data.encode import Names
from arbora.data.sentence import Sentence
from arbora.data.tree import Tree
from arbora.interfaces import Learner
from arbora.problems import MulticlassProblem, TransitionProblem
from arbora.progress import Observer
from arbora.registry import transition_features
from arbora.scorers import GraphSettings, TransitionScorer, TransitionSettings
from arbora.settings import to_dict
from arbora.training.annotation import training_heads
from arbora_studies.treebanks import Material
from arbora_studies.trials import Part

Numbers: TypeAlias = NDArray[np.int64]
Costs: TypeAlias = NDArray[np.float64]

MOVES = ("shift", "reduce", "left", "right")
OTHER = "other"
"""The label of all but the most common relations."""
HASHES = 1 << 32


@dataclass(frozen=True, kw_only=True)
class ActionRules:
    """How many instances there are, and their features."""

    train: int
    test: int
    choosing: int
    """How many training instances parameters are chosen on; every sample trains on these."""
    folds: int
    bits: int
    """Size of the table that features are hashed to, as a power of two."""
    relations: int
    """How many of the most common relations keep their names. 10 give 22 actions, as in the paper."""
    features: str = "nivre-v1"


@dataclass(frozen=True, eq=False)
class Actions:
    """Instances: a row of hashes for each state, and the number of its gold action."""

    hashes: NDArray[np.uint32]
    right: NDArray[np.int32]
    names: Sequence[str]
    """The actions: `shift`, `reduce`, `left:nsubj`, ..."""

    def __len__(self) -> int:
        return len(self.right)

    @classmethod
    def of(cls, material: Material, features: str, relations: int) -> Actions:
        """Return the instances of a treebank's training data."""
        columns = columns_of(with_common_relations(material.train, relations))
        names = Names.of(columns)
        encoded = names.encode(columns)
        encoded.set_heads(training_heads(columns, "projective", material.roots, "flatten"))
        shape = GraphSettings(trees="projective", roots=material.roots, order=1, labels="joint")
        # Pairs are made when rows are, which keeps the rest small.
        templates = replace(transition_features.create(features), quadratic=False)
        search = TransitionSettings(oracle="static")
        scorer = TransitionScorer(shape, templates, search=search, labels=len(names.labels))
        hashes, moves, labels = TransitionProblem(scorer, encoded).instances()
        # One number for each pair of move and label, then only those that occur.
        codes, right = np.unique(moves * np.int64(len(names.labels) + 1) + labels + 1, return_inverse=True)
        found = [divmod(code, len(names.labels) + 1) for code in codes.tolist()]
        actions = [
            f"{MOVES[move]}:{names.labels[label - 1]}" if label else MOVES[move] for move, label in found
        ]
        return cls(hashes, right.astype(np.int32), actions)

    def rows(self, chosen: Numbers, bits: int) -> SparseRows:
        """Return some instances with features and their pairs."""
        hashes = self.hashes[chosen].astype(np.int64)
        offsets = np.arange(0, hashes.size + 1, max(1, hashes.shape[1]), dtype=np.int64)
        base = SparseRows(offsets, hashes.reshape(-1), np.ones(hashes.size, dtype=np.float32), HASHES)
        rows = quadratic_expansion(base, bits=bits)
        pairs = hashes.shape[1] * (hashes.shape[1] + 1) // 2
        return replace(rows, values=rows.values / np.float32(np.sqrt(pairs)))


def with_common_relations(sentences: Sequence[Sentence], count: int) -> list[Sentence]:
    """Drop subtypes of labels, and replace all but the most common labels."""
    relations = [[label.partition(":")[0] for label in sentence.deprels] for sentence in sentences]
    common = {name for name, _ in Counter(chain.from_iterable(relations)).most_common(count)}
    return [
        sentence.with_tree(
            Tree.from_heads(sentence.heads, [each if each in common else OTHER for each in labels])
        )
        for sentence, labels in zip(sentences, relations, strict=True)
    ]


class ActionSamples:
    """Random instances to train on and to test on."""

    def __init__(self, material: Material, rules: ActionRules) -> None:
        self.material = material
        self.rules = rules
        self.seed = material.options.seed
        self.sample = lru_cache(maxsize=1)(self._sample)

    @cached_property
    def actions(self) -> Actions:
        return Actions.of(self.material, self.rules.features, self.rules.relations)

    @cached_property
    def checksum(self) -> int:
        actions = self.actions
        names = zlib.crc32(repr(list(actions.names)).encode())
        return zlib.crc32(actions.right.tobytes(), zlib.crc32(actions.hashes.tobytes(), names))

    @cached_property
    def _order(self) -> Numbers:
        return np.random.default_rng(self.seed).permutation(len(self.actions))

    @cached_property
    def folds(self) -> list[Rows]:
        """The instances to choose on, with each fold held out in turn."""
        pieces = np.array_split(self._order[: self.rules.choosing], self.rules.folds)
        return [
            self._rows(np.concatenate(pieces[:i] + pieces[i + 1 :]), piece) for i, piece in enumerate(pieces)
        ]

    def _sample(self, number: int) -> Rows:
        # The instances that parameters were chosen on are for training, never for testing.
        kept, rest = np.split(self._order, [self.rules.choosing])
        drawn = np.random.default_rng([self.seed, number]).permutation(rest)
        test, more = np.split(drawn[: self.rules.test + self.rules.train - len(kept)], [self.rules.test])
        return self._rows(np.concatenate([kept, more]), test)

    def _rows(self, train: Numbers, test: Numbers) -> Rows:
        return Rows(self.actions, train, test, self.rules.bits)


class Rows:
    """Some instances to train on, and others to test on."""

    def __init__(self, actions: Actions, train: Numbers, test: Numbers, bits: int) -> None:
        self.train, self.test = (actions.rows(chosen, bits).examples(0.0) for chosen in (train, test))
        self.right, self.wanted = actions.right[train], actions.right[test]

    def part(self, costs: Costs) -> Part:
        """With these costs of wrong actions: the score is the mean cost with averaged weights."""

        def score(learner: Learner, observer: Observer) -> float:
            problem = MulticlassProblem(self.train, self.right, costs)
            learned = learner.fit(problem, callbacks=[lambda _: observer.advance(len(self.right))])
            if learned.stopped == "interrupted":
                raise KeyboardInterrupt
            found = self.test.scores(learned.averaged, len(costs), 1).argmax(axis=1)
            return float(costs[self.wanted, found].mean())

        return Part(len(self.right), score)


class ActionTask:
    """Actions with a cost for each mistake; `subtype_cost` is that of a wrong label with the right move."""

    higher_is_better = False

    def __init__(self, name: str, samples: ActionSamples, subtype_cost: float) -> None:
        self.name = f"{samples.material.name}, {name}"
        self.samples = samples
        self.examples = samples.rules.train
        self.costs = hierarchical_costs(samples.actions.names, subtype_cost=subtype_cost)
        self.inputs = {
            "instances": samples.checksum,
            "rules": to_dict(samples.rules),
            "subtype_cost": subtype_cost,
        }

    def folds(self) -> list[Part]:
        return [rows.part(self.costs) for rows in self.samples.folds]

    def sample(self, number: int) -> Part:
        return self.samples.sample(number).part(self.costs)
