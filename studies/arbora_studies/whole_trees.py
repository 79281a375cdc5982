"""Whole trees as a task for learners: a transition parser with a narrow beam, on a few thousand words.

A wrong head costs 1, a wrong label 0.5. The score is the labelled accuracy in percent, without words that are
written with punctuation only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache

import numpy as np

from arbora.data.sentence import Sentence
from arbora.interfaces import Learner
from arbora.progress import Observer
from arbora.settings import to_dict
from arbora.training.config import TrainConfig
from arbora.training.parser import ParserTraining
from arbora_studies.runner import Steps
from arbora_studies.treebanks import Material, checksum, punctuation
from arbora_studies.trials import Part


@dataclass(frozen=True, kw_only=True)
class TreeRules:
    """How many words to train and test on, and the parser; its learner is another each time."""

    train_words: int
    test_words: int
    folds: int
    config: TrainConfig


class TreeTask:
    """Trees of some sentences of a treebank."""

    higher_is_better = True

    def __init__(self, material: Material, rules: TreeRules) -> None:
        self.name = f"{material.name}, trees"
        self.material = material
        self.rules = rules
        self.sample = lru_cache(maxsize=1)(self._sample)
        self.folds = cache(self._folds)
        words = sum(map(len, material.train))
        self.examples = max(1, len(material.train) * min(rules.train_words, words) // max(1, words))
        train, test = material.columns(material.train, material.test)
        self.inputs = {"train": checksum(train), "test": checksum(test), "rules": to_dict(rules)}

    def _folds(self) -> list[Part]:
        drawn, count = self._draw(self.material.train, self.rules.train_words, 0), self.rules.folds
        return [
            self._part([each for i, each in enumerate(drawn) if i % count != fold], drawn[fold::count])
            for fold in range(count)
        ]

    def _sample(self, number: int) -> Part:
        return self._part(
            self._draw(self.material.train, self.rules.train_words, number),
            self._draw(self.material.test, self.rules.test_words, number),
        )

    def _draw(self, sentences: Sequence[Sentence], words: int, number: int) -> list[Sentence]:
        """Draw sentences at random until there are so many words, or no more sentences."""
        order = np.random.default_rng([self.material.options.seed, number]).permutation(len(sentences))
        lengths = np.array([len(sentences[i]) for i in order])
        enough = int(np.searchsorted(np.cumsum(lengths), words)) + 1
        return [sentences[i] for i in order[:enough].tolist()]

    def _part(self, train_sentences: list[Sentence], test_sentences: list[Sentence]) -> Part:
        train, test = self.material.columns(train_sentences, test_sentences)
        config = replace(self.rules.config, seed=self.material.options.seed)

        def score(learner: Learner, observer: Observer) -> float:
            """Train with averaged weights after the last epoch, and score."""
            own = replace(config, learner=learner.name, parameters=dict(learner.settings()))
            training = ParserTraining(train, None, own, 1, Steps(observer, "tree"))
            parser, interrupted = training.run(calibrate=False)
            if interrupted:
                raise KeyboardInterrupt
            heads, labels = parser.trees(test)
            right = (heads == test.heads) & (labels == parser.names.label_numbers(test))
            scored = ~punctuation(test)
            return 100 * float(np.mean(right[scored])) if scored.any() else 0.0

        return Part(len(train), score)
