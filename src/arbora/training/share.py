"""A share of a training: data for another process, to make the same problems over some of the sentences.

Names, features and the scorer are those of the whole treebank, so that weights mean the same everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from arbora.data.columns import Columns
from arbora.data.encode import GuideTrees, Names
from arbora.data.soft import SoftTrees
from arbora.progress import Silent
from arbora.training.config import TrainConfig
from arbora.training.recipes import Recipe
from arbora.types import Ints, Longs


@dataclass(frozen=True)
class Share:
    """The parts that can be pickled: settings, some of the sentences, and the parts of the scorer."""

    kind: type[Recipe]
    config: TrainConfig
    names: Names
    columns: Columns
    heads: Ints  # (W,), those to train on
    whole_heads: Ints  # (W,), with unknown ones filled in
    scorer: Any
    guide: GuideTrees | None
    soft: SoftTrees | None
    threads: int

    @classmethod
    def of(cls, recipe: Recipe, sentences: Longs) -> Share:
        """Some of the sentences of a recipe, by number. O(words)."""
        columns, lengths = recipe.columns.select(sentences), np.diff(recipe.columns.offsets)
        chosen = np.repeat(recipe.columns.offsets[sentences] - columns.offsets[:-1], lengths[sentences])
        words = chosen + np.arange(columns.words)
        guide = recipe.guide_trees
        return cls(
            kind=type(recipe),
            config=recipe.config,
            names=recipe.names,
            columns=columns,
            heads=np.asarray(recipe.train.heads)[words],
            whole_heads=np.asarray(recipe.filled.heads)[words],
            scorer=recipe.scorer_parts(),
            guide=None if guide is None else GuideTrees(guide.heads[words], guide.labels[words], guide.names),
            soft=None if recipe.soft is None else recipe.soft.select(words),
            threads=recipe.threads,
        )

    def open(self) -> Recipe:
        """The recipe over these sentences; it has no dev set, and reports nothing."""
        made = self.kind.__new__(self.kind)
        made.config, made.names, made.threads = self.config, self.names, self.threads
        made.learner, made.observer, made.soft = self.config.make_learner(), Silent(), self.soft
        made.guide = made.dev = made.like = made.lifts = made.guide_trees = None
        made.columns = self.columns
        made.train, made.filled = self.names.encode(made.columns), self.names.encode(made.columns)
        made.train.set_heads(self.heads)
        made.filled.set_heads(self.whole_heads)
        if self.guide is not None:
            made.put_guide(self.guide)
        made.put_scorer(self.scorer)
        return made
