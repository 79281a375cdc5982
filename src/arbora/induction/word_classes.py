"""Word classes for text without tags, from bigrams [martin-1998].

The exchange algorithm (core/text) puts words into classes so that bigrams of classes make the text as likely
as possible: word after word moves to the class where the likelihood is greatest. The likelihood never falls,
but where it ends depends on the start, so the best of several starts is used.

Case is ignored. Words rarer than `least_count` are pooled: by whether they begin with a capital or hold
digits, and by the longest ending, up to three letters, that rare words with at least `least_count`
occurrences in all share. An unseen word goes to the pool of its ending.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from arbora import _core
from arbora.errors import MOST_SEED, InputError, require_whole
from arbora.settings import Settings, parameter
from arbora.types import Ints

LONGEST_ENDING = 3
BOUNDARY = -1

Item: TypeAlias = tuple[bool, str]  # What has a class: whether it is a pool of rare words, and its name


@dataclass(frozen=True, kw_only=True)
class ClassSettings(Settings):
    """Settings for learning word classes, which replace missing tags."""

    count: int = parameter(30, "the number of classes", least=2)
    rounds: int = parameter(30, "rounds at most; fewer if no word moves any more", least=1)
    least_count: int = parameter(10, "rarer words are pooled by their endings", least=1)
    starts: int = parameter(5, "number of starts; all but the first are random", least=1)


@dataclass(frozen=True, eq=False)
class WordClasses:
    """The class of every word; immutable."""

    words: Mapping[str, str]  # The class of each frequent word, in lower case
    endings: Mapping[str, str]  # That of each pool of rare words, by kind and ending: `a-ing`, `A-`, `0-5`
    others: str  # The class of all other words
    values: tuple[float, ...] = ()
    """Log-likelihood per word, plus a constant, before the first round of the best start and after each."""

    @classmethod
    def learn(
        cls, sentences: Iterable[Sequence[str]], settings: ClassSettings | None = None, *, seed: int = 0
    ) -> WordClasses:
        """Learn classes; the first start gives frequent words their own, and others one, as [martin-1998]."""
        require_whole("seed", seed, 0, MOST_SEED)
        settings = settings or ClassSettings()
        classes = settings.count
        read = [list(sentence) for sentence in sentences]
        forms = Counter(form for sentence in read for form in sentence)
        if not forms:
            raise InputError("word classes: expected sentences of words, got no word")
        item_of = _items(forms, settings.least_count)
        counts: Counter[Item] = Counter()
        for form, count in forms.items():
            counts[item_of[form]] += count
        items = sorted(counts, key=lambda item: (-counts[item], item))
        numbers = {item: number for number, item in enumerate(items)}
        text = [n for sentence in read for n in [*(numbers[item_of[form]] for form in sentence), BOUNDARY]]
        tokens = np.array(text, dtype=np.int32)
        ends = [
            _core.exchange_classes(tokens, _start(len(items), classes, seed, start), classes, settings.rounds)
            for start in range(settings.starts)
        ]
        found, values, _ = max(ends, key=lambda end: end[1][-1])
        sizes = np.bincount(found, weights=[counts[item] for item in items], minlength=classes)
        digits = max(2, len(str(classes - 1)))
        ranks = np.argsort(np.argsort(-sizes, kind="stable"), kind="stable")
        words: dict[str, str] = {}
        endings: dict[str, str] = {}
        for (is_pool, name), c in zip(items, found.tolist(), strict=True):
            (endings if is_pool else words)[name] = f"C{ranks[c]:0{digits}d}"
        # Words unlike any rare one go to the most frequent pool; without pools, to the most frequent word.
        others = next(iter((endings or words).values()))
        return cls(words, endings, others, tuple(value / (len(text) - len(read)) for value in values))

    def class_of(self, form: str) -> str:
        """A word's class, such as `C07`; classes are numbered by frequency."""
        known = (self.endings[pool] for pool in _pools(form) if pool in self.endings)
        return self.words.get(form.lower()) or next(known, self.others)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted({*self.words.values(), *self.endings.values(), self.others}))


def _items(forms: Counter[str], least: int) -> dict[str, Item]:
    """Maps each form to a frequent word, or to its pool of rare words."""
    folded: Counter[str] = Counter()
    for form, count in forms.items():
        folded[form.lower()] += count
    rare = {form: _pools(form) for form in forms if folded[form.lower()] < least}
    sizes: Counter[str] = Counter()
    for form, pools in rare.items():
        sizes.update(dict.fromkeys(pools, forms[form]))
    found = {form: (False, form.lower()) for form in forms}
    for form, pools in rare.items():
        found[form] = (True, next((pool for pool in pools if sizes[pool] >= least), ""))
    return found


def _pools(form: str) -> list[str]:
    """The pools that a rare word fits, most specific first; the empty string fits all."""
    kind = "0" if any(c.isdigit() for c in form) else "A" if form[:1].isupper() else "a"
    lower = form.lower()
    endings = [lower[-length:] for length in range(min(LONGEST_ENDING, len(lower)), 0, -1)]
    return [*(f"{kind}-{ending}" for ending in endings), f"{kind}-", ""]


def _start(types: int, classes: int, seed: int, start: int) -> Ints:
    if start:
        return np.random.default_rng([seed, start]).integers(0, classes, size=types, dtype=np.int32)
    return np.minimum(np.arange(types, dtype=np.int32), np.int32(classes - 1))
