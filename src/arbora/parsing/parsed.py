"""A parsed sentence with the probabilities of its tree, heads and labels.

- `probability`: P(tree) of the heads, labels summed out, among all trees that the parser could have given.
- `head_probability` of a word: P(head), summed over all trees in which the word has this head.
- `label_probability`: P(label | head), and given the whole tree where labels are chosen on it.
- `entropy`, of a word's heads or of the sentence's trees, in nats: 0 is certainty.

Second-order parsers of non-projective trees have no sums over trees. Their P(head) compares a word's heads
with the rest of the tree fixed, and their trees have no probability (None).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from arbora.data.sentence import NO_HEAD, Sentence, Word, split_features
from arbora.data.tree import Tree
from arbora.errors import InputError
from arbora.inference.distribution import TreeDistribution
from arbora.search.confidence import Confidence
from arbora.types import Doubles

HEAD, LABEL = "HeadProb", "DeprelProb"
TREE, RANK = "tree_probability", "kbest"


class ParsedWord(NamedTuple):
    """A word with the probabilities of its head and label."""

    id: int
    form: str
    lemma: str
    upos: str
    xpos: str
    feats: str
    head: int
    deprel: str
    deps: str
    misc: str
    head_probability: float
    label_probability: float | None
    """None if the parser predicts no labels."""
    entropy: float
    """Of the word's distribution over heads, in nats."""
    start: int | None = None
    """Where it begins in the text, in characters; None if unknown."""
    end: int | None = None
    """Where it ends."""

    @property
    def features(self) -> dict[str, str]:
        """FEATS as a dictionary, as of `Word`."""
        return split_features(self.feats)


class ParserLike(Protocol):
    """The parser of a sentence, for further queries about it."""

    def kbest(self, sentence: Sentence, k: int) -> list[Parsed]:
        """Its k most probable trees."""

    def distribution(self, sentence: Sentence) -> TreeDistribution:
        """The distribution over its trees."""


@dataclass(frozen=True, eq=False)
class Parsed:
    """A sentence with its tree and their probabilities; iterating gives `ParsedWord`s."""

    sentence: Sentence
    probability: float | None
    """P(tree); None if the parser does not know it."""
    entropy: float | None
    """Of the distribution over the sentence's trees, in nats."""
    head_probabilities: tuple[float, ...]
    label_probabilities: tuple[float | None, ...]
    entropies: tuple[float, ...]
    parser: ParserLike = field(repr=False)

    def __len__(self) -> int:
        return len(self.sentence)

    def __iter__(self) -> Iterator[ParsedWord]:
        numbers = zip(self.head_probabilities, self.label_probabilities, self.entropies, strict=True)
        for word, of_word in zip(self.sentence, numbers, strict=True):
            yield _parsed_word(word, *of_word)

    def __getitem__(self, index: int) -> ParsedWord:
        head, label = self.head_probabilities[index], self.label_probabilities[index]
        return _parsed_word(self.sentence[index], head, label, self.entropies[index])

    def __repr__(self) -> str:
        probability = "" if self.probability is None else f", probability {self.probability:.4g}"
        return f"<Parsed {self.text!r}{probability}>"

    @property
    def text(self) -> str:
        return self.sentence.text

    @property
    def heads(self) -> tuple[int, ...]:
        """The head of each word, 0 for the root, as in CoNLL-U; `tree.heads` begins with the root's -1."""
        return self.sentence.heads

    @property
    def deprels(self) -> tuple[str, ...]:
        return self.sentence.deprels

    @property
    def tree(self) -> Tree:
        return self.sentence.tree

    def kbest(self, k: int) -> list[Parsed]:
        """The k most probable trees of the sentence, best first; all of them if there are fewer."""
        return self.parser.kbest(self.sentence, k)

    @property
    def distribution(self) -> TreeDistribution:
        """The distribution over the sentence's trees, labels summed out; for first-order parsers."""
        return self.parser.distribution(self.sentence)

    def annotated(self, *comments: str) -> Sentence:
        """The sentence with probabilities in MISC and comments, and with more comments (`# a = b`).

        Old values under the same names are replaced; everything else is kept.
        """
        added = list(comments)
        if self.probability is not None:
            added.append(f"# {TREE} = {self.probability:.4g}")
        kept = [c for c in self.sentence.comments if c[1:].partition("=")[0].strip() not in (TREE, RANK)]
        words = zip(self.sentence.misc, self.head_probabilities, self.label_probabilities, strict=True)
        misc = tuple(with_probabilities(*word) for word in words)
        return replace(self.sentence, misc=misc, comments=(*kept, *added))

    def certain(self, threshold: float) -> Sentence:
        """The sentence with only those heads and labels whose joint probability reaches the threshold.

        The others become unknown (`_`), as in a partially annotated treebank, from which probabilistic
        learners can train.
        """
        if not 0.0 <= threshold <= 1.0:
            raise InputError(f"threshold: expected a number within [0, 1], got {threshold!r}")
        pairs = zip(self.head_probabilities, self.label_probabilities, strict=True)
        is_certain = [head * (1.0 if label is None else label) >= threshold for head, label in pairs]
        arcs = zip(self.heads, self.deprels, is_certain, strict=True)
        kept = [(head, label) if certain else (NO_HEAD, "_") for head, label, certain in arcs]
        heads, labels = zip(*kept, strict=True)
        return replace(self.sentence, heads=heads, deprels=labels)

    def to_conllu(self) -> str:
        """CoNLL-U with `HeadProb=` and `DeprelProb=` in MISC and a comment `# tree_probability`."""
        return self.annotated().to_conllu()

    def to_displacy(
        self, *, probabilities: bool = True, lemmas: bool = False
    ) -> dict[str, list[dict[str, Any]]]:
        """A dictionary for `spacy.displacy.render(..., manual=True)`, with P(head) behind each label."""
        sure = self.head_probabilities if probabilities else None
        return self.sentence.to_displacy(lemmas=lemmas, head_probabilities=sure)

    def to_json(self) -> dict[str, Any]:
        """The object of `Sentence.to_json`, with probabilities and entropies."""
        about = {} if self.probability is None else {TREE: self.probability, "entropy": self.entropy}
        return self.sentence.to_json(words=self, about=about)


