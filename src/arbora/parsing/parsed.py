"""A parsed sentence that says how sure the parser is of it.

- `probability`: P(tree) of the heads, labels summed out, among all trees that the parser could have given.
- `head_probability` of a word: P(head), the share of all trees, by their probability, in which the word has
  this head.
- `label_probability`: P(label | head), and given the whole tree where labels are chosen on it.
- `entropy`, of a word's heads or of the sentence's trees, in nats: 0 is certainty.

Second-order parsers of crossing trees know no sums over trees. Their P(head) compares a word's heads with
the rest of the tree as it was parsed, and their trees have no probability (None).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from arbora.data.sentence import NO_HEAD, Sentence, Word, split_features
from arbora.data.tree import Tree
from arbora.errors import InputError
from arbora.inference.distribution import TreeDistribution
from arbora.search.confidence import Confidence
from arbora.search.request import Decode

HEAD, LABEL = "HeadProb", "DeprelProb"
TREE, RANK = "tree_probability", "kbest"
MOST_TREES = 1000


class ParsedWord(NamedTuple):
    """A word's line, and how sure its head and label are."""

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
    """None where the parser gives no labels."""
    entropy: float
    """Of the word's distribution over heads, in nats."""
    start: int | None = None
    """Where it begins in the text, in characters; None where that is not known, as of `Word`."""
    end: int | None = None
    """Where it ends."""

    @property
    def features(self) -> dict[str, str]:
        """FEATS as a dictionary, as of `Word`."""
        return split_features(self.feats)


class ParserLike(Protocol):
    """What answers a parsed sentence's further questions: the parser that parsed it."""

    def kbest(self, sentence: Sentence, k: int) -> list[Parsed]:
        """Its k most probable trees."""

    def distribution(self, sentence: Sentence) -> TreeDistribution:
        """The distribution over its trees."""


@dataclass(frozen=True, eq=False)
class Parsed:
    """A sentence with its tree, and how sure the parser is of both; iterating gives `ParsedWord`s."""

    sentence: Sentence
    probability: float | None
    """P(tree); None where the parser does not know it."""
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
        numbers = (self.head_probabilities, self.label_probabilities, self.entropies)
        return _parsed_word(self.sentence[index], *(column[index] for column in numbers))  # type: ignore[arg-type]

    def __repr__(self) -> str:
        sure = "" if self.probability is None else f", probability {self.probability:.4g}"
        return f"<Parsed {self.text!r}{sure}>"

    @property
    def text(self) -> str:
        """The sentence's text."""
        return self.sentence.text

    @property
    def heads(self) -> tuple[int, ...]:
        """The head of each word, 0 for the root, as in CoNLL-U; `tree.heads` begins with the root's -1."""
        return self.sentence.heads

    @property
    def deprels(self) -> tuple[str, ...]:
        """The label of each word."""
        return self.sentence.deprels

    @property
    def tree(self) -> Tree:
        """The sentence's tree."""
        return self.sentence.tree

    def kbest(self, k: int) -> list[Parsed]:
        """The k most probable trees of the sentence, best first; all of them where fewer exist."""
        return self.parser.kbest(self.sentence, k)

    @property
    def distribution(self) -> TreeDistribution:
        """The distribution over the sentence's trees, labels summed out; of first-order parsers."""
        return self.parser.distribution(self.sentence)

    def annotated(self, *comments: str) -> Sentence:
        """The sentence with its probabilities in MISC and comments, and with more comments (`# a = b`).

        What stands there under the same names is replaced, all else is kept.
        """
        told = list(comments)
        if self.probability is not None:
            told.append(f"# {TREE} = {self.probability:.4g}")
        kept = [c for c in self.sentence.comments if c[1:].partition("=")[0].strip() not in (TREE, RANK)]
        words = zip(self.sentence.misc, self.head_probabilities, self.label_probabilities, strict=True)
        misc = tuple(with_probabilities(*word) for word in words)
        return replace(self.sentence, misc=misc, comments=(*kept, *told))

    def certain(self, threshold: float) -> Sentence:
        """The sentence with only those heads and labels that are at least so probable together.

        The others are unknown (`_`), as in a treebank that is annotated in part: learners of probabilities
        learn from the rest.
        """
        if not 0.0 <= threshold <= 1.0:
            raise InputError(f"threshold: expected a number within [0, 1], got {threshold!r}")
        sure = [
            head * (1.0 if label is None else label) >= threshold
            for head, label in zip(self.head_probabilities, self.label_probabilities, strict=True)
        ]
        arcs = zip(self.sentence.heads, self.sentence.deprels, sure, strict=True)
        kept = [(head, label) if is_sure else (NO_HEAD, "_") for head, label, is_sure in arcs]
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
        """One object of plain values, that of `Sentence.to_json` with probabilities and entropies."""
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


def check_decode(decode: str) -> None:
    """InputError unless it is a way to decode."""
    if decode not in get_args(Decode):
        raise InputError(f"decode: expected {' or '.join(get_args(Decode))}, got {decode!r}")


def check_count(k: int) -> None:
    """InputError unless one may ask for k trees."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 1 <= k <= MOST_TREES:
        raise InputError(f"k must be a whole number in 1..{MOST_TREES}, got {k!r}")


def make_parsed(
    sentences: Iterable[Sentence], found: Confidence, labels: Sequence[str], parser: ParserLike
) -> Iterator[list[Parsed]]:
    """The trees of each sentence; `labels` are the names of labels."""
    heads, numbers = found.heads.tolist(), found.labels.tolist()
    sure_heads, sure_labels = found.head_probabilities.tolist(), optional(found.label_probabilities)
    word_entropies = found.head_entropies.tolist()
    per_tree, entropies = optional(found.log_probabilities), optional(found.entropies)
    counts = found.counts.tolist()
    at = tree = 0
    for s, sentence in enumerate(sentences):
        trees = []
        for _ in range(counts[s]):
            end = at + len(sentence)
            names = tuple(labels[number] if number >= 0 else "_" for number in numbers[at:end])
            log_probability = per_tree[tree]
            trees.append(
                Parsed(
                    sentence=replace(sentence, heads=tuple(heads[at:end]), deprels=names),
                    probability=None if log_probability is None else float(np.exp(log_probability)),
                    entropy=entropies[s],
                    head_probabilities=tuple(sure_heads[at:end]),
                    label_probabilities=tuple(sure_labels[at:end]),
                    entropies=tuple(word_entropies[at:end]),
                    parser=parser,
                )
            )
            at, tree = end, tree + 1
        yield trees


def keep_labels(parsed: Parsed, given: Sentence) -> Parsed:
    """The parse with the labels that came with given heads; these are certain."""
    kept = _has_label(given)
    shares = zip(parsed.label_probabilities, kept, strict=True)
    return replace(
        parsed,
        sentence=with_kept_labels(parsed.sentence, given),
        label_probabilities=tuple(1.0 if is_kept else share for share, is_kept in shares),
    )


def with_kept_labels(parsed: Sentence, given: Sentence) -> Sentence:
    """The parsed sentence with the labels that came with given heads."""
    labels = zip(parsed.deprels, given.deprels, _has_label(given), strict=True)
    return replace(parsed, deprels=tuple(old if is_kept else new for new, old, is_kept in labels))


def _has_label(given: Sentence) -> list[bool]:
    arcs = zip(given.heads, given.deprels, strict=True)
    return [head != NO_HEAD and label != "_" for head, label in arcs]


def optional(numbers: NDArray[np.float64]) -> list[float | None]:
    """The numbers, None for those that are not known."""
    return [None if number != number else number for number in numbers.tolist()]
