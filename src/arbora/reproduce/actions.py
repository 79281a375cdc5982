"""A parser's actions as a task for classifiers: states on the way to right trees, each with what to do there.

States are those of the arc-eager system's static oracle, features those of a compact set with all their
pairs, which stand for an expanded quadratic kernel. Rows are scaled to length 1, so that parameters of
learners do not depend on how many features there are.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arbora.classification import SparseRows, hierarchical_costs, quadratic_expansion
from arbora.data.encode import Names
from arbora.data.sentence import Sentence
from arbora.data.tree import Tree
from arbora.interfaces import Learner
from arbora.problems import MulticlassProblem, TransitionProblem
from arbora.registry import transition_features
from arbora.reproduce.courses import as_columns
from arbora.reproduce.languages import Material
from arbora.reproduce.trials import Asked
from arbora.scorers import GraphSettings, TransitionScorer, TransitionSettings
from arbora.settings import to_dict
from arbora.training.annotation import training_heads

Numbers: TypeAlias = NDArray[np.int64]
Costs: TypeAlias = NDArray[np.float64]

MOVES = ("shift", "reduce", "left", "right")
OTHER = "other"
"""The label of relations that are not among the most common."""
HASHES = 1 << 32


@dataclass(frozen=True, kw_only=True)
class ActionRules:
    """How many instances there are for what, and what they look like."""

    train: int
    test: int
    choosing: int
    """Of those to learn from: parameters are chosen on these, the same of every sample."""
    folds: int
    bits: int
    """Of the table that features are hashed to."""
    relations: int
    """How many of the most common ones have names; all others have one in common. 10 give as many kinds of
    actions as the paper has, 22."""
    features: str = "nivre-v1"


@dataclass(frozen=True, eq=False)
class Actions:
    """Instances: a row of hashes for each state, and the number of the right action."""

    hashes: NDArray[np.uint32]
    right: NDArray[np.int32]
    names: Sequence[str]
    """Of actions: `shift`, `reduce`, `left:nsubj`, ..."""

    def __len__(self) -> int:
        return len(self.right)

    @classmethod
    def of(cls, material: Material, features: str, relations: int) -> Actions:
        """Those of a treebank's training data; see `ActionRules`."""
        columns = as_columns(with_common_relations(material.train, relations), material.format)
        names = Names.of(columns)
        encoded = names.encode(columns)
        encoded.set_heads(training_heads(columns, "projective", material.roots, "flatten"))
        shape = GraphSettings(trees="projective", roots=material.roots, order=1, labels="joint")
        # Pairs are made when rows are, which keeps the rest small.
        templates = replace(transition_features.create(features), quadratic=False)
        scorer = TransitionScorer(
            shape, TransitionSettings(oracle="static"), templates, labels=len(names.labels)
        )
        hashes, moves, labels = TransitionProblem(scorer, encoded).instances()
        # One number for each pair of move and label, then only those that occur.
        codes, right = np.unique(moves * np.int64(len(names.labels) + 1) + labels + 1, return_inverse=True)
        found = [divmod(code, len(names.labels) + 1) for code in codes.tolist()]
        actions = [
            f"{MOVES[move]}:{names.labels[label - 1]}" if label else MOVES[move] for move, label in found
        ]
        return cls(hashes, right.astype(np.int32), actions)

    def rows(self, chosen: Numbers, bits: int) -> SparseRows:
        """Features and their pairs."""
        hashes = self.hashes[chosen].astype(np.int64)
        offsets = np.arange(0, hashes.size + 1, max(1, hashes.shape[1]), dtype=np.int64)
        base = SparseRows(offsets, hashes.reshape(-1), np.ones(hashes.size, dtype=np.float32), HASHES)
        rows = quadratic_expansion(base, bits=bits)
        pairs = hashes.shape[1] * (hashes.shape[1] + 1) // 2
        return replace(rows, values=rows.values / np.float32(np.sqrt(pairs)))


def with_common_relations(sentences: Sequence[Sentence], count: int) -> list[Sentence]:
    """Labels without subtypes, and those that are not among the most common replaced."""
    relations = [[label.partition(":")[0] for label in sentence.deprels] for sentence in sentences]
    common = {name for name, _ in Counter(chain.from_iterable(relations)).most_common(count)}
    return [
        sentence.with_tree(
            Tree.from_heads(sentence.heads, [each if each in common else OTHER for each in labels])
        )
        for sentence, labels in zip(sentences, relations, strict=True)
    ]


