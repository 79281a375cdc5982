"""Checks of treebanks to train on, the heads that training uses, and folds for jackknifing."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arbora._core import measure_trees
from arbora.data.columns import Columns, TextColumn
from arbora.data.encode import INPUT_COLUMNS, Names, filled
from arbora.data.projectivize import Encoding, PseudoProjective, projectivize
from arbora.data.tree import Tree
from arbora.errors import DataError, InputError
from arbora.inference import argmax
from arbora.interfaces import Roots, Trees
from arbora.pipeline.words import numbers
from arbora.progress import Observer
from arbora.types import Ints, Longs

Projectivize: TypeAlias = Literal["flatten", "minimum-loss", "pseudo-projective"]

logger = logging.getLogger("arbora")

SUSPICIOUS: tuple[tuple[TextColumn, str, float, int], ...] = (
    ("upos", "UPOS tags", 0.5, 1),
    ("deprel", "labels", 0.5, 1),
    ("form", "words", 0.65, 5000),
)
"""For each column: what it holds, the share of unknown values in dev that is suspicious, and the least number
of words in train. At least half of the words of dev are known in a large treebank of the same language."""

BLOCK = 16
"""Sentences that stay together in a fold, since neighbours are alike."""


def check_treebank(
    columns: Columns, what: str = "the treebank to train on", *, labelled: bool = False, partial: bool = False
) -> None:
    """DataError unless there are words and each has a head, and a label if `labelled`.

    `partial`: some heads may be unknown; words with a head still need a label.
    """
    check_words(columns, what)
    unknown = columns.heads < 0
    if not partial:
        advice = "; learners that need only marginals (adagrad, log_linear) can train on partial trees"
        _check_filled(columns, "HEAD", "head", unknown, advice)
    elif unknown.all():
        raise DataError(
            f"{what} has no word with a head; at least one is needed to learn from", source=columns.source
        )
    if labelled:
        advice = '; to train without labels: --labels none, or labels = "none" in a configuration'
        _check_filled(columns, "DEPREL", "label", (columns.ids("deprel") == 0) & ~unknown, advice)


def check_words(columns: Columns, what: str = "the text to learn from", **_: bool) -> None:
    """DataError unless there are words."""
    if not columns.words:
        raise DataError(f"{what} has no words; is it the right file?", source=columns.source)


def _check_filled(columns: Columns, column: str, name: str, empty: NDArray[np.bool_], advice: str) -> None:
    missing = np.flatnonzero(empty)
    if len(missing):
        raise DataError(
            f"{column}: expected a {name} for every word, got `_` ({len(missing):,} words have none){advice}",
            source=columns.source,
            line=int(columns.lines[missing[0]]),
        )


def is_complete(columns: Columns, *, labelled: bool) -> NDArray[np.bool_]:
    """Whether each sentence would pass `check_treebank`. Shape (S,)."""
    missing = columns.heads < 0
    if labelled:
        missing = missing | (columns.ids("deprel") == 0)
    return ~columns.any_word(missing)


def check_dev(dev: Columns, train: Columns, observer: Observer, *, labelled: bool) -> None:
    """DataError if dev lacks a column of train; notes about values that only dev has."""
    check_treebank(dev, "the dev treebank", labelled=labelled)
    for column in INPUT_COLUMNS:
        in_train, in_dev = filled(train, column), filled(dev, column)
        if in_train and not in_dev:
            raise DataError(
                f"{column.upper()}: {in_train:,} of {train.words:,} words of train have it, none of "
                f"{dev.words:,} of dev; a parser trained with a column needs it to parse, so give both "
                "or neither",
                source=dev.source,
            )
        if in_dev and not in_train:
            observer.note(
                f"{dev.source}: {column.upper()} is ignored: {in_dev:,} of {dev.words:,} words of dev have "
                "it, none of train"
            )
    new = sorted(set(Names.of(dev).labels) - set(Names.of(train).labels))
    if new:
        observer.note(f"{dev.source}: labels that are not in train count as wrong: {', '.join(new)}")


def warn_of_unlike_dev(dev: Columns, train: Columns) -> None:
    """Warn if dev seems to be of another language or annotation scheme."""
    for column, what, share, words in SUSPICIOUS:
        known = numbers(dev, column, train.strings(column)) >= 0
        given = dev.ids(column) != 0
        unknown, count = int(np.count_nonzero(given & ~known)), int(np.count_nonzero(given))
        if train.words >= words and filled(train, column) and unknown > share * count:
            logger.warning(
                f"{dev.source}: {unknown:,} of {count:,} {what} of dev are not in train; is it a treebank of "
                "the same language, annotated in the same way?"
            )
            return


def crossing_arcs(columns: Columns) -> NDArray[np.bool_]:
    """Whether each word's arc is non-projective. Shape (W,), O(W).

    In a partial tree nothing says which words an arc's head dominates: there, of two arcs that cross, the one
    that begins later counts. O(n²) for each such sentence.
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


