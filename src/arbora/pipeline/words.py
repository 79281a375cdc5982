"""Label words with a linear model: the base of the tagger and the lemmatizer.

Feature sets have versioned names. Which labels a word may have depends on its coarse tag: labels come in
groups, one per tag, each with its most common label first. With `transitions`, pairs of neighbouring labels
have weights, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from arbora._core import SequenceBatch, SequenceModel, TagLexicon, in_memory, tag_features
from arbora.data.clusters import WordClusters
from arbora.data.columns import Columns, TextColumn
from arbora.data.encode import numbers_of
from arbora.interfaces import Learner
from arbora.progress import Observer, Scores, Silent
from arbora.registry import seeded_learner
from arbora.settings import Settings, parameter
from arbora.storage._safetensors import DAMAGED
from arbora.storage.model_file import ModelFile
from arbora.storage.quantization import flat_weights, stored
from arbora.types import Floats, Ints

SMALLEST_TABLE, LARGEST_TABLE = 8, 26  # bits
SMALLEST_AUTO, LARGEST_AUTO = 12, 20
WEIGHTS_PER_WORD = 8

L = TypeVar("L", str, tuple[str, str])
Groups: TypeAlias = tuple[tuple[L, ...], ...]


@dataclass(frozen=True, kw_only=True)
class WordSettings(Settings):
    """Settings for training a word model."""

    bits: int | Literal["auto"] = parameter(
        "auto",
        "log2 of the number of weights; auto: about eight per word of the treebank, 2^20 at most",
        least=SMALLEST_TABLE,
        most=LARGEST_TABLE,
    )
    learner: str = parameter("passive_aggressive", "a learner by name")
    parameters: dict[str, int | float | str] = parameter(
        factory=lambda: {"C": 0.02, "epochs": 8},
        help="parameters of the learner; `arbora info learner NAME` lists them",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.create(0)  # InputError before anything takes long

    def bits_for(self, columns: Columns) -> int:
        """The size of the table for a treebank."""
        return self.bits if isinstance(self.bits, int) else auto_bits(columns.words)

    def create(self, seed: int) -> Learner:
        """The learner, with this seed unless it has none or is given another."""
        return seeded_learner(self.learner, self.parameters, seed)


def auto_bits(words: int) -> int:
    """The size of a table by a treebank's number of words: log2 of the number of weights."""
    return min(max((WEIGHTS_PER_WORD * words).bit_length(), SMALLEST_AUTO), LARGEST_AUTO)


@dataclass(frozen=True, eq=False)
class WordModel:
    """A feature set, the number of labels per tag, and weights."""

    features: str
    bits: int
    groups: Ints  # the number of labels of each tag
    transitions: bool = False
    weights: Floats = field(default_factory=lambda: np.empty(0, np.float32))
    clusters: WordClusters | None = None  # of words, for feature sets that look at them

    @classmethod
    def of(cls, features: str, bits: int, groups: Groups[Any], **options: Any) -> WordModel:
        """A model without weights for groups of labels."""
        return cls(features, bits, np.array([len(group) for group in groups], np.int32), **options)

    @property
    def native(self) -> SequenceModel:
        return SequenceModel(self.bits, int(self.groups.max()), self.transitions)

    def predict(self, columns: Columns, lexicon: TagLexicon, tags: Ints, threads: int = 1) -> Ints:
        """The best label of each word, shape (W,); `tags` are the numbers of the words' tags, shape (W,)."""
        return self.native.predict(self.encode(columns, lexicon, tags), self.weights, threads)

    def encode(
        self,
        columns: Columns,
        lexicon: TagLexicon,
        tags: Ints,
        gold: Ints | None = None,
        own_tags: Ints | None = None,
    ) -> SequenceBatch:
        """The features of words, with their gold labels if known."""
        clusters = None if self.clusters is None else self.clusters.native
        batch = tag_features(columns.native, self.features, lexicon, self.bits, own_tags, clusters)
        right = np.full(columns.words, -1, np.int32) if gold is None else gold
        batch.set_labels(np.ascontiguousarray(self.groups[tags]), np.ascontiguousarray(right))
        return batch

    def train(
        self,
        batch: SequenceBatch,
        settings: WordSettings,
        stage: str,
        judge: Callable[[Floats], Scores] | None,
        seed: int,
        threads: int,
        observer: Observer | None,
    ) -> tuple[WordModel, list[dict[str, Any]]]:
        """The model with the weights of the best epoch, and a report of each epoch."""
        # Only training needs these, and they take long to import.
        from arbora.learners.stage import Stage
        from arbora.problems import SequenceProblem

        problem = SequenceProblem(self.native, batch, threads=threads)
        run = Stage(name=stage, learner=settings.create(seed), problem=problem, judge=judge)
        best, interrupted = run.run(observer or Silent(), lambda progress, so_far: None)
        if interrupted or best.weights is None:
            raise KeyboardInterrupt
        return replace(self, weights=best.weights), best.reports

    def with_weights(self, file: ModelFile, name: str) -> WordModel:
        """The model with the weights of a file; ModelError or InputError if they do not fit."""
        weights = flat_weights(file, name, self.native.weight_count)
        if not (is_finite := np.isfinite(weights)).all():
            raise file.error(f"tensor {name!r}: expected finite numbers, got {weights[~is_finite][0]}")
        return replace(self, weights=in_memory(np.ascontiguousarray(weights)))


