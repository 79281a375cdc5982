"""Score parses of raw text, whose words may differ from the gold words, as CoNLL 2018 did (zeman-2018).

Both sides have the same characters, except for spaces. A token or a sentence is right if both sides have one
with the same first and last character. Words that are tokens are aligned by their characters, words in and
around multiword tokens by the longest common subsequence of their forms, in lower case. All other measures
count aligned words, and their F1 is over the words of both sides; docs/evaluation.md defines them.

O(words), except that m gold and n predicted words in overlapping multiword tokens take O(m n).
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from arbora.errors import DataError
from arbora.evaluation.attachment import CONTENT_RELATIONS, error_at, place_of, universal_part
from arbora.evaluation.scores import Agreement
from arbora.types import Bools

if TYPE_CHECKING:
    from arbora.data.sentence import Sentence, Span

FUNCTION_RELATIONS = frozenset({"aux", "case", "cc", "clf", "cop", "det", "mark"})
UNIVERSAL_FEATURES = frozenset({
    "Abbr", "Animacy", "Aspect", "Case", "Definite", "Degree", "Evident", "Foreign", "Gender", "Mood",
    "Number", "NumType", "Person", "Polarity", "Polite", "Poss", "PronType", "Reflex", "Tense",
    "VerbForm", "Voice",
})  # fmt: skip
ROOT, UNALIGNED = -1, -2
MOST_COMPARED = 25_000_000  # Pairs of words in overlapping multiword tokens; treebanks have tens
SHOWN = 20


def evaluate_aligned(
    gold: Iterable[Sentence], predicted: Iterable[Sentence], *, names: tuple[str, str] = ("gold", "predicted")
) -> dict[str, Agreement]:
    """Agreement on tokens, sentences, words and their annotation, by name; both sides may be streams.

    Errors call the two sides by `names`. Raises DataError if the characters differ or a head is missing.
    """
    one, other = _Side(gold, names[0]), _Side(predicted, names[1])
    _check_characters(one, other)
    g, p = np.array(list(_align(one, other)), dtype=np.int64).reshape(-1, 2).T
    gold_of = np.full(len(other.forms) + 1, UNALIGNED)
    gold_of[p], gold_of[ROOT] = g, ROOT  # the root is word -1 on both sides
    partner = gold_of.tolist()

    def same(column: str) -> Bools:
        return np.equal(getattr(one, column)[g], getattr(other, column)[p]).astype(np.bool_)

    def count(right: Bools, *, content: bool = False) -> Agreement:
        inside = one.content[g] if content else np.ones(len(g), dtype=np.bool_)
        gold, predicted = (int(s.content.sum()) if content else len(s.forms) for s in (one, other))
        return Agreement(gold, predicted, int((right & inside).sum()), int(inside.sum()))

    upos, xpos, feats, deprels = map(same, ("upos", "xpos", "feats", "deprels"))
    morphology = upos & feats
    lemmas = np.equal(one.lemmas[g], "_").astype(np.bool_) | same("lemmas")
    heads = one.heads[g] == gold_of[other.heads[p]]
    arcs = heads & deprels
    right_words = set(p[deprels & morphology].tolist())

    def same_function_words(gold: int, predicted: int) -> bool:
        ours, theirs = one.function_words.get(gold, []), other.function_words.get(predicted, [])
        return [partner[word] for word in theirs] == ours and right_words.issuperset(theirs)

    functions = np.fromiter(map(same_function_words, g.tolist(), p.tolist()), np.bool_, len(g))
    return {
        "tokens": _spans(one.tokens, other.tokens),
        "sentences": _spans(one.sentences, other.sentences),
        "words": count(np.ones(len(g), dtype=np.bool_)),
        "upos": count(upos),
        "xpos": count(xpos),
        "ufeats": count(feats),
        "alltags": count(morphology & xpos),
        "lemmas": count(lemmas),
        "uas": count(heads),
        "las": count(arcs),
        "clas": count(arcs, content=True),
        "mlas": count(arcs & morphology & functions, content=True),
        "blex": count(arcs & lemmas, content=True),
    }


class _Side:
    """All words of one side in a row, and their characters."""

    def __init__(self, sentences: Iterable[Sentence], name: str) -> None:
        self.name = name
        self.given: list[Sentence] = []
        self.texts: list[str] = []  # forms of tokens without spaces
        self.tokens: list[Span] = []
        self.sentences: list[Span] = []
        self.spans: list[Span] = []  # of each word, that of its token
        self.multiword: list[bool] = []
        self.forms: list[str] = []  # in lower case
        heads: list[int] = []
        for sentence in sentences:
            heads += self._add(sentence)
        self.heads = np.array(heads, dtype=np.int64)  # places in these lists, or ROOT
        self.lemmas, self.upos, self.xpos = map(self._column, ("lemmas", "upos", "xpos"))
        self.feats = self._column("feats", _universal_features)
        self.deprels = self._column("deprels", universal_part)
        self.content = np.array([label in CONTENT_RELATIONS for label in self.deprels], dtype=np.bool_)
        self.function_words: defaultdict[int, list[int]] = defaultdict(list)  # of their head
        for word, (head, label) in enumerate(zip(heads, self.deprels, strict=True)):
            if label in FUNCTION_RELATIONS and head != ROOT:
                self.function_words[head].append(word)

    def _add(self, sentence: Sentence) -> Iterator[int]:
        """Add the tokens and words of a sentence; yield its heads."""
        first, begin = len(self.forms), self._end()
        token_at = {token.first: token for token in sentence.multiword_tokens}
        last = 0
        for i, (form, head) in enumerate(zip(sentence.forms, sentence.heads, strict=True), start=1):
            token = token_at.get(i)
            if i > last:
                last = i if token is None else token.last
                written = _without_spaces(form if token is None else token.form)
                if not written:
                    raise error_at(f"word {i}: expected characters, got spaces alone", sentence, self.name, i)
                self.tokens.append((self._end(), self._end() + len(written)))
                self.texts.append(written)
                is_multiword = token is not None
            self.spans.append(self.tokens[-1])
            self.multiword.append(is_multiword)
            self.forms.append((form if is_multiword else written).lower())
            if head < 0:
                raise error_at(f"word {i} ({form!r}): expected a head, got '_'", sentence, self.name, i)
            yield first + head - 1 if head else ROOT
        self.sentences.append((begin, self._end()))
        self.given.append(sentence)

    def _end(self) -> int:
        return self.tokens[-1][1] if self.tokens else 0

    def _column(self, name: str, change: Callable[[str], str] = str) -> NDArray[np.object_]:
        return np.array([change(text) for each in self.given for text in getattr(each, name)], dtype=object)


@lru_cache(maxsize=10_000)
def _universal_features(feats: str) -> str:
    kept = (feat for feat in feats.split("|") if feat.partition("=")[0] in UNIVERSAL_FEATURES)
    return "|".join(sorted(kept))


def _without_spaces(form: str) -> str:
    if form.isascii():
        return form.replace(" ", "")
    return "".join(character for character in form if unicodedata.category(character) != "Zs")


def _check_characters(one: _Side, other: _Side) -> None:
    gold, predicted = "".join(one.texts), "".join(other.texts)
    if gold == predicted:
        return
    shared = zip(gold, predicted, strict=False)
    at = next((i for i, (a, b) in enumerate(shared) if a != b), min(len(gold), len(predicted)))

    def near(side: _Side, text: str) -> tuple[Sentence | None, str]:
        sentence = bisect_right(side.sentences, at, key=lambda span: span[0]) - 1
        return (side.given[sentence] if side.given else None), text[at : at + SHOWN] or "the end"

    (expected_in, expected), (got_in, got) = near(one, gold), near(other, predicted)
    place = one.name if expected_in is None else place_of(expected_in, one.name)
    what = (
        f"characters differ, spaces apart: expected {expected!r} as in the sentence at {place}, got {got!r}"
    )
    if got_in is None:
        raise DataError(what, source=other.name)
    raise error_at(f"{what}; words are aligned by their characters", got_in, other.name)


def _spans(gold: list[Span], predicted: list[Span]) -> Agreement:
    return Agreement(len(gold), len(predicted), len(set(gold) & set(predicted)))


def _align(one: _Side, other: _Side) -> Iterator[tuple[int, int]]:
    g = p = 0
    while g < len(one.forms) and p < len(other.forms):
        if one.multiword[g] or other.multiword[p]:
            first_gold, first_predicted, g, p = _multiword_region(one, other, g, p)
            yield from _common(one, range(first_gold, g), other, range(first_predicted, p))
        elif one.spans[g] == other.spans[p]:
            yield g, p
            g, p = g + 1, p + 1
        elif one.spans[g][0] <= other.spans[p][0]:
            g += 1
        else:
            p += 1


def _multiword_region(one: _Side, other: _Side, g: int, p: int) -> tuple[int, int, int, int]:
    """The first words of a stretch of overlapping multiword tokens on both sides, and the first after it."""
    if one.multiword[g]:
        end = one.spans[g][1]
        p += not other.multiword[p] and other.spans[p][0] < one.spans[g][0]
    else:
        end = other.spans[p][1]
        g += not one.multiword[g] and one.spans[g][0] < other.spans[p][0]
    first_gold, first_predicted = g, p
    while not (_is_beyond(one, g, end) and _is_beyond(other, p, end)):
        gold_goes = g < len(one.forms) and (p >= len(other.forms) or one.spans[g][0] <= other.spans[p][0])
        side, word = (one, g) if gold_goes else (other, p)
        if side.multiword[word]:
            end = max(end, side.spans[word][1])
        g, p = g + gold_goes, p + (not gold_goes)
    return first_gold, first_predicted, g, p


def _is_beyond(side: _Side, word: int, end: int) -> bool:
    """Whether a word does not lie within a stretch that ends there."""
    if word >= len(side.forms):
        return True
    return side.spans[word][0] >= end if side.multiword[word] else side.spans[word][1] > end


def _common(one: _Side, gold: range, other: _Side, predicted: range) -> Iterator[tuple[int, int]]:
    """The longest common subsequence of forms: longest[i][j] is its length from gold[i] and predicted[j] on.

    longest[i][j] = 1 + longest[i+1][j+1] where the forms are equal,
    else max(longest[i+1][j], longest[i][j+1])
    """
    if len(gold) * len(predicted) > MOST_COMPARED:
        raise DataError(
            f"expected multiword tokens that can be aligned, got {len(gold)} gold and {len(predicted)} "
            "predicted words in multiword tokens that all overlap",
            source=other.name,
        )
    longest = [[0] * (len(predicted) + 1) for _ in range(len(gold) + 1)]
    for i in reversed(range(len(gold))):
        row, below, form = longest[i], longest[i + 1], one.forms[gold[i]]
        for j in reversed(range(len(predicted))):
            is_same = form == other.forms[predicted[j]]
            row[j] = 1 + below[j + 1] if is_same else max(below[j], row[j + 1])
    i = j = 0
    while i < len(gold) and j < len(predicted):
        if one.forms[gold[i]] == other.forms[predicted[j]]:
            yield gold[i], predicted[j]
            i, j = i + 1, j + 1
        elif longest[i][j] == longest[i + 1][j]:
            i += 1
        else:
            j += 1
