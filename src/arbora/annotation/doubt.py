"""Measures of a parser's doubt, and the order of annotation: sentences, or single arcs.

Measures of doubt, 0 if the parser is certain:

- `entropy`, in nats: of the distribution over a sentence's trees [hwa-2004], or over a word's heads.
- `wrong-heads`: the expected number of wrong heads, Σ 1 - P(head).
- `wrong-arcs`: the same, where a head with a wrong label is wrong, too: Σ 1 - P(head) P(label | head).
- `margin`: 1 - (P(best) - P(second best)), of a sentence's trees or a word's heads.

Entropy and expected errors of a sentence grow with its length, and so does the work on it; `per_word` divides
by the number of words. Annotating single arcs and learning from partial trees needs fewer decisions than
annotating whole sentences [li-2016].

Orders: `doubt`, the most doubtful first; `diversity`, doubtful and different from chosen or annotated ones;
`text`; `random`. Diversity is greedy feature decay [bicici-2011]: doubt is multiplied by the mean over an
item's features (words, word endings, pairs of tags) of 1 / (1 + c), where c counts the items chosen or
annotated so far that have the feature. For arcs this is N / (1 + c), where N counts all words that have it,
since frequent features matter more. Counts only grow, so a heap of old values finds the next item without
comparing all others.

Ties go to the first sentence and word. Time, after parsing: O(words log words).
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, groupby, pairwise
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from arbora.data.sentence import Sentence
from arbora.errors import InputError, require_known
from arbora.interfaces import Query
from arbora.parsing.parsed import Parsed
from arbora.parsing.parser import Parser, columns_of_input
from arbora.search.confidence import split_arcs
from arbora.types import Doubles

Measure: TypeAlias = Literal["entropy", "wrong-heads", "wrong-arcs", "margin"]
Order: TypeAlias = Literal["doubt", "diversity", "text", "random"]
Features: TypeAlias = Sequence[str]


class DoubtfulArc(NamedTuple):
    """The arc to one word, and how doubtful it is."""

    sentence: int
    """From 0."""
    word: int
    """From 1, as in CoNLL-U."""
    doubt: float


# Measures


def sentence_doubts(
    parsed: Sequence[Parsed],
    measure: Measure = "wrong-arcs",
    *,
    per_word: bool = True,
    given: Sequence[Sentence] | None = None,
) -> Doubles:
    """The doubt of each sentence. Shape (S,).

    `per_word` divides by the number of words, except margins. `given`: the sentences before parsing, where
    heads were kept; margins need them. InputError if the parser does not know the probabilities.
    """
    _check(parsed, measure, given)
    if measure == "margin":
        return np.array([*_by_parser(parsed, given, _tree_margins)], dtype=np.float64)
    if measure == "entropy":
        doubts = np.array([_known(each.entropy, each) for each in parsed], dtype=np.float64)
    else:
        doubts = np.array([arcs.sum() for arcs in arc_doubts(parsed, measure)], dtype=np.float64)
    return doubts / np.array([*map(len, parsed)]) if per_word else doubts


def arc_doubts(
    parsed: Sequence[Parsed], measure: Measure = "wrong-arcs", *, given: Sequence[Sentence] | None = None
) -> list[Doubles]:
    """The doubt of the arc to each word, one array per sentence. `given`: see `sentence_doubts`."""
    _check(parsed, measure, given)
    if measure == "margin":
        return [*_by_parser(parsed, given, _head_margins)]
    if measure == "entropy":
        return [np.array(each.entropies, dtype=np.float64) for each in parsed]
    doubts = []
    for each in parsed:
        right = np.array(each.head_probabilities, dtype=np.float64)
        if measure == "wrong-arcs":  # a parser without labels has none that is wrong
            right *= [1.0 if share is None else share for share in each.label_probabilities]
        doubts.append(np.maximum(0.0, 1.0 - right))
    return doubts


def _check(parsed: Sequence[Parsed], measure: Measure, given: Sequence[Sentence] | None) -> None:
    require_known("measure", measure, get_args(Measure))
    for parser in {id(each.parser): each.parser for each in parsed}.values():
        parser.require(Query.MARGINALS)
    if given is not None and [*map(len, given)] != [*map(len, parsed)]:
        raise InputError("given: expected the sentences that were parsed, of the same lengths", field="given")


def _known(value: float | None, parsed: Parsed) -> float:
    if value is None:
        raise InputError(
            f"entropy: {parsed.parser.search.describe()} has no sums over trees, so the entropy of its trees "
            "is unknown; expected the measure wrong-heads or wrong-arcs, or a first-order parser",
            field="measure",
        )
    return value


_Margins: TypeAlias = Callable[[Parser, list[Sentence], bool], Iterable[Any]]


def _by_parser(
    parsed: Sequence[Parsed], given: Sequence[Sentence] | None, margins: _Margins
) -> Iterable[Any]:
    """The result of `margins` for each sentence; sentences of one parser in one call."""
    sentences = [each.sentence for each in parsed] if given is None else given
    pairs = zip(parsed, sentences, strict=True)
    for _, group in groupby(pairs, key=lambda pair: id(pair[0].parser)):
        members = list(group)
        parser = members[0][0].parser
        yield from margins(parser, [sentence for _, sentence in members], given is not None)


def _tree_margins(parser: Parser, sentences: list[Sentence], keep_heads: bool) -> Iterable[float]:
    parser.require(Query.KBEST)
    for sentence in sentences:
        best = [tree.probability or 0.0 for tree in parser.kbest(sentence, 2, keep_heads=keep_heads)]
        yield 1.0 - (best[0] - best[1]) if len(best) > 1 else 0.0


def _head_margins(parser: Parser, sentences: list[Sentence], keep_heads: bool) -> Iterable[Doubles]:
    batch = parser.encode(columns_of_input(sentences))
    if keep_heads:
        batch.set_heads(np.array([head for each in sentences for head in each.heads], dtype=np.int32))
    table = parser.confidence(batch, arc_table=True, keep_heads=keep_heads).arc_table
    for arcs in split_arcs(table, batch.lengths):
        second, first = np.sort(arcs[:, 1:], axis=0)[-2:]
        yield np.maximum(0.0, 1.0 - (first - second))


# Orders


def order_sentences(
    parsed: Sequence[Parsed],
    by: Order = "doubt",
    *,
    n: int | None = None,
    measure: Measure = "wrong-arcs",
    per_word: bool = True,
    annotated: Iterable[Sentence] = (),
    given: Sequence[Sentence] | None = None,
    seed: int = 0,
) -> list[int]:
    """The numbers of the sentences, from 0, in the order in which to annotate them; the first `n`.

    `annotated`: sentences that are annotated already, which `diversity` avoids to repeat. For the others, see
    `sentence_doubts`.
    """
    require_known("by", by, get_args(Order))
    if by in ("text", "random"):
        return _without_doubt(len(parsed), by, seed)[:n]
    doubts = sentence_doubts(parsed, measure, per_word=per_word, given=given)
    if by == "doubt":
        return np.argsort(-doubts, kind="stable")[:n].tolist()
    features = [sentence_features(each.sentence) for each in parsed]
    return decaying_order(doubts, features, map(sentence_features, annotated), n)


def order_arcs(
    parsed: Sequence[Parsed],
    by: Order = "doubt",
    *,
    n: int | None = None,
    measure: Measure = "wrong-arcs",
    annotated: Iterable[Sentence] = (),
    given: Sequence[Sentence] | None = None,
    seed: int = 0,
) -> list[DoubtfulArc]:
    """The arcs in the order in which to annotate them; the first `n`.

    `given`: the sentences before parsing, where heads were kept; words with a head are left out. `annotated`:
    see `order_sentences`; words with a head count.
    """
    require_known("by", by, get_args(Order))
    doubts = arc_doubts(parsed, measure, given=given)
    arcs = [
        DoubtfulArc(number, word, doubt)
        for number, row in enumerate(doubts)
        for word, doubt in enumerate(row.tolist(), start=1)
        if given is None or given[number].heads[word - 1] < 0
    ]
    if by in ("text", "random"):
        places = _without_doubt(len(arcs), by, seed)[:n]
    elif by == "doubt":
        places = np.argsort([-arc.doubt for arc in arcs], kind="stable")[:n].tolist()
    else:
        rows = [arc_features(each.sentence) for each in parsed]
        features = [rows[arc.sentence][arc.word - 1] for arc in arcs]
        known = [*annotated, *(given or ())]
        pairs = (
            (row, head) for each in known for row, head in zip(arc_features(each), each.heads, strict=True)
        )
        seen = (row for row, head in pairs if head >= 0)
        frequency = Counter(feature for row in chain.from_iterable(rows) for feature in row)
        places = decaying_order(np.array([arc.doubt for arc in arcs]), features, seen, n, frequency)
    return [arcs[place] for place in places]


def _without_doubt(count: int, by: Order, seed: int) -> list[int]:
    if by == "text":
        return [*range(count)]
    return np.random.default_rng(seed).permutation(count).tolist()


def decaying_order(
    doubts: Doubles,
    features: Sequence[Features],
    seen: Iterable[Features] = (),
    n: int | None = None,
    frequency: Mapping[str, int] | None = None,
) -> list[int]:
    """The order by doubt times how new an item's features are; the first `n`. See `diversity` above.

    `seen`: the features of what is annotated already. `frequency`: N of each feature (default: 1).
    O((items + changes) log items).
    """
    counts = Counter(feature for row in seen for feature in row)

    def value(item: int) -> float:
        news = sum((frequency[f] if frequency else 1) / (1 + counts[f]) for f in features[item])
        return float(doubts[item]) * news / max(1, len(features[item]))

    heap = [(-value(item), item) for item in range(len(features))]
    heapq.heapify(heap)
    chosen: list[int] = []
    while heap and (n is None or len(chosen) < n):
        _, item = heap[0]
        now = (-value(item), item)
        if len(heap) > 1 and now > min(heap[1:3]):
            heapq.heapreplace(heap, now)
            continue
        heapq.heappop(heap)
        chosen.append(item)
        counts.update(features[item])
    return chosen


def sentence_features(sentence: Sentence) -> list[str]:
    """The features of sentences: their words, and pairs of neighbouring tags."""
    tags = ["<", *sentence.upos, ">"]
    return [*sentence.forms, *(f"{left} {right}" for left, right in pairwise(tags))]


def arc_features(sentence: Sentence) -> list[list[str]]:
    """The features of arcs: the word, its tag and ending, and its tag with that of each neighbour."""
    tags = ["<", *sentence.upos, ">"]
    triples = zip(sentence.forms, tags, tags[1:], tags[2:], strict=False)
    return [
        [form, f"{tag} -{form[-3:]}", f"{before} {tag} .", f". {tag} {after}"]
        for form, before, tag, after in triples
    ]