def single_root_heads(columns: Columns) -> Ints:
    """The heads of all words, with later roots attached to the first. Shape (W,).

    No further arcs cross: each word between two roots depends on one of them, or on another root.
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


def training_heads(columns: Columns, trees: Trees, roots: Roots, how: Projectivize) -> Ints:
    """The heads of all words, changed to fit the family of trees. Shape (W,).

    Partial trees stay as they are; see `filled_heads`. Arcs to be lifted with marks in labels still cross;
    see `lift`.
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


def filled_heads(columns: Columns, heads: Ints, trees: Trees, roots: Roots) -> Ints:
    """Heads with partial trees completed to trees of the family.

    As many known heads as possible are kept; the others are close to their words.
    """
    filled = heads.copy()
    for first, last in pairwise(columns.offsets.tolist()):
        if (heads[first:last] < 0).any():
            filled[first:last] = _nearest_tree(heads[first:last], trees, roots)
    return filled


def _nearest_tree(heads: Ints, trees: Trees, roots: Roots) -> Ints:
    nodes = np.arange(len(heads) + 1)
    # All distances together count less than one known head.
    scores = -np.abs(nodes[:, None] - nodes) / (4.0 * len(nodes) ** 2)
    known = np.flatnonzero(heads >= 0)
    scores[heads[known], known + 1] += 1.0
    return np.asarray(argmax(scores, trees=trees, roots=roots).heads[1:], dtype=np.int32)


def lift(columns: Columns, heads: Ints, encoding: Encoding) -> tuple[Ints, Columns, Names, PseudoProjective]:
    """Heads to train on, shape (W,), the treebank with marked labels, its names, and the encoding.

    `heads` are the treebank's own or replace them. The marks do not occur in the treebank's labels.
    """
    plain = Names.of(columns)
    how = PseudoProjective.for_labels(plain.labels, encoding)
    heads, marked = how.encode_columns(columns, heads)
    names = Names.of(marked)
    # A label that always has a mark in the treebank may be needed without it.
    return heads, marked, replace(names, labels=tuple(dict.fromkeys((*names.labels, *plain.labels)))), how


class Fold(NamedTuple):
    """One fold of a treebank, to be annotated by a model that was trained on the rest."""

    rest: Columns
    held: Columns
    words: Longs
    """The indices of the held words in the whole treebank."""


def fold_names(folds: int, prefix: str = "") -> list[str]:
    """`fold 1 of 5` and so on."""
    return [f"{prefix}fold {number} of {folds}" for number in range(1, folds + 1)]


def jackknife(columns: Columns, folds: int) -> Iterator[Fold]:
    """Every fold with the sentences that are not in it; blocks of sentences are dealt into folds in turn."""
    numbers = np.arange(len(columns))
    part = numbers // (BLOCK if len(columns) >= folds * BLOCK else 1) % folds
    yield from split(columns, part, folds)


def share_of(text: object, name: str = "dev", most: float = 0.5) -> float | None:
    """The share given by a text such as `10%`; None if it is not one. InputError for one above `most`.

    `name`: of the argument, for the error.
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%\s*", text) if isinstance(text, str) else None
    if found is None:
        return None
    share = float(found[1]) / 100
    if not 0 < share <= most:
        what = f"expected more than 0% and at most {most:.0%} of the treebank, got {text}"
        raise InputError(what, field=name)
    return share


def hold_out(columns: Columns, share: float, *, labelled: bool = True) -> tuple[Columns, Columns]:
    """The treebank without a share of its sentences, and these; in blocks, spread evenly.

    Sentences that lack a head or label are never held out. InputError if nothing would be left on one side.
    """
    numbers = np.arange(len(columns))
    block = numbers // BLOCK if share * len(columns) >= 5 * BLOCK else numbers
    is_held = np.floor((block + 1) * share) > np.floor(block * share)
    is_held &= is_complete(columns, labelled=labelled)
    if not is_held.any() or is_held.all():
        complete = int(is_complete(columns, labelled=labelled).sum())
        what = f"expected more sentences with all heads and labels, got {complete} of {len(columns)}"
        raise InputError(f"{what}; name a dev treebank", field="dev")
    rest, held = (columns.select(np.flatnonzero(chosen)) for chosen in (~is_held, is_held))
    return rest, held


def split(columns: Columns, part: Longs, folds: int) -> Iterator[Fold]:
    """The folds that are numbered by `part`, which has shape (S,)."""
    part_of_word = np.repeat(part, np.diff(columns.offsets))
    for fold in range(folds):
        rest, held = (columns.select(np.flatnonzero(chosen)) for chosen in (part != fold, part == fold))
        yield Fold(rest, held, np.flatnonzero(part_of_word == fold))
