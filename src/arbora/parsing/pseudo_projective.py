"""Pseudo-projective parsing [nivre-2005], for any parser that is trained on labelled trees.

    training   `lift` makes the trees projective and marks their labels; `names` has marked and plain ones
    parsing    `restored_trees` and `restored_judgement` put lifted words back, and take marks off labels
    model      `PseudoProjective` as settings, under "lifts"; models without it know nothing of marks

A parser thus needs a field for the settings, a `Restorer` made of them, and a call wherever trees leave it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arbora._core import Encoded
from arbora.data.columns import Columns
from arbora.data.encode import Names
from arbora.data.pseudo_projective import Encoding, PseudoProjective, Restorer
from arbora.errors import InputError
from arbora.search.request import Judgement
from arbora.settings import from_dict
from arbora.types import Ints


def lift(columns: Columns, heads: Ints, encoding: Encoding) -> tuple[Ints, Columns, Names, PseudoProjective]:
    """Heads to train on, shape (W,), the treebank with marked labels, its names, and how they are marked.

    `heads` are the treebank's own, or what stands for them. The marks are such as no label of it contains.
    """
    plain = Names.of(columns)
    how = PseudoProjective.for_labels(plain.labels, encoding)
    heads, marked = how.encode_columns(columns, heads)
    names = Names.of(marked)
    # A label that is never without a mark may be needed without it.
    return heads, marked, replace(names, labels=tuple(dict.fromkeys((*names.labels, *plain.labels)))), how


def load_lifts(settings: Any, names: Names) -> PseudoProjective | None:
    """What a model file says, None where it says nothing; InputError where it does not fit the labels."""
    if settings is None:
        return None
    if not isinstance(settings, Mapping):
        raise InputError(f"lifts: expected a table, got {type(settings).__name__}")
    how = from_dict(PseudoProjective, settings)
    Restorer(how, names.labels)
    return how


def restored_trees(
    restorer: Restorer, heads: Ints, labels: Ints, sentences: Encoded, *, keep_heads: bool
) -> tuple[Ints, Ints]:
    """Heads and labels as a parser gave them, with lifted words back in place; given heads stay."""
    return restorer.restore(heads, labels, sentences.lengths, sentences.heads if keep_heads else None)


def restored_judgement(
    restorer: Restorer, judged: Judgement, sentences: Encoded, *, keep_heads: bool, given: bool
) -> Judgement:
    """The same for trees with probabilities; needs the table of labels.

    P(label) is the sum over all marks. P(head) and P(tree) stay those of the lifted trees, also where two of
    the k best become the same tree. `given`: the trees are not the parser's, and only labels have marks.
    """
    heads, labels = judged.heads, restorer.unmarked(judged.labels)
    if not given:
        fixed = _of_trees(sentences.heads, sentences.lengths, judged.counts) if keep_heads else None
        lengths = np.repeat(sentences.lengths, judged.counts)
        heads, labels = restorer.restore(heads, judged.labels, lengths, fixed)
    table = restorer.merged(judged.label_table.reshape(len(heads), -1))
    sure = np.minimum(table[np.arange(len(labels)), labels], 1.0)
    return replace(
        judged,
        heads=heads,
        labels=labels,
        label_probabilities=np.where(np.isnan(judged.label_probabilities), np.nan, sure),
        label_table=table.reshape(-1),
    )


def _of_trees(per_word: Ints, lengths: NDArray[np.int64], counts: NDArray[np.int64]) -> Ints:
    """What is known of each word, again for each tree of its sentence."""
    parts = np.split(per_word, np.cumsum(lengths)[:-1])
    return np.concatenate([np.tile(part, count) for part, count in zip(parts, counts, strict=True)])
