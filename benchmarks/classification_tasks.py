"""Tasks for choosing parameters of classifiers: tags and a parser's actions, from training data alone.

Tags of words from two features, and from eleven; actions of the arc-eager system from its compact features,
and from all their pairs, with values of 1 and with rows of length 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from arbora.classification import OnlineClassifier, SparseRows, hashed_rows, quadratic_expansion
from arbora.data.sentence import Sentence
from arbora.data.treebank import read
from arbora_studies.actions import HASHES, Actions

Task: TypeAlias = tuple[SparseRows, NDArray[Any]]

TAGGED, PARSED = "UD_English-EWT/en_ewt-ud-train.conllu", "UD_Hungarian-Szeged/hu_szeged-ud-train.conllu"
SENTENCES = {TAGGED: 150, PARSED: 60}
FOLDS = 3
BITS = 18
RELATIONS = 10


def tasks(data: Path) -> dict[str, Task]:
    """By name."""
    tagged, parsed = (list(islice(read(data / name), count)) for name, count in SENTENCES.items())
    base, actions = states(parsed)
    pairs = quadratic_expansion(base, bits=BITS)
    return {
        "tags, 2 features": tags(tagged, few=True),
        "tags, 11": tags(tagged, few=False),
        "actions, 24": (replace(base, columns=base.columns >> 14, width=1 << BITS), actions),
        "actions, 300": (pairs, actions),
        "actions, 300, length 1": (replace(pairs, values=pairs.values / np.float32(np.sqrt(300))), actions),
    }


def tags(sentences: Sequence[Sentence], *, few: bool) -> Task:
    """Features of a word and the previous one; more of both, and of the next one."""
    examples = []
    for sentence in sentences:
        words = ["", *(word.form for word in sentence), ""]
        for before, word, after in zip(words, words[1:], words[2:], strict=False):
            names = [f"word={word.lower()}", f"before={before.lower()}"]
            examples.append(names if few else [*names, *more(before, word, after)])
    return hashed_rows(examples), np.array([word.upos for sentence in sentences for word in sentence])


def more(before: str, word: str, after: str) -> Iterator[str]:
    """Suffixes, prefixes and neighbours."""
    yield f"after={after.lower()}"
    yield f"both={before.lower()} {word.lower()}"
    yield from (f"end{n}={word[-n:]}" for n in (1, 2, 3))
    yield f"beginning={word[:2]}"
    yield f"capital={word[:1].isupper()}"
    yield f"first={not before}"
    yield f"digit={any(c.isdigit() for c in word)}"


def states(sentences: Sequence[Sentence]) -> Task:
    """States on the path to gold trees, with their gold actions."""
    material = cast("Any", SimpleNamespace(train=sentences, format="conllu", roots="single"))
    actions = Actions.of(material, "nivre-v1", RELATIONS)
    hashes = actions.hashes.astype(np.int64)
    offsets = np.arange(0, hashes.size + 1, hashes.shape[1], dtype=np.int64)
    rows = SparseRows(offsets, hashes.reshape(-1), np.ones(hashes.size, np.float32), HASHES)
    return rows, np.array(actions.names)[actions.right]


def accuracy(task: Task, learner: str, parameters: Mapping[str, Any]) -> float:
    """Accuracy on held-out examples."""
    rows, wanted = task
    folds = np.array_split(np.random.default_rng(1).permutation(len(rows)), FOLDS)
    right = 0
    for i, held in enumerate(folds):
        others = np.concatenate(folds[:i] + folds[i + 1 :])
        fitted = OnlineClassifier(learner, parameters=parameters).fit(rows[others], wanted[others])
        right += int(np.count_nonzero(fitted.predict(rows[held]) == wanted[held]))
    return right / len(rows)
