"""The cost of a wrong tree, the same for every parser, search and loss."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from arbora.interfaces import GoldTree
from arbora.settings import Settings, parameter
from arbora.types import Doubles, Ints


@dataclass(frozen=True, kw_only=True)
class TreeCost(Settings):
    """`head` for each wrong head, and `label` for each wrong label.

    With `label=0` only heads count. Words with an unknown head cost nothing.
    """

    head: float = parameter(1.0, "the cost of a wrong head", above=0.0, below=math.inf)
    label: float = parameter(1.0, "the cost of a wrong label", least=0.0, below=math.inf)

    def __call__(self, gold: GoldTree, heads: Ints, labels: Ints | None = None) -> float:
        """The cost of a tree, given by heads (n+1,) and labels (n+1,)."""
        known = gold.heads >= 0
        cost = self.head * int(np.count_nonzero(known & (heads != gold.heads)))
        if labels is not None:
            cost += self.label * int(np.count_nonzero(known & (gold.labels >= 0) & (labels != gold.labels)))
        return cost

    def table(self, gold: GoldTree, label_count: int = 0) -> Doubles:
        """The cost of each arc, (n+1, n+1), or of each labelled arc, (n+1, n+1, label_count)."""
        nodes = len(gold.heads)
        known = np.flatnonzero(gold.heads >= 0)
        table = np.zeros((nodes, nodes) + (label_count,) * (label_count > 0))
        table[:, known] = self.head
        table[gold.heads[known], known] = 0.0
        if label_count:
            labelled = known[gold.labels[known] >= 0]
            table[:, labelled] += self.label
            table[:, labelled, gold.labels[labelled]] -= self.label
        return table


COST = TreeCost()
"""The default: a wrong label costs as much as a wrong head."""
