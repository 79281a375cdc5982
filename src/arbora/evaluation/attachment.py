"""Score predicted trees against gold trees, word for word.

All words of both sides are compared once, in flat arrays of heads, labels and punctuation. All measures are
counts over these arrays, O(words). docs/evaluation.md defines them and the rules for punctuation and labels;
they agree with the UD scorer (zeman-2018) and CoNLL-X (buchholz-2006) to the last digit.

Exact match and root accuracy count sentences with at least one scored word.
"""

from __future__ import annotations

import os
import unicodedata
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from arbora.data.sentence import unparsed
from arbora.errors import DataError, InputError, require_known
from arbora.evaluation.scores import Agreement, Attachment, Evaluation, PerSentence, PunctuationRule, Scores
from arbora.types import Bools, Longs

if TYPE_CHECKING:
    from arbora.data.sentence import Sentence

Punctuation = Literal["auto", "upos", "form"]

# CONJ is what UD 1 called CCONJ.
UD_TAGS = frozenset({
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "CONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON",
    "PROPN", "PUNCT", "SCONJ", "SYM", "VERB", "X",
})  # fmt: skip
CONTENT_RELATIONS = frozenset({
    "acl", "advcl", "advmod", "amod", "appos", "ccomp", "compound", "conj", "csubj", "dep",
    "discourse", "dislocated", "expl", "fixed", "flat", "goeswith", "iobj", "list", "nmod",
    "nsubj", "nummod", "obj", "obl", "orphan", "parataxis", "reparandum", "root", "vocative",
    "xcomp",
})  # fmt: skip
UD_RELATIONS = CONTENT_RELATIONS | {"aux", "case", "cc", "clf", "cop", "det", "mark", "punct"}
UD_SHARE = 0.8  # of the words whose labels are UD's; other label sets share some names
# Lower edges of the groups; the last group is open.
ARC_LENGTHS = (1, 2, 3, 4, 5, 6, 11, 21, 41)
SENTENCE_LENGTHS = (1, 11, 21, 31, 41, 51)
DIFFERENT = "`arbora eval --aligned` scores different words (evaluate_aligned)"


def evaluate(
    gold: Iterable[Sentence],
    predicted: Iterable[Sentence],
    *,
    punctuation: Punctuation = "auto",
    subtypes: bool | None = None,
    names: tuple[str, str] = ("gold", "predicted"),
) -> Evaluation:
    """Score `predicted` against `gold`, sentence by sentence; both may be streams.

    `punctuation`: words with gold UPOS `PUNCT` ("upos"), or whose form is all Unicode punctuation ("form").
    `subtypes`: compare whole labels, not only the part before `:`. By default, both depend on whether the
    gold data has UD's tags. `names` are what errors call the two sides, usually file names. DataError if
    sentences differ in number or words, or a word has no head.
    """
    require_known("punctuation", punctuation, get_args(Punctuation))
    for side, sentences in zip(names, (gold, predicted), strict=True):
        if isinstance(sentences, str | os.PathLike):
            path = str(sentences)
            raise InputError(f"{side}: expected sentences, got the path {path!r}; arbora.read it first")
    words = _Words(gold, predicted, names)
    usual: PunctuationRule = "upos" if words.has_ud_tags else "form"
    rule = usual if punctuation == "auto" else punctuation
    if subtypes is None:
        subtypes = not words.is_ud
    scored = ~(words.tagged_punctuation if rule == "upos" else words.written_punctuation)
    everything = np.ones(len(words.gold_heads), dtype=np.bool_)
    return Evaluation(
        sentences=len(words.lengths),
        tokens=len(words.gold_heads),
        punctuation=rule,
        subtypes=subtypes,
        all=_score(words, everything, subtypes=subtypes),
        nopunct=_score(words, scored, subtypes=subtypes),
        conllx=_score(words, ~words.written_punctuation, subtypes=True),
    )


def is_punctuation(form: str) -> bool:
    """Whether a form is all Unicode punctuation (the CoNLL-X rule)."""
    return all(unicodedata.category(character)[0] == "P" for character in form)