class ActionSamples:
    """Instances at random, to learn from and to be tested on; drawn by a seed, and ready for learners."""

    def __init__(self, material: Material, rules: ActionRules) -> None:
        self.material = material
        self.rules = rules
        self.seed = material.options.seed
        self.sample = lru_cache(maxsize=1)(self._sample)

    @cached_property
    def actions(self) -> Actions:
        """All there are."""
        return Actions.of(self.material, self.rules.features, self.rules.relations)

    @cached_property
    def checksum(self) -> int:
        """Of all instances."""
        actions = self.actions
        names = zlib.crc32(repr(list(actions.names)).encode())
        return zlib.crc32(actions.right.tobytes(), zlib.crc32(actions.hashes.tobytes(), names))

    @cached_property
    def _order(self) -> Numbers:
        return np.random.default_rng(self.seed).permutation(len(self.actions))

    @cached_property
    def folds(self) -> list[Rows]:
        """Of the instances to choose on, each fold in turn held out."""
        pieces = np.array_split(self._order[: self.rules.choosing], self.rules.folds)
        return [
            self._rows(np.concatenate(pieces[:i] + pieces[i + 1 :]), piece) for i, piece in enumerate(pieces)
        ]

    def _sample(self, number: int) -> Rows:
        # What parameters were chosen on is learned from, never tested on.
        kept, rest = np.split(self._order, [self.rules.choosing])
        drawn = np.random.default_rng([self.seed, number]).permutation(rest)
        test, more = np.split(drawn[: self.rules.test + self.rules.train - len(kept)], [self.rules.test])
        return self._rows(np.concatenate([kept, more]), test)

    def _rows(self, train: Numbers, test: Numbers) -> Rows:
        return Rows(self.actions, train, test, self.rules.bits)


class Rows:
    """Some instances to learn from, and others."""

    def __init__(self, actions: Actions, train: Numbers, test: Numbers, bits: int) -> None:
        self.train, self.test = (actions.rows(chosen, bits).examples(0.0) for chosen in (train, test))
        self.right, self.wanted = actions.right[train], actions.right[test]

    def __len__(self) -> int:
        return len(self.right)

    def mean_cost(self, learner: Learner, costs: Costs, asked: Asked) -> float:
        """Of the actions that are found for the others, with averaged weights."""
        problem = MulticlassProblem(self.train, self.right, costs)
        learned = learner.fit(problem, callbacks=[lambda _: asked(len(self))])
        if learned.stopped == "interrupted":
            raise KeyboardInterrupt
        found = self.test.scores(learned.averaged, len(costs), 1).argmax(axis=1)
        return float(costs[self.wanted, found].mean())


@dataclass(frozen=True)
class CostedRows:
    """Instances with what wrong actions cost."""

    rows: Rows
    costs: Costs

    def __len__(self) -> int:
        return len(self.rows)

    def score(self, learner: Learner, asked: Asked) -> float:
        """The mean cost."""
        return self.rows.mean_cost(learner, self.costs, asked)


class ActionTask:
    """Actions with a cost for each mistake; a score is a mean cost."""

    rising = False

    def __init__(self, name: str, samples: ActionSamples, subtype_cost: float) -> None:
        """`subtype_cost`: of a wrong label with the right move."""
        self.name = f"{samples.material.name}, {name}"
        self.samples = samples
        self.subtype_cost = subtype_cost

    @cached_property
    def costs(self) -> Costs:
        """1 for a wrong move."""
        return hierarchical_costs(self.samples.actions.names, subtype_cost=self.subtype_cost)

    @property
    def examples(self) -> int:
        """Of every sample."""
        return self.samples.rules.train

    @property
    def inputs(self) -> dict[str, Any]:
        """The instances, and what they cost."""
        return {
            "instances": self.samples.checksum,
            "rules": to_dict(self.samples.rules),
            "subtype_cost": self.subtype_cost,
        }

    @property
    def folds(self) -> list[CostedRows]:
        """With these costs."""
        return [CostedRows(rows, self.costs) for rows in self.samples.folds]

    def sample(self, number: int) -> CostedRows:
        """With these costs."""
        return CostedRows(self.samples.sample(number), self.costs)
