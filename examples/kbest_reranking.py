"""k-best reranking: choose among a parser's best trees by knowledge that it lacks.

The parser does not know with what people see; a few counts of word pairs do. A tree's score is its log
probability plus a bonus for each known pair.

    python examples/kbest_reranking.py
"""

import math

import arbora
from arbora.parsing.parsed import Parsed

SENTENCES = ["She saw the man with the telescope.", "She saw the man with the beard."]
GOES_WITH = {("saw", "telescope"): 2.0, ("man", "beard"): 4.0}
"""A bonus for a head and a dependent, as the log of how much more probable the pair is than by chance."""


def score(tree: Parsed) -> float:
    """The tree's log probability, plus the bonuses of its pairs."""
    forms = ["ROOT", *tree.sentence.forms]
    pairs = ((forms[word.head], word.form) for word in tree)
    return math.log(tree.probability) + sum(GOES_WITH.get(pair, 0.0) for pair in pairs)


def main() -> None:
    """Rerank the five best trees of two sentences."""
    nlp = arbora.load()
    for text in SENTENCES:
        (sentence,) = nlp(text)
        trees = sentence.kbest(5)
        best = max(trees, key=score)
        print(text)
        for rank, tree in enumerate(trees[:3], start=1):
            head = tree[tree[-2].head - 1].form
            mark = "  <- chosen" if tree is best else ""
            print(f"  {rank}. P = {tree.probability:.3f}, {tree[-2].form!r} depends on {head!r}{mark}")


if __name__ == "__main__":
    main()
