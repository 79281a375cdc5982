"""Confidence filter: keep the trees that are probably right, and check that they are.

A corpus linguist who counts constructions would rather have half of the trees, almost all of them right,
than all of them. P(tree) says which half to keep.

    python examples/confidence_filter.py
"""

import arbora
from arbora.data.sentence import Sentence
from arbora.data.synthetic import generate
from arbora.parsing.parsed import Parsed

CONFIG = {"order": 1, "parameters": {"epochs": 3}}


def share_of_right_trees(gold: list[Sentence], parsed: list[Parsed]) -> float:
    """The share of sentences in which every head is right."""
    right = [each.heads == sentence.heads for sentence, each in zip(gold, parsed, strict=True)]
    return sum(right) / len(right)


def main() -> None:
    """Train on synthetic sentences, parse others, keep the most probable trees."""
    sentences = list(generate(600, seed=5))  # or arbora.read("my-treebank.conllu")
    train, dev, rest = sentences[:200], sentences[200:300], sentences[300:]
    nlp = arbora.train(train, dev, config=CONFIG).pipeline  # dev calibrates the probabilities
    parsed = nlp.parse(rest, probabilities=True)

    ranked = sorted(zip(rest, parsed, strict=True), key=lambda pair: -pair[1].probability)
    print("kept  whole trees right  expected")
    for share in (1.0, 0.5, 0.25):
        kept = ranked[: round(share * len(ranked))]
        expected = sum(each.probability for _, each in kept) / len(kept)
        right = share_of_right_trees([gold for gold, _ in kept], [each for _, each in kept])
        print(f"{share:>4.0%}  {right:>17.0%}  {expected:>8.0%}")


if __name__ == "__main__":
    main()
