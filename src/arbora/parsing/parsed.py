"""A parsed sentence with the probabilities of its tree, heads and labels.

- `probability`: P(tree) of the heads, labels summed out, among all trees that the parser could have given.
- `head_probability` of a word: P(head), summed over all trees in which the word has this head.
- `label_probability`: P(label | head), and given the whole tree where labels are chosen on it.
- `entropy`, of a word's heads or of the sentence's trees, in nats: 0 is certainty.

Second-order parsers of non-projective trees sum over the trees that a search finds. In sentences of more than
600 words, P(head) of projective ones compares a word's heads with the rest of the tree fixed, and trees have
no probability (None). A search that finds one tree only (no MARGINALS in `Parser.queries`) gives no
probabilities at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from arbora.data.sentence import NO_HEAD, Sentence, Word, split_features
from arbora.data.tree import Tree
from arbora.errors import InputError
from arbora.inference.distribution import TreeDistribution
from arbora.interfaces import Query
from arbora.search.confidence import Confidence
from arbora.storage.model_file import Reference
from arbora.types import Ints

if TYPE_CHECKING:
    from arbora.parsing.parser import Parser

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
    head_probability: float | None
    label_probability: float | None
    """None if the parser predicts no labels."""
    entropy: float | None
    """Of the word's distribution over heads, in nats."""
    start: int | None = None
    """Where it begins in the text, in characters; None if unknown."""
    end: int | None = None
    """Where it ends."""

    @property
    def features(self) -> dict[str, str]:
        """FEATS as a dictionary, as of `Word`."""
        return split_features(self.feats)


@dataclass(frozen=True, eq=False)
class Parsed:
    """A sentence with its tree and their probabilities; iterating gives `ParsedWord`s."""

    sentence: Sentence
    probability: float | None
    """P(tree); None if the parser does not know it."""
    entropy: float | None
    """Of the distribution over the sentence's trees, in nats."""
    head_probabilities: tuple[float | None, ...]
    label_probabilities: tuple[float | None, ...]
    entropies: tuple[float | None, ...]
    parser: Parser = field(repr=False)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        if "parser" in state:
            state["_reference"] = Reference.of(state.pop("parser"))
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __getattr__(self, name: str) -> Any:
        if name != "parser" or "_reference" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}", name=name, obj=self)
        return self.__dict__.setdefault("parser", self._reference.get())  # of a pickled sentence

    def __len__(self) -> int:
        return len(self.sentence)

    def __iter__(self) -> Iterator[ParsedWord]:
        return map(self._word, self.sentence)

    def __getitem__(self, index: int) -> ParsedWord:
        return self._word(self.sentence[index])

    def _word(self, word: Word) -> ParsedWord:
        i = word.id - 1
        numbers = self.head_probabilities[i], self.label_probabilities[i], self.entropies[i]
        return ParsedWord(*word[:10], *numbers, word.start, word.end)

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
        learners can train. InputError if the parser gives no probabilities.
        """
        self.parser.require(Query.MARGINALS)
        if not 0.0 <= threshold <= 1.0:
            raise InputError(f"threshold: expected a number within [0, 1], got {threshold!r}")
        pairs = zip(self.head_probabilities, self.label_probabilities, strict=True)
        is_certain = [(head or 0.0) * (1.0 if label is None else label) >= threshold for head, label in pairs]
        heads = np.where(is_certain, self.heads, NO_HEAD).tolist()
        labels = np.where(is_certain, self.deprels, "_").tolist()
        return replace(self.sentence, heads=tuple(heads), deprels=tuple(labels))

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


def with_probabilities(misc: str, head: float | None, label: float | None) -> str:
    """MISC with the two entries, as far as they are known, at its end, in place of those that it had."""
    given = {HEAD: head, LABEL: label}
    kept = [part for part in misc.split("|") if part != "_" and part.partition("=")[0] not in given]
    kept += [f"{name}={value:.4f}" for name, value in given.items() if value is not None]
    return "|".join(kept) or "_"


def make_parsed(
    sentences: Iterable[Sentence], confidence: Confidence, parser: Parser, *, keep_heads: bool = False
) -> Iterator[list[Parsed]]:
    """The trees of each sentence; `keep_heads`: given heads keep their labels, with probability 1."""
    arrays = (
        confidence.entropies,
        confidence.log_probabilities,
        confidence.head_probabilities,
        confidence.label_probabilities,
        confidence.head_entropies,
    )
    is_known = Query.MARGINALS in parser.queries
    numbers = [[p if is_known and p == p else None for p in array.tolist()] for array in arrays]  # NaN != NaN
    of_trees, of_words = iter(numbers[1]), numbers[2:]
    heads, labels = confidence.heads.tolist(), label_names(confidence.labels, parser)
    at = 0
    for sentence, count, entropy in zip(sentences, confidence.counts.tolist(), numbers[0], strict=True):
        trees = []
        for log_probability in islice(of_trees, count):
            words = slice(at, at + len(sentence))
            at = words.stop
            tree = replace(sentence, heads=tuple(heads[words]), deprels=tuple(labels[words]))
            head_shares, label_shares, entropies = (tuple(each[words]) for each in of_words)
            if keep_heads:
                tree = with_kept_labels(tree, sentence)
                pairs = zip(label_shares, has_label(sentence), strict=True)
                label_shares = tuple(1.0 if is_kept else share for share, is_kept in pairs)
            probability = None if log_probability is None else float(np.exp(log_probability))
            trees.append(Parsed(tree, probability, entropy, head_shares, label_shares, entropies, parser))
        yield trees


def label_names(labels: Ints, parser: Parser) -> list[str]:
    """The names of labels, `_` for -1."""
    names = [*parser.names.labels, "_"]
    return [names[label] for label in labels.tolist()]


def with_kept_labels(parsed: Sentence, given: Sentence) -> Sentence:
    """The parsed sentence with the labels of the given heads."""
    labels = zip(parsed.deprels, given.deprels, has_label(given), strict=True)
    return replace(parsed, deprels=tuple(old if is_kept else new for new, old, is_kept in labels))


def has_label(given: Sentence) -> list[bool]:
    """Whether each word has a head and a label."""
    arcs = zip(given.heads, given.deprels, strict=True)
    return [head != NO_HEAD and label != "_" for head, label in arcs]
