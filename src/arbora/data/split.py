"""Split a treebank into parts of given sizes, by sentence or by document."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

from arbora.data.columns import Columns
from arbora.errors import InputError
from arbora.types import Longs


def parse_shares(text: str) -> list[float]:
    """Return the numbers of a text such as `80/10/10`; InputError unless they are at least two, above 0."""
    try:
        shares = [float(each) for each in text.split("/")]
    except ValueError:
        shares = []
    if len(shares) < 2 or not all(math.isfinite(each) and each > 0 for each in shares):
        raise InputError(f"shares: expected numbers above 0, such as 80/10/10, got {text!r}")
    return shares


def document_starts(columns: Columns) -> Longs:
    """Return the numbers of the sentences that begin a document (`# newdoc`), and 0. O(S)."""
    starts = {0}
    for number, (comments, _, _) in enumerate(columns.extras()):
        if any(re.match(r"#\s*newdoc\b", comment) for comment in comments):
            starts.add(number)
    return np.array(sorted(starts), dtype=np.int64)


def split_sentences(
    columns: Columns, shares: Sequence[float], *, seed: int = 0, shuffle: bool = True, documents: bool = False
) -> list[Longs]:
    """Return the numbers of the sentences of each part, in the order of the treebank. O(S log S).

    `shares` may have any sum. Sentences are drawn at random, or follow each other without `shuffle`.
    `documents`: those of a document stay together, so sizes are only near the shares. InputError if a part
    would be empty.
    """
    starts = document_starts(columns) if documents else np.arange(len(columns))
    sizes = np.diff(np.append(starts, len(columns)))
    what = "documents" if documents else "sentences"
    if len(columns) == 0 or len(sizes) < len(shares):
        count = 0 if len(columns) == 0 else len(sizes)
        raise InputError(f"expected at least {len(shares)} {what}, one per part, got {count}")
    order = np.random.default_rng(seed).permutation(len(sizes)) if shuffle else np.arange(len(sizes))
    # A unit belongs to the part in which its middle lies.
    ends = len(columns) * np.cumsum(shares[:-1]) / sum(shares)
    cuts = np.searchsorted(np.cumsum(sizes[order]) - sizes[order] / 2, ends).tolist()
    for number, cut in enumerate(cuts):  # no part is empty
        least = 1 + (cuts[number - 1] if number else 0)
        cuts[number] = min(max(cut, least), len(sizes) - (len(cuts) - number))
    part_of_unit = np.empty(len(sizes), dtype=np.int64)
    part_of_unit[order] = np.searchsorted(cuts, np.arange(len(sizes)), side="right")
    part_of_sentence = np.repeat(part_of_unit, sizes)
    return [np.flatnonzero(part_of_sentence == number) for number in range(len(shares))]
