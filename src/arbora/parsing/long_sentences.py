"""Very long sentences: parsed in pieces, so that time and memory grow linearly with their length.

A search that takes quadratic memory gets pieces of at most `longest` words. Cuts are made after final
punctuation if possible, else after other punctuation, else anywhere, but never between a word and a head that
is to be kept. The root of the first piece, or of the one that has a given root, is that of the sentence; the
roots of the other pieces depend on it, as parataxis if the parser has such a label. Parsers of trees with
several roots keep them all.
"""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np

from arbora.data.columns import TEXT_COLUMNS, Columns
from arbora.data.encode import Batch, GuideTrees
from arbora.errors import InputError
from arbora.search.base import Search
from arbora.search.confidence import Confidence
from arbora.search.request import ParseRequest
from arbora.types import Bools, Ints, Longs

LABEL = "parataxis"
FINAL = frozenset(".?!…;。？！；؟۔।")
OTHER = frozenset(",:–—、，：،")
ADDED = ("entropies", "log_probabilities", "scores")

logger = logging.getLogger("arbora")


class Pieces:
    """The pieces of a batch that has long sentences, and how to join their trees."""

    def __init__(self, batch: Batch, search: Search, longest: int, *, keep_heads: bool) -> None:
        columns = batch.columns
        heads = batch.heads if keep_heads else np.full(batch.words, -1, np.int32)
        offsets = columns.offsets.tolist()
        ranks = _ranks_of_cuts(columns)
        starts: list[int] = []
        self.firsts: list[int] = []  # piece of each sentence
        for s, length in enumerate(batch.lengths.tolist()):
            first, last = offsets[s], offsets[s + 1]
            self.firsts.append(len(starts))
            starts += _starts(first, last, longest, ranks, heads)
            if length > longest:
                logger.warning(
                    f"{columns.source}:{columns.lines[first]}: a sentence of {length:,} words is parsed in "
                    f"{len(starts) - self.firsts[-1]} pieces of at most {longest:,}"
                )
        self.starts = np.array([*starts, batch.words], dtype=np.int64)
        self.sentences = columns.offsets
        self.lengths = np.diff(self.starts)
        self.is_single = search.roots == "single"
        self.given_heads = heads
        labels = batch.names.labels
        self.label = labels.index(LABEL) if LABEL in labels and search.label_count else None
        self.batch = self._cut(batch, keep_heads)

    def _cut(self, batch: Batch, keep_heads: bool) -> Batch:
        columns = batch.columns
        texts = {name: (columns.ids(name), columns.strings(name)) for name in TEXT_COLUMNS}
        made = Batch(Columns.from_arrays(self.starts, texts, source=columns.source), batch.names)
        if keep_heads:
            made.set_heads(self._within(batch.heads))
        if batch.names.guide is None and batch.guide is not None:
            heads, labels, names = batch.guide
            made.set_guide(GuideTrees(self._within(heads), labels, names))
        return made

    def _shifts(self) -> Ints:
        """For each word, how many words of its sentence are before its piece."""
        sentences = np.searchsorted(self.sentences, self.starts[:-1], side="right") - 1
        return np.repeat(self.starts[:-1] - self.sentences[sentences], self.lengths).astype(np.int32)

    def _within(self, heads: Ints) -> Ints:
        """Heads of whole sentences as those of pieces; a head in another piece is its root."""
        inner = heads - self._shifts()
        is_inside = (inner >= 1) & (inner <= np.repeat(self.lengths, self.lengths))
        return np.where(heads < 0, heads, np.where(is_inside, inner, 0)).astype(np.int32)

    def join(self, heads: Ints, labels: Ints) -> tuple[Ints, Ints]:
        """The heads and labels of whole sentences."""
        roots = heads == 0
        heads = np.where(roots, 0, heads + self._shifts()).astype(np.int32)
        if self.is_single:
            labels = labels.copy()
            for s in np.flatnonzero(np.diff([*self.firsts, len(self.lengths)]) > 1):
                here = slice(self.sentences[s], self.sentences[s + 1])
                self._attach(heads[here], labels[here], roots[here], self.given_heads[here] == 0)
        return heads, labels

    def _attach(self, heads: Ints, labels: Ints, roots: Bools, given: Bools) -> None:
        """Let the roots of the pieces of one sentence depend on one of them, in place."""
        [*places] = np.flatnonzero(roots).tolist()
        main = int(np.flatnonzero(given)[0]) if given.any() else places[0]
        for place in places:
            if place != main and not given[place]:
                heads[place] = main + 1
                if self.label is not None:
                    labels[place] = self.label

    def joined(self, confidence: Confidence) -> Confidence:
        """Probabilities of whole sentences: those of the pieces, which are independent."""
        heads, labels = self.join(confidence.heads, confidence.labels)
        sums = {name: np.add.reduceat(getattr(confidence, name), self.firsts) for name in ADDED}
        counts = np.ones(len(self.firsts), np.int64)
        return replace(confidence, counts=counts, heads=heads, labels=labels, **sums)


