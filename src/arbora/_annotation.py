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


def training_heads(columns: Columns, trees: Trees, roots: Roots, how: Projectivize) -> NDArray[np.int32]:
    """The heads of all words, those of crossing arcs changed where trees are to be projective. Shape (W,).

    In sentences that are known in part, `flatten` has no path to lift along: as few heads as can be are
    changed there in any case, and unknown ones stay unknown.
    """
    heads = np.array(columns.heads)
    if trees == "nonprojective":
        return heads
    crossing, _, _ = measure_trees(columns.heads, columns.offsets)
    for first, last in pairwise(columns.offsets.tolist()):
        part = heads[first:last]
        if (part < 0).any():
            heads[first:last] = _nearest_projective(part, roots)
        elif crossing[first:last].any():
            heads[first:last] = projectivize(Tree.from_heads(part.tolist()), how).heads[1:]
    return heads


def _nearest_projective(heads: NDArray[np.int32], roots: Roots) -> NDArray[np.int32]:
    """Known heads, as few changed as can be for a projective tree to have them all; O(n³)."""
    known = np.flatnonzero(heads >= 0)
    scores = np.zeros((len(heads) + 1, len(heads) + 1))
    scores[:, known + 1] = -1.0
    scores[heads[known], known + 1] = 1.0
    nearest = np.asarray(argmax(scores, trees="projective", roots=roots).heads[1:], dtype=np.int32)
    return np.where(heads >= 0, nearest, heads)
