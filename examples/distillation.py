"""Distillation: a slow, accurate teacher parses raw sentences; a fast student learns from them.

The teacher is a third-order parser, the student a greedy one that reads a sentence once from left to right.
`arbora distil` does the same for raw text, and with networks.

    python examples/distillation.py
"""

import time

import arbora
from arbora.data.synthetic import generate

TEACHER = {"parser": "cube", "order": 3, "parameters": {"epochs": 3}}
STUDENT = {"parser": "transition", "parameters": {"epochs": 5}}
SURE = 0.4
"""Less probable trees are left out."""


def main() -> None:
    """Compare a student trained on gold trees with one also trained on its teacher's trees."""
    gold = list(generate(260, seed=3))
    train, dev = gold[:60], gold[60:260]
    unseen = list(generate(500, seed=4))  # their trees are not used
    small = {"tree_bits": 16, "label_bits": 16, "only": "parser", "trees": "projective"}

    teacher = arbora.train(train, config={**TEACHER, **small}).pipeline
    parsed = teacher.parse(unseen, probabilities=True)
    silver = [each.sentence for each in parsed if each.probability >= SURE]
    print(f"the teacher is confident of {len(silver)} of {len(unseen)} trees\n")

    parsers = {
        "teacher": teacher,
        "student of gold trees": arbora.train(train, config={**STUDENT, **small}).pipeline,
        "student of both": arbora.train([*train, *silver], config={**STUDENT, **small}).pipeline,
    }
    for name, parser in parsers.items():
        started = time.perf_counter()
        result = arbora.evaluate(dev, parser.parse(dev))
        seconds = time.perf_counter() - started
        print(f"{name:<22} LAS {result.las:5.1f}   {len(dev) / seconds:8,.0f} sentences/s")


if __name__ == "__main__":
    main()