def pieces_of(batch: Batch, search: Search, request: ParseRequest) -> Pieces | None:
    """The pieces of a batch; None if no sentence is too long for the search.

    InputError for what cannot be computed in pieces: lists of trees, tables of arcs, given trees.
    """
    longest = search.longest
    if longest is None or not len(batch) or batch.lengths.max() <= longest:
        return None
    cannot = {
        "to list trees (k)": request.k > 0,
        "for a table of all arcs (arc_table)": request.arc_table,
        "for probabilities of given trees": request.decode == "given",
    }
    for purpose, is_requested in cannot.items():
        if is_requested:
            s = int(np.argmax(batch.lengths > longest))
            columns = batch.columns
            raise InputError(
                f"expected at most {longest:,} words {purpose}, got {batch.lengths[s]:,}; split the "
                "sentence, or ask for its best tree only",
                field=f"sentence {s}",
                where=f"{columns.source}:{columns.lines[columns.offsets[s]]}",
            )
    return Pieces(batch, search, longest, keep_heads=request.keep_heads)


def without_long(columns: Columns, *searches: Search) -> Columns:
    """The sentences that none of the searches parses in pieces."""
    longest = min((each.longest for each in searches if each.longest is not None), default=None)
    if longest is None or (is_short := np.diff(columns.offsets) <= longest).all():
        return columns
    return columns.select(np.flatnonzero(is_short))


def _ranks_of_cuts(columns: Columns) -> Longs:
    """How good a cut after each word is: 2 after final punctuation, 1 after other, 0 elsewhere."""

    def rank(form: str) -> int:
        return 2 if form[-1:] in FINAL else int(form[-1:] in OTHER)

    ranks = np.array([rank(form) for form in columns.strings("form")], dtype=np.int64)
    punctuation = np.array([tag == "PUNCT" for tag in columns.strings("upos")])
    return np.asarray(np.maximum(ranks[columns.ids("form")], punctuation[columns.ids("upos")]))


def _starts(first: int, last: int, longest: int, ranks: Longs, heads: Ints) -> list[int]:
    """Where the pieces of the sentence of words first to last - 1 start."""
    starts = [first]
    if last - first <= longest:
        return starts
    # How many given arcs cross the place before each word.
    crossing = np.zeros(last - first + 1, np.int64)
    deps = np.flatnonzero(heads[first:last] > 0)
    ends = heads[first:last][deps] - 1
    np.add.at(crossing, np.minimum(deps, ends) + 1, 1)
    np.add.at(crossing, np.maximum(deps, ends) + 1, -1)
    is_free = np.cumsum(crossing) == 0
    while last - starts[-1] > longest:
        start = starts[-1]
        places = np.arange(start + 1, start + longest + 1)
        places = places[is_free[places - first]]
        if not len(places):
            raise InputError(
                f"expected given heads between which sentences of more than {longest:,} words can be cut, "
                f"got arcs across all of words {start - first + 1} to {start - first + longest}; give fewer"
            )
        late = places[places > start + longest // 2]
        candidates = late if len(late) else places
        best = ranks[candidates - 1].max() if len(late) else 0
        starts.append(int(candidates[ranks[candidates - 1] >= best][-1]))
    return starts
