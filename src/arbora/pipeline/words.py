"""Labels for words by a linear model: what the tagger and the lemmatizer share.

A set of features has a name with a version. Words may have different numbers of labels: those that go with
their coarse tag. Neighbouring labels have weights, too, where `transitions` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arbora._core import SequenceBatch, SequenceModel, TagLexicon, in_memory, tag_features
from arbora.data.columns import Columns
from arbora.data.encode import numbers_of
from arbora.errors import InputError, ModelError
from arbora.interfaces import Learner
from arbora.learners.stage import Stage
from arbora.problems import SequenceProblem
from arbora.progress import Observer, Scores
from arbora.registry import learners
from arbora.storage import quantization as compact
from arbora.types import Floats, Ints

Tensors: TypeAlias = Mapping[str, NDArray[Any]]


SMALLEST_TABLE, LARGEST_TABLE = 8, 26  # bits
SMALLEST_AUTO, LARGEST_AUTO = 12, 20
WEIGHTS_PER_WORD = 8


@dataclass(frozen=True, kw_only=True)
class WordSettings:
    """How labels of words are learned."""

    bits: int | Literal["auto"] = "auto"
    """The table of weights has 2^bits of them; auto: about eight per word of the treebank, 2^20 at most."""
    learner: str = "passive_aggressive"
    parameters: dict[str, int | float | str] = field(default_factory=lambda: {"C": 0.02, "epochs": 8})
    """Of the learner; `arbora info learner NAME` lists them."""

    def __post_init__(self) -> None:
        if isinstance(self.bits, int) and not SMALLEST_TABLE <= self.bits <= LARGEST_TABLE:
            raise InputError(f"bits: expected {SMALLEST_TABLE} to {LARGEST_TABLE}, got {self.bits!r}")
        self.create(0)  # InputError before anything takes long

    def bits_for(self, columns: Columns) -> int:
        """The size of the table for this treebank."""
        if isinstance(self.bits, int):
            return self.bits
        return min(max((WEIGHTS_PER_WORD * columns.words).bit_length(), SMALLEST_AUTO), LARGEST_AUTO)

    def create(self, seed: int) -> Learner:
        """The learner, with this seed where it has one and is not given another."""
        factory: type[Learner] = learners.factory(self.learner)  # type: ignore[assignment]
        has_seed = any(parameter.name == "seed" for parameter in factory.parameters())
        return learners.create(self.learner, **{**({"seed": seed} if has_seed else {}), **self.parameters})


@dataclass(frozen=True, eq=False)
class WordModel:
    """A set of features, how many labels words may have, and their weights."""

    features: str
    bits: int
    groups: Ints  # How many labels a word may have, by the number of its tag
    transitions: bool
    weights: Floats

    @property
    def native(self) -> SequenceModel:
        return SequenceModel(self.bits, int(self.groups.max()), self.transitions)

    def predict(self, columns: Columns, lexicon: TagLexicon, tags: Ints, threads: int = 1) -> Ints:
        """The best label of each word; `tags` are the numbers of words' tags, (W,)."""
        batch = self.encode(columns, lexicon, tags)
        return self.native.predict(batch, self.weights, threads)

    def encode(
        self,
        columns: Columns,
        lexicon: TagLexicon,
        tags: Ints,
        gold: Ints | None = None,
        own_tags: Ints | None = None,
    ) -> SequenceBatch:
        """Words as features, with their right labels where these are known."""
        batch = tag_features(columns.native, self.features, lexicon, self.bits, own_tags)
        right = np.full(columns.words, -1, np.int32) if gold is None else gold
        batch.set_labels(np.ascontiguousarray(self.groups[tags]), np.ascontiguousarray(right))
        return batch

    def to_tensors(self, name: str, *, quantized: bool) -> dict[str, NDArray[Any]]:
        return compact.quantize(self.weights, name) if quantized else {name: self.weights}


