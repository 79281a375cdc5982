"""Clusters of words from the files that a configuration names: vectors, or raw text.

Text is split into words by the model's own segmenter; without one, by rules. The exchange algorithm
[martin-1998] puts its frequent words into classes. A class has a vector, the square roots of the
probabilities of the classes before and after it, and these vectors are clustered as those of words are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np

from arbora._core import exchange_classes
from arbora.data.clusters import WordClusters, split_tree
from arbora.data.columns import Columns, columns_of
from arbora.data.raw_text import split_plainly
from arbora.errors import DataError
from arbora.pipeline.segmenter import Segmenter
from arbora.progress import Observer
from arbora.storage.files import file_checksum, read_text
from arbora.storage.vectors import read_vectors
from arbora.training.config import TrainConfig
from arbora.types import Doubles, Ints

MOST_WORDS = 120_000  # of vectors, the most frequent ones
LEAST_COUNT = 5  # of words of a text that have a cluster
CLASSES = 512
ROUNDS = 8  # of the exchange algorithm, at most
BOUNDARY = -1  # between sentences


def learn_clusters(
    config: TrainConfig, observer: Observer, segmenter: Segmenter | None = None
) -> WordClusters | None:
    """The clusters of a configuration with vectors or text; None without. The segmenter splits the text."""
    if config.vectors is not None:
        clusters = _of_vectors(config.vectors, file_checksum(config.vectors))
    elif config.text is not None:
        clusters = cluster_text(_split(config.text, segmenter), config.text)
    else:
        return None
    source, count = Path(config.vectors or config.text or "").name, len(set(clusters.native.codes().tolist()))
    observer.note(f"clusters: {len(clusters):,} words of {source} in {count:,} clusters")
    return clusters


@lru_cache(maxsize=1)  # `tune` trains with the same vectors again and again
def _of_vectors(path: str, checksum: int) -> WordClusters:
    return WordClusters.of_vectors(read_vectors(path, most=MOST_WORDS))


def cluster_text(pieces: Iterable[Columns], source: str = "<text>") -> WordClusters:
    """Clusters of the words of a text that occur at least LEAST_COUNT times, in lower case."""
    words, text = _number_words(pieces)
    counts = np.bincount(text[text != BOUNDARY], minlength=len(words))
    order = np.argsort(-counts, kind="stable")
    order = order[: np.count_nonzero(counts >= LEAST_COUNT)]
    if len(order) < 2:
        raise DataError(
            f"expected 2 or more words that occur at least {LEAST_COUNT} times, got {len(order)}; is it the "
            "right file?",
            source=source,
        )
    # Rare words share one number, and so a class, but have no cluster.
    numbers = np.full(len(words) + 1, len(order), np.int32)
    numbers[order] = np.arange(len(order), dtype=np.int32)
    numbers[BOUNDARY] = BOUNDARY
    frequent = numbers[text]
    classes = min(CLASSES, len(order) + 1)
    start = np.minimum(np.arange(len(order) + 1, dtype=np.int32), np.int32(classes - 1))
    found, _, _ = exchange_classes(frequent, start, classes, ROUNDS)
    of_text = np.where(frequent == BOUNDARY, classes, found[frequent])
    codes = split_tree(*_class_vectors(of_text, classes))
    return WordClusters.of([words[place] for place in order], codes[found[:-1]].tolist())


def _number_words(pieces: Iterable[Columns]) -> tuple[list[str], Ints]:
    """The words of a text in lower case, and the text as their numbers, with boundaries between sentences."""
    numbers: dict[str, int] = {}
    parts: list[Ints] = []
    for columns in pieces:
        own = [numbers.setdefault(form.lower(), len(numbers)) for form in columns.strings("form")]
        ids = np.array(own, np.int32)[columns.ids("form")]
        parts.append(np.insert(ids, columns.offsets[1:], BOUNDARY))
    return list(numbers), np.concatenate([np.zeros(0, np.int32), *parts])


def _class_vectors(text: Ints, classes: int) -> tuple[Doubles, Doubles]:
    """Vectors and counts of classes; the boundary is a further class in contexts."""
    pairs = np.bincount(text[:-1].astype(np.int64) * (classes + 1) + text[1:], minlength=(classes + 1) ** 2)
    follows = pairs.reshape(classes + 1, classes + 1)[:, :classes]
    after = pairs.reshape(classes + 1, classes + 1)[:classes]
    counts = np.bincount(text, minlength=classes + 1)[:classes].astype(np.float64)
    contexts = np.hstack([follows.T, after]) / np.maximum(counts, 1)[:, None]
    return np.sqrt(contexts), counts


def _split(path: str, segmenter: Segmenter | None) -> Iterator[Columns]:
    """The sentences of a text; without a segmenter, by rules."""
    if segmenter is not None:
        yield from (found.columns for found in segmenter.segment_stream(read_text(path)))
        return
    rest = ""
    for piece in read_text(path):
        lines, _, rest = (rest + piece).rpartition("\n")
        yield columns_of(split_plainly(lines))
    yield columns_of(split_plainly(rest))
