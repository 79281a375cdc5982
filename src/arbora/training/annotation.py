"""What a treebank must have to be trained on, and the heads that training sees."""

from __future__ import annotations

import logging
from dataclasses import replace
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arbora._core import measure_trees
from arbora.data.columns import Columns, TextColumn
from arbora.data.encode import INPUT_COLUMNS, Names, filled, numbers_of
from arbora.data.projectivize import projectivize
from arbora.data.pseudo_projective import Encoding, PseudoProjective
from arbora.data.tree import Tree
from arbora.errors import DataError
from arbora.inference import argmax
from arbora.interfaces import Roots, Trees
from arbora.progress import Observer

Projectivize: TypeAlias = Literal["flatten", "minimum-loss", "pseudo-projective"]
Heads: TypeAlias = NDArray[np.int32]

logger = logging.getLogger("arbora")

STRANGE: tuple[tuple[TextColumn, str, float, int], ...] = (
    ("upos", "UPOS tags", 0.5, 1),
    ("deprel", "labels", 0.5, 1),
    ("form", "words", 0.65, 5000),
)
"""Of each column: what is in it, which share of unknown ones in dev is strange, and in how many words of
train. Of a large treebank's own language, five words in ten are known at the least."""


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
        advice = '; to learn trees without labels: --labels none, or in a configuration labels = "none"'
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


def is_complete(columns: Columns, *, labelled: bool) -> NDArray[np.bool_]:
    """Of each sentence, whether every word has what `check_treebank` asks for. Shape (S,)."""
    missing = columns.heads < 0
    if labelled:
        missing = missing | (columns.ids("deprel") == 0)
    before = np.concatenate([[0], np.cumsum(missing)])
    return np.asarray(np.diff(before[columns.offsets]) == 0)


def check_dev(dev: Columns, train: Columns, observer: Observer, *, labelled: bool) -> None:
    """DataError where dev cannot judge what was learned from train; a note about what only dev has."""
    check_treebank(dev, "the dev treebank", labelled=labelled)
    for column in INPUT_COLUMNS:
        learned, judged = filled(train, column), filled(dev, column)
        if learned and not judged:
            raise DataError(
                f"{column.upper()}: {learned:,} of {train.words:,} words of train have it, none of "
                f"{dev.words:,} of dev; a parser trained with a column needs it to parse, so give both "
                "or neither",
                source=dev.source,
            )
        if judged and not learned:
            observer.note(
                f"{dev.source}: {column.upper()} is ignored: {judged:,} of {dev.words:,} words of dev have "
                "it, none of train"
            )
    new = sorted(set(Names.of(dev).labels) - set(Names.of(train).labels))
    if new:
        observer.note(f"{dev.source}: labels that training never shows count as wrong: {', '.join(new)}")


def warn_of_strange_dev(dev: Columns, train: Columns) -> None:
    """A warning where dev looks like a treebank of another language, or of another way to annotate."""
    for column, what, share, words in STRANGE:
        known = numbers_of(dev.strings(column), train.strings(column))[dev.ids(column)] >= 0
        given = dev.ids(column) != 0
        unknown, count = int(np.count_nonzero(given & ~known)), int(np.count_nonzero(given))
        if train.words >= words and filled(train, column) and unknown > share * count:
            logger.warning(
                f"{dev.source}: {unknown:,} of {count:,} {what} of dev are never in train; is it a "
                "treebank of the same language, annotated in the same way?"
            )
            return


def crossing_arcs(columns: Columns) -> NDArray[np.bool_]:
    """Which words' arcs cross others: in whole trees the non-projective ones. Shape (W,), O(W).

    Where some heads are unknown there is no tree to say who dominates whom: of two known arcs that cross, the
    one that begins later counts. O(n²) for each such sentence.
    """
    marks, depths, _ = measure_trees(columns.heads, columns.offsets)
    crossing = np.array(marks, dtype=np.bool_)
    for s in np.flatnonzero(depths < 0).tolist():
        first, last = columns.offsets[s], columns.offsets[s + 1]
        heads = columns.heads[first:last]
        known = np.flatnonzero(heads >= 0)
        left, right = np.minimum(heads[known], known + 1), np.maximum(heads[known], known + 1)
        inside = (left[:, None] > left) & (left[:, None] < right) & (right[:, None] > right)
        crossing[first + known[inside.any(axis=1)]] = True
    return crossing


def single_root_heads(columns: Columns) -> Heads:
    """The heads of all words; of several roots, the later ones depend on the first. Shape (W,).

    No arcs cross that did not before: what stands between two roots depends on one of them, or on another.
    """
    heads = np.array(columns.heads)
    roots = np.flatnonzero(heads == 0)
    sentence = np.searchsorted(columns.offsets, roots, side="right") - 1
    found, first = np.unique(sentence, return_index=True)
    first_root = np.zeros(len(columns), dtype=np.int64)
    first_root[found] = roots[first]
    later = roots != first_root[sentence]
    heads[roots[later]] = (first_root[sentence] - columns.offsets[sentence] + 1)[later]
    return heads


def training_heads(columns: Columns, trees: Trees, roots: Roots, how: Projectivize) -> Heads:
    """The heads of all words, changed where crossing arcs or several roots may not be. Shape (W,).

    Sentences that are known in part stay as they are; see `filled_heads`. Arcs that are to be lifted with
    marks in labels still cross; see `lift`.
    """
    heads = single_root_heads(columns) if roots == "single" else np.array(columns.heads)
    if trees == "nonprojective" or how == "pseudo-projective":
        return heads
    crossing, _, _ = measure_trees(heads, columns.offsets)
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


def lift(
    columns: Columns, heads: Heads, encoding: Encoding
) -> tuple[Heads, Columns, Names, PseudoProjective]:
    """Heads to train on, shape (W,), the treebank with marked labels, its names, and how they are marked.

    `heads` are the treebank's own, or what stands for them. The marks are such as no label of it contains.
    """
    plain = Names.of(columns)
    how = PseudoProjective.for_labels(plain.labels, encoding)
    heads, marked = how.encode_columns(columns, heads)
    names = Names.of(marked)
    # A label that is never without a mark may be needed without it.
    return heads, marked, replace(names, labels=tuple(dict.fromkeys((*names.labels, *plain.labels)))), how
