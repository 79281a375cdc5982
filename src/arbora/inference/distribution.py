"""`TreeDistribution`: a lazy object over (scores, family) that answers every query of `arbora.inference`.

P(tree) is proportional to exp(score of the tree). Nothing is computed before it is needed, nor twice. The
scores are copied, so later changes to the caller's arrays have no effect.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Unpack

from numpy.typing import NDArray

from arbora import inference
from arbora.errors import InputError
from arbora.inference._parts import Marginals, Options, make_parts
from arbora.inference.queries import label_shares
from arbora.interfaces import Best
from arbora.types import Doubles, Ints


def _freeze(*arrays: NDArray[Any] | None) -> None:
    for array in arrays:
        if array is not None:
            array.flags.writeable = False


class TreeDistribution:
    """The distribution over one sentence's trees; see `arbora.inference` for scores and options.

    >>> import numpy as np
    >>> d = TreeDistribution(np.zeros((3, 3)), trees="projective", roots="multi")
    >>> round(np.exp(d.log_partition))
    3
    """

    def __init__(self, scores: Any, **options: Unpack[Options]) -> None:
        if isinstance(scores, (list, tuple)):
            raise InputError("TreeDistribution takes one sentence; make one for each array of a batch")
        parts = make_parts(scores, **options)
        parts.check()
        self._scores = parts.arcs[0].copy()
        _freeze(self._scores)
        self._options = options.copy()

    def __setattr__(self, name: str, value: object) -> None:
        if not name.startswith("_"):
            raise AttributeError(f"a TreeDistribution does not change; {name!r} cannot be set")
        super().__setattr__(name, value)

    @property
    def scores(self) -> NDArray[Any]:
        """The arc scores, read-only."""
        return self._scores

    def __len__(self) -> int:
        return len(self._scores) - 1

    def __repr__(self) -> str:
        family = [f" {name}={value!r}" for name, value in self._options.items() if isinstance(value, str)]
        return f"<TreeDistribution over {len(self)} words{''.join(family)}>"

    @cached_property
    def best(self) -> Best:
        """The most probable tree (and labelling)."""
        best = inference.argmax(self._scores, **self._options)
        _freeze(best.heads, best.labels)
        return best

    @cached_property
    def log_partition(self) -> float:
        return inference.log_partition(self._scores, **self._options)

    @cached_property
    def marginals(self) -> Doubles | Marginals:
        """P(part), as `inference.marginals`."""
        marginals = inference.marginals(self._scores, **self._options)
        _freeze(*(marginals if isinstance(marginals, Marginals) else (marginals,)))
        return marginals

    @cached_property
    def arc_marginals(self) -> Doubles:
        """P(head, dep), shape (n+1, n+1), labels summed out; columns of words sum to one."""
        arcs = inference.arc_marginals(self.marginals)
        _freeze(arcs)
        return arcs

    @cached_property
    def label_marginals(self) -> Doubles:
        """P(label | arc), shape (n+1, n+1, labels); 0 for arcs that are forbidden."""
        if self._scores.ndim != 3:
            raise InputError("label_marginals needs labelled scores of shape (n+1, n+1, labels)")
        shares, _ = label_shares(self._scores)
        _freeze(shares)
        return shares

    @cached_property
    def entropy(self) -> float:
        """In nats."""
        return inference.entropy(self._scores, **self._options)

    def kbest(self, k: int) -> list[Best]:
        return inference.kbest(self._scores, k, **self._options)

    def sample(self, k: int, seed: int = 0, replacement: bool = True) -> list[Best]:
        return inference.sample(self._scores, k, seed=seed, replacement=replacement, **self._options)

    def log_prob(self, heads: Ints, labels: Ints | None = None) -> float:
        """log P(tree); -inf for a tree outside the family."""
        return inference.log_prob(self._scores, heads, labels, **self._options)

    def minimum_risk(self) -> Best:
        return inference.minimum_risk(self._scores, **self._options)

    def expected_wrong_heads(self, heads: Ints) -> float:
        """How many words are expected to have another head than in `heads`."""
        return inference.expected_wrong_heads(self._scores, heads, **self._options)

    def kl_divergence(self, other: TreeDistribution) -> float:
        """KL(self || other) in nats, for first-order distributions over the same family."""
        if not isinstance(other, TreeDistribution):
            raise InputError(f"kl_divergence takes a TreeDistribution, got {type(other).__name__}")
        if any(self._options.get(name) != other._options.get(name) for name in ("trees", "roots")):
            raise InputError("kl_divergence needs two distributions over the same family")
        return inference.kl_divergence(self._scores, other._scores, **self._options)