class _Words:
    """All words of both sides in a row; every array except `lengths` has one entry per word."""

    def __init__(
        self, gold: Iterable[Sentence], predicted: Iterable[Sentence], names: tuple[str, str]
    ) -> None:
        lengths, heads, rival_heads = array("q"), array("q"), array("q")
        labels, rival_labels, tags = array("q"), array("q"), array("q")
        written = bytearray()
        label_numbers, tag_numbers, is_punct = _numbering(), _numbering(), cache(is_punctuation)
        for one, other in pairs(gold, predicted, names):
            lengths.append(len(one.forms))
            heads.extend(one.heads)
            rival_heads.extend(other.heads)
            labels.extend(map(label_numbers.__getitem__, one.deprels))
            rival_labels.extend(map(label_numbers.__getitem__, other.deprels))
            tags.extend(map(tag_numbers.__getitem__, one.upos))
            written.extend(map(is_punct, one.forms))
        self.lengths = _longs(lengths)  # words per sentence
        self.gold_heads, self.predicted_heads = _longs(heads), _longs(rival_heads)
        self.gold_labels, self.predicted_labels = _longs(labels), _longs(rival_labels)  # numbers of `labels`
        self.labels = tuple(label_numbers)
        self.tagged_punctuation: Bools = _longs(tags) == tag_numbers.get("PUNCT", -1)
        self.written_punctuation = np.frombuffer(bytes(written), dtype=np.bool_)
        counts = np.bincount(_longs(tags), minlength=len(tag_numbers)).tolist()
        tagged = len(tags) - (counts[tag_numbers["_"]] if "_" in tag_numbers else 0)
        # Half is enough: odd tags occur in UD data, and other tag sets share only one or two names.
        self.is_ud = 2 * sum(counts[tag_numbers[tag]] for tag in UD_TAGS & tag_numbers.keys()) >= tagged
        self.has_ud_tags = self.is_ud and tagged > 0
        universal = np.array([universal_part(name) in UD_RELATIONS for name in self.labels], dtype=np.bool_)
        self.has_ud_labels = bool(universal[self.gold_labels].mean() >= UD_SHARE) if len(heads) else True


def _numbering() -> dict[str, int]:
    """A dict that numbers strings in the order of their first use."""
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    return numbers


def _longs(values: array[int]) -> Longs:
    return np.array(values, dtype=np.int64)


def pairs(
    gold: Iterable[Sentence], predicted: Iterable[Sentence], names: tuple[str, str]
) -> Iterator[tuple[Sentence, Sentence]]:
    """Pair sentences; DataError unless they have the same words, all with heads."""
    gold_name, predicted_name = names
    both = zip_longest(map(unparsed, gold), map(unparsed, predicted))
    for number, (one, other) in enumerate(both, start=1):
        if other is None:
            expected = f"expected sentence {number} as at {place_of(one, gold_name)}, got the end"
            raise DataError(f"too few sentences: {expected}; {DIFFERENT}", source=predicted_name)
        if one is None:
            what = f"too many sentences: expected {number - 1} as in {gold_name}, got more; {DIFFERENT}"
            raise error_at(what, other, predicted_name)
        if one.forms != other.forms:
            raise _difference(one, other, number, names)
        for sentence, name in ((one, gold_name), (other, predicted_name)):
            if -1 in sentence.heads:
                word = sentence.heads.index(-1) + 1
                what = f"sentence {number}, word {word} ({sentence.forms[word - 1]!r})"
                raise error_at(f"{what}: expected a head, got '_'", sentence, name, word)
        yield one, other


def _difference(gold: Sentence, predicted: Sentence, number: int, names: tuple[str, str]) -> DataError:
    for word, (one, other) in enumerate(zip(gold.forms, predicted.forms, strict=False), start=1):
        if one != other:
            what = f"expected {one!r} as at {place_of(gold, names[0], word)}, got {other!r}; {DIFFERENT}"
            return error_at(f"sentence {number}, word {word}: {what}", predicted, names[1], word)
    what = f"expected {len(gold)} words as at {place_of(gold, names[0])}, got {len(predicted)}"
    return error_at(f"sentence {number}: {what}; {DIFFERENT}", predicted, names[1])


def error_at(what: str, sentence: Sentence, name: str, word: int | None = None) -> DataError:
    """An error with the file and line of a sentence, or of one of its words."""
    source, line = _where(sentence, name, word)
    return DataError(what, source=source, line=line)


def place_of(sentence: Sentence, name: str, word: int | None = None) -> str:
    """File and line of a sentence, or of one of its words, as text."""
    source, line = _where(sentence, name, word)
    return source if line is None else f"{source}:{line}"


