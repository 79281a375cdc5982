"""Classes of words for text without tags, from which words stand beside which [martin-1998].

The exchange algorithm (core/classes) puts words into so many classes that bigrams of classes make the text
as likely as they can: word after word moves to the class where that is greatest, which never makes it less.
Where it ends depends on where it started, so the best of several starts is taken.

Words are told apart in lower case. Those seen less often than `least_count` are too rare to say where they
belong and are taken together: by whether they begin with a capital or hold digits, and by the longest
ending, up to three letters, that rare words seen at least `least_count` times in all share. A word that was
never seen goes where rare words of its ending went.

Libraries for this on the Python Package Index take time that grows with the square of the vocabulary, and
have no place for words they have not seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arbora import _core
from arbora.errors import InputError, ModelError
from arbora.types import Ints, Longs

LONGEST_ENDING = 3
BOUNDARY = -1


@dataclass(frozen=True, eq=False)
class WordClasses:
    """Which class a word belongs to; immutable."""

    words: Mapping[str, str]
    """The class of each frequent word, in lower case."""
    endings: Mapping[str, str]
    """Of rare words: the class by kind and ending, such as `a-ing`, `A-`, `0-5`."""
    others: str
    """The class of all other words."""
    values: tuple[float, ...] = ()
    """The text's log-likelihood per word before the first round of the best start and after each, but for a
    constant."""

    @classmethod
    def learn(
        cls,
        sentences: Iterable[Sequence[str]],
        *,
        classes: int = 30,
        rounds: int = 30,
        least_count: int = 10,
        starts: int = 5,
        seed: int = 0,
    ) -> WordClasses:
        """Classes of the words of sentences.

        `rounds`: at most; fewer where no word moves any more. `starts`: the best of so many is taken; the
        first has the most frequent words in classes of their own and all others together, as [martin-1998],
        the others have words anywhere, by the seed.
        """
        given = {"classes": (classes, 2), "rounds": (rounds, 1), "least_count": (least_count, 1)}
        for name, (value, least) in (given | {"starts": (starts, 1), "seed": (seed, 0)}).items():
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InputError(f"{name}: expected a whole number of at least {least}, got {value!r}")
        read = [list(sentence) for sentence in sentences]
        types = _Types.of(Counter(form for sentence in read for form in sentence), least_count)
        if not types.names:
            raise InputError("word classes: expected sentences of words, got no word")
        text = [
            number for sentence in read for number in [*map(types.numbers.__getitem__, sentence), BOUNDARY]
        ]
        numbers = np.array(text, dtype=np.int32)
        ends = [
            _core.exchange_classes(numbers, _start(len(types.names), classes, seed, start), classes, rounds)
            for start in range(starts)
        ]
        found, values, _ = max(ends, key=lambda end: end[1][-1])
        names = _names(found, np.array(types.counts), classes)
        words: dict[str, str] = {}
        endings: dict[str, str] = {}
        for (is_pool, name), c in zip(types.names, found.tolist(), strict=True):
            (endings if is_pool else words)[name] = names[c]
        # Words unlike any rare one go where most rare words are; the first type is the most frequent of all.
        others = next(iter(endings.values()), names[int(found[0])])
        return cls(words, endings, others, tuple(value / (len(text) - len(read)) for value in values))

    def class_of(self, form: str) -> str:
        """The name of a word's class, such as `C07`; classes are numbered from the most frequent on."""
        known = self.words.get(form.lower())
        if known is not None:
            return known
        return next((self.endings[pool] for pool in _pools(form) if pool in self.endings), self.others)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted({*self.words.values(), *self.endings.values(), self.others}))

    def to_plain(self) -> dict[str, Any]:
        return {"words": dict(self.words), "endings": dict(self.endings), "others": self.others}

    @classmethod
    def from_plain(cls, plain: Any, source: str = "<model>") -> WordClasses:
        parts = [plain.get(key) for key in ("words", "endings", "others")] if isinstance(plain, dict) else []
        match parts:
            case [dict() as words, dict() as endings, str() as others] if all(
                isinstance(text, str) for each in (words, endings) for pair in each.items() for text in pair
            ):
                return cls(words, endings, others)
        raise ModelError("word classes: expected words, endings and others with their classes", source=source)


@dataclass(frozen=True, eq=False)
class _Types:
    """What is put into classes: frequent words, and pools of rare ones; most frequent first."""

    names: list[tuple[bool, str]]
    """Whether it is a pool, and its name."""
    counts: list[int]
    numbers: dict[str, int]
    """Of forms as they stand in the text."""

    @classmethod
    def of(cls, forms: Counter[str], least: int) -> _Types:
        folded: Counter[str] = Counter()
        for form, count in forms.items():
            folded[form.lower()] += count
        rare = {form: count for form, count in forms.items() if folded[form.lower()] < least}
        sizes: Counter[str] = Counter()
        for form, count in rare.items():
            for pool in _pools(form):
                sizes[pool] += count
        name_of = {form: (False, form.lower()) for form in forms}
        for form in rare:
            name_of[form] = (True, next((pool for pool in _pools(form) if sizes[pool] >= least), ""))
        counts: Counter[tuple[bool, str]] = Counter()
        for form, count in forms.items():
            counts[name_of[form]] += count
        names = sorted(counts, key=lambda name: (-counts[name], name))
        numbers = {name: number for number, name in enumerate(names)}
        return cls(
            names, [counts[name] for name in names], {form: numbers[name] for form, name in name_of.items()}
        )


def _pools(form: str) -> list[str]:
    """Where a rare word may belong, the closest company first; the empty string is for all."""
    kind = "0" if any(c.isdigit() for c in form) else "A" if form[:1].isupper() else "a"
    lower = form.lower()
    endings = [lower[-length:] for length in range(min(LONGEST_ENDING, len(lower)), 0, -1)]
    return [*(f"{kind}-{ending}" for ending in endings), f"{kind}-", ""]


def _start(types: int, classes: int, seed: int, start: int) -> Ints:
    if start:
        return np.random.default_rng([seed, start]).integers(0, classes, size=types, dtype=np.int32)
    return np.minimum(np.arange(types, dtype=np.int32), np.int32(classes - 1))


def _names(found: Ints, counts: Longs, classes: int) -> dict[int, str]:
    sizes = np.bincount(found, weights=counts, minlength=classes)
    digits = max(2, len(str(classes - 1)))
    return {c: f"C{rank:0{digits}d}" for rank, c in enumerate(np.argsort(-sizes, kind="stable").tolist())}
