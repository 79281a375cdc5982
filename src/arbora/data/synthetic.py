"""Synthetic treebanks for tests and benchmarks: seeded, of any size, with structure to learn.

A head-outward grammar: for each tag, a table lists the possible dependents on the left and on the right with
their label, tag and probability; expanding VERB gives a sentence. So tags predict heads and labels well but
not fully. Words come from a fixed lexicon of made-up syllables, the same for every seed, so that two seeds
give a training and a test set. Frequencies are skewed, and some forms belong to two tags. In a non-projective
tree, the last modifier of the subject is extraposed behind the verb's other dependents. O(words).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from arbora.data.sentence import Sentence
from arbora.errors import InputError

Slots: TypeAlias = dict[str, tuple[tuple[str, str, float], ...]]
"""The label, tag and probability of the possible dependents of each tag."""

# From the outermost dependent to the innermost on the left, from the innermost on the right.
LEFT: Slots = {
    "VERB": (("advmod", "ADV", 0.15), ("nsubj", "NOUN", 0.5), ("nsubj", "PRON", 0.3), ("aux", "AUX", 0.25)),
    "NOUN": (("det", "DET", 0.6), ("nummod", "NUM", 0.1), ("amod", "ADJ", 0.35)),
    "ADJ": (("advmod", "ADV", 0.15),),
}
RIGHT: Slots = {
    "VERB": (("obj", "NOUN", 0.5), ("obl", "CASE", 0.4), ("advmod", "ADV", 0.2), ("advcl", "CLAUSE", 0.12)),
    "NOUN": (("nmod", "CASE", 0.25), ("acl", "CLAUSE", 0.1)),
}
# Tags that expand to another one, with the label and tag of an obligatory first word.
MARKED = {"CASE": ("NOUN", "case", "ADP"), "CLAUSE": ("VERB", "mark", "SCONJ")}
LEXICON_SIZE = {"NOUN": 400, "VERB": 200, "ADJ": 120, "ADV": 60, "DET": 6, "PRON": 8, "AUX": 6, "NUM": 20}
LEXICON_SIZE |= {"ADP": 15, "SCONJ": 8}
MAX_DEPTH = 6


@dataclass
class _Node:
    tag: str
    label: str
    form: str = ""
    left: list[_Node] = field(default_factory=list)
    right: list[_Node] = field(default_factory=list)
    late: list[_Node] = field(default_factory=list)  # extraposed behind the verb's dependents


def generate(
    sentences: int, *, seed: int = 0, nonprojective: float = 0.1, longest: int = 40
) -> Iterator[Sentence]:
    """Generate `sentences` random sentences of at most `longest` words (at least 8).

    `nonprojective` is the expected share of non-projective trees; all trees have one root. The same arguments
    give the same sentences on every machine.
    """
    if sentences < 0 or longest < 8 or not 0 <= nonprojective <= 1:
        expected = "sentences >= 0, longest >= 8 and nonprojective within [0, 1]"
        raise InputError(f"generate: expected {expected}, got {sentences}, {longest} and {nonprojective}")
    rng = random.Random(seed)
    lexicon = _lexicon()
    for number in range(1, sentences + 1):
        crosses = rng.random() < nonprojective
        while True:
            root = _expand("VERB", "root", rng, lexicon, MAX_DEPTH)
            root.right.append(_Node("PUNCT", "punct", "." if rng.random() < 0.9 else "!"))
            fits = not crosses or _extrapose(root)
            order = list(_in_order(root))
            if fits and len(order) <= longest:
                break
        yield _sentence(order, number)


def _expand(tag: str, label: str, rng: random.Random, lexicon: dict[str, list[str]], depth: int) -> _Node:
    tag, first_label, first_tag = MARKED.get(tag, (tag, "", ""))
    words = lexicon[tag]
    node = _Node(tag, label, words[int(len(words) * rng.random() ** 3)])  # the first words far more often
    if first_tag:
        node.left.append(_expand(first_tag, first_label, rng, lexicon, 0))
    for side, slots in ((node.left, LEFT), (node.right, RIGHT)):
        filled: set[str] = set()
        for dep_label, dep_tag, chance in slots.get(tag, ()):
            # Drawn for every slot, also at the bottom: the random stream stays in step.
            wanted = rng.random() < chance
            if wanted and depth > 0 and dep_label not in filled:
                side.append(_expand(dep_tag, dep_label, rng, lexicon, depth - 1))
                filled.add(dep_label)
    return node


def _extrapose(verb: _Node) -> bool:
    """Move the last modifier of the subject behind the verb; return whether there is one."""
    subject = next((node for node in verb.left if node.label == "nsubj" and node.right), None)
    if subject is not None:
        subject.late.append(subject.right.pop())
    return subject is not None


def _in_order(node: _Node, *, top: bool = True) -> Iterator[_Node]:
    for child in node.left:
        yield from _in_order(child, top=False)
    yield node
    for position, child in enumerate(node.right):
        if top and position == len(node.right) - 1:  # before the full stop
            for moved in (late for subject in node.left for late in subject.late):
                yield from _in_order(moved, top=False)
        yield from _in_order(child, top=False)


def _sentence(order: list[_Node], number: int) -> Sentence:
    place = {id(node): position for position, node in enumerate(order, start=1)}
    heads = [0] * len(order)
    for node in order:
        for child in (*node.left, *node.right, *node.late):
            heads[place[id(child)] - 1] = place[id(node)]
    forms, tags, labels = zip(*((node.form, node.tag, node.label) for node in order), strict=True)
    comments = (f"# sent_id = {number}", f"# text = {' '.join(forms)}")
    return Sentence.from_lists(forms, tags, heads, labels, lemmas=forms, comments=comments)


def _lexicon() -> dict[str, list[str]]:
    """Make up words for each tag; every tenth adverb is also an adjective, every tenth verb a noun."""
    rng = random.Random("arbora lexicon 1")
    onsets, vowels, codas = list("bdfgklmnprstvz"), list("aeiou"), ["", "n", "r", "s", "l"]
    lexicon: dict[str, list[str]] = {}
    taken: set[str] = set()
    for tag, size in LEXICON_SIZE.items():
        syllables = 1 if size < 25 else 2 if size < 150 else 3
        words = lexicon[tag] = []
        while len(words) < size:
            letters = (onsets, vowels, codas) * syllables
            word = "".join(choices[int(rng.random() * len(choices))] for choices in letters)
            if word not in taken:
                taken.add(word)
                words.append(word)
    lexicon["VERB"][5::10] = lexicon["NOUN"][5:200:10]
    lexicon["ADV"][5::10] = lexicon["ADJ"][5:60:10]
    return lexicon