def to_tensors(lexicon: TagLexicon, *, quantized: bool, **models: WordModel) -> dict[str, NDArray[Any]]:
    """A lexicon, and models by the names of their weights, as stored."""
    tensors: dict[str, NDArray[Any]] = {"lexicon.keys": lexicon.keys(), "lexicon.classes": lexicon.classes()}
    for name, model in models.items():
        tensors |= stored(model.weights, name, quantized=quantized)
    return tensors


def read_lexicon(file: ModelFile) -> TagLexicon:
    """The lexicon from `to_tensors`; ModelError or InputError if it is damaged."""
    names = ("lexicon.keys", "lexicon.classes")
    return TagLexicon.from_arrays(*(np.ascontiguousarray(file.tensor(n, np.uint32, (None,))) for n in names))


def read_groups(file: ModelFile, name: str, tags: Sequence[str], is_label: Callable[[Any], bool]) -> Any:
    """The labels of each tag; ModelError unless there are tags, and every tag has labels."""
    groups: list[Any] = file.entry(name, list)
    if not tags or len(groups) != len(tags):
        got = f"{len(groups)} lists for {len(tags)} tags"
        raise file.error(f"{name}: expected a list of labels for each tag, got {got}; {DAMAGED}")
    for group in groups:
        if not isinstance(group, list) or not group or not all(map(is_label, group)):
            raise file.error(f"{name}: expected a list of labels, got {str(group)[:80]}; {DAMAGED}")
    return groups


def read_bits(file: ModelFile, value: Any) -> int:
    """The size of a table; ModelError unless it is one."""
    if type(value) is not int or not SMALLEST_TABLE <= value <= LARGEST_TABLE:
        expected = f"expected {SMALLEST_TABLE} to {LARGEST_TABLE}"
        raise file.error(f"bits: {expected}, got {str(value)[:80]}; {DAMAGED}")
    return value


def numbers(columns: Columns, column: TextColumn, names: Sequence[str]) -> Ints:
    """The index of each word's text among `names`, -1 if it is not there. Shape (W,)."""
    return numbers_of(columns.strings(column), names)[columns.ids(column)]


def known_tags(columns: Columns, tags: Sequence[str]) -> Ints:
    """The number of each word's UPOS; an unknown tag counts as the most common one."""
    return np.maximum(numbers(columns, "upos", tags), 0)


def agreement(found: Columns, gold: Columns, *columns: TextColumn) -> float:
    """The percentage of words for which all of these columns are the same."""
    return 100 * float(np.mean(matches(found, gold, *columns)))


def matches(found: Columns, gold: Columns, *columns: TextColumn) -> NDArray[np.bool_]:
    """Whether all of these columns of a word are the same, (W,)."""
    same = [numbers(gold, column, found.strings(column)) == found.ids(column) for column in columns]
    return np.all(same, axis=0)


def annotation_scores(annotator: Any, dev: Columns, threads: int = 1) -> Scores:
    """The percentage of words with the right value in each column that an annotator predicts together."""
    found = annotator.annotate(dev, threads=threads)
    return {name: agreement(found, dev, name) for name in annotator.outputs}


def group_labels(tags: Ints, labels: Sequence[L | None], count: int, least: int = 1) -> Groups[L]:
    """The labels of each tag, the most common first; rarer ones than `least` only if there are no others."""
    counts: list[Counter[L]] = [Counter() for _ in range(count)]
    for tag, label in zip(tags.tolist(), labels, strict=True):
        if tag >= 0 and label is not None:
            counts[tag][label] += 1
    groups = []
    for of_tag in counts:
        order = sorted(of_tag, key=lambda label: (-of_tag[label], label))
        groups.append(tuple([label for label in order if of_tag[label] >= least] or order))
    return tuple(groups)


def label_places(groups: Groups[L], tags: Ints, labels: Sequence[L | None]) -> Ints:
    """The index of each word's label in the group of its tag, -1 if it is not there. Shape (W,)."""
    places = [{label: place for place, label in enumerate(group)} for group in groups]
    pairs = zip(tags.tolist(), labels, strict=True)
    found = [-1 if tag < 0 or label is None else places[tag].get(label, -1) for tag, label in pairs]
    return np.array(found, np.int32)


def flat_labels(groups: Groups[L], tags: Ints, chosen: Ints) -> tuple[list[L], Ints]:
    """All labels in a row, and the index of each word's chosen label among them."""
    starts = np.cumsum([0, *map(len, groups[:-1])], dtype=np.int32)
    return [label for group in groups for label in group], chosen + starts[tags]
