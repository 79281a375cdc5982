"""What `arbora parse` writes when it is asked how sure it is, and what it says when several models parse."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from arbora.data import conllx
from arbora.data.batch import Batch
from arbora.data.columns import Columns
from arbora.data.encode import numbers_of
from arbora.errors import NoTreeError
from arbora.parsing.ensemble import Combined
from arbora.parsing.parsed import RANK, Parsed, keep_labels, make_parsed
from arbora.parsing.parser import Parser

logger = logging.getLogger("arbora")


class DecodeChoice(StrEnum):
    """Which tree of many is given."""

    ARGMAX = "argmax"
    MINIMUM_RISK = "minimum-risk"


@dataclass(frozen=True)
class Wanted:
    """What is to be found out about each sentence."""

    decode: DecodeChoice = DecodeChoice.ARGMAX
    probabilities: bool = False
    kbest: int = 0
    """So many trees of each sentence; 0: the one that is decoded."""
    threads: int = 1
    keep_heads: bool = False
    """Heads that the input has stay, with their labels."""

    @property
    def is_more_than_trees(self) -> bool:
        """Whether the output has places for probabilities."""
        return self.probabilities or self.kbest > 0


class Gains:
    """How often several models agree and, where the input had trees, what the combination gains."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._words = self._agreed = 0
        self._right = np.zeros((len(names) + 1, 2), dtype=np.int64)
        self._has_gold_heads = True

    def count(self, batch: Batch, combined: Combined) -> None:
        """One more piece."""
        columns, labels = batch.columns, batch.names.labels
        self._words += columns.words
        self._agreed += int(np.count_nonzero(combined.agreement))
        self._has_gold_heads = self._has_gold_heads and bool(np.all(columns.heads >= 0))
        gold = numbers_of(columns.strings("deprel"), labels)[columns.ids("deprel")]
        for i, (heads, own) in enumerate([*combined.alone, (combined.heads, combined.labels)]):
            right = heads == columns.heads
            self._right[i] += [np.count_nonzero(right), np.count_nonzero(right & (own == gold))]

    def lines(self) -> Iterator[str]:
        """What there is to say."""
        if not self._words:
            return
        yield f"the {len(self._names)} models agree on {100 * self._agreed / self._words:.2f}% of the heads"
        if not self._has_gold_heads:
            return
        yield "against the trees that the input had:"
        for name, (heads, arcs) in zip(
            [*self._names, "together"], (100 * self._right / self._words).tolist(), strict=True
        ):
            yield f"  {name}: UAS {heads:.2f}, LAS {arcs:.2f}"


def find_parsed(source: Parser, columns: Columns, wanted: Wanted) -> Iterator[list[Parsed]]:
    """The trees of each sentence, one or the k best."""
    with no_tree_located(source, columns):
        found = source.confidence(
            columns,
            decode=wanted.decode.value,
            k=wanted.kbest,
            keep_heads=wanted.keep_heads,
            threads=wanted.threads,
        )
    trees = make_parsed(columns.sentences(), found, source.names.labels, source)
    if not wanted.keep_heads:
        return trees
    both = zip(trees, columns.sentences(), strict=True)
    return ([keep_labels(tree, given) for tree in each] for each, given in both)


@contextmanager
def no_tree_located(parser: Parser, columns: Columns) -> Iterator[None]:
    """Says on which line the sentence stands whose heads are in no tree."""
    try:
        yield
    except NoTreeError:
        for _, told in _without_trees(parser, columns):
            raise NoTreeError(f"{told} (--lenient skips such sentences)") from None
        raise


def with_trees(parser: Parser, columns: Columns) -> Columns:
    """Those sentences whose heads are in a tree; each other one is warned of."""
    bad = []
    for number, told in _without_trees(parser, columns):
        logger.warning("%s (sentence skipped)", told)
        bad.append(number)
    return columns.select(np.setdiff1d(np.arange(len(columns)), bad))


def _without_trees(parser: Parser, columns: Columns) -> Iterator[tuple[int, str]]:
    """The sentences whose heads are in no tree: their numbers, and what is wrong on which line."""
    for number, sentence in enumerate(columns.sentences()):
        try:
            parser.parse([sentence], keep_heads=True)
        except NoTreeError as error:
            yield number, f"{sentence.origin.source}:{sentence.origin.line}: {error}"


def show_conllu(trees: list[Parsed], wanted: Wanted) -> str:
    """Probabilities in MISC, if wanted, and comments; lines end as those that were read."""
    told = (_annotated(tree, i, len(trees), wanted).sentence for i, tree in enumerate(trees))
    return "".join(each.to_conllu().replace("\n", each.origin.newline) for each in told)


def show_conllx(trees: list[Parsed], wanted: Wanted) -> str:
    """What was read as CoNLL-X, as CoNLL-U."""
    return show_conllu([replace(t, sentence=conllx.to_conllu(t.sentence)) for t in trees], wanted)


def show_json(trees: list[Parsed], wanted: Wanted) -> str:
    """An object per tree and line."""
    lines = []
    for i, tree in enumerate(trees):
        told = tree.to_json()
        if wanted.kbest:
            told = {RANK: i + 1, "trees": len(trees), **told}
        lines.append(json.dumps(told, ensure_ascii=False) + "\n")
    return "".join(lines)


def _annotated(tree: Parsed, i: int, count: int, wanted: Wanted) -> Parsed:
    ranks = [f"# {RANK} = {i + 1}/{count}"] if wanted.kbest else []
    told = tree.annotated(*ranks)
    return replace(tree, sentence=told if wanted.probabilities else replace(told, misc=tree.sentence.misc))


Show = Callable[[list[Parsed], Wanted], str]


def tree_arrays(
    source: Parser, columns: Columns, wanted: Wanted
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Heads and labels alone."""
    with no_tree_located(source, columns):
        return source.trees(
            columns, decode=wanted.decode.value, keep_heads=wanted.keep_heads, threads=wanted.threads
        )


def kept_labels(
    columns: Columns, labels: NDArray[np.int32], names: Sequence[str]
) -> tuple[NDArray[np.int32], Sequence[str]]:
    """Labels with those that came with given heads in their place; names that are new follow the others."""
    strings = columns.strings("deprel")
    known = set(names)
    names = (*names, *dict.fromkeys(name for name in strings if name not in known))
    given = numbers_of(strings, names)[columns.ids("deprel")]
    is_kept = (columns.heads >= 0) & (columns.ids("deprel") != 0)
    return np.where(is_kept, given, labels).astype(np.int32), names
