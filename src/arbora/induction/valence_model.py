"""The dependency model with valence [klein-2004], as scores of arcs and siblings.

A tree grows from its root. Each word, on either side, decides whether to go on or to stop; while it goes on,
it takes a dependent, nearest first. Both choices depend on whether it already has one on that side
(`NONE_YET`, `HAS_ONE`):

    P(tree) = P_root(r) Π_{h, side} P_stop(h, side, has) Π_d P_go_on(h, side, has) P_child(d | h, side, has)

Only the nearest dependent of a side is taken with `NONE_YET`, so this is a projective model of siblings. An
arc's score is that of a later dependent; `siblings[h, d, h]`, "d is the nearest", holds the difference, and
the difference between stopping with `HAS_ONE` and with `NONE_YET`. `constants` is what all trees of a
sentence share: all words stop with `NONE_YET` on both sides. Trees are found and summed by the sibling
charts, O(n³), with a single root.

The model is estimated from counts of its choices. These come from two arrays per sentence, [head, dependent]:
how often there is an arc, and how often the dependent is the nearest on its side. The numbers may be 0 and 1
(a tree), or expectations.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from arbora import inference
from arbora.errors import InputError
from arbora.induction.corpus import TagCorpus, by_length
from arbora.induction.interfaces import TagModel, as_arcs, best_heads
from arbora.interfaces import PartKind
from arbora.storage.model_file import ModelFile
from arbora.types import Doubles, Ints

NONE_YET, HAS_ONE = range(2)
LONGEST = 400  # Words of a sentence. Scores of siblings take (n+1)³ numbers, half a gigabyte.
LEAST_LOG = -1e9  # Below this, a log in a file is damage, not a probability


@dataclass(frozen=True, eq=False, kw_only=True)
class ValenceModel(TagModel):
    """Logs of probabilities, -inf for the impossible; unknown tags behave as tags do on average."""

    name: ClassVar[str] = "valence"
    parts: ClassVar[tuple[PartKind, ...]] = (PartKind.ARC, PartKind.SIBLING)

    root: Doubles  # (tags,)
    child: Doubles  # [head, side, has, dependent]; sides are left, right
    stop: Doubles  # [head, side, has]; finite for `NONE_YET`: any word may be without dependents
    go_on: Doubles  # [head, side, has]

    @classmethod
    def of(cls, tags: tuple[str, ...], root: Doubles, child: Doubles, decisions: Doubles) -> ValenceModel:
        """A model where `decisions` [head, side, has] are to stop (0) or to go on (1)."""
        stop, go_on = np.moveaxis(decisions, -1, 0).copy()
        return cls(tags=tags, root=root, child=child, stop=stop, go_on=go_on)

    def __post_init__(self) -> None:
        if not np.isfinite(self.stop[..., NONE_YET]).all():
            raise InputError("stop: any tag may stop before its first dependent, got one that may not")
        if (self.trees, self.roots) != ("projective", "single"):
            got = f"{self.trees} trees, {self.roots} root"
            raise InputError(f"trees: a model with valence has projective trees, a single root, got {got}")

    @cached_property
    def _tables(self) -> tuple[Doubles, Doubles, Doubles, Doubles]:
        """First and later dependents, roots, stops; each with an entry for an unknown tag."""
        stop, go_on = _with_mean(self.stop), _with_mean(self.go_on)
        take = go_on[..., None] + _with_mean(_with_mean(self.child), axis=-1)
        first = take[..., NONE_YET, :] + (stop[..., HAS_ONE] - stop[..., NONE_YET])[..., None]
        return first, take[..., HAS_ONE, :], _with_mean(self.root), stop[..., NONE_YET].sum(axis=-1)

    def scores(self, tags: Ints) -> dict[PartKind, Doubles]:
        m, n = tags.shape
        if n > LONGEST:
            raise InputError(
                f"a sentence of {n} words: models with valence take at most {LONGEST}; split it, or "
                "use a model of arcs alone (crfae)"
            )
        words = np.arange(1, n + 1)
        sides = (words[None, :] > words[:, None]).astype(np.int64)
        at = (tags[:, :, None], sides[None], tags[:, None, :])
        firsts, laters, roots, _ = self._tables
        first, later = firsts[at], laters[at]
        never_later = later == -np.inf
        base = np.where(never_later, 0.0, later)
        arcs = np.zeros((m, n + 1, n + 1))
        arcs[:, 0, 1:] = roots[tags]
        arcs[:, 1:, 1:] = np.where(never_later & (first == -np.inf), -np.inf, base)
        siblings = np.zeros((m, n + 1, n + 1, n + 1))
        if never_later.any():
            siblings[:, 1:, 1:, :] = np.where(never_later, -np.inf, 0.0)[..., None]
        siblings[:, words[:, None], words[None, :], words[:, None]] = first - base
        return {PartKind.ARC: arcs, PartKind.SIBLING: siblings}

    def constants(self, tags: Ints) -> Doubles:
        """What all trees of a sentence share, (m,): log P(sentence) is this plus log Z of `scores`."""
        return self._tables[-1][tags].sum(axis=-1)

    def tensors(self) -> dict[str, NDArray[Any]]:
        return {"root": self.root, "child": self.child, "stop": self.stop, "go_on": self.go_on}

    @classmethod
    def from_file(cls, file: ModelFile, **known: Any) -> Self:
        t = len(known["tags"])
        shapes = {"root": [t], "child": [t, 2, 2, t], "stop": [t, 2, 2], "go_on": [t, 2, 2]}
        logs: dict[str, Any] = {name: file.tensor(name, np.float64, shape) for name, shape in shapes.items()}
        finite = np.concatenate([values[values != -np.inf] for values in logs.values()])
        if not ((finite <= 1e-6) & (finite >= LEAST_LOG)).all():  # false for NaN
            raise file.error("expected logs of probabilities; the file is damaged")
        return cls(**logs, **known)


def _with_mean(logs: Doubles, axis: int = 0) -> Doubles:
    """Append the log of the mean probability along an axis."""
    with np.errstate(divide="ignore"):
        mean = np.log(np.exp(logs).mean(axis=axis, keepdims=True))
    return np.concatenate([logs, mean], axis=axis)


@dataclass(frozen=True, eq=False)
class Counts:
    """How often each choice is made; axes as in `ValenceModel`."""

    root: Doubles
    child: Doubles
    stop: Doubles

    @classmethod
    def zeros(cls, tags: int) -> Counts:
        return cls(np.zeros(tags), np.zeros((tags, 2, 2, tags)), np.zeros((tags, 2, 2)))

    @property
    def go_on(self) -> Doubles:
        return self.child.sum(axis=-1)

    @property
    def decisions(self) -> Doubles:
        return np.stack([self.stop, self.go_on], axis=-1)

    def add(self, tags: Ints, arcs: Doubles, nearest: Doubles, weights: Doubles) -> None:
        """Add m sentences (m, n) with weights (m,); arrays (m, n+1, n+1), or (n+1, n+1) for all. O(m n²)."""
        m, n = tags.shape
        t = len(self.root)
        words = np.arange(n)
        sides = (words[None, :] > words[:, None]).astype(np.int64)
        at = ((tags[:, :, None] * 2 + sides) * np.int64(t) + tags[:, None, :]).ravel()

        def by_tags(counts: Doubles) -> Any:
            return np.bincount(at, counts.ravel(), minlength=2 * t * t).reshape(t, 2, t)

        between, first = (
            np.where(words[:, None] == words, 0.0, np.broadcast_to(each[..., 1:, 1:], (m, n, n)))
            * weights[:, None, None]
            for each in (arcs, nearest)
        )
        firsts = by_tags(first)
        self.child[:, :, NONE_YET] += firsts
        # Rounding may leave a little less than 0.
        self.child[:, :, HAS_ONE] += np.maximum(by_tags(between - first), 0.0)
        roots = np.broadcast_to(arcs[..., 0, 1:], (m, n)) * weights[:, None]
        self.root[:] += np.bincount(tags.ravel(), roots.ravel(), minlength=t)
        seen = np.bincount(tags.ravel(), np.repeat(weights, n), minlength=t)
        with_one = firsts.sum(axis=-1)
        self.stop[:, :, HAS_ONE] += with_one
        self.stop[:, :, NONE_YET] += np.maximum(seen[:, None] - with_one, 0.0)


class Sentences:
    """A corpus by length, with equal sentences once."""

    def __init__(self, corpus: TagCorpus, owner: str) -> None:
        self.tags = corpus.tags
        self.words = corpus.words
        self.pieces: list[tuple[Ints, Doubles]] = []
        """Different sentences of one length, (m, n), and how often each occurs, (m,)."""
        counts = Counter(tuple(sentence.tolist()) for sentence in corpus.sentences)
        distinct = sorted(counts)
        weights = np.array([counts[sentence] for sentence in distinct], dtype=np.float64)
        for places, tags in by_length([np.array(sentence, dtype=np.int32) for sentence in distinct]):
            if tags.shape[1] > LONGEST:
                what = f"a sentence of {tags.shape[1]} words, expected at most {LONGEST}"
                raise InputError(f"{owner}: {what}; learn from shorter ones")
            self.pieces.append((tags, weights[places]))

    def counts(
        self, model: ValenceModel, *, best_only: bool, bonus: Doubles | None = None, threads: int = 1
    ) -> tuple[float, Counts]:
        """log P and expected counts (or of the best trees); `bonus` [head, the root last, dep] is added."""
        total, counts = 0.0, Counts.zeros(len(self.tags))
        family = {**model.family, "threads": threads}
        for tags, weights in self.pieces:
            scores = model.scores(tags)
            if bonus is not None:
                scores[PartKind.ARC][:, 0, 1:] += bonus[-1][tags]
                scores[PartKind.ARC][:, 1:, 1:] += bonus[tags[:, :, None], tags[:, None, :]]
            if best_only:
                arcs, nearest = tree_parts(best_heads(*scores.values(), **family))
                parts = np.where(arcs > 0, scores[PartKind.ARC], 0.0)
                parts += np.where(nearest > 0, nearest_entries(scores[PartKind.SIBLING]), 0.0)
                logs = parts.sum(axis=(1, 2))
            else:
                given = {"siblings": list(scores[PartKind.SIBLING]), **family}
                logs = inference.log_partition(list(scores[PartKind.ARC]), **given)
                found: Any = inference.marginals(list(scores[PartKind.ARC]), **given)
                arcs = np.stack([each.arcs for each in found])
                nearest = np.stack([nearest_entries(each.siblings) for each in found])
            total += float(weights @ (logs + model.constants(tags)))
            counts.add(tags, arcs, nearest, weights)
        return total, counts


def nearest_entries(siblings: Doubles) -> Doubles:
    """The entries of nearest dependents: (..., n+1, n+1), [head, dependent]."""
    nodes = np.arange(siblings.shape[-1])
    return siblings[..., nodes[:, None], nodes[None, :], nodes[:, None]]


def tree_parts(heads: Ints) -> tuple[Doubles, Doubles]:
    """1 for each arc, and for each to the nearest dependent of a side: (m, n+1, n+1); heads (m, n+1)."""
    nodes = np.arange(heads.shape[1])
    arcs = as_arcs(heads)
    right = nodes[None, :] > nodes[:, None]
    after, before = arcs * right, arcs * ~right
    is_first = np.where(right, after.cumsum(axis=2), before[:, :, ::-1].cumsum(axis=2)[:, :, ::-1]) == 1
    return arcs, arcs * is_first