def _where(sentence: Sentence, name: str, word: int | None) -> tuple[str, int | None]:
    """File and line; `name` and None for a sentence that was not read from a file."""
    origin, line = sentence.origin, sentence.origin.line
    if line is not None and word is not None:
        tokens = sum(token.first <= word for token in sentence.multiword_tokens)
        nodes = sum(node.word < word for node in sentence.empty_nodes)
        line += len(sentence.comments) + tokens + nodes + word - 1
    return (name if line is None else origin.source), line


def _score(words: _Words, scored: Bools, *, subtypes: bool) -> Scores:
    sentence_of = np.repeat(np.arange(len(words.lengths)), words.lengths)
    shown = [label if subtypes else universal_part(label) for label in words.labels]
    names = sorted(set(shown))
    numbers = {name: number for number, name in enumerate(names)}
    number_of = np.array([numbers[label] for label in shown], dtype=np.int64)
    gold_labels, predicted_labels = number_of[words.gold_labels], number_of[words.predicted_labels]
    head_right = scored & (words.gold_heads == words.predicted_heads)
    label_right = scored & (gold_labels == predicted_labels)
    arc_right = head_right & label_right
    root_wrong = scored & ((words.gold_heads == 0) != (words.predicted_heads == 0))

    def per_sentence(which: Bools) -> Longs:
        return np.bincount(sentence_of[which], minlength=len(words.lengths))

    counts = PerSentence(per_sentence(scored), per_sentence(head_right), per_sentence(arc_right))
    has_words = counts.tokens > 0
    content = np.array([universal_part(name) in CONTENT_RELATIONS for name in names], dtype=np.bool_)
    return Scores(
        **counts.totals(has_words),
        labels=int(label_right.sum()),
        exact_labelled=int((has_words & (counts.arcs == counts.tokens)).sum()),
        roots=int((has_words & (per_sentence(root_wrong) == 0)).sum()),
        content=Agreement(
            gold=int(content[gold_labels[scored]].sum()),
            predicted=int(content[predicted_labels[scored]].sum()),
            correct=int(content[gold_labels[arc_right]].sum()),
        )
        if words.has_ud_labels
        else None,
        by_label=_agreements(names, gold_labels, predicted_labels, scored, arc_right),
        by_arc_length=_by_arc_length(words, scored, head_right),
        by_sentence_length=_by_sentence_length(words.lengths, counts),
        per_sentence=counts,
    )


def universal_part(label: str) -> str:
    """A label without its subtype."""
    return label.partition(":")[0]


def _agreements(
    names: list[str], gold: Longs, predicted: Longs, scored: Bools, right: Bools
) -> Mapping[str, Agreement]:
    """Agreement in each group that is not empty."""
    groups = (gold[scored], predicted[scored], gold[right])
    counts = zip(*(np.bincount(group, minlength=len(names)).tolist() for group in groups), strict=True)
    agreements = {name: Agreement(*each) for name, each in zip(names, counts, strict=True)}
    return {name: each for name, each in agreements.items() if each.gold or each.predicted}


def _by_arc_length(words: _Words, scored: Bools, right: Bools) -> Mapping[str, Agreement]:
    """Unlabelled arcs by distance between head and word; arcs from node 0 are their own group."""
    starts = np.cumsum(words.lengths) - words.lengths
    places = np.arange(1, len(words.gold_heads) + 1) - np.repeat(starts, words.lengths)

    def group(heads: Longs) -> Longs:
        groups = np.searchsorted(ARC_LENGTHS, np.abs(heads - places), side="right")
        return np.where(heads == 0, 0, groups)

    names = ["root", *_group_names(ARC_LENGTHS)]
    return _agreements(names, group(words.gold_heads), group(words.predicted_heads), scored, right)


def _by_sentence_length(lengths: Longs, counts: PerSentence) -> Mapping[str, Attachment]:
    """Attachment by number of words in the sentence, including unscored ones."""
    group = np.searchsorted(SENTENCE_LENGTHS, lengths, side="right") - 1
    insides = [(group == number) & (counts.tokens > 0) for number in range(len(SENTENCE_LENGTHS))]
    named = zip(_group_names(SENTENCE_LENGTHS), insides, strict=True)
    return {name: Attachment(**counts.totals(inside)) for name, inside in named if inside.any()}


def _group_names(edges: tuple[int, ...]) -> list[str]:
    """("1", "2", "3-5", "6+") for the lower edges (1, 2, 3, 6)."""
    closed = [str(low) if high == low + 1 else f"{low}-{high - 1}" for low, high in pairwise(edges)]
    return [*closed, f"{edges[-1]}+"]
