"""What a treebank must have to be trained on, and the heads that training sees."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arbora._core import measure_trees
from arbora._stages import Observer
from arbora.data.columns import Columns, TextColumn
from arbora.data.encode import Names
from arbora.data.projectivize import projectivize
from arbora.data.tree import Tree
from arbora.errors import DataError
from arbora.inference import argmax
from arbora.interfaces import Roots, Trees

Projectivize: TypeAlias = Literal["flatten", "minimum-loss"]
Heads: TypeAlias = NDArray[np.int32]


def check_treebank(
    columns: Columns,
    what: str = "the treebank to train on",
    *,
    labelled: bool = False,
    partial: bool = False,
) -> None:
    """DataError unless there are sentences and every word has a head, and a label where those are learned.

    `partial`: some heads may be unknown; words with a head must have a label still.
    """
    if not columns.words:
        raise DataError(f"{what} has no words; is it the right file?", source=columns.source)
    unknown = columns.heads < 0
    if not partial:
        advice = "; learners that ask for marginals alone (adagrad, log_linear) learn from what is known"
        _check_filled(columns, "HEAD", "head", unknown, advice)
    elif unknown.all():
        raise DataError(
            f"{what} has no word with a head; at least one is needed to learn from", source=columns.source
        )
    if labelled:
        advice = '; to learn trees without labels, choose labels = "none"'
        _check_filled(columns, "DEPREL", "label", (columns.ids("deprel") == 0) & ~unknown, advice)


def _check_filled(
    columns: Columns, column: str, name: str, empty: NDArray[np.bool_], advice: str = ""
) -> None:
    missing = np.flatnonzero(empty)
    if len(missing):
        raise DataError(
            f"{column}: expected a {name} for every word to learn from, got `_` "
            f"({len(missing):,} words have none){advice}",
            source=columns.source,
            line=int(columns.lines[missing[0]]),
        )


def check_dev(dev: Columns, train: Columns, observer: Observer, *, labelled: bool) -> None:
    """DataError where dev cannot judge what was learned from train; a note about labels that only dev has."""
    check_treebank(dev, "the dev treebank", labelled=labelled)
    columns: tuple[TextColumn, ...] = ("lemma", "upos", "xpos", "feats")
    for column in columns:
        filled = [bool(np.any(part.ids(column) != 0)) for part in (train, dev)]
        if filled[0] != filled[1]:
            there, not_there = ("train", "dev") if filled[0] else ("dev", "train")
            raise DataError(
                f"{column.upper()}: {there} has it, {not_there} has `_` everywhere; a parser trained with a "
                "column needs it to parse, so give both or neither",
                source=dev.source,
            )
    new = sorted(set(Names.of(dev).labels) - set(Names.of(train).labels))
    if new:
        observer.note(f"{dev.source}: labels that training never shows count as wrong: {', '.join(new)}")


def root_counts(columns: Columns) -> NDArray[np.int64]:
    """How many words of each sentence are known to hang on node 0. Shape (S,)."""
    return np.add.reduceat((columns.heads == 0).astype(np.int64), columns.offsets[:-1])


def check_roots(columns: Columns, roots: Roots) -> None:
    """DataError where a sentence has more roots than the trees that are summed over."""
    many = np.flatnonzero(root_counts(columns) > 1)
    if roots == "single" and len(many):
        raise DataError(
            f"roots: expected one root per sentence, got more ({len(many):,} sentences); "
            'choose roots = "multi", under which such trees have a probability',
            source=columns.source,
            line=int(columns.lines[columns.offsets[many[0]]]),
        )


def training_heads(columns: Columns, trees: Trees, how: Projectivize) -> Heads:
    """The heads of all words, those of crossing arcs changed where trees are to be projective. Shape (W,).

    Sentences that are known in part stay as they are; see `filled_heads`.
    """
    heads = np.array(columns.heads)
    if trees == "nonprojective":
        return heads
    crossing, _, _ = measure_trees(columns.heads, columns.offsets)
    offsets = columns.offsets
    for s in np.unique(np.searchsorted(offsets, np.flatnonzero(crossing), side="right") - 1):
        first, last = offsets[s], offsets[s + 1]
        heads[first:last] = projectivize(Tree.from_heads(heads[first:last].tolist()), how).heads[1:]
    return heads


def filled_heads(columns: Columns, heads: Heads, trees: Trees, roots: Roots) -> Heads:
    """A whole tree of the family for each sentence that is known in part, which has all heads that it can.

    Where known arcs cross and trees may not, as few heads as can be are changed. Unknown ones are near by.
    """
    filled = heads.copy()
    for first, last in pairwise(columns.offsets.tolist()):
        if (heads[first:last] < 0).any():
            filled[first:last] = _nearest_tree(heads[first:last], trees, roots)
    return filled


def _nearest_tree(heads: Heads, trees: Trees, roots: Roots) -> Heads:
    nodes = np.arange(len(heads) + 1)
    # All distances together count less than one known head.
    scores = -np.abs(nodes[:, None] - nodes) / (4.0 * len(nodes) ** 2)
    known = np.flatnonzero(heads >= 0)
    scores[heads[known], known + 1] += 1.0
    return np.asarray(argmax(scores, trees=trees, roots=roots).heads[1:], dtype=np.int32)