def _parsed_word(word: Word, head: float, label: float | None, entropy: float) -> ParsedWord:
    return ParsedWord(*word[:10], head, label, entropy, word.start, word.end)


def with_probabilities(misc: str, head: float, label: float | None) -> str:
    """MISC with the two entries at its end, in place of those that it had."""
    names = (HEAD, LABEL)
    kept = [part for part in misc.split("|") if part != "_" and part.partition("=")[0] not in names]
    kept.append(f"{HEAD}={head:.4f}")
    if label is not None:
        kept.append(f"{LABEL}={label:.4f}")
    return "|".join(kept)


def make_parsed(
    sentences: Iterable[Sentence], confidence: Confidence, labels: Sequence[str], parser: ParserLike
) -> Iterator[list[Parsed]]:
    """The trees of each sentence; `labels` are the names of labels."""
    heads, numbers = confidence.heads.tolist(), confidence.labels.tolist()
    of_heads, of_labels = confidence.head_probabilities.tolist(), _optional(confidence.label_probabilities)
    of_words, of_sentences = confidence.head_entropies.tolist(), _optional(confidence.entropies)
    of_trees = iter(_optional(confidence.log_probabilities))
    at = 0
    for sentence, count, entropy in zip(sentences, confidence.counts.tolist(), of_sentences, strict=True):
        trees = []
        for _ in range(count):
            words = slice(at, at + len(sentence))
            names = tuple(labels[number] if number >= 0 else "_" for number in numbers[words])
            log_probability = next(of_trees)
            trees.append(
                Parsed(
                    sentence=replace(sentence, heads=tuple(heads[words]), deprels=names),
                    probability=None if log_probability is None else float(np.exp(log_probability)),
                    entropy=entropy,
                    head_probabilities=tuple(of_heads[words]),
                    label_probabilities=tuple(of_labels[words]),
                    entropies=tuple(of_words[words]),
                    parser=parser,
                )
            )
            at = words.stop
        yield trees


def _optional(numbers: Doubles) -> list[float | None]:
    """The numbers, with None for NaN."""
    return [None if number != number else number for number in numbers.tolist()]


def keep_labels(parsed: Parsed, given: Sentence) -> Parsed:
    """The parse with the labels of the given heads, whose probability is 1."""
    shares = zip(parsed.label_probabilities, _has_label(given), strict=True)
    return replace(
        parsed,
        sentence=with_kept_labels(parsed.sentence, given),
        label_probabilities=tuple(1.0 if is_kept else share for share, is_kept in shares),
    )


def with_kept_labels(parsed: Sentence, given: Sentence) -> Sentence:
    """The parsed sentence with the labels of the given heads."""
    labels = zip(parsed.deprels, given.deprels, _has_label(given), strict=True)
    return replace(parsed, deprels=tuple(old if is_kept else new for new, old, is_kept in labels))


def _has_label(given: Sentence) -> list[bool]:
    arcs = zip(given.heads, given.deprels, strict=True)
    return [head != NO_HEAD and label != "_" for head, label in arcs]
