"""Constrained parsing: what you know about a sentence changes the rest of its tree.

The parser keeps given heads and finds the best tree around them, with conditional probabilities.

    python examples/constrained_parsing.py
"""

from dataclasses import replace

import arbora
from arbora import NoTreeError, Sentence
from arbora.web.terminal import draw

WORDS = ["We", "watched", "the", "dogs", "chase", "cats", "with", "binoculars"]


def with_heads(sentence: Sentence, known: dict[str, str]) -> Sentence:
    """The sentence with these heads, word by word, and no others."""
    heads = [-1] * len(sentence)
    for word, head in known.items():
        heads[sentence.forms.index(word)] = sentence.forms.index(head) + 1
    return replace(sentence, heads=tuple(heads), deprels=("_",) * len(heads))


def main() -> None:
    """Parse one sentence freely, then with a known head, then with heads that fit no tree."""
    nlp = arbora.load()
    (free,) = nlp.parse([WORDS], probabilities=True)
    print(f"without constraints, P = {free.probability:.2f}")
    print(draw(free.sentence.tree, WORDS))

    for head in ("watched", "dogs"):
        known = with_heads(free.sentence, {"binoculars": head})
        (parsed,) = nlp.parse([known], probabilities=True, keep_heads=True)
        print(f"'binoculars' depends on {head!r}: P of the rest = {parsed.probability:.2f}")

    try:
        nlp.parse([with_heads(free.sentence, {"dogs": "cats", "cats": "dogs"})], keep_heads=True)
    except NoTreeError as error:
        print(f"no tree: {error}")


if __name__ == "__main__":
    main()
