"""The dependency model with valence [klein-2004], as scores of arcs and siblings.

A tree grows from its root. Each word, on either side, decides whether to go on or to stop; while it goes on,
it takes a dependent, nearest first. Both choices know whether it has one on that side already (`NONE_YET`,
`HAS_ONE`):

    P(tree) = P_root(r) Π_{h, side} P_stop(h, side, has) Π_d P_go_on(h, side, has) P_child(d | h, side, has)

Only the nearest dependent of a side is taken with `NONE_YET`, so this is a projective model of siblings: what
later dependents cost is the arc's score; `siblings[h, d, h]`, "d is the nearest", holds the difference, and
that h stops with `HAS_ONE`, not `NONE_YET`. That all words stop with `NONE_YET` on both sides is what all
trees of a sentence share: `constants`. Best trees, sums and marginals are those of the sibling charts,
O(n³), with one root.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from arbora.errors import InputError, ModelError
from arbora.induction.interfaces import Parts
from arbora.interfaces import PartKind, Roots, Trees
from arbora.storage.model_file import ModelFile
from arbora.types import Doubles, Ints

LEFT, RIGHT = range(2)
NONE_YET, HAS_ONE = range(2)
LONGEST = 400
"""Words of a sentence: its siblings' scores take (n+1)³ numbers, half a gigabyte."""
LEAST_LOG = -1e9
"""Below this, a log in a file is damage, not a probability."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ValenceModel:
    """Logs of probabilities, -inf for what cannot be; see `arbora.induction.interfaces.TagModel`.

    A tag that is not known behaves as tags do on average.
    """

    kind: ClassVar[str] = "valence"
    trees: ClassVar[Trees] = "projective"
    roots: ClassVar[Roots] = "single"

    tags: tuple[str, ...]
    root: Doubles
    """(tags,)"""
    child: Doubles
    """[head, side, has, dependent]"""
    stop: Doubles
    """[head, side, has]; finite for `NONE_YET`: any word may be without dependents."""
    go_on: Doubles
    """[head, side, has]"""

    def __post_init__(self) -> None:
        if not np.isfinite(self.stop[..., NONE_YET]).all():
            raise InputError(
                "a model with valence: any tag may stop before its first dependent, got one that may not"
            )
        stop, go_on = _with_mean(self.stop), _with_mean(self.go_on)
        take = go_on[..., None] + _with_mean(_with_mean(self.child), axis=-1)
        first = take[..., NONE_YET, :] + (stop[..., HAS_ONE] - stop[..., NONE_YET])[..., None]
        object.__setattr__(self, "_first", first)
        object.__setattr__(self, "_later", take[..., HAS_ONE, :])
        object.__setattr__(self, "_root", _with_mean(self.root))
        object.__setattr__(self, "_stops", stop[..., NONE_YET].sum(axis=-1))

    def scores(self, tags: Ints) -> dict[PartKind, Doubles]:
        """Of m sentences of n words, (m, n): arcs, (m, n+1, n+1), siblings, (m, n+1, n+1, n+1). O(m n³)."""
        m, n = tags.shape
        if n > LONGEST:
            raise InputError(
                f"a sentence of {n} words: models with valence take at most {LONGEST}; split it, or "
                "use a model of arcs alone (crfae)"
            )
        words = np.arange(1, n + 1)
        sides = (words[None, :] > words[:, None]).astype(np.int64)
        at = (tags[:, :, None], sides[None], tags[:, None, :])
        first: Doubles = self._first[at]  # type: ignore[attr-defined]
        later: Doubles = self._later[at]  # type: ignore[attr-defined]
        never_later = later == -np.inf
        base = np.where(never_later, 0.0, later)
        arcs = np.zeros((m, n + 1, n + 1))
        arcs[:, 0, 1:] = self._root[tags]  # type: ignore[attr-defined]
        arcs[:, 1:, 1:] = np.where(never_later & (first == -np.inf), -np.inf, base)
        siblings = np.zeros((m, n + 1, n + 1, n + 1))
        if never_later.any():
            siblings[:, 1:, 1:, :] = np.where(never_later, -np.inf, 0.0)[..., None]
        siblings[:, words[:, None], words[None, :], words[:, None]] = first - base
        return {PartKind.ARC: arcs, PartKind.SIBLING: siblings}

    def constants(self, tags: Ints) -> Doubles:
        """What all trees of a sentence share, (m,): log P(sentence) is this and log Z of `scores`. O(m n)."""
        return self._stops[tags].sum(axis=-1)  # type: ignore[attr-defined]

    def to_parts(self) -> Parts:
        tensors: dict[str, NDArray[Any]] = {
            "root": self.root,
            "child": self.child,
            "stop": self.stop,
            "go_on": self.go_on,
        }
        return tensors, {"tags": list(self.tags), "trees": self.trees, "roots": self.roots}

    @classmethod
    def from_file(cls, file: ModelFile, tags: tuple[str, ...], trees: Trees, roots: Roots) -> ValenceModel:
        """What a model file holds; ModelError where it does not fit together."""
        t = len(tags)
        shapes = {"root": [t], "child": [t, 2, 2, t], "stop": [t, 2, 2], "go_on": [t, 2, 2]}
        logs = {name: file.tensor(name, np.float64, shape) for name, shape in shapes.items()}
        good = all(_are_logs(values) for values in logs.values())
        if not good or not np.isfinite(logs["stop"][..., NONE_YET]).all():
            raise ModelError("expected logs of probabilities; the file is damaged", source=file.source)
        if (trees, roots) != (cls.trees, cls.roots):
            raise ModelError(
                f"a model with valence has {cls.trees} trees with a {cls.roots} root, got {trees}, {roots}",
                source=file.source,
            )
        return cls(tags=tags, **logs)


def _with_mean(logs: Doubles, axis: int = 0) -> Doubles:
    """One more entry along an axis: the log of the mean of the others' probabilities."""
    with np.errstate(divide="ignore"):
        mean = np.log(np.exp(logs).mean(axis=axis, keepdims=True))
    return np.concatenate([logs, mean], axis=axis)


def _are_logs(values: Doubles) -> bool:
    """Whether none is NaN, above 0 (but for rounding), or absurd."""
    finite = values[values != -np.inf]
    return bool(np.isfinite(finite).all() and (finite <= 1e-6).all() and (finite >= LEAST_LOG).all())
