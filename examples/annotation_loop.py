"""Annotation loop: a parser asks for the heads that it doubts most, and learns from the answers.

A person would answer on the page of `arbora annotate`. Here gold trees answer, so that the gain can be
measured: the same number of answers about random words teaches less.

    python examples/annotation_loop.py
"""

from collections.abc import Sequence
from dataclasses import replace

import arbora
from arbora.annotation.doubt import Order, order_arcs
from arbora.data.sentence import NO_HEAD, Sentence
from arbora.data.synthetic import generate

CONFIG = {"order": 1, "learner": "adagrad", "only": "parser", "tags": "gold", "parameters": {"epochs": 5}}
ROUNDS, QUESTIONS = 4, 60


def without_heads(sentence: Sentence) -> Sentence:
    """The sentence with all heads open."""
    n = len(sentence)
    return replace(sentence, heads=(NO_HEAD,) * n, deprels=("_",) * n)


def answer(sentence: Sentence, gold: Sentence, word: int) -> Sentence:
    """The sentence with the right head of one word."""
    heads, labels = list(sentence.heads), list(sentence.deprels)
    heads[word - 1], labels[word - 1] = gold.heads[word - 1], gold.deprels[word - 1]
    return replace(sentence, heads=tuple(heads), deprels=tuple(labels))


def annotate(by: Order, start: Sequence[Sentence], pool: Sequence[Sentence]) -> list[Sentence]:
    """Ask `ROUNDS` times for `QUESTIONS` heads of the pool, in this order; return what is known then."""
    known = [without_heads(sentence) for sentence in pool]
    for seed in range(ROUNDS):
        parser = arbora.train([*start, *known], config=CONFIG).parser
        parsed = parser.parse(known, probabilities=True, keep_heads=True)
        for arc in order_arcs(parsed, by, given=known, n=QUESTIONS, seed=seed):
            known[arc.sentence] = answer(known[arc.sentence], pool[arc.sentence], arc.word)
    return known


def main() -> None:
    """Compare doubtful with random questions."""
    gold = list(generate(500, seed=5))  # or arbora.read("my-treebank.conllu")
    start, pool, test = gold[:10], gold[10:200], gold[200:]
    orders: tuple[Order, ...] = ("random", "doubt")
    for by in orders:
        parser = arbora.train([*start, *annotate(by, start, pool)], config=CONFIG).parser
        uas = arbora.evaluate(test, parser.parse(test)).uas
        print(f"{ROUNDS * QUESTIONS} heads, {by + ':':<7} UAS {uas:.1f}")


if __name__ == "__main__":
    main()