def read_weights(tensors: Tensors, name: str, model: WordModel, source: str) -> Floats:
    """The weights that `to_tensors` gave; ModelError where they do not fit the model."""
    try:
        count = model.native.weight_count
    except InputError as error:
        raise ModelError(f"{error}; the file is damaged", source=source) from None
    if compact.is_quantized(tensors, name):
        weights = compact.dequantize(tensors, name, source=source).reshape(-1)
    elif name in tensors and tensors[name].dtype == np.float32:
        weights = tensors[name].reshape(-1)
    else:
        raise ModelError(
            f"expected a tensor {name!r} of float32, got none; the file is damaged", source=source
        )
    if weights.size != count:
        raise ModelError(f"tensor {name!r}: expected {count} weights, got {weights.size}", source=source)
    if not np.isfinite(weights).all():
        raise ModelError(f"tensor {name!r}: expected finite numbers, got others", source=source)
    return in_memory(np.ascontiguousarray(weights))


def lexicon_tensors(lexicon: TagLexicon) -> dict[str, NDArray[Any]]:
    """A lexicon as stored."""
    return {"lexicon.keys": lexicon.keys(), "lexicon.classes": lexicon.classes()}


def read_lexicon(tensors: Tensors, source: str) -> TagLexicon:
    """What `lexicon_tensors` gave; ModelError where it is damaged."""
    arrays = []
    for name in ("lexicon.keys", "lexicon.classes"):
        array = tensors.get(name)
        if array is None or array.dtype != np.uint32 or array.ndim != 1:
            raise ModelError(
                f"expected a tensor {name!r} of uint32, got none; the file is damaged", source=source
            )
        arrays.append(np.ascontiguousarray(array))
    try:
        return TagLexicon.from_arrays(*arrays)
    except InputError as error:
        raise ModelError(f"{error}; the file is damaged", source=source) from None


def read_texts(metadata: Mapping[str, Any], name: str, source: str) -> tuple[str, ...]:
    """A list of different texts that any line of a treebank could hold; ModelError where it is none."""
    found: Any = metadata.get(name)
    if (
        not isinstance(found, list)
        or not found
        or not all(is_text(text) for text in found)
        or len(set(found)) < len(found)
    ):
        raise ModelError(f"{name}: expected different texts, got others; the file is damaged", source=source)
    return tuple(found)


def is_text(value: Any) -> bool:
    """Whether it is a text that a column of CoNLL-U can hold."""
    return isinstance(value, str) and value != "" and not any(c in value for c in "\t\n\r")


def train_words(
    model: WordModel,
    batch: SequenceBatch,
    settings: WordSettings,
    *,
    stage: str,
    judge: Callable[[Floats], Scores] | None,
    seed: int,
    threads: int,
    observer: Observer,
) -> tuple[Floats, list[dict[str, Any]]]:
    """The weights of the best epoch, and a report of each."""
    problem = SequenceProblem(model.native, batch, threads=threads)
    run = Stage(name=stage, learner=settings.create(seed), problem=problem, judge=judge, patience=0)
    best, interrupted = run.run(observer, lambda progress, so_far: None)
    if interrupted or best.weights is None:
        raise KeyboardInterrupt
    return best.weights, best.reports


def numbers(columns: Columns, column: Any, names: Sequence[str]) -> Ints:
    """The place of each word's text among the names, -1 where it is none of them. (W,)."""
    return numbers_of(columns.strings(column), names)[columns.ids(column)]


def known_tags(columns: Columns, tags: Sequence[str]) -> Ints:
    """The number of each word's UPOS; a tag that is not known counts as the most common one."""
    return np.maximum(numbers(columns, "upos", tags), 0)


def group_starts(groups: Sequence[Sequence[object]]) -> Ints:
    """Where each tag's classes begin when those of all tags stand in a row."""
    return np.cumsum([0, *map(len, groups[:-1])], dtype=np.int32)
