"""Whole trees as a task for learners: a transition parser with a narrow beam, on a few thousand words.

A sequence of actions is held against others by the arcs that it makes: a wrong head costs 1, a wrong label
half as much. The score is the share of words with the right head and label among those that are not written
with punctuation only, in percent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from arbora.data.columns import Columns
from arbora.data.sentence import Sentence
from arbora.interfaces import Learner
from arbora.progress import Silent
from arbora.reproduce.courses import as_columns, checksum, written_punctuation
from arbora.reproduce.languages import Material
from arbora.reproduce.trials import Asked
from arbora.settings import to_dict
from arbora.training import TrainConfig, Training


@dataclass(frozen=True, kw_only=True)
class TreeRules:
    """How many words there are for what, and the parser; its learner is another each time."""

    train_words: int
    test_words: int
    folds: int
    config: TrainConfig


class Told(Silent):
    """Passes on how many examples were looked at."""

    def __init__(self, told: Asked) -> None:
        self._told = told

    def advance(self, steps: int = 1) -> None:
        """Passed on."""
        self._told(steps)


class Sentences:
    """Some sentences to learn from, and others."""

    def __init__(self, train: Columns, test: Columns, config: TrainConfig) -> None:
        self.train = train
        self.test = test
        self.config = config

    def __len__(self) -> int:
        return len(self.train)

    def score(self, learner: Learner, asked: Asked) -> float:
        """Labelled accuracy of the parser with the learner's averaged weights after the last epoch."""
        config = replace(self.config, learner=learner.name, parameters=dict(learner.settings()))
        trained = Training(self.train, None, config, 1, Told(asked)).run(calibrate=False)
        if trained.interrupted:
            raise KeyboardInterrupt
        heads, labels = trained.parser.trees(self.test)
        right = (heads == self.test.heads) & (labels == trained.parser.names.label_numbers(self.test))
        scored = ~written_punctuation(self.test)
        return 100 * float(np.mean(right[scored])) if scored.any() else 0.0


class TreeTask:
    """Trees of some sentences of a treebank."""

    rising = True

    def __init__(self, material: Material, rules: TreeRules) -> None:
        self.name = f"{material.name}, trees"
        self.material = material
        self.rules = rules
        self.sample = lru_cache(maxsize=1)(self._sample)

    @property
    def examples(self) -> int:
        """About as many sentences as these words are in."""
        train = self.material.train
        words = sum(map(len, train))
        return max(1, len(train) * min(self.rules.train_words, words) // max(1, words))

    @cached_property
    def inputs(self) -> dict[str, Any]:
        """The treebank, and the parser."""
        material = self.material
        return {
            "train": checksum(self._columns(material.train)),
            "test": checksum(self._columns(material.test)),
            "rules": to_dict(self.rules),
        }

    @cached_property
    def folds(self) -> list[Sentences]:
        """Of what the first sample has to learn from, each fold in turn held out."""
        sentences = self._drawn(self.material.train, self.rules.train_words, 0)
        count = self.rules.folds
        return [
            self._part(
                [each for i, each in enumerate(sentences) if i % count != fold], sentences[fold::count]
            )
            for fold in range(count)
        ]

    def _sample(self, number: int) -> Sentences:
        rules = self.rules
        return self._part(
            self._drawn(self.material.train, rules.train_words, number),
            self._drawn(self.material.test, rules.test_words, number),
        )

    def _drawn(self, sentences: Sequence[Sentence], words: int, number: int) -> list[Sentence]:
        """Sentences at random until there are so many words, or no more sentences."""
        order = np.random.default_rng([self.material.options.seed, number]).permutation(len(sentences))
        lengths = np.array([len(sentences[i]) for i in order])
        enough = int(np.searchsorted(np.cumsum(lengths), words)) + 1
        return [sentences[i] for i in order[:enough].tolist()]

    def _part(self, train: list[Sentence], test: list[Sentence]) -> Sentences:
        config = replace(self.rules.config, seed=self.material.options.seed)
        return Sentences(self._columns(train), self._columns(test), config)

    def _columns(self, sentences: list[Sentence]) -> Columns:
        return as_columns(sentences, self.material.format)
