"""The dependency model with valence told as it is in the paper, word by word: the judge of its charts.

Plain dictionaries and loops; nothing of arbora, and no chart. `grammar` has "root": {tag: p},
"stop": {(tag, side, has): p} and "child": {(tag, side, has): {tag: p}}, where side is "left" or "right" and
has tells whether there is a dependent on that side already.
"""

import itertools
import random

SIDES = ("left", "right")


def tree_probability(grammar, tags, heads):
    """Of words and tree together; `heads` of all words, 0 for the root, words counted from 1."""
    root = heads.index(0) + 1
    return grammar["root"][tags[root - 1]] * _below(grammar, tags, heads, root)


def _below(grammar, tags, heads, word):
    """Of all that hangs on a word."""
    tag, p = tags[word - 1], 1.0
    for side in SIDES:
        deps = [d for d, h in enumerate(heads, start=1) if h == word and (d < word) == (side == "left")]
        has = False
        for dep in sorted(deps, key=lambda d: abs(d - word)):
            p *= 1 - grammar["stop"][tag, side, has]
            p *= grammar["child"][tag, side, has][tags[dep - 1]]
            p *= _below(grammar, tags, heads, dep)
            has = True
        p *= grammar["stop"][tag, side, has]
    return p


def random_grammar(rng, tags, zeros=False):
    """Any grammar; with `zeros`, some choices are never made."""

    def shares():
        weights = [0.0 if zeros and rng.random() < 0.3 else rng.expovariate(1) for _ in range(tags)]
        weights[rng.randrange(tags)] += 0.1
        return {tag: weight / sum(weights) for tag, weight in enumerate(weights)}

    contexts = list(itertools.product(range(tags), SIDES, (False, True)))
    stop = {context: rng.uniform(0.1, 0.9) for context in contexts}
    if zeros:
        stop |= {context: rng.choice([0.0, 0.5, 1.0]) for context in contexts if context[2]}
    return {"root": shares(), "stop": stop, "child": {context: shares() for context in contexts}}


def sample(grammar, rng: random.Random):
    """A sentence and its tree: (tags, heads)."""

    def grow(tag):
        """A word and all below it, in order: [(own tag, place of its head in the list or None)]."""
        before, after = [], []
        for side, found in (("left", before), ("right", after)):
            has = False
            while rng.random() >= grammar["stop"][tag, side, has]:
                choices = grammar["child"][tag, side, has]
                found.append(grow(rng.choices(list(choices), list(choices.values()))[0]))
                has = True
        parts = [*before[::-1], [(tag, None)], *after]
        here = sum(map(len, before))
        words, offset = [], 0
        for part in parts:
            for own, head in part:
                is_top = head is None
                words.append(
                    (own, (None if part is parts[len(before)] else here) if is_top else head + offset)
                )
            offset += len(part)
        return words

    words = grow(rng.choices(list(grammar["root"]), list(grammar["root"].values()))[0])
    return [tag for tag, _ in words], [0 if head is None else head + 1 for _, head in words]
